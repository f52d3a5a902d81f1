package era

import "github.com/seed38e7925c/parley/jsonrpc"

// Rules is the row of one revision in the table of differences. It is read-only; get it from [Revision.Rules].
//
// A field that is false where the specification is silent says so in its comment.
type Rules struct {
	// Revision is the revision that the row is about; zero in the row of unknown revisions.
	Revision Revision

	// Handshake: a connection begins with initialize, and what was agreed there holds until it ends. Otherwise every
	// request carries its revision and the client's capabilities in _meta, params are mandatory, and there is no session.
	Handshake bool
	// Batch: arrays of messages must be accepted (never with initialize inside).
	Batch bool
	// UniqueIDs: a request id is never used twice in a session. Otherwise only ids of unanswered requests differ.
	UniqueIDs bool

	// AskByResult: a server asks by an InputRequiredResult that ends the request; the client retries with answers.
	// Otherwise it sends a request of its own and waits.
	AskByResult bool
	// Elicitation says which questions exist.
	Elicitation Elicitation
	// SamplingTools: sampling requests may carry tools and toolChoice, messages may carry tool_use and tool_result
	// blocks and more than one block.
	SamplingTools bool

	// ListenOnly: changes are told only on subscriptions/listen streams that asked for them, tagged with the
	// subscription id. Otherwise on any stream, resource updates after resources/subscribe.
	ListenOnly bool
	// LogByRequest: log messages are sent only while a request runs that asked for them in _meta. Otherwise the level of
	// logging/setLevel holds for the session.
	LogByRequest bool
	// ProgressBothWays: the client may report progress too.
	ProgressBothWays bool
	// CancelOnDisconnect: over HTTP, a client that closes the response stream cancels the request.
	CancelOnDisconnect bool
	// CancelOverHTTP: notifications/cancelled is sent over HTTP. Otherwise on byte streams only.
	CancelOverHTTP bool

	// CodeResourceNotFound answers resources/read of a URI that does not exist.
	CodeResourceNotFound jsonrpc.Code
	// CodeUnsupportedVersion refuses a revision that is not served. Handshakes counter-offer instead where they can.
	CodeUnsupportedVersion jsonrpc.Code
	// CodeMissingCapability refuses what the client did not declare that it can do.
	CodeMissingCapability jsonrpc.Code
	// BadArgsAsResult: tool arguments that do not match the schema are answered by a result with isError, for the model
	// to read. Otherwise by jsonrpc.CodeInvalidParams.
	BadArgsAsResult bool

	// Structured says what may stand in structuredContent.
	Structured Structured
	// Content is the set of kinds a tool result or a prompt message may hold.
	Content ContentKinds
	// Sampling is the set of kinds a sampling message may hold.
	Sampling ContentKinds
	// Fields says which descriptive members exist.
	Fields Fields
	// Capabilities says which capabilities exist.
	Capabilities Capabilities

	// ResultType: every result carries resultType.
	ResultType bool
	// ServerInfo: results carry the server's Implementation in _meta.
	ServerInfo bool
	// CacheHints: complete results of [Rules.Cacheable] methods carry ttlMs and cacheScope.
	CacheHints bool

	// Tasks says which task protocol exists.
	Tasks Tasks
	// HTTP is about Streamable HTTP.
	HTTP HTTP

	methods *methodTable
}

// Elicitation says which questions to the person exist.
type Elicitation struct {
	// Form: forms. Without it nothing can be asked but sampling and roots.
	Form bool
	// URL: links to visit.
	URL bool
	// ID: a URL question carries an elicitationId.
	ID bool
	// CompleteNotice: notifications/elicitation/complete tells that what a URL question was about is finished.
	CompleteNotice bool
	// RequiredError: a request may be refused with CodeURLElicitationRequired and the links to visit first.
	RequiredError bool
	// Defaults: every kind of field may have a default. Otherwise only booleans.
	Defaults bool
	// Titles: choices may have titles by oneOf or anyOf of const and title. Otherwise by enumNames.
	Titles bool
	// Multi: a field may take several choices.
	Multi bool
	// Pattern: text may have a pattern. The pages of 2025-11-25 say so; no schema does.
	Pattern bool
}

// Structured says what may stand in structuredContent of a tool result.
type Structured uint8

// What may stand in structuredContent.
const (
	StructuredNone   Structured = iota // the member does not exist: only content
	StructuredObject                   // a JSON object
	StructuredAny                      // any JSON value
)

// ContentKinds is a set of kinds of content blocks.
type ContentKinds uint8

// The kinds of content blocks, by their type on the wire.
const (
	KindText         ContentKinds = 1 << iota // text
	KindImage                                 // image
	KindAudio                                 // audio
	KindResourceLink                          // resource_link
	KindResource                              // resource
	KindToolUse                               // tool_use
	KindToolResult                            // tool_result
)

// ContentKind returns the kind that is written typ on the wire, or 0.
func ContentKind(typ string) ContentKinds {
	switch typ {
	case "text":
		return KindText
	case "image":
		return KindImage
	case "audio":
		return KindAudio
	case "resource_link":
		return KindResourceLink
	case "resource":
		return KindResource
	case "tool_use":
		return KindToolUse
	case "tool_result":
		return KindToolResult
	}
	return 0
}

// Has reports whether every kind of k is in the set. No kind at all is in no set.
func (s ContentKinds) Has(k ContentKinds) bool { return k != 0 && s&k == k }

// Fields says which members exist that only describe something. Where a field is false the member is left out.
type Fields struct {
	Title             bool // title of tools, prompts, prompt arguments, resources, templates and Implementation
	Icons             bool // icons of the same
	Implementation    bool // description and websiteUrl of Implementation
	Meta              bool // _meta of content blocks, contents, tools, prompts, resources, templates and roots
	ToolAnnotations   bool // annotations of Tool
	OutputSchema      bool // outputSchema of Tool
	AnyOutputSchema   bool // outputSchema may have a root that is not an object
	Execution         bool // execution of Tool
	LastModified      bool // annotations.lastModified
	CompletionContext bool // context of completion/complete
	ProgressMessage   bool // message of notifications/progress
	SchemaDialect     bool // $schema of tool schemas
	ReferenceTitle    bool // title of a ref/prompt
	AskMeta           bool // _meta of elicitation and sampling params, of ElicitResult and ListRootsResult
}

// Capabilities says which capabilities exist. Those of tools, resources, prompts, logging, sampling and roots always do.
type Capabilities struct {
	Completions      bool // completions of servers; before it, offering completions is not declared
	Elicitation      bool // elicitation of clients
	ElicitationModes bool // form and url inside it; empty means form
	SamplingParts    bool // tools and context inside sampling
	RootsListChanged bool // listChanged inside roots
	Tasks            bool // tasks of both sides
	Extensions       bool // extensions of both sides are in the schema
}

// Tasks says which protocol of long-running work exists.
type Tasks uint8

// The task protocols.
const (
	TasksNone      Tasks = iota
	TasksCore            // the experimental one of 2025-11-25
	TasksExtension       // the extension io.modelcontextprotocol/tasks
)

// VersionHeader says what MCP-Protocol-Version is in a revision.
type VersionHeader uint8

// What the version header is.
const (
	VersionHeaderNone    VersionHeader = iota // not defined: a request without it is 2025-03-26 or older
	VersionHeaderSession                      // on every request after initialize
	VersionHeaderEvery                        // on every POST, equal to the body
)

// HTTP is the part of the table that is about Streamable HTTP. A client that negotiates 2024-11-05 over Streamable HTTP,
// which that revision does not define, is served as one of 2025-03-26.
type HTTP struct {
	// Streamable: the revision defines Streamable HTTP; otherwise HTTP+SSE.
	Streamable bool
	// Session: Mcp-Session-Id, GET streams, DELETE.
	Session bool
	// Version says what MCP-Protocol-Version is.
	Version VersionHeader
	// MirrorHeaders: Mcp-Method, Mcp-Name and Mcp-Param-* repeat what the body says and are compared.
	MirrorHeaders bool
	// ServerRequests: the server may send requests on a stream, and clients POST responses.
	ServerRequests bool
	// Resumable: streams carry event ids and can be taken up again by GET with Last-Event-ID.
	Resumable bool
	// Priming: a resumable stream begins with an event that has an id and no data, may name a retry interval, and the
	// server may close the connection before the answer.
	Priming bool
	// NoBuffering: answers carry X-Accel-Buffering: no, and silence is filled with comments.
	NoBuffering bool
}

// Rules returns the row of r. For a value that is no revision the row allows nothing; it is never nil.
func (r Revision) Rules() *Rules {
	if r > Latest {
		r = 0
	}
	return &table[r]
}

const (
	content2024     = KindText | KindImage | KindResource
	content20250326 = content2024 | KindAudio
	content20250618 = content20250326 | KindResourceLink
	sampling2024    = KindText | KindImage
	sampling2025    = sampling2024 | KindAudio
	samplingTools   = sampling2025 | KindToolUse | KindToolResult
)

var table = [Latest + 1]Rules{
	0: {methods: new(methodTable), CodeResourceNotFound: jsonrpc.CodeInvalidParams,
		CodeUnsupportedVersion: jsonrpc.CodeInvalidParams, CodeMissingCapability: jsonrpc.CodeInvalidParams},

	R20241105: {
		Revision: R20241105, Handshake: true, UniqueIDs: true, ProgressBothWays: true, CancelOverHTTP: true,
		CodeResourceNotFound:   CodeResourceNotFound,
		CodeUnsupportedVersion: jsonrpc.CodeInvalidParams,
		CodeMissingCapability:  jsonrpc.CodeInvalidParams,
		Content:                content2024,
		Sampling:               sampling2024,
		Fields:                 Fields{AskMeta: true},
		Capabilities:           Capabilities{RootsListChanged: true},
		HTTP:                   HTTP{Session: true, ServerRequests: true, Resumable: true},
		methods:                &methods2024,
	},

	R20250326: {
		Revision: R20250326, Handshake: true, Batch: true, UniqueIDs: true, ProgressBothWays: true, CancelOverHTTP: true,
		CodeResourceNotFound:   CodeResourceNotFound,
		CodeUnsupportedVersion: jsonrpc.CodeInvalidParams,
		CodeMissingCapability:  jsonrpc.CodeInvalidParams,
		Content:                content20250326,
		Sampling:               sampling2025,
		Fields:                 Fields{ToolAnnotations: true, ProgressMessage: true, AskMeta: true},
		Capabilities:           Capabilities{Completions: true, RootsListChanged: true},
		HTTP:                   HTTP{Streamable: true, Session: true, ServerRequests: true, Resumable: true},
		methods:                &methods2024,
	},

	R20250618: {
		Revision: R20250618, Handshake: true, UniqueIDs: true, ProgressBothWays: true, CancelOverHTTP: true,
		Elicitation:            Elicitation{Form: true},
		CodeResourceNotFound:   CodeResourceNotFound,
		CodeUnsupportedVersion: jsonrpc.CodeInvalidParams,
		CodeMissingCapability:  jsonrpc.CodeInvalidParams,
		Structured:             StructuredObject,
		Content:                content20250618,
		Sampling:               sampling2025,
		Fields: Fields{
			Title: true, Meta: true, ToolAnnotations: true, OutputSchema: true, LastModified: true,
			CompletionContext: true, ProgressMessage: true, ReferenceTitle: true, AskMeta: true,
		},
		Capabilities: Capabilities{Completions: true, Elicitation: true, RootsListChanged: true},
		HTTP: HTTP{
			Streamable: true, Session: true, Version: VersionHeaderSession, ServerRequests: true, Resumable: true,
		},
		methods: &methods20250618,
	},

	R20251125: {
		Revision: R20251125, Handshake: true, UniqueIDs: true, ProgressBothWays: true, CancelOverHTTP: true,
		Elicitation: Elicitation{
			Form: true, URL: true, ID: true, CompleteNotice: true, RequiredError: true,
			Defaults: true, Titles: true, Multi: true, Pattern: true,
		},
		SamplingTools:          true,
		CodeResourceNotFound:   CodeResourceNotFound,
		CodeUnsupportedVersion: jsonrpc.CodeInvalidParams,
		CodeMissingCapability:  jsonrpc.CodeInvalidParams,
		BadArgsAsResult:        true,
		Structured:             StructuredObject,
		Content:                content20250618,
		Sampling:               samplingTools,
		Fields: Fields{
			Title: true, Icons: true, Implementation: true, Meta: true, ToolAnnotations: true, OutputSchema: true,
			Execution: true, LastModified: true, CompletionContext: true, ProgressMessage: true, SchemaDialect: true,
			ReferenceTitle: true, AskMeta: true,
		},
		Capabilities: Capabilities{
			Completions: true, Elicitation: true, ElicitationModes: true, SamplingParts: true, RootsListChanged: true,
			Tasks: true,
		},
		Tasks: TasksCore,
		HTTP: HTTP{
			Streamable: true, Session: true, Version: VersionHeaderSession, ServerRequests: true, Resumable: true,
			Priming: true,
		},
		methods: &methods20251125,
	},

	R20260728: {
		Revision: R20260728, AskByResult: true,
		Elicitation:            Elicitation{Form: true, URL: true, Defaults: true, Titles: true, Multi: true},
		SamplingTools:          true,
		ListenOnly:             true,
		LogByRequest:           true,
		CancelOnDisconnect:     true,
		CodeResourceNotFound:   jsonrpc.CodeInvalidParams,
		CodeUnsupportedVersion: CodeUnsupportedVersion,
		CodeMissingCapability:  CodeMissingCapability,
		BadArgsAsResult:        true,
		Structured:             StructuredAny,
		Content:                content20250618,
		Sampling:               samplingTools,
		Fields: Fields{
			Title: true, Icons: true, Implementation: true, Meta: true, ToolAnnotations: true, OutputSchema: true,
			AnyOutputSchema: true, LastModified: true, CompletionContext: true, ProgressMessage: true,
			SchemaDialect: true, ReferenceTitle: true,
		},
		Capabilities: Capabilities{
			Completions: true, Elicitation: true, ElicitationModes: true, SamplingParts: true, Extensions: true,
		},
		ResultType: true,
		ServerInfo: true,
		CacheHints: true,
		Tasks:      TasksExtension,
		HTTP: HTTP{
			Streamable: true, Version: VersionHeaderEvery, MirrorHeaders: true, NoBuffering: true,
		},
		methods: &methods20260728,
	},
}
