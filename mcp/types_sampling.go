package mcp

import "encoding/json"

// IncludeContext says which context a client shall add to a sampling request. Deprecated since 2025-11-25 but for none.
type IncludeContext string

// What context to include.
const (
	ContextNone       IncludeContext = "none"
	ContextThisServer IncludeContext = "thisServer"
	ContextAllServers IncludeContext = "allServers"
)

// SamplingMessage is one message to or from a model.
type SamplingMessage struct {
	Role    Role            `json:"role"`
	Content SamplingContent `json:"content"`
	// Meta exists since 2025-11-25 and is to be kept when the message is sent again.
	Meta Meta `json:"_meta,omitzero"`
}

// ModelPreferences tell a client which model to choose. The priorities are from 0 to 1; nil says nothing.
type ModelPreferences struct {
	// Hints name models, the best first; a part of a name is enough.
	Hints                []ModelHint `json:"hints,omitempty"`
	CostPriority         *float64    `json:"costPriority,omitzero"`
	SpeedPriority        *float64    `json:"speedPriority,omitzero"`
	IntelligencePriority *float64    `json:"intelligencePriority,omitzero"`
}

// ModelHint names a model or a family.
type ModelHint struct {
	Name string `json:"name,omitzero"`
}

// ToolChoiceMode says whether a model may or must call tools.
type ToolChoiceMode string

// The modes. Empty means auto.
const (
	ToolChoiceAuto     ToolChoiceMode = "auto"
	ToolChoiceRequired ToolChoiceMode = "required"
	ToolChoiceNone     ToolChoiceMode = "none"
)

// ToolChoice says how a model is to use the tools of a sampling request. Since 2025-11-25.
type ToolChoice struct {
	Mode ToolChoiceMode `json:"mode,omitzero"`
}

// CreateMessageParams are the params of sampling/createMessage. Sampling is deprecated since 2026-07-28.
type CreateMessageParams struct {
	// Meta exists up to 2025-11-25.
	Meta             Meta               `json:"_meta,omitzero"`
	Messages         []*SamplingMessage `json:"messages"`
	ModelPreferences *ModelPreferences  `json:"modelPreferences,omitzero"`
	SystemPrompt     string             `json:"systemPrompt,omitzero"`
	IncludeContext   IncludeContext     `json:"includeContext,omitzero"`
	Temperature      *float64           `json:"temperature,omitzero"`
	// MaxTokens bounds the answer.
	MaxTokens     int64    `json:"maxTokens"`
	StopSequences []string `json:"stopSequences,omitempty"`
	// Metadata is passed to the model's provider; a JSON object, nil is absent.
	Metadata json.RawMessage `json:"metadata,omitzero"`
	// Tools and ToolChoice need the sampling.tools capability. Since 2025-11-25.
	Tools      []*Tool     `json:"tools,omitempty"`
	ToolChoice *ToolChoice `json:"toolChoice,omitzero"`
	// Task asks for a task. 2025-11-25 only.
	Task *TaskMetadata `json:"task,omitzero"`
}

// Values of StopReason. Others are possible.
const (
	StopEndTurn      = "endTurn"
	StopStopSequence = "stopSequence"
	StopMaxTokens    = "maxTokens"
	StopToolUse      = "toolUse" // since 2025-11-25
)

// CreateMessageResult is the result of sampling/createMessage.
type CreateMessageResult struct {
	Meta    Meta            `json:"_meta,omitzero"`
	Role    Role            `json:"role"`
	Content SamplingContent `json:"content"`
	// Model names the model that answered.
	Model string `json:"model"`
	// StopReason says why it stopped; empty is unknown.
	StopReason string `json:"stopReason,omitzero"`
}

// Root is a directory or file that a client works in.
type Root struct {
	// URI begins with file://.
	URI string `json:"uri"`
	// Name is the name to show.
	Name string `json:"name,omitzero"`
	// Meta exists since 2025-06-18.
	Meta Meta `json:"_meta,omitzero"`
}

// ListRootsResult is the result of roots/list. Roots are deprecated since 2026-07-28.
type ListRootsResult struct {
	// Meta exists up to 2025-11-25.
	Meta  Meta   `json:"_meta,omitzero"`
	Roots []Root `json:"roots"`
}
