package mcp

import "github.com/seed38e7925c/parley/jsonrpc"

// InitializeParams are the params of initialize. Up to 2025-11-25.
type InitializeParams struct {
	Meta Meta `json:"_meta,omitzero"`
	// ProtocolVersion is the newest revision the client wants to speak.
	ProtocolVersion string             `json:"protocolVersion"`
	Capabilities    ClientCapabilities `json:"capabilities"`
	ClientInfo      Implementation     `json:"clientInfo"`
}

// InitializeResult is the result of initialize. Up to 2025-11-25.
type InitializeResult struct {
	Meta Meta `json:"_meta,omitzero"`
	// ProtocolVersion is the revision that is in force from now on.
	ProtocolVersion string             `json:"protocolVersion"`
	Capabilities    ServerCapabilities `json:"capabilities"`
	ServerInfo      Implementation     `json:"serverInfo"`
	// Instructions tell the model how to use the server.
	Instructions string `json:"instructions,omitzero"`
}

// DiscoverResult is the result of server/discover. Since 2026-07-28. The server's Implementation is in Meta, under
// MetaServerInfo.
type DiscoverResult struct {
	Meta       Meta   `json:"_meta,omitzero"`
	ResultType string `json:"resultType,omitzero"`
	CacheHints
	// SupportedVersions names the revisions that the server speaks.
	SupportedVersions []string           `json:"supportedVersions"`
	Capabilities      ServerCapabilities `json:"capabilities"`
	// Instructions tell the model how to use the server.
	Instructions string `json:"instructions,omitzero"`
}

// CancelledParams are the params of notifications/cancelled.
type CancelledParams struct {
	Meta Meta `json:"_meta,omitzero"`
	// RequestID is that of the request to cancel. In 2025-11-25 it may be absent when a task is meant.
	RequestID jsonrpc.ID `json:"requestId,omitzero"`
	// Reason may be shown or logged.
	Reason string `json:"reason,omitzero"`
}

// ProgressParams are the params of notifications/progress.
type ProgressParams struct {
	Meta          Meta          `json:"_meta,omitzero"`
	ProgressToken ProgressToken `json:"progressToken"`
	// Progress grows with every notification, even if Total is unknown.
	Progress float64 `json:"progress"`
	// Total is what Progress will reach; nil is unknown.
	Total *float64 `json:"total,omitzero"`
	// Message says what is going on. Since 2025-03-26.
	Message string `json:"message,omitzero"`
}
