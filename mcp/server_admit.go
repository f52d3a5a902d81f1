package mcp

import (
	"encoding/json"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// HTTP statuses that the core chooses; package net/http is not imported for them.
const (
	httpOK           = 200
	httpAccepted     = 202
	httpBadRequest   = 400
	httpForbidden    = 403
	httpNotFound     = 404
	httpUnavailable  = 503
	httpInternal     = 500
	maxQuotedName    = 200 // bytes of a peer's text that are repeated in an error message
	metaLogLevelName = era.MetaLogLevel
)

// Admit reads the params of a message, decides which revision it speaks, and refuses what cannot be served whatever its handler would
// say: missing or wrong _meta, headers that contradict the body, unknown revisions and methods. It runs no handler and does not
// block. A front end calls it once per message and then, unless Err is set, [Server.Serve].
//
// A message of the handshake era is admitted with Handshake set; its front end finds the [Session] before it calls Serve, or for
// Initialize makes one. Responses of a client are admitted too, with Handshake, and belong to [Session.Deliver].
func (s *Server) Admit(x *Exchange) Admission {
	x.admitted = true
	if s.check != nil {
		s.log.Error("mcp: the server's options are wrong; nothing is served", "error", s.check)
		return Admission{Err: errInternal, Status: httpInternal}
	}
	m := x.Message
	x.params.read(m.Params)
	in := era.Input{
		Transport: era.TransportStream,
		Supported: s.served,
		Session:   x.Session != nil,
		Kind:      m.Kind(),
		Method:    m.Method,
	}
	if h := x.Headers; h != nil {
		in.Transport = era.TransportHTTP
		in.Session = h.SessionID
		in.Headers = era.Headers{ProtocolVersion: h.ProtocolVersion, Method: h.Method, Name: h.Name}
	}
	x.describe(&in)
	v := era.Classify(&in)
	switch {
	case v.Outcome == era.Refused:
		return Admission{Err: v.Err, Status: v.Status}
	case v.Outcome == era.Legacy:
		x.revision = v.Revision
		return Admission{Revision: v.Revision, Handshake: true, Initialize: v.Reason == era.ReasonInitialize}
	}
	x.revision, x.Session = v.Revision, nil // whatever else the connection carries
	return s.admitModern(x, m)
}

// describe fills in what Classify wants to know about params.
func (x *Exchange) describe(in *era.Input) {
	p := &x.params
	in.MetaVersion, in.MetaVersionState = stringOf(p.metaMember(metaVersion))
	in.MetaCapabilities = objectState(p.metaMember(metaCapabilities))
	switch in.Method {
	case MethodToolsCall, MethodPromptsGet:
		in.Name, in.NameState = p.text(paramName)
	case MethodResourcesRead:
		in.Name, in.NameState = p.text(paramURI)
	case MethodTasksGet, MethodTasksUpdate, MethodTasksCancel:
		in.Name, in.NameState = p.text(paramTaskID)
	case MethodInitialize:
		in.InitVersion, _ = p.text(paramProtocolVersion)
	}
	x.name = in.Name
}

// admitModern goes on where Classify ends, in the order of the specification: method, Mcp-Param-* headers, log level.
func (s *Server) admitModern(x *Exchange, m *jsonrpc.Message) Admission {
	adm := Admission{Revision: x.revision}
	refuse := func(err *Error, status int) Admission {
		adm.Err, adm.Status = err, status
		return adm
	}
	if m.Kind() == jsonrpc.Notification {
		return adm
	}
	if s.draining() {
		return refuse(errShuttingDown, httpUnavailable)
	}
	if !s.knows(m.Method, x.revision) {
		return refuse(methodNotFound(m.Method), era.HTTPStatus(x.revision, CodeMethodNotFound))
	}
	if x.params.shape == paramsBroken {
		return refuse(errParamsShape, httpBadRequest)
	}
	if m.Method == MethodToolsCall && x.Headers != nil && s.options.Visible == nil { // otherwise calledTool does it
		if err := s.checkParamHeaders(x); err != nil {
			return refuse(err, httpBadRequest)
		}
	}
	if err := s.readFacts(x); err != nil {
		return refuse(err, httpBadRequest)
	}
	return adm
}

// readFacts decodes what the client says about itself in _meta.
func (s *Server) readFacts(x *Exchange) *Error {
	p := &x.params
	caps, err := s.facts.capabilities(p.metaMember(metaCapabilities))
	if err != nil {
		return invalidParams("_meta[%q]: %v", era.MetaClientCapabilities, err)
	}
	info, err := s.facts.implementation(p.metaMember(metaClientInfo))
	if err != nil {
		return invalidParams("_meta[%q]: %v", era.MetaClientInfo, err)
	}
	x.facts = clientFacts{info: info, caps: caps}
	switch level, state := stringOf(p.metaMember(metaLogLevel)); {
	case state == era.Absent:
	case state == era.Bad, !LoggingLevel(level).Valid():
		return invalidParams("_meta[%q] is no log level; the levels are debug, info, notice, warning, error, critical, alert and emergency",
			metaLogLevelName)
	default:
		x.facts.logLevel = LoggingLevel(level)
	}
	return nil
}

// capabilities decodes client capabilities; nil stays nil.
func (f *clientCache) capabilities(raw json.RawMessage) (*ClientCapabilities, error) {
	return cachedDecode(f, &f.caps, raw)
}

// implementation decodes an Implementation; nil stays nil.
func (f *clientCache) implementation(raw json.RawMessage) (*Implementation, error) {
	return cachedDecode(f, &f.info, raw)
}

// cachedDecode decodes raw, or finds what the same bytes were decoded to before.
func cachedDecode[T any](f *clientCache, cache *map[string]*T, raw json.RawMessage) (*T, error) {
	if len(raw) == 0 {
		return nil, nil //nolint:nilnil // absent is not an error
	}
	f.mu.RLock()
	v, ok := (*cache)[string(raw)]
	f.mu.RUnlock()
	if ok {
		return v, nil
	}
	v = new(T)
	if err := unmarshalJSON(raw, v); err != nil {
		return nil, errDecode{err}
	}
	if len(raw) <= maxCachedFactSize {
		f.mu.Lock()
		if *cache == nil || len(*cache) >= maxCachedFacts {
			*cache = make(map[string]*T)
		}
		(*cache)[string(raw)] = v
		f.mu.Unlock()
	}
	return v, nil
}
