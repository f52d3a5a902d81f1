package era

// Keys of _meta that the specification reserves.
const (
	// MetaProtocolVersion names the revision of a request (2026-07-28, mandatory in every request).
	MetaProtocolVersion = "io.modelcontextprotocol/protocolVersion"
	// MetaClientCapabilities holds what the client can do for this request (2026-07-28, mandatory in every request).
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	// MetaClientInfo holds the client's Implementation (2026-07-28).
	MetaClientInfo = "io.modelcontextprotocol/clientInfo"
	// MetaLogLevel asks for log messages of at least this level while the request runs (2026-07-28).
	MetaLogLevel = "io.modelcontextprotocol/logLevel"
	// MetaServerInfo holds the server's Implementation in a result (2026-07-28).
	MetaServerInfo = "io.modelcontextprotocol/serverInfo"
	// MetaSubscriptionID is the id of the subscriptions/listen request that a notification belongs to (2026-07-28).
	MetaSubscriptionID = "io.modelcontextprotocol/subscriptionId"
	// MetaProgressToken asks for progress notifications (all revisions).
	MetaProgressToken = "progressToken"
	// MetaRelatedTask names the task that a message belongs to (2025-11-25).
	MetaRelatedTask = "io.modelcontextprotocol/related-task"
	// MetaModelImmediateResponse is a text that a host may give its model while a task runs (2025-11-25).
	MetaModelImmediateResponse = "io.modelcontextprotocol/model-immediate-response"
	// MetaTraceParent, MetaTraceState and MetaBaggage carry a W3C trace context (2026-07-28).
	MetaTraceParent = "traceparent"
	MetaTraceState  = "tracestate"
	MetaBaggage     = "baggage"
)

// Names of HTTP headers. Header names are compared without regard to case.
const (
	HeaderProtocolVersion = "MCP-Protocol-Version"
	HeaderSessionID       = "Mcp-Session-Id"
	HeaderMethod          = "Mcp-Method"
	HeaderName            = "Mcp-Name"
	HeaderParamPrefix     = "Mcp-Param-"
)

// Values of resultType.
const (
	ResultComplete      = "complete"
	ResultInputRequired = "input_required"
	ResultTask          = "task" // tasks extension only
)
