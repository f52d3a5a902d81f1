package mcp

import "encoding/json"

// Supported marks something as supported by being there. On the wire it is an object; members of it are ignored.
type Supported struct{}

// ClientCapabilities say what a client can be asked for. A nil member is not supported. Until 2025-11-25 they hold for a
// session, since 2026-07-28 for the one request that declares them.
type ClientCapabilities struct {
	// Experimental holds what is outside of the specification.
	Experimental map[string]json.RawMessage `json:"experimental,omitzero"`
	// Extensions holds the settings of extensions by their identifier.
	Extensions map[string]json.RawMessage `json:"extensions,omitzero"`
	// Roots: roots/list is answered.
	Roots *RootsCapability `json:"roots,omitzero"`
	// Sampling: sampling/createMessage is answered.
	Sampling *SamplingCapability `json:"sampling,omitzero"`
	// Elicitation: elicitation/create is answered. Since 2025-06-18.
	Elicitation *ElicitationCapability `json:"elicitation,omitzero"`
	// Tasks: requests of the server can be tasks. 2025-11-25 only.
	Tasks *ClientTasksCapability `json:"tasks,omitzero"`
}

// RootsCapability is what a client supports of roots.
type RootsCapability struct {
	// ListChanged: the client tells when they change. Up to 2025-11-25.
	ListChanged bool `json:"listChanged,omitzero"`
}

// SamplingCapability is what a client supports of sampling.
type SamplingCapability struct {
	// Tools: requests may carry tools. Since 2025-11-25.
	Tools *Supported `json:"tools,omitzero"`
	// Context: includeContext may ask for context. Since 2025-11-25; before it, it always may.
	Context *Supported `json:"context,omitzero"`
}

// ElicitationCapability is which questions a client can put to its person. An empty one means forms.
type ElicitationCapability struct {
	// Form: forms can be filled in. Since 2025-11-25.
	Form *Supported `json:"form,omitzero"`
	// URL: links can be visited. Since 2025-11-25.
	URL *Supported `json:"url,omitzero"`
}

// HasForm reports whether forms can be asked: declared, or implied by saying nothing else.
func (c *ElicitationCapability) HasForm() bool { return c != nil && (c.Form != nil || c.URL == nil) }

// HasURL reports whether links can be asked to be visited.
func (c *ElicitationCapability) HasURL() bool { return c != nil && c.URL != nil }

// ClientTasksCapability is which requests to a client can be tasks. 2025-11-25 only.
type ClientTasksCapability struct {
	List     *Supported          `json:"list,omitzero"`
	Cancel   *Supported          `json:"cancel,omitzero"`
	Requests *ClientTaskRequests `json:"requests,omitzero"`
}

// ClientTaskRequests are the requests to a client that can be tasks. 2025-11-25 only.
type ClientTaskRequests struct {
	Sampling    *SamplingTasks    `json:"sampling,omitzero"`
	Elicitation *ElicitationTasks `json:"elicitation,omitzero"`
}

// SamplingTasks are the sampling requests that can be tasks. 2025-11-25 only.
type SamplingTasks struct {
	CreateMessage *Supported `json:"createMessage,omitzero"`
}

// ElicitationTasks are the elicitation requests that can be tasks. 2025-11-25 only.
type ElicitationTasks struct {
	Create *Supported `json:"create,omitzero"`
}

// ServerCapabilities say what a server offers. A nil member is not offered.
type ServerCapabilities struct {
	// Experimental holds what is outside of the specification.
	Experimental map[string]json.RawMessage `json:"experimental,omitzero"`
	// Extensions holds the settings of extensions by their identifier.
	Extensions map[string]json.RawMessage `json:"extensions,omitzero"`
	// Logging: log messages can be asked for.
	Logging *Supported `json:"logging,omitzero"`
	// Completions: completion/complete is answered. Since 2025-03-26; before it, it is not declared.
	Completions *Supported           `json:"completions,omitzero"`
	Prompts     *PromptsCapability   `json:"prompts,omitzero"`
	Resources   *ResourcesCapability `json:"resources,omitzero"`
	Tools       *ToolsCapability     `json:"tools,omitzero"`
	// Tasks: tools can be called as tasks. 2025-11-25 only.
	Tasks *ServerTasksCapability `json:"tasks,omitzero"`
}

// PromptsCapability is what a server supports of prompts.
type PromptsCapability struct {
	// ListChanged: the server tells when the list changes.
	ListChanged bool `json:"listChanged,omitzero"`
}

// ResourcesCapability is what a server supports of resources.
type ResourcesCapability struct {
	// Subscribe: resources/subscribe, since 2026-07-28 resourceSubscriptions of subscriptions/listen.
	Subscribe bool `json:"subscribe,omitzero"`
	// ListChanged: the server tells when the list changes.
	ListChanged bool `json:"listChanged,omitzero"`
}

// ToolsCapability is what a server supports of tools.
type ToolsCapability struct {
	// ListChanged: the server tells when the list changes.
	ListChanged bool `json:"listChanged,omitzero"`
}

// ServerTasksCapability is which requests to a server can be tasks. 2025-11-25 only.
type ServerTasksCapability struct {
	List     *Supported          `json:"list,omitzero"`
	Cancel   *Supported          `json:"cancel,omitzero"`
	Requests *ServerTaskRequests `json:"requests,omitzero"`
}

// ServerTaskRequests are the requests to a server that can be tasks. 2025-11-25 only.
type ServerTaskRequests struct {
	Tools *ToolTasks `json:"tools,omitzero"`
}

// ToolTasks are the tool requests that can be tasks. 2025-11-25 only.
type ToolTasks struct {
	Call *Supported `json:"call,omitzero"`
}
