package mcp

// Resource describes something that can be read.
type Resource struct {
	URI string `json:"uri"`
	// Name identifies the resource for programs, and for people where there is no Title.
	Name string `json:"name"`
	// Title is the name to show. Since 2025-06-18.
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	MIMEType    string `json:"mimeType,omitzero"`
	// Size is in bytes, before any encoding; nil is unknown.
	Size        *int64       `json:"size,omitzero"`
	Annotations *Annotations `json:"annotations,omitzero"`
	// Icons are pictures to show. Since 2025-11-25.
	Icons []Icon `json:"icons,omitempty"`
	Meta  Meta   `json:"_meta,omitzero"`
	// Asks declares the questions that the handler may put to the person; it stays on the server.
	Asks []*Question `json:"-"`
	// Scopes are those that a caller over HTTP needs for the resource, as for [Tool]; they stay on the server.
	Scopes []string `json:"-"`
}

// ResourceTemplate describes a family of resources.
type ResourceTemplate struct {
	// URITemplate is a template of RFC 6570.
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	// Title is the name to show. Since 2025-06-18.
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	// MIMEType is that of all resources of the family, if they have the same.
	MIMEType    string       `json:"mimeType,omitzero"`
	Annotations *Annotations `json:"annotations,omitzero"`
	// Icons are pictures to show. Since 2025-11-25.
	Icons []Icon `json:"icons,omitempty"`
	Meta  Meta   `json:"_meta,omitzero"`
	// Asks declares the questions that the handler may put to the person; it stays on the server.
	Asks []*Question `json:"-"`
	// Scopes are those that a caller over HTTP needs for the resources, as for [Tool]; they stay on the server.
	Scopes []string `json:"-"`
}

// ListResourcesResult is the result of resources/list.
type ListResourcesResult struct {
	Meta       Meta   `json:"_meta,omitzero"`
	ResultType string `json:"resultType,omitzero"`
	CacheHints
	Resources []*Resource `json:"resources"`
	// NextCursor asks for the next page; nil says that this was the last.
	NextCursor *Cursor `json:"nextCursor,omitzero"`
}

// ListResourceTemplatesResult is the result of resources/templates/list.
type ListResourceTemplatesResult struct {
	Meta       Meta   `json:"_meta,omitzero"`
	ResultType string `json:"resultType,omitzero"`
	CacheHints
	ResourceTemplates []*ResourceTemplate `json:"resourceTemplates"`
	// NextCursor asks for the next page; nil says that this was the last.
	NextCursor *Cursor `json:"nextCursor,omitzero"`
}

// ReadResourceParams are the params of resources/read.
type ReadResourceParams struct {
	Meta Meta   `json:"_meta,omitzero"`
	URI  string `json:"uri"`
	// InputResponses and RequestState belong to a retry; see InputRequiredResult. Since 2026-07-28.
	InputResponses InputResponses `json:"inputResponses,omitzero"`
	RequestState   *string        `json:"requestState,omitzero"`
}

// ReadResourceResult is the result of resources/read.
type ReadResourceResult struct {
	Meta       Meta   `json:"_meta,omitzero"`
	ResultType string `json:"resultType,omitzero"`
	CacheHints
	// Contents are those of the resource, or of each of its parts.
	Contents []*ResourceContents `json:"contents"`
}

// SubscribeParams are the params of resources/subscribe. Up to 2025-11-25.
type SubscribeParams struct {
	Meta Meta   `json:"_meta,omitzero"`
	URI  string `json:"uri"`
}

// UnsubscribeParams are the params of resources/unsubscribe. Up to 2025-11-25.
type UnsubscribeParams struct {
	Meta Meta   `json:"_meta,omitzero"`
	URI  string `json:"uri"`
}

// ResourceUpdatedParams are the params of notifications/resources/updated.
type ResourceUpdatedParams struct {
	Meta Meta `json:"_meta,omitzero"`
	// URI is that of the resource, or of a part of the one subscribed to.
	URI string `json:"uri"`
}
