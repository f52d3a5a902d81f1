package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/schema"
)

// maxToolsKnown bounds the tools whose schemas a client remembers.
const maxToolsKnown = 10_000

// CallTool calls a tool and returns its result, after as many rounds of questions as it takes. A tool that failed is a result with
// IsError, not an error; an error is a call that could not be made. It wraps [ErrNotFound] where the server says in a way that can be
// relied on that there is no such tool.
//
// With [ClientOptions.ValidateOutput], a result whose structured content does not fit the tool's schema is returned together with an
// *[OutputError].
func (c *Client) CallTool(ctx context.Context, p *CallToolParams, opts ...*RequestOptions) (*CallToolResult, error) {
	if p == nil || p.Name == "" {
		return nil, errNoToolName
	}
	res, _, err := c.callTool(ctx, p, opts)
	return res, err
}

// callTool calls a tool; cause is what the client itself knows of why the tool failed.
func (c *Client) callTool(ctx context.Context, p *CallToolParams, opts []*RequestOptions) (res *CallToolResult, cause, err error) {
	raw, err := objectOf(p)
	if err != nil {
		return nil, nil, fmt.Errorf("mcp: %s: params: %w", MethodToolsCall, err)
	}
	req := &ClientRequest{Method: MethodToolsCall, Params: raw, Options: pickOptions(opts), trace: new(requestTrace)}
	if raw, err = c.send(ctx, req); err != nil {
		return nil, nil, missing("tool", p.Name, err)
	}
	res = new(CallToolResult)
	if err := decodeResult(MethodToolsCall, raw, res); err != nil {
		return nil, nil, err
	}
	if c.opts.ValidateOutput && !res.IsError {
		if err := c.tools.checkOutput(p.Name, res.StructuredContent); err != nil {
			return res, nil, &OutputError{Tool: p.Name, Result: res, Err: err}
		}
	}
	return res, req.trace.cause, nil
}

// CallTool calls a tool with typed arguments and returns its typed result.
//
// args is a struct or map that encodes to a JSON object, a [json.RawMessage] with one, or nil for none. Out receives the structured
// content, exactly: integers keep all their digits, also inside of any, where numbers become [json.Number]. Servers without structured
// content (before 2025-06-18, or tools without an output schema) are understood if their only text is JSON. Out may also be
// *CallToolResult for the whole result, or string for its text.
//
// A tool that failed is an error of type *[ToolResultError] that carries the result.
func CallTool[Out any](ctx context.Context, c *Client, name string, args any, opts ...*RequestOptions) (Out, error) {
	var out Out
	raw, err := objectOf(args)
	if err != nil {
		return out, fmt.Errorf("mcp: %s: arguments: %w", name, err)
	}
	if name == "" {
		return out, errNoToolName
	}
	res, cause, err := c.callTool(ctx, &CallToolParams{Name: name, Arguments: raw}, opts)
	if err != nil {
		return out, err
	}
	if res.IsError {
		return out, &ToolResultError{Tool: name, Result: res, Err: cause}
	}
	return out, decodeOutput(name, res, &out)
}

// decodeOutput decodes what a tool returned.
func decodeOutput(name string, res *CallToolResult, out any) error {
	switch v := out.(type) {
	case **CallToolResult:
		*v = res
		return nil
	case *string:
		if res.StructuredContent == nil || res.StructuredContent[0] != '"' {
			*v = res.Content.Text()
			return nil
		}
	case *ContentBlocks:
		*v = res.Content
		return nil
	}
	raw := res.StructuredContent
	if raw == nil {
		raw = json.RawMessage(res.Content.Text())
		if !jsontext.Value(raw).IsValid() {
			return &OutputError{Tool: name, Result: res, Err: errors.New("it has no structured content, and its text is not JSON")}
		}
	}
	if v, ok := out.(*json.RawMessage); ok {
		*v = raw
		return nil
	}
	if err := unmarshalExact(raw, out); err != nil {
		return &OutputError{Tool: name, Result: res, Err: err}
	}
	return nil
}

// exactNumbers decodes numbers into any without rounding them.
var exactNumbers = jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*v = json.Number(raw)
	return nil
}))

func unmarshalExact(raw json.RawMessage, v any) error { return jsonv2.Unmarshal(raw, v, exactNumbers) }

// errNoToolName refuses a call of nothing.
var errNoToolName = errors.New("mcp: CallTool needs the name of a tool")

// A ToolResultError tells that a tool ran and failed. Its message is what the tool says to the model.
type ToolResultError struct {
	Tool   string
	Result *CallToolResult
	// Err is what the client itself knows of the cause, for errors.Is: [ErrDeclined] or [ErrCanceled] when that is what the person
	// said to the last question of this call; in the handshake era also why the last question was not answered, such as
	// [ErrUnavailable] (since 2026-07-28 that ends the call with an error of its own). Otherwise nil.
	Err error
}

// Unwrap returns Err.
func (e *ToolResultError) Unwrap() error { return e.Err }

// Error returns the tool's name and text.
func (e *ToolResultError) Error() string {
	text := strings.TrimSpace(e.Result.Content.Text())
	if text == "" {
		text = "it did not say why"
	}
	return "mcp: tool " + e.Tool + " failed: " + text
}

// An OutputError tells that a tool's result is not what was expected of it. The result itself is kept.
type OutputError struct {
	Tool   string
	Result *CallToolResult
	Err    error
}

// Error says what is wrong with the result.
func (e *OutputError) Error() string {
	return fmt.Sprintf("mcp: the result of tool %s is not as expected: %v", e.Tool, e.Err)
}

// Unwrap returns what is wrong with the result.
func (e *OutputError) Unwrap() error { return e.Err }

// A toolBook remembers of the listed tools what calling them needs.
type toolBook struct {
	mu    sync.Mutex
	tools map[string]*toolFacts
}

type toolFacts struct {
	headers  []schema.Header
	output   json.RawMessage
	once     sync.Once
	compiled *schema.Compiled
	err      error
}

// learn notes the tools of one page and returns those that can be used.
func (b *toolBook) learn(c *Client, terms *agreement, listed []*Tool) []*Tool {
	out := make([]*Tool, 0, len(listed))
	names := make(map[string]bool, len(listed))
	left := omissions{client: c}
	defer left.end()
	for _, t := range listed {
		headers, err := schema.Headers(t.InputSchema)
		why := ""
		switch {
		case t.Name == "":
			why = "it has no name"
		case !isObject(t.InputSchema):
			why = "its inputSchema is not an object"
		case names[t.Name]:
			why = "its name came before"
		case err != nil && terms.mirrors:
			why = err.Error()
		}
		if why != "" {
			left.note("mcp: left out a tool that cannot be used", "tool", clip(t.Name, 100), "why", why)
			continue
		}
		names[t.Name] = true
		out = append(out, t)
		b.note(t.Name, &toolFacts{headers: headers, output: t.OutputSchema})
	}
	return out
}

func (b *toolBook) note(name string, f *toolFacts) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tools == nil || len(b.tools) >= maxToolsKnown {
		b.tools = make(map[string]*toolFacts)
	}
	b.tools[name] = f
}

func (b *toolBook) facts(name string) *toolFacts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tools[name]
}

// mirrored returns the arguments that the tool's schema wants repeated in headers; none for a tool that was never listed.
func (b *toolBook) mirrored(name string, args json.RawMessage) ([]MirroredParam, error) {
	f := b.facts(name)
	if f == nil {
		return nil, nil
	}
	var out []MirroredParam
	for _, h := range f.headers {
		v := args
		for _, step := range h.Path {
			if v = memberOf(v, step); v == nil {
				break
			}
		}
		text, ok, err := headerText(v)
		if err != nil {
			return nil, fmt.Errorf("mcp: tool %s: argument %s: %w", name, strings.Join(h.Path, "."), err)
		}
		if ok {
			out = append(out, MirroredParam{Name: h.Name, Value: text})
		}
	}
	return out, nil
}

// headerText returns an argument as a header has it; false for one that is absent, null, or nothing a header can have.
func headerText(v json.RawMessage) (string, bool, error) {
	if len(v) == 0 {
		return "", false, nil
	}
	switch v[0] {
	case '"':
		s, ok := textOf(v)
		return s, ok, nil
	case 't', 'f':
		return string(v), true, nil
	case 'n', '{', '[':
		return "", false, nil
	}
	f, err := strconv.ParseFloat(string(v), 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), f != math.Trunc(f):
		return string(v), true, nil // not an integer: the server will say so
	case f > maxSafeInteger || f < -maxSafeInteger: // exact: both bounds, and the next integer beyond, are floats
		return "", false, errors.New("the integer is too large for the header that repeats it (beyond 2^53-1)")
	}
	return strconv.FormatInt(int64(f), 10), true, nil
}

// checkOutput validates structured content against the tool's output schema, if that is known.
func (b *toolBook) checkOutput(name string, content json.RawMessage) error {
	f := b.facts(name)
	if f == nil || f.output == nil {
		return nil
	}
	f.once.Do(func() { f.compiled, f.err = schema.Compile(f.output, nil) })
	if f.err != nil {
		return fmt.Errorf("its outputSchema cannot be used: %w", f.err)
	}
	if content == nil {
		return errors.New("it has an outputSchema, but the result has no structured content")
	}
	return f.compiled.Validate(content)
}

// relist lists the tools anew, until the named one was seen.
func (c *Client) relist(ctx context.Context, name string) error {
	for t, err := range c.Tools(ctx, &RequestOptions{Fresh: true}) {
		if err != nil {
			return err
		}
		if t.Name == name {
			return nil
		}
	}
	return nil
}
