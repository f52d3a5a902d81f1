package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/internal/schema"
)

// A promptEntry is a registered prompt.
type promptEntry struct {
	prompt *Prompt // the server's own copy
	seq    int64
	get    func(ctx context.Context, c *Call, args map[string]string) (*GetPromptResult, error)
	// arguments returns the arguments that are listed.
	arguments func() ([]*PromptArgument, error)
	complete  atomic.Pointer[CompleteHandler]
	wire      [era.Latest + 1]atomic.Pointer[[]byte]
	log       func(msg string, args ...any)
}

func (e *promptEntry) id() string    { return e.prompt.Name }
func (e *promptEntry) order() *int64 { return &e.seq }

// AddPrompt adds a prompt to the server and tells clients that the list has changed.
//
// Args is a struct whose fields are the arguments, with the tags of tool inputs: strings, and numbers and booleans, which are read
// from the text that prompts carry. Its arguments are listed with title, description and whether they are required, unless
// p.Arguments says something else. Or Args is map[string]string, and gets the arguments as they came, checked against the Required of
// p.Arguments. Arguments that do not fit are answered with -32602.
//
// AddPrompt panics if the prompt cannot be registered; [RegisterPrompt] returns the error instead.
func AddPrompt[Args any](s *Server, p *Prompt, h func(ctx context.Context, call *Call, args Args) (*GetPromptResult, error)) {
	if err := RegisterPrompt(s, p, h); err != nil {
		panic(err)
	}
}

// RegisterPrompt is [AddPrompt] for prompts that are not known when the program is written: it returns what is wrong.
func RegisterPrompt[Args any](s *Server, p *Prompt, h func(ctx context.Context, call *Call, args Args) (*GetPromptResult, error)) error {
	switch {
	case h == nil:
		return errors.New("mcp: a prompt needs a handler")
	case p == nil || p.Name == "":
		return errors.New("mcp: a prompt needs a name")
	}
	if err := errors.Join(checkDeclared(p.Asks), checkScopes(p.Scopes)); err != nil {
		return fmt.Errorf("mcp: prompt %q: %w", clip(p.Name, maxQuotedName), err)
	}
	prompt := *p
	prompt.Asks = declare(p.Asks)
	in := promptInput[Args](&prompt)
	e := &promptEntry{
		prompt: &prompt,
		get: func(ctx context.Context, c *Call, args map[string]string) (*GetPromptResult, error) {
			var v Args
			if err := in.decode(args, &v); err != nil {
				return nil, err
			}
			return h(ctx, c, v)
		},
		arguments: in.list,
		log:       s.log.Error,
	}
	if err := s.prompts.add(e); err != nil {
		return fmt.Errorf("mcp: prompt %w", err)
	}
	s.changed(promptsChanged)
	return nil
}

// RemovePrompts removes prompts by their names, tells clients that the list has changed, and returns how many there were.
func (s *Server) RemovePrompts(names ...string) int {
	n := s.prompts.remove(names...)
	if n > 0 {
		s.changed(promptsChanged)
	}
	return n
}

// item returns the prompt as it stands in lists of the revision.
func (e *promptEntry) item(rev Revision) []byte {
	if p := e.wire[rev].Load(); p != nil {
		return *p
	}
	enc, err := e.encode(&rev.Rules().Fields)
	if err != nil {
		e.log("mcp: a prompt cannot be listed", "prompt", e.prompt.Name, "error", err)
		enc = nil
	}
	e.wire[rev].Store(&enc)
	return enc
}

func (e *promptEntry) encode(f *era.Fields) ([]byte, error) {
	p := *e.prompt
	args, err := e.arguments()
	if err != nil {
		return nil, err
	}
	p.Arguments = args
	if !f.Title {
		p.Title = ""
		p.Arguments = make([]*PromptArgument, len(args))
		for i, a := range args {
			plain := *a
			plain.Title = ""
			p.Arguments[i] = &plain
		}
	}
	if !f.Icons {
		p.Icons = nil
	}
	if !f.Meta {
		p.Meta = nil
	}
	return marshalJSON(&p)
}

// listPrompts serves prompts/list.
func (s *Server) listPrompts(_ context.Context, c *Call) (any, error) {
	return listPage(s, c, &s.prompts, "prompts", KindPrompt)
}

// getPrompt serves prompts/get.
func (s *Server) getPrompt(ctx context.Context, c *Call) (any, error) {
	name, state := c.exchange.params.text(paramName)
	if state != era.Valid {
		return nil, invalidParams("params.name must be a string: the name of the prompt")
	}
	e, ok := s.prompts.get(name)
	if !ok || !s.visible(c, KindPrompt, name) {
		return nil, unknownName("prompt", name)
	}
	var args map[string]string
	if raw := c.exchange.params.member(paramArguments); len(raw) > 0 {
		if err := unmarshalJSON(raw, &args); err != nil {
			return nil, invalidParams("params.arguments must be an object whose members are strings: %v", errDecode{err})
		}
	}
	return ask(ctx, c, e.prompt.Asks, func(ctx context.Context) (any, error) {
		result, err := e.get(ctx, c, args)
		switch {
		case err != nil:
			return nil, err
		case result == nil:
			return nil, errNoResult
		}
		return result, nil
	})
}

// ask runs a handler of prompts/get or resources/read that may ask.
func ask(ctx context.Context, c *Call, declared []*Question, run func(ctx context.Context) (any, error)) (any, error) {
	result, err := c.asked(ctx, declared, run)
	var args *argumentError
	if errors.As(err, &args) {
		return nil, invalidParams("%s", args.Error())
	}
	return result, err
}

// promptArguments decode the text arguments of a prompt into Args.
type promptArguments[Args any] struct {
	list   func() ([]*PromptArgument, error)
	decode func(args map[string]string, v *Args) error
}

func promptInput[Args any](p *Prompt) promptArguments[Args] {
	declared := p.Arguments
	if _, plain := any(new(Args)).(*map[string]string); plain {
		return promptArguments[Args]{
			list: func() ([]*PromptArgument, error) { return declared, nil },
			decode: func(args map[string]string, v *Args) error {
				for _, a := range declared {
					if _, ok := args[a.Name]; a.Required && !ok {
						return &argumentError{fmt.Errorf("the argument %s is missing", a.Name)}
					}
				}
				*any(v).(*map[string]string) = args
				return nil
			},
		}
	}
	typed := schema.For[Args]()
	shape := sync.OnceValues(func() (*textArguments, error) {
		raw, err := typed.InputSchema()
		if err != nil {
			return nil, err
		}
		return newTextArguments(raw)
	})
	return promptArguments[Args]{
		list: func() ([]*PromptArgument, error) {
			if declared != nil {
				return declared, nil
			}
			a, err := shape()
			if err != nil {
				return nil, err
			}
			return a.list, nil
		},
		decode: func(args map[string]string, v *Args) error {
			a, err := shape()
			if err != nil {
				return err
			}
			return argumentProblem(typed.Decode(a.encode(args), v))
		},
	}
}

// textArguments know which arguments of a schema are text and which are read from text.
type textArguments struct {
	list []*PromptArgument
	kind map[string]string // JSON type by name
}

// newTextArguments reads the schema of an object.
func newTextArguments(raw json.RawMessage) (*textArguments, error) {
	root, err := schema.ParseValue(raw, schema.MaxDepth)
	if err != nil {
		return nil, err
	}
	a := &textArguments{kind: map[string]string{}}
	required := map[string]bool{}
	if r := root.Get("required"); r != nil {
		for _, name := range r.Items {
			required[name.Text] = true
		}
	}
	text := func(v *schema.Value, name string) string {
		if m := v.Get(name); m != nil {
			return m.Text
		}
		return ""
	}
	if props := root.Get("properties"); props != nil {
		for _, m := range props.Members {
			a.kind[m.Name] = text(m.Value, "type")
			a.list = append(a.list, &PromptArgument{
				Name: m.Name, Title: text(m.Value, "title"), Description: text(m.Value, "description"), Required: required[m.Name],
			})
		}
	}
	return a, nil
}

// encode makes a JSON object of text arguments: numbers and booleans where the schema wants them and the text is one.
func (a *textArguments) encode(args map[string]string) json.RawMessage {
	dst := []byte{'{'}
	for name, value := range args {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, name)
		dst = append(dst, ':')
		switch kind := a.kind[name]; {
		case (kind == "integer" || kind == "number") && isNumber(value), kind == "boolean" && (value == "true" || value == "false"):
			dst = append(dst, value...)
		default:
			dst = appendText(dst, value)
		}
	}
	return append(dst, '}')
}
