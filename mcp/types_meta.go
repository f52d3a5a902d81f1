package mcp

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// Meta is the _meta member of a message or of an object in it: values by key, each one JSON value. A nil Meta is an
// absent member. Like any map it must not be written while it is read.
//
// Keys of one's own have a reverse-DNS prefix, as in "com.example/trace". The prefixes whose second label is
// modelcontextprotocol or mcp are the specification's, and so are keys without a prefix.
type Meta map[string]json.RawMessage

// Get decodes the value under key into v, as package json of the wire does: names match exactly. It reports false if the
// key is absent, and an error that names the key if the value does not fit.
func (m Meta) Get(key string, v any) (bool, error) {
	raw, ok := m[key]
	if !ok {
		return false, nil
	}
	if err := unmarshalJSON(raw, v); err != nil {
		return true, fmt.Errorf("_meta[%q]: %w", key, err)
	}
	return true, nil
}

// Set stores v, encoded, under key, and makes the map if there is none. It fails if v cannot be encoded.
func (m *Meta) Set(key string, v any) error {
	raw, err := marshalJSON(v)
	if err != nil {
		return fmt.Errorf("_meta[%q]: %w", key, err)
	}
	if *m == nil {
		*m = Meta{}
	}
	(*m)[key] = raw
	return nil
}

// Text returns the string under key, and whether there is one.
func (m Meta) Text(key string) (string, bool) {
	var s string
	ok, err := m.Get(key, &s)
	return s, ok && err == nil
}

// ProgressToken returns the token that a request asks for progress with. The zero token is none.
func (m Meta) ProgressToken() ProgressToken {
	raw, ok := m[MetaProgressToken]
	if !ok {
		return ProgressToken{}
	}
	id, err := jsonrpc.ParseID(raw)
	if err != nil {
		return ProgressToken{}
	}
	return id
}

// Clone returns a copy whose keys can be set without changing m. Values are shared. The clone of nil is nil.
func (m Meta) Clone() Meta { return maps.Clone(m) }

// ProgressToken ties progress notifications to a request: a string or an integer that the requester chose. The zero
// value is no token. Tokens can be compared with ==.
type ProgressToken = jsonrpc.ID

// Cursor marks a place in a list, for its next page. Only who issued it knows what it means: it is not parsed, and the
// empty string is a cursor like any other, which is why it is used through a pointer.
type Cursor string
