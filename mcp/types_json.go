package mcp

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// marshalOptions are those of everything that goes on the wire: text that is not UTF-8 is repaired, not refused, and
// maps are written in order, so that the same value is always the same bytes.
var marshalOptions = json.JoinOptions(jsontext.AllowInvalidUTF8(true), json.Deterministic(true))

// marshalJSON encodes a value for the wire.
func marshalJSON(v any) ([]byte, error) { return json.Marshal(v, marshalOptions) }

// unmarshalJSON decodes what came over the wire: names match exactly, a repeated name is an error, unknown members are
// ignored.
func unmarshalJSON(data []byte, v any) error { return json.Unmarshal(data, v) }

// validText returns s with what is not UTF-8 replaced.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
