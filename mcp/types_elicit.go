package mcp

import (
	"encoding/json"
	"maps"
	"slices"
)

// ElicitMode is the kind of question that is put to a person.
type ElicitMode string

// The modes. Empty means form. The mode itself exists since 2025-11-25.
const (
	ElicitForm ElicitMode = "form"
	ElicitURL  ElicitMode = "url"
)

// ElicitParams are the params of elicitation/create: a form, or a link to visit. Since 2025-06-18.
type ElicitParams struct {
	// Meta exists up to 2025-11-25.
	Meta Meta `json:"_meta,omitzero"`
	// Mode is ElicitURL for a link.
	Mode ElicitMode `json:"mode,omitzero"`
	// Message tells the person what is asked and why.
	Message string `json:"message"`
	// RequestedSchema describes the form: an object schema with flat properties. Forms only, and mandatory there.
	RequestedSchema json.RawMessage `json:"requestedSchema,omitzero"`
	// URL is the link. Links only, and mandatory there.
	URL string `json:"url,omitzero"`
	// ElicitationID identifies the question to the server. Links of 2025-11-25 only, and mandatory there.
	ElicitationID string `json:"elicitationId,omitzero"`
	// Task asks for a task. 2025-11-25 only.
	Task *TaskMetadata `json:"task,omitzero"`
}

// ElicitAction is what a person did about a question.
type ElicitAction string

// Action is a short name for ElicitAction.
type Action = ElicitAction

// The actions.
const (
	ActionAccept  ElicitAction = "accept"  // answered; for a link, agreed to visit it
	ActionDecline ElicitAction = "decline" // said no
	ActionCancel  ElicitAction = "cancel"  // made no choice
)

// ElicitResult is the result of elicitation/create.
type ElicitResult struct {
	// Meta exists up to 2025-11-25.
	Meta   Meta         `json:"_meta,omitzero"`
	Action ElicitAction `json:"action"`
	// Content holds what was filled in, a JSON object by field name; only for an accepted form.
	Content json.RawMessage `json:"content,omitzero"`
}

// ElicitationCompleteParams are the params of notifications/elicitation/complete. 2025-11-25 only.
type ElicitationCompleteParams struct {
	Meta          Meta   `json:"_meta,omitzero"`
	ElicitationID string `json:"elicitationId"`
}

// InputRequest is one question inside an InputRequiredResult. Since 2026-07-28.
type InputRequest struct {
	// Method is MethodElicit, MethodCreateMessage or MethodRootsList.
	Method string `json:"method"`
	// Params are an ElicitParams, a CreateMessageParams or a RequestParams; nil is absent.
	Params json.RawMessage `json:"params,omitzero"`
}

// InputRequests are questions by key. The keys are the server's and unique within the call. A map has no order: what [Call.Ask] and
// package ask make of a call is written in the order of asking, and clients of this package ask in the order of the wire; other
// results are written in the order of the keys.
type InputRequests map[string]InputRequest

// InputResponses are answers by the key of the question: an ElicitResult, a CreateMessageResult or a ListRootsResult.
type InputResponses map[string]json.RawMessage

// InputRequiredResult ends a tools/call, prompts/get or resources/read that needs something from the client: it answers
// the questions and sends the same request again, with the answers and the state. Since 2026-07-28.
type InputRequiredResult struct {
	Meta Meta `json:"_meta,omitzero"`
	// ResultType is ResultInputRequired.
	ResultType string `json:"resultType"`
	// InputRequests are the questions. Empty but not nil asks to try again without asking anybody.
	InputRequests InputRequests `json:"inputRequests,omitzero"`
	// RequestState is handed back byte for byte; nil is absent, and then the retry carries none. Nobody but the server
	// can know what it means.
	RequestState *string `json:"requestState,omitzero"`

	order []string // keys of InputRequests in the order of asking
}

// keys returns the keys of the questions in the order in which they are written: that of asking, then those that came from elsewhere.
func (r *InputRequiredResult) keys() []string {
	keys := make([]string, 0, len(r.InputRequests))
	for _, key := range r.order {
		if _, ok := r.InputRequests[key]; ok {
			keys = append(keys, key)
		}
	}
	if len(keys) == len(r.InputRequests) {
		return keys
	}
	for _, key := range slices.Sorted(maps.Keys(r.InputRequests)) {
		if !slices.Contains(r.order, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
