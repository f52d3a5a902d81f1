package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/internal/schema"
)

// A toolEntry is a registered tool.
type toolEntry struct {
	tool *Tool // the server's own copy
	seq  int64
	// call decodes the arguments, runs the handler and makes the result. An *argumentError says that the arguments do not fit.
	call func(ctx context.Context, c *Call, args json.RawMessage) (*CallToolResult, error)
	// input and output return the schemas that are listed; output may be nil.
	input, output func() (json.RawMessage, error)

	mirrored func() ([]headerParam, error) // x-mcp-header of the input schema, found on first use
	wire     [era.Latest + 1]atomic.Pointer[[]byte]
	log      func(msg string, args ...any)
}

func (e *toolEntry) id() string    { return e.tool.Name }
func (e *toolEntry) order() *int64 { return &e.seq }

// AddTool adds a tool to the server and tells clients that the list has changed. The handler h gets arguments decoded into In and
// checked; what it returns becomes the result.
//
// In is a struct, whose input schema is inferred from its fields and tags (see package form for the tags), a map, or
// json.RawMessage: then the arguments are checked against t.InputSchema and handed over as they came. t.InputSchema replaces an
// inferred schema.
//
// Out decides the result:
//
//   - *[CallToolResult]: it is the result as it is; t.OutputSchema, if set, is checked unless IsError is set
//   - string, [Content], a slice of content: the content of the result
//   - anything else: structured content, whose output schema is inferred unless Out is any or t.OutputSchema is set; the same as text
//     is the content, for clients and models that know no structured content. Revisions before 2026-07-28 carry structured content
//     only if it is an object, and 2025-03-26 and older none.
//
// What becomes of an error is explained at [ToolError]. AddTool panics if the tool cannot be registered: a bad name, a type or tag from
// which no schema can be made, a schema that is no JSON or does not describe an object, a name that is taken, questions that ask for
// secrets. (What a given schema says beyond its root is read by the first call.) [RegisterTool] returns the error instead.
func AddTool[In, Out any](s *Server, t *Tool, h func(ctx context.Context, call *Call, in In) (Out, error)) {
	if err := RegisterTool(s, t, h); err != nil {
		panic(err)
	}
}

// RegisterTool is [AddTool] for tools that are not known when the program is written: it returns what is wrong.
func RegisterTool[In, Out any](s *Server, t *Tool, h func(ctx context.Context, call *Call, in In) (Out, error)) error {
	if h == nil {
		return errors.New("mcp: a tool needs a handler")
	}
	if err := checkTool(t); err != nil {
		return fmt.Errorf("mcp: tool %q: %w", clip(toolName(t), maxQuotedName), err)
	}
	tool := *t
	tool.Asks = declare(t.Asks)
	in, out := inputOf[In](&tool), outputOf[Out](&tool)
	if err := checkInferred(in.schema, out.schema); err != nil {
		return fmt.Errorf("mcp: tool %q: %w", tool.Name, err)
	}
	e := &toolEntry{
		tool: &tool,
		call: func(ctx context.Context, c *Call, args json.RawMessage) (*CallToolResult, error) {
			var v struct { // in one piece of memory
				in  In
				out Out
			}
			err := in.decode(args, &v.in)
			if err != nil {
				return nil, err
			}
			if v.out, err = h(ctx, c, v.in); err != nil {
				return nil, err
			}
			return out.result(&v.out)
		},
		input:  in.schema,
		output: out.schema,
	}
	return s.addTool(e)
}

// checkInferred makes the schemas of a tool's types, once for each type in a process, so that a type without one is found when the
// tool is registered. They are kept for the first list.
func checkInferred(input, output func() (json.RawMessage, error)) error {
	if _, err := input(); err != nil {
		return fmt.Errorf("its input: %w", err)
	}
	if _, err := output(); err != nil {
		return fmt.Errorf("its output: %w", err)
	}
	return nil
}

// toolName returns the name of a tool that may be missing.
func toolName(t *Tool) string {
	if t == nil {
		return ""
	}
	return t.Name
}

// checkTool checks what can be checked of a tool without compiling its schemas.
func checkTool(t *Tool) error {
	if t == nil {
		return errors.New("the tool is nil")
	}
	if err := checkToolName(t.Name); err != nil {
		return err
	}
	if t.InputSchema != nil {
		if err := checkSchemaRoot("InputSchema", t.InputSchema, true); err != nil {
			return err
		}
	}
	if t.OutputSchema != nil {
		if err := checkSchemaRoot("OutputSchema", t.OutputSchema, false); err != nil {
			return err
		}
	}
	if err := checkScopes(t.Scopes); err != nil {
		return err
	}
	return checkDeclared(t.Asks)
}

// maxToolName is the longest tool name that the specification recommends.
const maxToolName = 128

// checkToolName holds a tool's name to the rule of the specification.
func checkToolName(name string) error {
	if name == "" {
		return errors.New("the name is empty")
	}
	if len(name) > maxToolName {
		return fmt.Errorf("the name is %d characters long; at most %d are allowed", len(name), maxToolName)
	}
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("_-.", r):
		default:
			return fmt.Errorf("the name contains %q; letters, digits, _, - and . are allowed", r)
		}
	}
	return nil
}

// checkSchemaRoot checks that a schema is a JSON object, or for outputs a boolean, and where object is set that it describes one.
func checkSchemaRoot(field string, raw json.RawMessage, object bool) error {
	typ, isObject := "", false
	err := eachMember(raw, func(name, value []byte) {
		if string(name) == "type" {
			typ, _ = stringOf(value)
		}
	})
	isObject = err == nil && jsontext.Value(raw).IsValid()
	switch {
	case !isObject && (object || string(raw) != "true" && string(raw) != "false"):
		return fmt.Errorf("%s is not a JSON Schema", field)
	case object && typ != "object":
		return fmt.Errorf("%s must say \"type\": \"object\" at its root", field)
	}
	return nil
}

// addTool registers an entry and tells everybody.
func (s *Server) addTool(e *toolEntry) error {
	e.mirrored = sync.OnceValues(func() ([]headerParam, error) {
		in, err := e.input()
		if err != nil {
			return nil, err
		}
		return headerParams(in)
	})
	e.log = s.log.Error
	if err := s.tools.add(e); err != nil {
		return fmt.Errorf("mcp: tool %w", err)
	}
	s.changed(toolsChanged)
	return nil
}

// RemoveTools removes tools by their names, tells clients that the list has changed, and returns how many there were. Calls that run
// are not disturbed.
func (s *Server) RemoveTools(names ...string) int {
	n := s.tools.remove(names...)
	if n > 0 {
		s.changed(toolsChanged)
	}
	return n
}

// HasTool reports whether a tool of that name is registered.
func (s *Server) HasTool(name string) bool {
	_, ok := s.tools.get(name)
	return ok
}

// item returns the tool as it stands in lists of the revision. A tool whose schemas cannot be made is left out and logged: it must
// not spoil the list for the others.
func (e *toolEntry) item(rev Revision) []byte {
	if p := e.wire[rev].Load(); p != nil {
		return *p
	}
	enc, err := e.encode(rev.Rules())
	if err != nil {
		e.log("mcp: a tool cannot be listed", "tool", e.tool.Name, "error", err)
		enc = nil
	}
	e.wire[rev].Store(&enc)
	return enc
}

func (e *toolEntry) encode(rules *era.Rules) ([]byte, error) {
	t := *e.tool
	in, err := e.input()
	if err != nil {
		return nil, err
	}
	out, err := e.output()
	if err != nil {
		return nil, err
	}
	t.InputSchema, t.OutputSchema = in, nil
	f := &rules.Fields
	if f.OutputSchema && out != nil && (f.AnyOutputSchema || checkSchemaRoot("", out, true) == nil) {
		t.OutputSchema = out
	}
	if !f.Title {
		t.Title = ""
	}
	if !f.Icons {
		t.Icons = nil
	}
	if !f.Meta {
		t.Meta = nil
	}
	if !f.ToolAnnotations {
		t.Annotations = nil
	}
	if !f.Execution {
		t.Execution = nil
	}
	return marshalJSON(&t)
}

// listTools serves tools/list.
func (s *Server) listTools(_ context.Context, c *Call) (any, error) {
	return listPage(s, c, &s.tools, "tools", KindTool)
}

// callTool serves tools/call.
func (s *Server) callTool(ctx context.Context, c *Call) (any, error) {
	e, err := s.calledTool(c)
	if err != nil {
		return nil, err
	}
	result, err := c.asked(ctx, e.tool.Asks, func(ctx context.Context) (any, error) {
		args, err := c.toolArguments()
		if err != nil {
			return nil, err
		}
		result, err := e.call(ctx, c, args)
		if err != nil {
			return nil, err
		}
		return result, nil
	})
	if err != nil {
		return s.toolFailure(ctx, c, err)
	}
	return result, nil
}

// calledTool finds the tool of a call.
func (s *Server) calledTool(c *Call) (*toolEntry, error) {
	name := c.name
	if raw := c.exchange.params.member(paramName); len(raw) == 0 || raw[0] != '"' {
		return nil, invalidParams("params.name must be a string: the name of the tool")
	}
	e, ok := s.tools.get(name)
	if !ok || !s.visible(c, KindTool, name) {
		return nil, unknownName("tool", name)
	}
	if s.options.Visible != nil && c.exchange.Headers != nil && c.rev.Rules().HTTP.MirrorHeaders {
		// Not by Admit: a hidden tool must not be told from one that does not exist.
		if err := s.checkParamHeaders(c.exchange); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// toolArguments returns the arguments of a tool call: {} where they are absent or null.
func (c *Call) toolArguments() (json.RawMessage, error) {
	raw := c.exchange.params.member(paramArguments)
	switch {
	case len(raw) == 0, raw[0] == 'n':
		return emptyObject, nil
	case raw[0] != '{':
		return nil, &argumentError{errors.New("arguments must be an object")}
	}
	return raw, nil
}

// An argumentError says that arguments do not fit. Its text is meant for the peer.
type argumentError struct{ err error }

func (e *argumentError) Error() string { return "invalid arguments: " + e.err.Error() }
func (e *argumentError) Unwrap() error { return e.err }

// toolFailure makes the answer to a tool call that failed; see ToolError for the rules.
func (s *Server) toolFailure(ctx context.Context, c *Call, err error) (any, error) {
	var (
		wire *Error
		args *argumentError
		tool *ToolError
		text string
	)
	switch {
	case errors.As(err, &wire):
		return nil, wire
	case errors.As(err, &tool):
		logTool(ctx, s.logCall(c), "mcp: tool failed", tool)
		text = tool.Text
	case errors.As(err, &args):
		if !c.rev.Rules().BadArgsAsResult {
			return nil, invalidParams("%s", args.Error())
		}
		text = args.Error()
	case errors.As(err, new(*panicError)):
		return nil, err
	default:
		s.logFailure(ctx, c, err)
		text = errInternal.Message
	}
	return &CallToolResult{Content: Text(text), IsError: true}, nil
}

// toolInput decodes arguments into In.
type toolInput[In any] struct {
	schema func() (json.RawMessage, error)
	decode func(args json.RawMessage, v *In) error
}

// inputOf decides how arguments become an In.
func inputOf[In any](t *Tool) toolInput[In] {
	if t.InputSchema == nil {
		if _, raw := any(new(In)).(*json.RawMessage); !raw {
			typed := schema.For[In]()
			return toolInput[In]{schema: typed.InputSchema, decode: func(args json.RawMessage, v *In) error {
				return argumentProblem(typed.Decode(args, v))
			}}
		}
		t.InputSchema = anyObjectSchema
	}
	raw := t.InputSchema
	compiled := sync.OnceValues(func() (*schema.Compiled, error) { return schema.Compile(raw, nil) })
	return toolInput[In]{
		schema: func() (json.RawMessage, error) { return raw, nil },
		decode: func(args json.RawMessage, v *In) error {
			checked, err := checkRaw(compiled, args)
			if err != nil {
				return err
			}
			if dst, ok := any(v).(*json.RawMessage); ok {
				*dst = bytes.Clone(checked) // the handler may keep it, and the transport uses its buffer again
				return nil
			}
			if err := unmarshalJSON(checked, v); err != nil {
				return &argumentError{errDecode{err}}
			}
			return nil
		},
	}
}

// anyObjectSchema is the schema of tools that give none.
var anyObjectSchema = json.RawMessage(`{"type":"object","properties":{}}`)

// checkRaw validates arguments against a raw schema and fills in its defaults.
func checkRaw(compile func() (*schema.Compiled, error), args json.RawMessage) (json.RawMessage, error) {
	compiled, err := compile()
	if err != nil {
		return nil, &ToolError{Text: "this tool cannot be called: its input schema cannot be used", Err: err}
	}
	if err := compiled.Validate(args); err != nil {
		return nil, argumentProblem(err)
	}
	filled, err := compiled.Defaults(args)
	if err != nil {
		return nil, argumentProblem(err)
	}
	return filled, nil
}

// argumentProblem tells what is wrong with arguments from what is wrong with the server.
func argumentProblem(err error) error {
	if err == nil {
		return nil
	}
	var v *schema.ValidationError
	if errors.As(err, &v) {
		return &argumentError{v}
	}
	return err
}
