package mcp

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// emptyObject and emptySchema stand in for required objects that were left nil.
var (
	emptyObject = json.RawMessage(`{}`)
	emptySchema = json.RawMessage(`{"type":"object"}`)
)

// Tool describes a tool: what a model sees of it. Servers add what runs it with AddTool.
type Tool struct {
	// Name identifies the tool within its server: 1 to 128 of the characters A-Z a-z 0-9 _ - and dot.
	Name string `json:"name"`
	// Title is the name to show. Since 2025-06-18.
	Title string `json:"title,omitzero"`
	// Description tells the model when and how to use the tool.
	Description string `json:"description,omitzero"`
	// InputSchema is a JSON Schema of type object; nil is sent as one that allows everything.
	InputSchema json.RawMessage `json:"inputSchema"`
	// OutputSchema is a JSON Schema of StructuredContent; nil is absent. Of type object since 2025-06-18, any since
	// 2026-07-28.
	OutputSchema json.RawMessage `json:"outputSchema,omitzero"`
	// Annotations are hints about what it does. Since 2025-03-26.
	Annotations *ToolAnnotations `json:"annotations,omitzero"`
	// Execution says how it runs. 2025-11-25 only.
	Execution *ToolExecution `json:"execution,omitzero"`
	// Icons are pictures to show. Since 2025-11-25.
	Icons []Icon `json:"icons,omitempty"`
	Meta  Meta   `json:"_meta,omitzero"`
	// Asks declares the questions that the handler may put to the person; it stays on the server.
	Asks []*Question `json:"-"`
	// Scopes are the OAuth scopes that a caller over HTTP needs for the tool, all of them; they stay on the server. They are checked by
	// [ServerOptions.Authorize], or, where that is nil, by the server itself: the principal must have each. Callers on stdio and pipes
	// have no tokens, and are not asked for any.
	Scopes []string `json:"-"`
}

// MarshalJSONTo writes the tool with an input schema in any case.
func (t *Tool) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Tool
	p := plain(*t)
	if p.InputSchema == nil {
		p.InputSchema = emptySchema
	}
	return jsonv2.MarshalEncode(enc, &p)
}

// ToolAnnotations describe how a tool behaves. They are hints by the server: a client must not trust them unless it
// trusts the server. Since 2025-03-26.
type ToolAnnotations struct {
	// Title is a name to show; since 2025-06-18 Tool.Title is preferred.
	Title string `json:"title,omitzero"`
	// ReadOnlyHint: the tool changes nothing.
	ReadOnlyHint bool `json:"readOnlyHint,omitzero"`
	// DestructiveHint: a tool that changes something may destroy. Nil means true.
	DestructiveHint *bool `json:"destructiveHint,omitzero"`
	// IdempotentHint: calling the tool again with the same arguments changes nothing more.
	IdempotentHint bool `json:"idempotentHint,omitzero"`
	// OpenWorldHint: the tool deals with things outside of the server's control. Nil means true.
	OpenWorldHint *bool `json:"openWorldHint,omitzero"`
}

// TaskSupport says whether a tool can be called as a task. 2025-11-25 only.
type TaskSupport string

// The kinds of task support. Empty means forbidden.
const (
	TaskForbidden TaskSupport = "forbidden"
	TaskOptional  TaskSupport = "optional"
	TaskRequired  TaskSupport = "required"
)

// ToolExecution says how a tool runs. 2025-11-25 only.
type ToolExecution struct {
	TaskSupport TaskSupport `json:"taskSupport,omitzero"`
}

// CallToolParams are the params of tools/call.
type CallToolParams struct {
	Meta Meta   `json:"_meta,omitzero"`
	Name string `json:"name"`
	// Arguments is a JSON object, kept as it came; nil is absent.
	Arguments json.RawMessage `json:"arguments,omitzero"`
	// InputResponses and RequestState belong to a retry; see InputRequiredResult. Since 2026-07-28.
	InputResponses InputResponses `json:"inputResponses,omitzero"`
	RequestState   *string        `json:"requestState,omitzero"`
	// Task asks for a task. 2025-11-25 only.
	Task *TaskMetadata `json:"task,omitzero"`
}

// CallToolResult is the result of tools/call. A tool that failed says so with IsError and tells the model what happened
// in Content; an error of the protocol is for calls that could not be made.
type CallToolResult struct {
	Meta       Meta   `json:"_meta,omitzero"`
	ResultType string `json:"resultType,omitzero"`
	// Content is what the tool has to say to the model; always on the wire, at least as an empty array.
	Content ContentBlocks `json:"content"`
	// StructuredContent is the result as JSON, fitting the tool's OutputSchema; nil is absent, and null is a value.
	// An object since 2025-06-18, any value since 2026-07-28. It is kept as it came: numbers keep all their digits.
	StructuredContent json.RawMessage `json:"structuredContent,omitzero"`
	IsError           bool            `json:"isError,omitzero"`
}

// ListToolsResult is the result of tools/list.
type ListToolsResult struct {
	Meta       Meta   `json:"_meta,omitzero"`
	ResultType string `json:"resultType,omitzero"`
	CacheHints
	Tools []*Tool `json:"tools"`
	// NextCursor asks for the next page; nil says that this was the last.
	NextCursor *Cursor `json:"nextCursor,omitzero"`
}
