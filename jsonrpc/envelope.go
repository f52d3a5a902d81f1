package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// member is a set of envelope members.
type member uint8

const (
	memberVersion member = 1 << iota
	memberID
	memberMethod
	memberParams
	memberResult
	memberError
)

// memberOf returns the envelope member with the quoted name, 0 for any other.
func memberOf(quoted []byte) member {
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		plain, err := jsontext.AppendUnquote(nil, quoted)
		if err != nil {
			return 0
		}
		name = plain
	}
	switch string(name) {
	case "jsonrpc":
		return memberVersion
	case "id":
		return memberID
	case "method":
		return memberMethod
	case "params":
		return memberParams
	case "result":
		return memberResult
	case "error":
		return memberError
	default:
		return 0
	}
}

// envelope is what is known of the message that is being read.
type envelope struct {
	m      Message
	seen   member
	nullID bool
	fault  *Error // the first thing wrong with it
}

// set stores the value of an envelope member.
func (e *envelope) set(which member, value []byte) {
	e.seen |= which
	switch which {
	case memberVersion:
		if !isVersion(value) {
			e.blame(`jsonrpc must be the string "2.0"`)
		}
	case memberID:
		e.setID(value)
	case memberMethod:
		if value[0] != '"' {
			e.blame("method must be a string")
			return
		}
		s, err := methodName(value)
		if err != nil || s == "" {
			e.blame("method must be a string that is not empty")
		}
		e.m.Method = s
	case memberParams:
		e.m.Params = value
	case memberResult:
		e.m.Result = value
	case memberError:
		e.m.Error = e.errorObject(value)
	}
}

// isVersion reports whether value is the string 2.0.
func isVersion(value []byte) bool {
	if string(value) == `"2.0"` {
		return true
	}
	v, err := unquoteIf(value)
	return err == nil && v == "2.0"
}

// setID stores the id; a null is judged when the kind of message is known.
func (e *envelope) setID(value []byte) {
	if value[0] == 'n' {
		e.nullID = true
		return
	}
	id, err := parseID(value)
	if err != nil && e.fault == nil {
		e.fault = asError(err)
	}
	e.m.ID = id
}

// blame records the first fault of the envelope.
func (e *envelope) blame(what string) {
	if e.fault == nil {
		e.fault = invalid(what)
	}
}

// check judges the envelope as a whole.
func (e *envelope) check() error {
	has := func(m member) bool { return e.seen&m != 0 }
	switch {
	case e.fault != nil:
	case !has(memberVersion):
		e.blame(`jsonrpc is missing; it must be the string "2.0"`)
	case has(memberMethod) && has(memberResult|memberError):
		e.blame("a message has a method or is a response, not both")
	case has(memberResult) && has(memberError):
		e.blame("a response has a result or an error, not both")
	case !has(memberMethod | memberResult | memberError):
		e.blame("a message needs a method, a result or an error")
	case e.nullID && !has(memberError):
		e.blame("id must not be null")
	case has(memberResult) && !has(memberID):
		e.blame("a result needs an id")
	}
	if e.fault != nil {
		return e.fault
	}
	if !has(memberMethod) {
		e.m.Params = nil
	}
	return nil
}

// errorObject reads the error of a response: code an integer, message a string
// or absent, data anything, other members ignored.
func (e *envelope) errorObject(value []byte) *Error {
	if value[0] != '{' {
		e.blame("error must be an object")
		return nil
	}
	out, ok := new(Error), false
	err := eachMember(value, func(name string, v json.RawMessage) {
		switch name {
		case "code":
			n, err := strconv.ParseInt(string(v), 10, 64)
			out.Code, ok = Code(n), err == nil
		case "message":
			s, err := unquoteIf(v)
			if err != nil && string(v) != "null" {
				e.blame("the message of an error must be a string")
			}
			out.Message = s
		case "data":
			out.Data = v
		}
	})
	switch {
	case err != nil:
		e.blame("error must be an object")
	case !ok:
		e.blame("the code of an error must be an integer")
	}
	return out
}

var errNotString = errors.New("not a string")

// unquoteIf returns the text of value if it is a JSON string.
func unquoteIf(value []byte) (string, error) {
	if value[0] != '"' {
		return "", errNotString
	}
	return unquote(value)
}
