package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// A member is one name and raw value of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// isObject reports whether raw is one JSON object.
func isObject(raw json.RawMessage) bool {
	v := jsontext.Value(raw)
	return v.IsValid() && v.Kind() == '{'
}

// membersOf splits a JSON object into its members, in order, without touching their values. Nil has none.
func membersOf(raw json.RawMessage) ([]member, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if dec.PeekKind() != '{' {
		return nil, fmt.Errorf("want a JSON object, have %s", clip(string(raw), 40))
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	var out []member
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String() // before the token is overwritten
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		out = append(out, member{key, bytes.Clone(value)})
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); err != io.EOF { //nolint:errorlint // the decoder returns io.EOF itself
		return nil, fmt.Errorf("something follows the JSON object")
	}
	return out, nil
}

// elementsOf splits a JSON array into its elements, of which there may be limit.
func elementsOf(raw json.RawMessage, limit int) ([]json.RawMessage, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	var out []json.RawMessage
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if len(out) == limit {
			return nil, fmt.Errorf("the list has more than %d entries", limit)
		}
		out = append(out, json.RawMessage(bytes.Clone(value)))
	}
	_, err := dec.ReadToken()
	return out, err
}

// memberOf returns the value of one member of a JSON object, nil if there is none or raw is no object.
func memberOf(raw json.RawMessage, name string) json.RawMessage {
	members, err := membersOf(raw)
	if err != nil {
		return nil
	}
	for _, m := range members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// withMembers returns a new object that has the members of raw, each replaced by the one of the same name in set, if any, and then the
// rest of set. Members of set with a nil value are removed.
func withMembers(raw json.RawMessage, set ...member) (json.RawMessage, error) {
	have, err := membersOf(raw)
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(raw)+64*len(set)), '{')
	emit := func(m member) {
		if m.value == nil {
			return
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = appendName(out, m.name)
		out = append(out, m.value...)
	}
	for _, m := range have {
		if !hasMember(set, m.name) {
			emit(m)
		}
	}
	for _, m := range set {
		emit(m)
	}
	return append(out, '}'), nil
}

func hasMember(set []member, name string) bool {
	for _, m := range set {
		if m.name == name {
			return true
		}
	}
	return false
}

func appendName(dst []byte, name string) []byte {
	return append(appendString(dst, name), ':')
}

// appendString appends s as a JSON string, invalid UTF-8 replaced.
func appendString(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, validText(s))
	if err != nil { // only invalid UTF-8 can fail, and there is none left
		return append(dst, `""`...)
	}
	return out
}

// rawString returns s as a raw JSON string.
func rawString(s string) json.RawMessage { return appendString(nil, s) }

// textOf returns the text of a raw JSON string.
func textOf(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	if err := unmarshalJSON(raw, &s); err != nil {
		return "", false
	}
	return s, true
}
