package jsonrpc

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// idKind tells an absent id from an integer and a string.
type idKind uint8

const (
	idAbsent idKind = iota
	idInt
	idString
)

// ID identifies a request among those that its sender has not yet seen
// answered. It is an integer or a string and keeps both type and value: the
// integer 1 and the string "1" differ. The zero ID means that there is none.
// IDs are comparable with == and serve as map keys.
type ID struct {
	kind idKind
	num  int64
	str  string
}

// IntID returns the integer id n.
func IntID(n int64) ID { return ID{kind: idInt, num: n} }

// StringID returns the string id s, which may be empty. Invalid UTF-8 in s is
// replaced when the id is encoded; such an id never equals one that was decoded.
func StringID(s string) ID { return ID{kind: idString, str: s} }

// ParseID reads an id from one JSON value. It refuses everything but a string
// and an integer within int64; the error is an [*Error] with
// [CodeInvalidRequest]. The ID does not alias raw.
func ParseID(raw json.RawMessage) (ID, error) {
	v := jsontext.Value(raw)
	if !v.IsValid() {
		return ID{}, errBadID
	}
	return parseID(trimSpace(raw))
}

// errBadID is the refusal of an id of a wrong type or size.
var errBadID = &Error{
	Code:    CodeInvalidRequest,
	Message: "invalid request: id must be a string or an integer within 64 bits",
}

// parseID reads an id from a valid JSON value without space around it.
func parseID(raw []byte) (ID, error) {
	switch {
	case len(raw) == 0:
		return ID{}, errBadID
	case raw[0] == '"':
		s, err := unquote(raw)
		if err != nil {
			return ID{}, errBadID
		}
		return StringID(s), nil
	default:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return ID{}, errBadID
		}
		return IntID(n), nil
	}
}

// unquote returns the text of a valid JSON string literal.
func unquote(raw []byte) (string, error) {
	if isPlain(raw) {
		return string(raw[1 : len(raw)-1]), nil
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	return string(b), err
}

// isPlain reports whether a valid JSON string literal has no escapes.
func isPlain(raw []byte) bool {
	for _, c := range raw {
		if c == '\\' {
			return false
		}
	}
	return true
}

// IsZero reports whether id is absent. The ids 0 and "" are not.
func (id ID) IsZero() bool { return id.kind == idAbsent }

// Int returns the integer and true if id is an integer.
func (id ID) Int() (int64, bool) { return id.num, id.kind == idInt }

// Str returns the text and true if id is a string.
func (id ID) Str() (string, bool) { return id.str, id.kind == idString }

// String returns id for logs: integers in decimal, strings quoted as Go does
// (control characters escaped), and "none" for the zero ID.
func (id ID) String() string {
	switch id.kind {
	case idInt:
		return strconv.FormatInt(id.num, 10)
	case idString:
		return strconv.Quote(id.str)
	default:
		return "none"
	}
}

// AppendJSON appends id to dst as a JSON value; the zero ID is null.
func (id ID) AppendJSON(dst []byte) []byte {
	switch id.kind {
	case idInt:
		return strconv.AppendInt(dst, id.num, 10)
	case idString:
		return appendString(dst, id.str)
	default:
		return append(dst, "null"...)
	}
}

// MarshalJSONTo writes id as a JSON value; the zero ID is null. Give a struct
// field the option omitzero to leave an absent id out.
func (id ID) MarshalJSONTo(enc *jsontext.Encoder) error {
	switch id.kind {
	case idInt:
		return enc.WriteToken(jsontext.Int(id.num))
	case idString:
		return enc.WriteValue(appendString(nil, id.str))
	default:
		return enc.WriteToken(jsontext.Null)
	}
}

// UnmarshalJSONFrom reads a string or an integer within int64 and refuses every
// other value, null included.
func (id *ID) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	got, err := parseID(v)
	if err != nil {
		return errors.New("an id must be a string or an integer within 64 bits")
	}
	*id = got
	return nil
}
