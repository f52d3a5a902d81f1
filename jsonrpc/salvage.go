package jsonrpc

import (
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

// DecodeBeginning returns what the beginning of a message says of whom it is
// for, when the rest is not at hand: an id and a method that come before the
// cut, and an Error if it looks like a response. It is a guess, good for telling
// the sender, or whoever waits for the response, that the message was refused.
func DecodeBeginning(data []byte) Message {
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
