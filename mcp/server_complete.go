package mcp

import (
	"context"
	"fmt"
	"strings"
)

// A CompleteHandler proposes values for an argument of a prompt or a variable of a resource template. given holds the arguments that
// were filled in before; it is empty for clients older than 2025-06-18. Of more than 100 values the first 100 are sent.
type CompleteHandler func(ctx context.Context, call *Call, arg CompleteArgument, given map[string]string) (*Completion, error)

// CompleteFrom returns a handler that proposes, for each argument it knows, those of a fixed list of values that begin with what was
// typed, without regard to case.
func CompleteFrom(values map[string][]string) CompleteHandler {
	return func(_ context.Context, _ *Call, arg CompleteArgument, _ map[string]string) (*Completion, error) {
		out := &Completion{}
		typed := strings.ToLower(arg.Value)
		for _, v := range values[arg.Name] {
			if strings.HasPrefix(strings.ToLower(v), typed) {
				out.Values = append(out.Values, v)
			}
		}
		return out, nil
	}
}

// maxCompletions is the most values that one answer may hold.
const maxCompletions = 100

// CompletePrompt sets what proposes values for the arguments of a prompt; nil takes it away. It declares the completions capability.
func (s *Server) CompletePrompt(name string, h CompleteHandler) error {
	e, ok := s.prompts.get(name)
	if !ok {
		return fmt.Errorf("mcp: prompt %q: %w", name, ErrNotFound)
	}
	e.complete.Store(&h)
	s.completes.Store(true)
	return nil
}

// CompleteResourceTemplate sets what proposes values for the variables of a resource template, named as it was registered; nil takes
// it away. It declares the completions capability.
func (s *Server) CompleteResourceTemplate(template string, h CompleteHandler) error {
	e, ok := s.templates.get(template)
	if !ok {
		return fmt.Errorf("mcp: resource template %q: %w", template, ErrNotFound)
	}
	e.complete.Store(&h)
	s.completes.Store(true)
	return nil
}

// complete serves completion/complete.
func (s *Server) complete(ctx context.Context, c *Call) (any, error) {
	var p CompleteParams
	if err := decodeParams(c, &p); err != nil {
		return nil, err
	}
	if p.Argument.Name == "" {
		return nil, invalidParams("params.argument.name is missing")
	}
	h, err := s.completer(c, &p.Ref)
	if err != nil {
		return nil, err
	}
	result := &CompleteResult{Completion: Completion{Values: []string{}}}
	if h == nil {
		return result, nil
	}
	var given map[string]string
	if p.Context != nil {
		given = p.Context.Arguments
	}
	got, err := h(ctx, c, p.Argument, given)
	if err != nil || got == nil {
		return result, err
	}
	result.Completion = *got
	if result.Completion.Values == nil {
		result.Completion.Values = []string{}
	}
	if n := len(got.Values); n > maxCompletions {
		total := int64(n)
		if got.Total == nil {
			result.Completion.Total = &total
		}
		result.Completion.Values, result.Completion.HasMore = got.Values[:maxCompletions], true
	}
	return result, nil
}

// completer finds the handler that a reference means; nil if it has none.
func (s *Server) completer(c *Call, ref *Reference) (CompleteHandler, error) {
	var h *CompleteHandler
	switch ref.Type {
	case RefPrompt:
		e, ok := s.prompts.get(ref.Name)
		if !ok || !s.visible(c, KindPrompt, ref.Name) {
			return nil, invalidParams("unknown prompt: %s", clip(ref.Name, maxQuotedName))
		}
		h = e.complete.Load()
	case RefResource:
		e, ok := s.templates.get(ref.URI)
		if ok && s.visible(c, KindResourceTemplate, ref.URI) {
			h = e.complete.Load()
		} else if _, ok := s.resources.get(ref.URI); !ok || !s.visible(c, KindResource, ref.URI) {
			return nil, invalidParams("unknown resource template: %s", clip(ref.URI, maxQuotedName))
		}
	default:
		return nil, invalidParams("params.ref.type must be %q or %q", RefPrompt, RefResource)
	}
	if h == nil {
		return nil, nil //nolint:nilnil // nothing to propose is not an error
	}
	return *h, nil
}
