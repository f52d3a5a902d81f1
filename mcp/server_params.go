package mcp

import (
	"bytes"
	"encoding/json"
	"math"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/era"
)

// param names the members of params that some method of the core reads.
type param uint8

const (
	paramMeta param = iota
	paramName
	paramURI
	paramTaskID
	paramArguments
	paramInputResponses
	paramRequestState
	paramCursor
	paramNotifications
	paramRef
	paramArgument
	paramContext
	paramLevel
	paramProtocolVersion
	paramCapabilities
	paramClientInfo
	paramRequestID
	paramReason
	numParams
)

// paramOf returns the index of a member by its name.
func paramOf(name []byte) (param, bool) {
	for i := range paramNames {
		if string(name) == paramNames[i] {
			return param(i), true
		}
	}
	return 0, false
}

var paramNames = [numParams]string{
	paramMeta: "_meta", paramName: "name", paramURI: "uri", paramTaskID: "taskId", paramArguments: "arguments",
	paramInputResponses: "inputResponses", paramRequestState: "requestState", paramCursor: "cursor",
	paramNotifications: "notifications", paramRef: "ref", paramArgument: "argument", paramContext: "context",
	paramLevel: "level", paramProtocolVersion: "protocolVersion", paramCapabilities: "capabilities",
	paramClientInfo: "clientInfo", paramRequestID: "requestId", paramReason: "reason",
}

// metaKey names the members of _meta that the core reads.
type metaKey uint8

const (
	metaVersion metaKey = iota
	metaCapabilities
	metaClientInfo
	metaLogLevel
	metaProgressToken
	numMeta
)

func metaOf(name []byte) (metaKey, bool) {
	switch string(name) {
	case era.MetaProtocolVersion:
		return metaVersion, true
	case era.MetaClientCapabilities:
		return metaCapabilities, true
	case era.MetaClientInfo:
		return metaClientInfo, true
	case era.MetaLogLevel:
		return metaLogLevel, true
	case era.MetaProgressToken:
		return metaProgressToken, true
	}
	return 0, false
}

// requestParams are the members of params that the core knows, each as the bytes that came. What type a member must have is the
// business of the method that reads it.
type requestParams struct {
	raw     json.RawMessage // params
	members [numParams]span
	meta    [numMeta]span
	token   span // progressToken, if it is a string or an integer and not too long to be repeated
	shape   paramsShape
}

// A span is a part of params; absent members have none.
type span struct{ from, to uint32 }

func (p *requestParams) cut(s span) json.RawMessage {
	if s.to == 0 {
		return nil
	}
	return p.raw[s.from:s.to:s.to]
}

// member and metaMember return what came under a name, nil where it is absent.
func (p *requestParams) member(k param) json.RawMessage       { return p.cut(p.members[k]) }
func (p *requestParams) metaMember(k metaKey) json.RawMessage { return p.cut(p.meta[k]) }

// paramsShape says what params is.
type paramsShape uint8

const (
	paramsAbsent paramsShape = iota // or null
	paramsObject
	paramsOther  // some other JSON value
	paramsBroken // not JSON, or with a member that occurs twice
)

// paramsReaders holds decoders that own no data.
var paramsReaders = sync.Pool{New: func() any { return new(paramsReader) }}

// paramsReader walks over params once.
type paramsReader struct {
	text jsontext.Decoder
	in   bytes.Buffer
	raw  []byte // what is read
	name []byte // for names with escapes
}

// read fills p from raw, which must stay unchanged while p is used.
func (p *requestParams) read(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	if len(raw) > math.MaxUint32 {
		p.shape = paramsBroken
		return
	}
	d := paramsReaders.Get().(*paramsReader)
	d.reset(raw)
	p.raw, p.shape = raw, d.params(p)
	d.release()
}

// reset makes d read raw. Names that occur twice are refused by jsonrpc.Decode already; those that count are checked here again.
func (d *paramsReader) reset(raw []byte) {
	d.raw, d.in = raw, *bytes.NewBuffer(raw)
	d.text.Reset(&d.in, jsontext.AllowDuplicateNames(true))
}

// release drops every reference to what was read and gives d back to the pool.
func (d *paramsReader) release() {
	d.reset(nil)
	paramsReaders.Put(d)
}

// params reads the value of params.
func (d *paramsReader) params(p *requestParams) paramsShape {
	switch d.text.PeekKind() {
	case '{':
	case 'n':
		return paramsAbsent
	case '[', '"', '0', 't', 'f':
		return paramsOther
	default:
		return paramsBroken
	}
	ok := d.members(func(name []byte) bool {
		if k, known := paramOf(name); known {
			return d.value(&p.members[k], k == paramMeta, p)
		}
		return d.text.SkipValue() == nil
	})
	if !ok {
		return paramsBroken
	}
	return paramsObject
}

// value reads the value of a known member; that of _meta is looked into.
func (d *paramsReader) value(dst *span, meta bool, p *requestParams) bool {
	if dst.to != 0 {
		return false
	}
	if !meta || d.text.PeekKind() != '{' {
		return d.plain(dst)
	}
	start := d.text.InputOffset()
	ok := d.members(func(name []byte) bool {
		k, known := metaOf(name)
		if !known {
			return d.text.SkipValue() == nil
		}
		return p.meta[k].to == 0 && d.plain(&p.meta[k])
	})
	end := d.text.InputOffset()
	text := bytes.TrimLeft(d.raw[start:end], ": \t\r\n")
	*dst = d.span(len(text))
	if at := p.meta[metaProgressToken]; at.to != 0 {
		if t := d.raw[at.from:at.to]; len(t) <= maxProgressToken && (t[0] == '"' || isInteger(t)) {
			p.token = at
		}
	}
	return ok
}

// plain reads a value.
func (d *paramsReader) plain(dst *span) bool {
	v, err := d.text.ReadValue()
	*dst = d.span(len(v))
	return err == nil
}

// span returns where the last n bytes that were read are.
func (d *paramsReader) span(n int) span {
	end := d.text.InputOffset()
	return span{uint32(end - int64(n)), uint32(end)} //nolint:gosec // read makes sure that it fits
}

// maxProgressToken bounds the token that is repeated in each report; with a longer one there are no reports.
const maxProgressToken = 1 << 10

// members reads an object; f reads the value of each member.
func (d *paramsReader) members(f func(name []byte) bool) bool {
	if _, err := d.text.ReadToken(); err != nil {
		return false
	}
	for d.text.PeekKind() != '}' {
		name, err := d.text.ReadValue()
		if err != nil || len(name) < 2 {
			return false
		}
		text := []byte(name[1 : len(name)-1])
		if bytes.IndexByte(text, '\\') >= 0 {
			d.name, err = jsontext.AppendUnquote(d.name[:0], name)
			if err != nil {
				return false
			}
			text = d.name
		}
		if !f(text) {
			return false
		}
	}
	_, err := d.text.ReadToken()
	return err == nil
}

// isInteger reports whether a valid JSON value is a number without fraction and exponent.
func isInteger(raw []byte) bool {
	if len(raw) == 0 {
		return false
	}
	for i, c := range raw {
		if c < '0' || c > '9' {
			if i > 0 || c != '-' {
				return false
			}
		}
	}
	return true
}

// text returns a member that must be a string: its value, and whether it is absent or of another type.
func (p *requestParams) text(k param) (string, era.State) { return stringOf(p.member(k)) }

// stringOf reads a JSON string.
func stringOf(raw json.RawMessage) (string, era.State) {
	if len(raw) == 0 {
		return "", era.Absent
	}
	if raw[0] != '"' {
		return "", era.Bad
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), era.Valid
	}
	b, err := jsontext.AppendUnquote(nil, []byte(raw))
	if err != nil {
		return "", era.Bad
	}
	return string(b), era.Valid
}

// objectState says whether raw is absent, an object, or something else.
func objectState(raw json.RawMessage) era.State {
	switch {
	case len(raw) == 0:
		return era.Absent
	case raw[0] == '{':
		return era.Valid
	}
	return era.Bad
}
