package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// salvage returns what a refused message says beyond doubt, and the error for
// its sender. Names and text may be broken here, the structure may not.
func salvage(data []byte, cause error) (Message, error) {
	e := explain(data, cause)
	if e.Code == CodeInvalidRequest && errors.Is(cause, jsontext.ErrDuplicateName) {
		// A duplicate stopped the decoder; what follows may not be JSON.
		if err := syntaxError(data); err != nil {
			e = explain(data, err)
		}
	}
	var m Message
	var ids, meths, answers int
	err := eachMember(data, func(name string, v json.RawMessage) {
		switch name {
		case "id":
			ids++
			if id, err := parseID(v); err == nil {
				m.ID = id
			}
		case "method":
			meths++
			if s, err := unquoteIf(v); err == nil {
				m.Method = s
			}
		case "result", "error":
			answers++
		}
	}, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil || ids > 1 {
		m.ID = ID{}
	}
	if err != nil || meths > 1 {
		m.Method = ""
	}
	if err == nil && answers > 0 && meths == 0 {
		m.Error = e
	}
	return m, e
}

// syntaxError returns why data is not JSON, duplicate names apart.
func syntaxError(data []byte) error {
	d := decoders.Get().(*decoder)
	defer d.release()
	d.reset(data, jsontext.AllowDuplicateNames(true))
	if _, err := d.text.ReadValue(); err != nil {
		return err
	}
	return d.end()
}

// DecodeCut returns what the beginning and the end of a message, whose middle is
// not at hand, say of whom it is for: an ID and a Method, and an Error if it looks
// like a response. The end may overlap the beginning. It is a guess, good for
// telling the sender, or whoever waits for the response, that the message was
// refused.
func DecodeCut(beginning, end []byte) Message {
	m := decodeBeginning(beginning)
	if m.ID.IsZero() {
		m.ID = idAtEnd(end)
	}
	return m
}

// decodeBeginning reads members up to the cut.
func decodeBeginning(data []byte) Message {
	d := decoders.Get().(*decoder)
	defer d.release()
	d.reset(data)
	var m Message
	if d.text.PeekKind() != '{' {
		return m
	}
	if _, err := d.text.ReadToken(); err != nil {
		return m
	}
	answer := false
	for d.text.PeekKind() == '"' {
		name, err := d.text.ReadValue()
		if err != nil {
			break
		}
		which := memberOf(name)
		answer = answer || which&(memberResult|memberError) != 0
		v, err := d.text.ReadValue()
		if err != nil {
			break // here it was cut
		}
		d.set(which, v)
	}
	m.ID, m.Method = d.m.ID, d.m.Method
	if answer && m.Method == "" {
		m.Error = errCut
	}
	return m
}

var errCut = invalid("only the beginning of the message was read")

// idAtEnd returns the id if it is the last member of a message with the given
// end, where some senders have it. In valid JSON nothing else can look like that:
// what stands before the last brace is a value of the outermost object.
func idAtEnd(end []byte) ID {
	rest, ok := bytes.CutSuffix(trimSpace(end), []byte{'}'})
	rest = trimSpace(rest)
	i := bytes.LastIndexByte(rest, ':')
	if !ok || i < 0 || bytes.IndexByte(rest[i:], '\\') >= 0 {
		return ID{}
	}
	name, ok := bytes.CutSuffix(trimSpace(rest[:i]), []byte(`"id"`))
	if name = trimSpace(name); !ok || !bytes.HasSuffix(name, []byte{','}) {
		return ID{}
	}
	id, err := ParseID(rest[i+1:])
	if err != nil {
		return ID{}
	}
	return id
}
