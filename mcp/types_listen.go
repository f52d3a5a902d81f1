package mcp

import "encoding/json"

// SubscriptionFilter says which changes a listen stream tells of. Since 2026-07-28.
type SubscriptionFilter struct {
	ToolsListChanged     bool `json:"toolsListChanged,omitzero"`
	PromptsListChanged   bool `json:"promptsListChanged,omitzero"`
	ResourcesListChanged bool `json:"resourcesListChanged,omitzero"`
	// ResourceSubscriptions are the URIs of resources whose updates to tell.
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitempty"`
	// TaskIDs are tasks whose status to tell. Needs the tasks extension.
	TaskIDs []string `json:"taskIds,omitempty"`
	// Other holds members that this package does not know, so that extensions can add theirs.
	Other map[string]json.RawMessage `json:",embed"`
}

// ListenParams are the params of subscriptions/listen. Since 2026-07-28.
type ListenParams struct {
	Meta          Meta               `json:"_meta,omitzero"`
	Notifications SubscriptionFilter `json:"notifications"`
}

// ListenResult ends a listen stream from the server's side; Meta has the subscription under MetaSubscriptionID.
// Since 2026-07-28.
type ListenResult struct {
	Meta       Meta   `json:"_meta,omitzero"`
	ResultType string `json:"resultType,omitzero"`
}

// AcknowledgedParams are the params of notifications/subscriptions/acknowledged, the first message of a listen stream.
// Since 2026-07-28.
type AcknowledgedParams struct {
	Meta Meta `json:"_meta,omitzero"`
	// Notifications is the part of the filter that the server honours.
	Notifications SubscriptionFilter `json:"notifications"`
}
