package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/era"
)

// Shaping turns what a handler returned into the bytes of a result at one revision: what the revision lacks is left out or turned
// into text, what it demands is added. It is the only place that encodes results, and it encodes them once.

// stamps are encoded members that go into many results.
type stamps struct {
	serverInfo []byte // "io.modelcontextprotocol/serverInfo":{…}
	complete   []byte // "resultType":"complete","_meta":{serverInfo}
	hints      []byte // "ttlMs":…,"cacheScope":"…"
	private    []byte // the same for what is the caller's alone
}

func (st *stamps) init(info *Implementation, o *ServerOptions) {
	enc, err := marshalJSON(info)
	if err != nil { // icons and texts always encode
		enc = []byte(`{}`)
	}
	st.serverInfo = append([]byte(`"`+era.MetaServerInfo+`":`), enc...)
	st.complete = fmt.Appendf(nil, `"resultType":"complete","_meta":{%s}`, st.serverInfo)
	ttl := strconv.FormatInt(o.ListTTL.Milliseconds(), 10)
	st.private = []byte(`"ttlMs":` + ttl + `,"cacheScope":"private"`)
	st.hints = st.private
	if o.PublicLists && o.Visible == nil {
		st.hints = []byte(`"ttlMs":` + ttl + `,"cacheScope":"public"`)
	}
}

// shape encodes the result of c for its revision. A nil result means that there is nothing to send.
func (s *Server) shape(c *Call, result any) (json.RawMessage, error) {
	rules := c.rev.Rules()
	switch r := result.(type) {
	case nil:
		if c.method == MethodListen {
			return nil, nil //nolint:nilnil // a listen stream that its client has closed
		}
		return nil, fmt.Errorf("the handler of %s returned neither a result nor an error", c.method)
	case *CallToolResult:
		if r == nil {
			return nil, errNoResult
		}
		return s.shapeToolResult(rules, r)
	case encodedInput:
		return json.RawMessage(r), nil
	case *InputRequiredResult:
		if raw, ok := s.shapeInputRequired(rules, r); ok {
			return raw, nil
		}
	case json.RawMessage:
		if c.isEncoded(r) {
			return r, nil // a list, stamped already
		}
		return s.stampRaw(c, r)
	}
	fit, err := fitResult(rules, result)
	if err != nil {
		return nil, err
	}
	raw, err := marshalJSON(fit)
	if err != nil {
		return nil, fmt.Errorf("the result of %s cannot be encoded: %w", c.method, err)
	}
	return s.stampRaw(c, raw)
}

// shapeInputRequired encodes questions by hand. It leaves what is unusual to others.
func (s *Server) shapeInputRequired(rules *era.Rules, r *InputRequiredResult) (json.RawMessage, bool) {
	if !rules.ResultType || r == nil || len(r.Meta) > 0 || r.ResultType != ResultInputRequired {
		return nil, false
	}
	dst := append(make([]byte, 0, 1024), '{')
	if r.InputRequests != nil {
		dst = append(dst, `"inputRequests":{`...)
		for i, key := range r.keys() {
			if i > 0 {
				dst = append(dst, ',')
			}
			req := r.InputRequests[key]
			if req.Params != nil && !jsontext.Value(req.Params).IsValid() {
				return nil, false
			}
			dst = appendInputRequest(dst, key, req)
		}
		dst = append(dst, `},`...)
	}
	if r.RequestState != nil {
		dst = append(appendText(append(dst, `"requestState":`...), *r.RequestState), ',')
	}
	return s.appendInputStamp(dst), true
}

// appendInputRequest appends a question under its key.
func appendInputRequest(dst []byte, key string, req InputRequest) []byte {
	dst = append(appendText(dst, key), `:{"method":`...)
	dst = appendText(dst, req.Method)
	if req.Params != nil {
		dst = append(append(dst, `,"params":`...), req.Params...)
	}
	return append(dst, '}')
}

// appendInputStamp ends a result that asks.
func (s *Server) appendInputStamp(dst []byte) []byte {
	dst = append(dst, `"resultType":"`+ResultInputRequired+`","_meta":{`...)
	return append(append(dst, s.stamp.serverInfo...), `}}`...)
}

// isEncoded reports whether raw is a list that the core has encoded, complete and clean.
func (c *Call) isEncoded(raw json.RawMessage) bool {
	return len(raw) > 0 && len(c.encoded) == len(raw) && &c.encoded[0] == &raw[0]
}

// fitResult returns result without what the revision lacks. It never changes what the handler returned.
func fitResult(rules *era.Rules, result any) (any, error) {
	switch r := result.(type) {
	case *GetPromptResult:
		if r == nil {
			return nil, errNoResult
		}
		out := *r
		out.Messages = make([]*PromptMessage, len(r.Messages))
		for i, m := range r.Messages {
			if m == nil || isNilContent(m.Content) {
				return nil, fmt.Errorf("message %d of the prompt has no content", i)
			}
			pm := *m
			pm.Content = fitContent(rules, m.Content)
			out.Messages[i] = &pm
		}
		return &out, nil
	case *ReadResourceResult:
		if r == nil {
			return nil, errNoResult
		}
		if rules.Fields.Meta {
			return r, nil
		}
		out := *r
		out.Contents = make([]*ResourceContents, len(r.Contents))
		for i, rc := range r.Contents {
			if rc != nil {
				plain := *rc
				plain.Meta = nil
				out.Contents[i] = &plain
			}
		}
		return &out, nil
	}
	return result, nil
}

// fitContent returns a content block as the revision knows it: kinds that it lacks become text.
func fitContent(rules *era.Rules, b Content) Content {
	if rules.Content.Has(era.ContentKind(b.Type())) {
		if rules.Fields.Meta && rules.Fields.LastModified && rules.Fields.Icons {
			return b
		}
		return plainContent(rules, b)
	}
	switch b := b.(type) {
	case *AudioContent:
		return &TextContent{Text: fmt.Sprintf("[audio, %s, %d bytes: this client's protocol revision cannot carry it]", b.MIMEType, len(b.Data))}
	case *ResourceLink:
		text := b.Name + ": " + b.URI
		if b.Description != "" {
			text += "\n" + b.Description
		}
		return &TextContent{Text: text}
	case *UnknownContent: // passed on as it came: a gateway knows better
		return b
	}
	return &TextContent{Text: "[content of type " + b.Type() + ": this client's protocol revision cannot carry it]"}
}

// plainContent drops members of a block that the revision lacks.
func plainContent(rules *era.Rules, b Content) Content { //nolint:gocyclo // one case for each kind of block
	fit := func(a *Annotations, m Meta) (*Annotations, Meta) {
		if !rules.Fields.Meta {
			m = nil
		}
		if a != nil && a.LastModified != "" && !rules.Fields.LastModified {
			plain := *a
			plain.LastModified = ""
			a = &plain
		}
		return a, m
	}
	switch b := b.(type) {
	case *TextContent:
		if b.Annotations == nil && b.Meta == nil {
			return b
		}
		out := *b
		out.Annotations, out.Meta = fit(b.Annotations, b.Meta)
		return &out
	case *ImageContent:
		out := *b
		out.Annotations, out.Meta = fit(b.Annotations, b.Meta)
		return &out
	case *AudioContent:
		out := *b
		out.Annotations, out.Meta = fit(b.Annotations, b.Meta)
		return &out
	case *ResourceLink:
		out := *b
		out.Annotations, out.Meta = fit(b.Annotations, b.Meta)
		if !rules.Fields.Icons {
			out.Icons = nil
		}
		return &out
	case *EmbeddedResource:
		out := *b
		out.Annotations, out.Meta = fit(b.Annotations, b.Meta)
		if b.Resource != nil && b.Resource.Meta != nil && !rules.Fields.Meta {
			plain := *b.Resource
			plain.Meta = nil
			out.Resource = &plain
		}
		return &out
	}
	return b
}

// shapeToolResult encodes a tool result by hand: it is what most requests end with.
func (s *Server) shapeToolResult(rules *era.Rules, r *CallToolResult) (json.RawMessage, error) {
	size := resultSize(r)
	if size > maxPooledBuffer {
		return s.appendToolResult(make([]byte, 0, size), rules, r)
	}
	buf := shapeBuffers.Get().(*[]byte)
	defer shapeBuffers.Put(buf)
	dst, err := s.appendToolResult((*buf)[:0], rules, r)
	if err != nil {
		return nil, err
	}
	if cap(dst) <= maxKeptBuffer {
		*buf = dst[:0]
	}
	return bytes.Clone(dst), nil
}

// resultSize estimates the encoded size of a tool result.
func resultSize(r *CallToolResult) int {
	n := 512 + len(r.StructuredContent)
	for _, b := range r.Content {
		switch b := b.(type) {
		case *TextContent:
			if b != nil {
				n += len(b.Text) + len(b.Text)/8 + 64
			}
		case *ImageContent:
			if b != nil {
				n += len(b.Data)*4/3 + 128
			}
		case *AudioContent:
			if b != nil {
				n += len(b.Data)*4/3 + 128
			}
		}
	}
	return n
}

// appendToolResult appends an encoded tool result.
func (s *Server) appendToolResult(dst []byte, rules *era.Rules, r *CallToolResult) ([]byte, error) {
	dst = append(dst, `{"content":[`...)
	for i, b := range r.Content {
		if i > 0 {
			dst = append(dst, ',')
		}
		if isNilContent(b) {
			return nil, fmt.Errorf("content block %d of the tool's result is nil", i)
		}
		var err error
		if dst, err = appendContent(dst, fitContent(rules, b)); err != nil {
			return nil, fmt.Errorf("content block %d of the tool's result cannot be encoded: %w", i, err)
		}
	}
	dst = append(dst, ']')
	if keepStructured(rules, r.StructuredContent) {
		dst = append(dst, `,"structuredContent":`...)
		dst = append(dst, r.StructuredContent...)
	}
	if r.IsError {
		dst = append(dst, `,"isError":true`...)
	}
	dst, err := s.appendStamp(dst, rules, r)
	if err != nil {
		return nil, err
	}
	return append(dst, '}'), nil
}

// appendStamp appends resultType and _meta of a tool result.
func (s *Server) appendStamp(dst []byte, rules *era.Rules, r *CallToolResult) ([]byte, error) {
	if rules.ResultType && r.ResultType == "" && len(r.Meta) == 0 {
		return append(append(dst, ','), s.stamp.complete...), nil
	}
	if rules.ResultType {
		kind := r.ResultType
		if kind == "" {
			kind = era.ResultComplete
		}
		dst = append(dst, `,"resultType":`...)
		dst = appendText(dst, kind)
	}
	if len(r.Meta) == 0 && !rules.ServerInfo {
		return dst, nil
	}
	raw := []byte(`{}`)
	if len(r.Meta) > 0 {
		var err error
		if raw, err = marshalJSON(r.Meta); err != nil {
			return nil, fmt.Errorf("_meta of the tool's result cannot be encoded: %w", err)
		}
	}
	dst = append(dst, `,"_meta":`...)
	return s.appendMeta(dst, rules, raw), nil
}

// appendMeta appends a _meta object with the server's name in it, which replaces one that is there.
func (s *Server) appendMeta(dst []byte, rules *era.Rules, raw []byte) []byte {
	if !rules.ServerInfo {
		return append(dst, raw...)
	}
	dst = append(dst, '{')
	dst = append(dst, s.stamp.serverInfo...)
	_ = eachMember(raw, func(name, value []byte) {
		if string(name) == era.MetaServerInfo {
			return
		}
		dst = append(dst, ',')
		dst = appendText(dst, string(name))
		dst = append(dst, ':')
		dst = append(dst, value...)
	})
	return append(dst, '}')
}

// keepStructured reports whether structuredContent is sent at the revision.
func keepStructured(rules *era.Rules, raw json.RawMessage) bool {
	if len(raw) == 0 {
		return false
	}
	switch rules.Structured {
	case era.StructuredAny:
		return true
	case era.StructuredObject:
		return bytes.TrimLeft(raw, " \t\r\n")[0] == '{'
	}
	return false
}

// stampRaw adds to an encoded result what the revision demands, and takes out what it does not know.
func (s *Server) stampRaw(c *Call, raw json.RawMessage) (json.RawMessage, error) { //nolint:gocyclo // a codec: one step for each member
	rules := c.rev.Rules()
	kind, cacheable := era.ResultComplete, rules.Cacheable(c.method)
	var meta []byte
	ttl, scope := "", ""
	dst := append(make([]byte, 0, len(raw)+len(s.stamp.complete)+len(s.stamp.hints)+8), '{')
	err := eachMember(raw, func(name, value []byte) {
		switch string(name) {
		case "resultType":
			if k, state := stringOf(value); state == era.Valid && k != "" {
				kind = k
			}
			return
		case "_meta":
			meta = value
			return
		case "ttlMs":
			ttl = string(value)
			return
		case "cacheScope":
			scope = string(value)
			return
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, string(name))
		dst = append(dst, ':')
		dst = append(dst, value...)
	})
	if err != nil {
		return nil, fmt.Errorf("the result of %s is not a JSON object: %w", c.method, err)
	}
	member := func(name string) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, name...)
		dst = append(dst, `":`...)
	}
	if rules.ResultType {
		member("resultType")
		dst = appendText(dst, kind)
	}
	if cacheable && kind == era.ResultComplete {
		dst = append(dst, ',')
		dst = s.appendHints(dst, c.method, ttl, scope)
	}
	if meta == nil && rules.ServerInfo {
		meta = []byte(`{}`)
	}
	if meta != nil {
		member("_meta")
		dst = s.appendMeta(dst, rules, meta)
	}
	return append(dst, '}'), nil
}

// appendHints appends cache hints: those of the result where it has them, otherwise the server's for lists, and none for what a
// resource holds.
func (s *Server) appendHints(dst []byte, method, ttl, scope string) []byte {
	if ttl == "" && scope == "" {
		if method == MethodResourcesRead {
			return append(dst, `"ttlMs":0,"cacheScope":"private"`...)
		}
		return append(dst, s.stamp.hints...)
	}
	if ttl == "" || ttl[0] == '-' {
		ttl = "0"
	}
	if scope != `"public"` {
		scope = `"private"`
	}
	dst = append(dst, `"ttlMs":`...)
	dst = append(dst, ttl...)
	dst = append(dst, `,"cacheScope":`...)
	return append(dst, scope...)
}

// shapeBuffers hold what results are built in.
var shapeBuffers = sync.Pool{New: func() any { return new([]byte) }}

const (
	// maxPooledBuffer is the size from which a result gets memory of its own at once.
	maxPooledBuffer = 32 << 10
	// maxKeptBuffer is the size beyond which a buffer is not kept.
	maxKeptBuffer = 256 << 10
)

// appendContent appends one content block.
func appendContent(dst []byte, b Content) ([]byte, error) {
	if t, ok := b.(*TextContent); ok && t.Annotations == nil && t.Meta == nil {
		dst = append(dst, `{"type":"text","text":`...)
		dst = appendText(dst, t.Text)
		return append(dst, '}'), nil
	}
	raw, err := marshalJSON(b)
	return append(dst, raw...), err
}

// isNilContent reports whether a block is missing.
func isNilContent(b Content) bool {
	switch b := b.(type) {
	case nil:
		return true
	case *TextContent:
		return b == nil
	case *ImageContent:
		return b == nil
	case *AudioContent:
		return b == nil
	case *ResourceLink:
		return b == nil
	case *EmbeddedResource:
		return b == nil
	case *UnknownContent:
		return b == nil
	}
	return false
}

// appendText appends s as a JSON string; what is not UTF-8 is replaced.
func appendText(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		out, err = jsontext.AppendQuote(dst, validText(s))
	}
	if err != nil { // validText leaves nothing to refuse
		return append(dst, `""`...)
	}
	return out
}

// eachMember calls f for the members of an encoded object, in their order. Names are unquoted.
func eachMember(raw []byte, f func(name, value []byte)) error {
	d := paramsReaders.Get().(*paramsReader)
	defer d.release()
	d.reset(raw)
	if d.text.PeekKind() != '{' {
		return errNotObject
	}
	ok := d.members(func(name []byte) bool {
		v, err := d.text.ReadValue()
		if err == nil {
			f(name, v)
		}
		return err == nil
	})
	if !ok {
		return errNotObject
	}
	return nil
}
