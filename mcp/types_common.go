package mcp

// Role says whose words something is.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Implementation names a client or a server. What it says is self-reported: nothing may depend on it.
type Implementation struct {
	// Name identifies the program.
	Name string `json:"name"`
	// Title is the name to show. Since 2025-06-18.
	Title string `json:"title,omitzero"`
	// Version is the program's own version.
	Version string `json:"version"`
	// Description says what the program does. Since 2025-11-25.
	Description string `json:"description,omitzero"`
	// Icons are pictures to show. Since 2025-11-25.
	Icons []Icon `json:"icons,omitempty"`
	// WebsiteURL is the program's home page. Since 2025-11-25.
	WebsiteURL string `json:"websiteUrl,omitzero"`
}

// Icon is one picture for a tool, prompt, resource or implementation. Since 2025-11-25.
type Icon struct {
	// Src is an https: or data: URL. Whoever shows it must not trust it.
	Src string `json:"src"`
	// MIMEType overrides what the source says.
	MIMEType string `json:"mimeType,omitzero"`
	// Sizes are those the picture is fit for, as in "48x48", or "any". Empty means any.
	Sizes []string `json:"sizes,omitempty"`
	// Theme is the background the picture is made for; empty means every one.
	Theme IconTheme `json:"theme,omitzero"`
}

// IconTheme is a kind of background.
type IconTheme string

// The themes.
const (
	IconLight IconTheme = "light"
	IconDark  IconTheme = "dark"
)

// Annotations tell a client how to use content or a resource. They are hints.
type Annotations struct {
	// Audience is who it is meant for; empty says nothing.
	Audience []Role `json:"audience,omitempty"`
	// Priority is from 0, least, to 1, most important; nil says nothing.
	Priority *float64 `json:"priority,omitzero"`
	// LastModified is an ISO 8601 time, as in "2025-01-12T15:00:58Z". Since 2025-06-18.
	LastModified string `json:"lastModified,omitzero"`
}

// CacheScope says who may be served from a cache.
type CacheScope string

// The scopes.
const (
	CachePublic  CacheScope = "public"  // anybody
	CachePrivate CacheScope = "private" // only requests with the same authorization
)

// CacheHints tell how long a complete result may be reused. Since 2026-07-28, in the results of server/discover, of
// lists and of resources/read; servers fill in what is left out.
type CacheHints struct {
	// TTLMillis is for how many milliseconds the result is fresh; 0 is not at all. Nil is the server's default.
	TTLMillis *int64 `json:"ttlMs,omitzero"`
	// CacheScope says for whom. Empty is the server's default.
	CacheScope CacheScope `json:"cacheScope,omitzero"`
}

// RequestParams are the params of requests that take none: ping, server/discover, roots/list.
type RequestParams struct {
	Meta Meta `json:"_meta,omitzero"`
}

// PaginatedParams are the params of requests for one page of a list.
type PaginatedParams struct {
	Meta Meta `json:"_meta,omitzero"`
	// Cursor is NextCursor of the page before; nil asks for the first page.
	Cursor *Cursor `json:"cursor,omitzero"`
}

type (
	// ListToolsParams are the params of tools/list.
	ListToolsParams = PaginatedParams
	// ListPromptsParams are the params of prompts/list.
	ListPromptsParams = PaginatedParams
	// ListResourcesParams are the params of resources/list.
	ListResourcesParams = PaginatedParams
	// ListResourceTemplatesParams are the params of resources/templates/list.
	ListResourceTemplatesParams = PaginatedParams
)

// EmptyResult is the result of requests that only succeed.
type EmptyResult struct {
	Meta       Meta   `json:"_meta,omitzero"`
	ResultType string `json:"resultType,omitzero"`
}

// NotificationParams are the params of notifications that carry nothing else: initialized and the list_changed ones.
type NotificationParams struct {
	Meta Meta `json:"_meta,omitzero"`
}
