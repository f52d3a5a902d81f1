package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/schema"
)

// toolOutput makes results of what a tool's handler returns.
type toolOutput[Out any] struct {
	schema func() (json.RawMessage, error)
	result func(v *Out) (*CallToolResult, error)
}

// errNoResult is logged when a handler returns neither a result nor an error.
var errNoResult = errors.New("the handler returned neither a result nor an error")

// noSchema is the output schema of tools without one.
func noSchema() (json.RawMessage, error) { return nil, nil }

// outputOf decides how an Out becomes a result.
func outputOf[Out any](t *Tool) toolOutput[Out] {
	if t.OutputSchema != nil {
		return declaredOutput[Out](t.OutputSchema)
	}
	switch any(new(Out)).(type) {
	case **CallToolResult, *CallToolResult, *string, *Content, *[]Content, *ContentBlocks, *any, *json.RawMessage,
		**TextContent, **ImageContent, **AudioContent, **ResourceLink, **EmbeddedResource:
		return toolOutput[Out]{schema: noSchema, result: func(v *Out) (*CallToolResult, error) {
			if c, ok := any(v).(*Content); ok && isNilContent(*c) {
				return nil, errNoResult
			}
			return plainResult(*v)
		}}
	}
	typed := schema.For[Out]()
	return toolOutput[Out]{schema: typed.Schema, result: func(v *Out) (*CallToolResult, error) {
		buf := shapeBuffers.Get().(*[]byte)
		defer shapeBuffers.Put(buf)
		raw, err := typed.Encode((*buf)[:0], v)
		if err != nil {
			return nil, outputProblem(err)
		}
		if cap(raw) <= maxKeptBuffer {
			*buf = raw[:0]
		}
		return structuredResult(bytes.Clone(raw)), nil
	}}
}

// declaredOutput makes results that are checked against the schema that the tool declares.
func declaredOutput[Out any](raw json.RawMessage) toolOutput[Out] {
	compiled := sync.OnceValues(func() (*schema.Compiled, error) { return schema.Compile(raw, nil) })
	return toolOutput[Out]{
		schema: func() (json.RawMessage, error) { return raw, nil },
		result: func(v *Out) (*CallToolResult, error) {
			r, err := plainResult(*v)
			if err != nil || r.IsError {
				return r, err
			}
			c, err := compiled()
			if err != nil {
				return nil, fmt.Errorf("the tool's output schema cannot be used: %w", err)
			}
			if r.StructuredContent == nil {
				return nil, outputProblem(errors.New("there is no structured content"))
			}
			if err := c.Validate(r.StructuredContent); err != nil {
				return nil, outputProblem(err)
			}
			return r, nil
		},
	}
}

// plainResult makes a result of a value without a schema.
func plainResult(v any) (*CallToolResult, error) {
	switch v := v.(type) {
	case *CallToolResult:
		return checkedResult(v)
	case CallToolResult:
		return checkedResult(&v)
	case string:
		return &CallToolResult{Content: Text(v)}, nil
	case ContentBlocks:
		return &CallToolResult{Content: v}, nil
	case []Content:
		return &CallToolResult{Content: v}, nil
	case Content:
		if isNilContent(v) {
			return nil, errNoResult
		}
		return &CallToolResult{Content: ContentBlocks{v}}, nil
	case json.RawMessage:
		if !jsontext.Value(v).IsValid() {
			return nil, errors.New("the handler returned a json.RawMessage that is not JSON")
		}
		return structuredResult(v), nil
	}
	raw, err := marshalJSON(v)
	if err != nil {
		return nil, fmt.Errorf("the tool's result cannot be encoded: %w", err)
	}
	return structuredResult(raw), nil
}

// checkedResult refuses a result that could not be sent.
func checkedResult(r *CallToolResult) (*CallToolResult, error) {
	if r == nil {
		return nil, errNoResult
	}
	if len(r.StructuredContent) > 0 && !jsontext.Value(r.StructuredContent).IsValid() {
		return nil, errors.New("StructuredContent of the tool's result is not JSON")
	}
	return r, nil
}

// structuredResult makes a result of encoded structured content, with the same as text for those who read only text.
func structuredResult(raw json.RawMessage) *CallToolResult {
	return &CallToolResult{Content: Text(string(raw)), StructuredContent: raw}
}

// outputProblem says that a tool broke its own promise. The text is meant for the model: it tells that the tool, not the arguments,
// is to blame.
func outputProblem(err error) error {
	var v *schema.ValidationError
	if !errors.As(err, &v) && errors.Unwrap(err) != nil {
		return fmt.Errorf("the tool's result cannot be encoded: %w", err)
	}
	return &ToolError{Text: "the tool's result does not fit its own output schema: " + err.Error(), Err: err}
}
