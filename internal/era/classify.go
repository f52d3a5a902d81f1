package era

import (
	"encoding/json"
	"strings"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// Transport is the kind of connection a message came over.
type Transport uint8

// The transports.
const (
	TransportStream Transport = iota // a byte stream: stdio, a pipe, a socket
	TransportHTTP                    // one POST of Streamable HTTP
)

// State says whether a member was there and of the right type.
type State uint8

// The states of a member.
const (
	Absent State = iota
	Valid        // there, of the type the schema wants
	Bad          // there, of another type
)

// Header is one HTTP header as received. The zero value is an absent header.
type Header struct {
	// Value is the first value, without surrounding white space.
	Value string
	// Count is how many times the header was sent.
	Count int
}

// HeaderOf makes a Header from the values of an http.Header.
func HeaderOf(values []string) Header {
	if len(values) == 0 {
		return Header{}
	}
	return Header{Value: values[0], Count: len(values)}
}

// Present reports whether the header was sent at all.
func (h Header) Present() bool { return h.Count > 0 }

// is reports whether the header was sent once and is v.
func (h Header) is(v string) bool { return h.Count == 1 && h.Value == v }

// Headers are the headers of a POST that matter for classification. Over byte streams they are ignored.
type Headers struct {
	ProtocolVersion Header // MCP-Protocol-Version
	Method          Header // Mcp-Method
	Name            Header // Mcp-Name
	SessionID       bool   // Mcp-Session-Id was sent
}

// Input is what [Classify] decides by: facts about one message that was decoded without error.
type Input struct {
	Transport Transport
	// Supported is the set of revisions served; members beyond the known revisions are ignored.
	Supported Set
	// Session: the message belongs to a session: over a byte stream, initialize was answered on it. Over HTTP,
	// Headers.SessionID says the same.
	Session bool

	// Kind and Method are those of the message.
	Kind   jsonrpc.Kind
	Method string

	// MetaVersion is params._meta[MetaProtocolVersion] where MetaVersionState is Valid, that is a string.
	MetaVersion      string
	MetaVersionState State
	// MetaCapabilities is the state of params._meta[MetaClientCapabilities]; Valid is an object.
	MetaCapabilities State

	// Name is the member of params that [Rules.NameParam] names for the method, where NameState is Valid, that is a
	// string. For other methods it is ignored.
	Name      string
	NameState State

	// InitVersion is params.protocolVersion of an initialize request; it is only told back in an error.
	InitVersion string

	Headers Headers
}

// Outcome is what a message was classified as.
type Outcome uint8

// The outcomes.
const (
	Refused Outcome = iota // answer with Err, or drop a notification
	Modern                 // self-contained; Revision is set
	Legacy                 // belongs to a handshake or a session; Reason says how that is known
)

// Reason says why a message is legacy.
type Reason uint8

// The reasons.
const (
	ReasonNone       Reason = iota
	ReasonInitialize        // it is an initialize request: the body decides the revision, whatever the header says
	ReasonSession           // it belongs to a session; Revision is that of the header, zero where there is none
	ReasonHeader            // no session, but a version header of a legacy revision
	ReasonNoHeader          // no session and no version header: 2025-03-26
	ReasonBare              // over a byte stream, before initialize: a ping or a notification
	ReasonOnlyLegacy        // nothing modern is served, so what looks modern is read as unknown members
)

// Verdict is the result of [Classify].
type Verdict struct {
	Outcome  Outcome
	Revision Revision
	Reason   Reason
	// Err says why the message is refused. Its text is meant for the peer.
	Err *jsonrpc.Error
	// Status is the HTTP status to answer a refusal with; 0 otherwise. Over byte streams it is ignored.
	Status int
}

// Classify decides which revision one message speaks. It is a pure function and does not allocate unless it refuses.
//
// A claim in the body comes first and headers only cross-check it. A request with the protocol version in its _meta is
// modern; initialize, a session, or the version header of a legacy revision make a message legacy; anything else is
// held to the rules of the modern era where that is served. The order of the checks on a modern request is
//
//  1. protocolVersion and clientCapabilities in _meta: CodeInvalidParams
//  2. MCP-Protocol-Version and Mcp-Method present, Mcp-Name present where the method has a name: CodeHeaderMismatch
//  3. the headers say what the body says: CodeHeaderMismatch. A header sent twice never does.
//  4. the revision is served: CodeUnsupportedVersion
//
// What follows is the dispatcher's: unknown method, Mcp-Param-* headers, log level, missing capabilities, in this order.
// Steps 2 and 3 are for HTTP. Host, origin, authorization and the decoding of the body come before.
func Classify(in *Input) Verdict {
	if in.Kind == jsonrpc.Response {
		return classifyResponse(in)
	}
	modern, legacy := in.Supported.Modern(), in.Supported.Legacy()
	switch {
	case modern == 0 && legacy == 0:
		return refuse(jsonrpc.CodeInternalError, statusServerError, "this server serves no protocol revision")
	case modern == 0:
		return classifyLegacy(in)
	case in.MetaVersionState != Absent && !in.consistentLegacy():
		return classifyModern(in)
	case legacy == 0:
		return modernOnly(in)
	}
	return classifyLegacy(in)
}

// session reports whether the message belongs to a session, or says so.
func (in *Input) session() bool {
	return in.Session || in.Transport == TransportHTTP && in.Headers.SessionID
}

// consistentLegacy reports whether a message of a session repeats the session's own legacy revision in _meta. It is
// harmless, and refusing it would break a session that works.
func (in *Input) consistentLegacy() bool {
	r, ok := Parse(in.MetaVersion)
	if !ok || !in.session() || !in.Supported.Legacy().Has(r) {
		return false
	}
	return in.Transport == TransportStream || in.Headers.ProtocolVersion.is(in.MetaVersion)
}

func classifyModern(in *Input) Verdict {
	if in.Kind == jsonrpc.Notification {
		return modernNotification(in)
	}
	if v := checkMeta(in); v.Err != nil {
		return v
	}
	if in.Transport == TransportHTTP {
		if v := checkHeaders(in); v.Err != nil {
			return v
		}
	}
	rev, ok := Parse(in.MetaVersion)
	if !ok || !in.Supported.Modern().Has(rev) {
		return unsupported(in.Supported, in.MetaVersion)
	}
	return Verdict{Outcome: Modern, Revision: rev}
}

func checkMeta(in *Input) Verdict {
	switch {
	case in.MetaVersionState == Absent:
		return refuse(jsonrpc.CodeInvalidParams, statusBadRequest, "missing _meta[\""+MetaProtocolVersion+"\"] in params: every "+
			"request names its protocol revision; this server serves "+list(in.Supported))
	case in.MetaVersionState != Valid:
		return refuse(jsonrpc.CodeInvalidParams, statusBadRequest, "_meta[\""+MetaProtocolVersion+"\"] must be a string")
	case in.MetaCapabilities == Absent:
		return refuse(jsonrpc.CodeInvalidParams, statusBadRequest, "missing _meta[\""+MetaClientCapabilities+"\"] in params: every "+
			"request declares the client's capabilities, if only {}")
	case in.MetaCapabilities != Valid:
		return refuse(jsonrpc.CodeInvalidParams, statusBadRequest, "_meta[\""+MetaClientCapabilities+"\"] must be an object")
	}
	return Verdict{}
}

func checkHeaders(in *Input) Verdict {
	h := &in.Headers
	named := Latest.Rules().NameParam(in.Method)
	switch {
	case !h.ProtocolVersion.Present():
		return mismatch("missing header " + HeaderProtocolVersion)
	case !h.Method.Present():
		return mismatch("missing header " + HeaderMethod)
	case named != "" && !h.Name.Present():
		return mismatch("missing header " + HeaderName + ": requests of " + in.Method + " repeat params." + named + " in it")
	case !h.ProtocolVersion.is(in.MetaVersion):
		return differs(HeaderProtocolVersion, h.ProtocolVersion, in.MetaVersion)
	case !h.Method.is(in.Method):
		return differs(HeaderMethod, h.Method, in.Method)
	case named != "":
		return checkName(in, named)
	}
	return Verdict{}
}

func checkName(in *Input, param string) Verdict {
	name, ok := DecodeHeader(in.Headers.Name.Value)
	switch {
	case !ok:
		return mismatch(HeaderName + " header is not valid Base64 of UTF-8 text between " + headerOpen + " and " + headerClose)
	case in.NameState != Valid:
		return mismatch(HeaderName + " header is there, but params." + param + " is no string")
	case in.Headers.Name.Count != 1 || name != in.Name:
		return differs(HeaderName, in.Headers.Name, in.Name)
	}
	return Verdict{}
}

// modernNotification classifies a notification where the modern era is served. Notifications need no _meta and their
// headers are not defined, so only what is there is looked at.
func modernNotification(in *Input) Verdict {
	claim := ""
	switch {
	case in.MetaVersionState != Valid && in.MetaVersionState != Absent:
		return refuse(jsonrpc.CodeInvalidParams, statusBadRequest, "_meta[\""+MetaProtocolVersion+"\"] must be a string")
	case in.MetaVersionState == Valid:
		claim = in.MetaVersion
	case in.Transport == TransportHTTP:
		claim = in.Headers.ProtocolVersion.Value
	}
	if h := in.Headers.ProtocolVersion; in.Transport == TransportHTTP && h.Present() && !h.is(claim) {
		return differs(HeaderProtocolVersion, h, claim)
	}
	if claim == "" {
		return Verdict{Outcome: Modern, Revision: in.Supported.Modern().Newest()}
	}
	if rev, ok := Parse(claim); ok && in.Supported.Modern().Has(rev) {
		return Verdict{Outcome: Modern, Revision: rev}
	}
	return unsupported(in.Supported, claim)
}

// modernOnly classifies a message without a claim in its body where no legacy revision is served.
func modernOnly(in *Input) Verdict {
	if in.Kind == jsonrpc.Notification {
		return modernNotification(in)
	}
	if in.Method == MethodInitialize {
		return unsupported(in.Supported, in.InitVersion)
	}
	return checkMeta(in)
}

// classifyLegacy classifies a message without a claim in its body where a legacy revision is served, and every message
// where nothing else is.
func classifyLegacy(in *Input) Verdict {
	if in.Method == MethodInitialize && in.Kind == jsonrpc.Request {
		return Verdict{Outcome: Legacy, Reason: ReasonInitialize}
	}
	if in.Transport == TransportStream {
		return legacyStream(in)
	}
	h, legacy := in.Headers.ProtocolVersion, in.Supported.Legacy()
	if !h.Present() {
		return noHeader(in)
	}
	rev, known := Parse(h.Value)
	if h.Count == 1 && known && legacy.Has(rev) {
		if in.session() {
			return Verdict{Outcome: Legacy, Revision: rev, Reason: ReasonSession}
		}
		return Verdict{Outcome: Legacy, Revision: rev, Reason: ReasonHeader}
	}
	switch {
	case h.Count > 1:
		return refuse(jsonrpc.CodeInvalidRequest, statusBadRequest, HeaderProtocolVersion+" header was sent more than once")
	case in.Supported.Modern() == 0, known && rev.Legacy(), in.session() && !known:
		return refuse(jsonrpc.CodeInvalidRequest, statusBadRequest, HeaderProtocolVersion+" header names "+quote(h.Value)+
			", but this server serves "+list(in.Supported))
	case in.Kind == jsonrpc.Notification:
		return modernNotification(in)
	}
	return checkMeta(in) // the header claims the modern era, the body does not
}

func legacyStream(in *Input) Verdict {
	switch {
	case in.session():
		return Verdict{Outcome: Legacy, Reason: ReasonSession}
	case in.Supported.Modern() == 0:
		return Verdict{Outcome: Legacy, Reason: ReasonOnlyLegacy}
	case in.Method == MethodPing, in.Kind == jsonrpc.Notification:
		return Verdict{Outcome: Legacy, Reason: ReasonBare}
	}
	return refuse(jsonrpc.CodeInvalidParams, statusBadRequest, "neither initialize was called nor does _meta carry "+
		MetaProtocolVersion+": begin with initialize, or name the revision in every request; this server serves "+list(in.Supported))
}

func noHeader(in *Input) Verdict {
	switch {
	case in.session():
		return Verdict{Outcome: Legacy, Reason: ReasonSession}
	case in.Supported.Has(R20250326):
		return Verdict{Outcome: Legacy, Revision: R20250326, Reason: ReasonNoHeader}
	case in.Supported.Modern() == 0:
		return refuse(jsonrpc.CodeInvalidRequest, statusBadRequest, "missing header "+HeaderProtocolVersion+
			": without it a request is "+R20250326.String()+", but this server serves "+list(in.Supported))
	case in.Kind == jsonrpc.Notification:
		return modernNotification(in)
	}
	return checkMeta(in)
}

// classifyResponse classifies a client's answer to a request of the server, which only legacy revisions know.
func classifyResponse(in *Input) Verdict {
	if in.Supported.Legacy() != 0 {
		if in.Transport == TransportStream {
			if in.session() {
				return Verdict{Outcome: Legacy, Reason: ReasonSession}
			}
		} else if in.legacyHeader() || in.session() && !in.Headers.ProtocolVersion.Present() {
			return classifyLegacy(in)
		}
	}
	return refuse(jsonrpc.CodeInvalidRequest, statusBadRequest, "a response was sent, but this server has asked nothing: "+
		"only sessions of "+LatestLegacy.String()+" and older carry requests to the client")
}

// legacyHeader reports whether the version header is there and names a legacy revision.
func (in *Input) legacyHeader() bool {
	h := in.Headers.ProtocolVersion
	rev, ok := Parse(h.Value)
	return h.Present() && ok && rev.Legacy()
}

func refuse(code jsonrpc.Code, status int, message string) Verdict {
	return Verdict{Err: &jsonrpc.Error{Code: code, Message: message}, Status: status}
}

func mismatch(message string) Verdict {
	return refuse(CodeHeaderMismatch, statusBadRequest, "header mismatch: "+message)
}

func differs(name string, h Header, body string) Verdict {
	if h.Count > 1 {
		return mismatch(name + " header was sent more than once")
	}
	return mismatch(name + " header says " + quote(h.Value) + ", the body says " + quote(body))
}

// unsupported refuses a revision that is not served, naming those that are, newest first.
func unsupported(supported Set, requested string) Verdict {
	requested = clean(requested)
	return Verdict{
		Err: &jsonrpc.Error{
			Code: CodeUnsupportedVersion,
			Message: "unsupported protocol version " + quote(requested) + ": this server serves " +
				list(supported),
			Data: unsupportedData(supported, requested),
		},
		Status: statusBadRequest,
	}
}

func unsupportedData(supported Set, requested string) json.RawMessage {
	b := []byte(`{"supported":[`)
	for i, v := range supported.Strings() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, v...)
		b = append(b, '"')
	}
	b = append(b, `],"requested":`...)
	b = appendString(b, requested)
	return append(b, '}')
}

func list(s Set) string { return strings.Join(s.Strings(), ", ") }
