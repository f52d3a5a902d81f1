package mcp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/canon"
	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/internal/schema"
)

// A headerParam is one argument that HTTP clients mirror in a header (2026-07-28).
type headerParam struct {
	schema.Header
	key string // canonical name of the HTTP header
}

// headerParams finds the annotations of an input schema.
func headerParams(inputSchema json.RawMessage) ([]headerParam, error) {
	list, err := schema.Headers(inputSchema)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	out := make([]headerParam, len(list))
	for i, h := range list {
		out[i] = headerParam{Header: h, key: canonicalHeader(era.HeaderParamPrefix + h.Name)}
	}
	return out, nil
}

// canonicalHeader spells a header name as net/http does, which is not imported for it.
func canonicalHeader(name string) string {
	b := []byte(strings.ToLower(name))
	up := true
	for i, c := range b {
		if up && c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
		up = c == '-'
	}
	return string(b)
}

// checkParamHeaders compares Mcp-Param-* headers with the arguments that they mirror. Headers that the tool's schema does not name
// are none of the server's business, and so are annotations that are not valid: clients ignore such a tool.
func (s *Server) checkParamHeaders(x *Exchange) *Error {
	e, ok := s.tools.get(x.name)
	if !ok {
		return nil
	}
	params, err := e.mirrored()
	if err != nil || len(params) == 0 {
		return nil //nolint:nilerr // see above
	}
	args := x.params.member(paramArguments)
	for i := range params {
		if err := checkParamHeader(&params[i], args, era.HeaderOf(x.Headers.All[params[i].key])); err != nil {
			return err
		}
	}
	return nil
}

// checkParamHeader compares one header.
func checkParamHeader(p *headerParam, args json.RawMessage, h Header) *Error {
	bad := func(why string) *Error {
		return &Error{Code: CodeHeaderMismatch, Message: "header mismatch: " + p.key + " " + why}
	}
	value := memberAt(args, p.Path)
	absent := len(value) == 0 || value[0] == 'n'
	switch {
	case absent && !h.Present():
		return nil
	case absent:
		return bad("is there, but the argument that it repeats is not")
	case !h.Present():
		return bad("is missing: it repeats the argument " + strings.Join(p.Path, "."))
	case h.Count > 1:
		return bad("was sent more than once")
	}
	text, ok := era.DecodeHeader(h.Value)
	if !ok {
		return bad("is not valid Base64 of UTF-8 text between =?base64? and ?=")
	}
	if !sameParam(value, text) {
		return bad("does not say what the argument " + strings.Join(p.Path, ".") + " says")
	}
	return nil
}

// sameParam compares an argument with the text of its header. Numbers are compared by value.
func sameParam(value json.RawMessage, text string) bool {
	switch value[0] {
	case '"':
		s, state := stringOf(value)
		return state == era.Valid && s == text
	case 't', 'f':
		return string(value) == text
	case '{', '[':
		return false // not of the annotated type: the header cannot repeat it, and validation will say so
	}
	if string(value) == text {
		return true
	}
	number := jsontext.Value(text)
	if text == "" || len(text) > maxNumberText || len(value) > maxNumberText || strings.TrimSpace(text) != text ||
		number.Kind() != '0' || !number.IsValid() {
		return false // other spellings of numbers are read differently by whoever looks at headers
	}
	if f, err := strconv.ParseFloat(text, 64); err != nil || f > maxSafeInteger || f < -maxSafeInteger {
		return false // not the same for every implementation
	}
	return bytes.Equal(canon.AppendNumber(nil, value), canon.AppendNumber(nil, number))
}

// maxNumberText is the longest number that is compared by value.
const maxNumberText = 100

// maxSafeInteger is the largest integer that mirrored arguments may have.
const maxSafeInteger = 1<<53 - 1

// memberAt returns the value at a path of member names, nil where there is none.
func memberAt(raw json.RawMessage, path []string) json.RawMessage {
	for _, want := range path {
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || raw[0] != '{' {
			return nil
		}
		var found json.RawMessage
		if eachMember(raw, func(name, value []byte) {
			if string(name) == want {
				found = value
			}
		}) != nil {
			return nil
		}
		raw = found
	}
	return raw
}
