package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads one message, which must be the whole of data apart from space
// around it. The package comment lists what is refused.
//
// Raw fields of the message alias data, which must not change while they are in
// use; the ID and the method do not.
//
// On failure the error is an [*Error] with [CodeParseError] if data is not JSON
// in valid UTF-8, and [CodeInvalidRequest] otherwise, a batch array included.
// The Message is then not to be acted upon. It carries the ID if that could be
// read beyond doubt, the Method likewise, and if it was meant as a response its
// Error is the one returned: whoever waits for that ID can be handed the Message.
//
// Decode may be called concurrently.
func Decode(data []byte) (Message, error) {
	if tooDeep(data) {
		return salvage(data, errTooDeep)
	}
	d := decoders.Get().(*decoder)
	m, err := d.decode(data)
	d.release()
	if err != nil {
		return salvage(data, err)
	}
	return m, nil
}

// decoders holds decoders that own no data.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decoder walks over the members of one message.
type decoder struct {
	text jsontext.Decoder
	in   bytes.Buffer

	m      Message
	seen   member
	nullID bool
	fault  *Error // the first thing wrong with the envelope
}

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

// reset makes d read data.
func (d *decoder) reset(data []byte, opts ...jsontext.Options) {
	d.in = *bytes.NewBuffer(data)
	d.text.Reset(&d.in, opts...)
}

// release drops every reference to the data and gives d back to the pool.
func (d *decoder) release() {
	d.reset(nil)
	d.m, d.seen, d.nullID, d.fault = Message{}, 0, false, nil
	decoders.Put(d)
}

// decode reads the one message in data. The error is a *jsontext.SyntacticError
// or an *Error.
func (d *decoder) decode(data []byte) (Message, error) {
	d.reset(data)
	if d.text.PeekKind() != '{' {
		return Message{}, d.notObject()
	}
	if _, err := d.text.ReadToken(); err != nil {
		return Message{}, err
	}
	for d.text.PeekKind() != '}' {
		if err := d.member(); err != nil {
			return Message{}, err
		}
	}
	if _, err := d.text.ReadToken(); err != nil {
		return Message{}, err
	}
	if err := d.end(); err != nil {
		return Message{}, err
	}
	if err := d.check(); err != nil {
		return Message{}, err
	}
	return d.m, nil
}

// notObject says what is wrong with data that does not start with an object.
func (d *decoder) notObject() error {
	v, err := d.text.ReadValue()
	if err != nil {
		return err
	}
	if err := d.end(); err != nil {
		return err
	}
	if v.Kind() == '[' {
		return invalid("a batch is not accepted here; send one message at a time")
	}
	return invalid("a message must be an object")
}

// end makes sure that nothing follows the message.
func (d *decoder) end() error {
	_, err := d.text.ReadToken()
	switch {
	case err == io.EOF: //nolint:errorlint // the documented, unwrapped end of the decoder
		return nil
	case err != nil:
		return err
	default:
		return &jsontext.SyntacticError{ByteOffset: d.text.InputOffset(), Err: errTrailing}
	}
}

var errTrailing = errors.New("more data after the message")

// member reads one name and its value.
func (d *decoder) member() error {
	name, err := d.text.ReadValue()
	if err != nil {
		return err
	}
	which := memberOf(name)
	value, err := d.text.ReadValue()
	if err != nil {
		return err
	}
	d.seen |= which
	d.set(which, value)
	return nil
}

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

// set stores the value of an envelope member.
func (d *decoder) set(which member, value []byte) {
	switch which {
	case memberVersion:
		if !isVersion(value) {
			d.blame(`jsonrpc must be the string "2.0"`)
		}
	case memberID:
		d.setID(value)
	case memberMethod:
		if value[0] != '"' {
			d.blame("method must be a string")
			return
		}
		s, err := methodName(value)
		if err != nil || s == "" {
			d.blame("method must be a string that is not empty")
		}
		d.m.Method = s
	case memberParams:
		d.m.Params = value
	case memberResult:
		d.m.Result = value
	case memberError:
		d.m.Error = d.errorObject(value)
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
func (d *decoder) setID(value []byte) {
	if value[0] == 'n' {
		d.nullID = true
		return
	}
	id, err := parseID(value)
	if err != nil && d.fault == nil {
		d.fault = asError(err)
	}
	d.m.ID = id
}

// blame records the first fault of the envelope.
func (d *decoder) blame(what string) {
	if d.fault == nil {
		d.fault = invalid(what)
	}
}

// check judges the envelope as a whole.
func (d *decoder) check() error {
	has := func(m member) bool { return d.seen&m != 0 }
	switch {
	case d.fault != nil:
	case !has(memberVersion):
		d.blame(`jsonrpc is missing; it must be the string "2.0"`)
	case has(memberMethod) && has(memberResult|memberError):
		d.blame("a message has a method or is a response, not both")
	case has(memberResult) && has(memberError):
		d.blame("a response has a result or an error, not both")
	case !has(memberMethod | memberResult | memberError):
		d.blame("a message needs a method, a result or an error")
	case d.nullID && !has(memberError):
		d.blame("id must not be null")
	case has(memberResult) && !has(memberID):
		d.blame("a result needs an id")
	}
	if d.fault != nil {
		return d.fault
	}
	if !has(memberMethod) {
		d.m.Params = nil
	}
	return nil
}

// errorObject reads the error of a response: code an integer, message a string
// or absent, data anything, other members ignored.
func (d *decoder) errorObject(value []byte) *Error {
	if value[0] != '{' {
		d.blame("error must be an object")
		return nil
	}
	e, ok := new(Error), false
	err := eachMember(value, func(name string, v json.RawMessage) {
		switch name {
		case "code":
			n, err := strconv.ParseInt(string(v), 10, 64)
			e.Code, ok = Code(n), err == nil
		case "message":
			s, err := unquoteIf(v)
			if err != nil && string(v) != "null" {
				d.blame("the message of an error must be a string")
			}
			e.Message = s
		case "data":
			e.Data = v
		}
	})
	switch {
	case err != nil:
		d.blame("error must be an object")
	case !ok:
		d.blame("the code of an error must be an integer")
	}
	return e
}

var (
	errNotString = errors.New("not a string")
	errNotObject = errors.New("not an object")
)

// unquoteIf returns the text of value if it is a JSON string.
func unquoteIf(value []byte) (string, error) {
	if value[0] != '"' {
		return "", errNotString
	}
	return unquote(value)
}

// eachMember calls f for each member of the JSON object in data.
func eachMember(data []byte, f func(name string, value json.RawMessage), opts ...jsontext.Options) error {
	d := decoders.Get().(*decoder)
	defer d.release()
	d.reset(data, opts...)
	if d.text.PeekKind() != '{' {
		return errNotObject
	}
	if _, err := d.text.ReadToken(); err != nil {
		return err
	}
	for d.text.PeekKind() != '}' {
		raw, err := d.text.ReadValue()
		if err != nil {
			return err
		}
		// Where invalid UTF-8 is allowed it becomes U+FFFD and cannot turn
		// into a name that f knows, so the error says nothing new.
		name, _ := jsontext.AppendUnquote(nil, raw)
		value, err := d.text.ReadValue()
		if err != nil {
			return err
		}
		f(string(name), json.RawMessage(value))
	}
	if _, err := d.text.ReadToken(); err != nil {
		return err
	}
	return d.end()
}

// invalid is a refusal of something that is JSON but not a message.
func invalid(what string) *Error {
	return &Error{Code: CodeInvalidRequest, Message: "invalid request: " + what}
}

// explain turns whatever a decoder returned into the error for the sender.
func explain(data []byte, err error) *Error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF):
		return &Error{Code: CodeParseError, Message: "parse error: the message is empty"}
	case !errors.As(err, &syntax):
		return asError(err)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return invalid(fmt.Sprintf("a name occurs twice in one object, at byte %d", syntax.ByteOffset))
	case !utf8.Valid(data):
		return &Error{Code: CodeParseError, Message: "parse error: the message is not valid UTF-8"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Code: CodeParseError, Message: fmt.Sprintf("parse error: the message ends within a value, at byte %d", len(data))}
	default:
		return &Error{Code: CodeParseError, Message: fmt.Sprintf("parse error: invalid JSON at byte %d", syntax.ByteOffset)}
	}
}

// trimSpace returns raw without JSON space around it.
func trimSpace(raw []byte) []byte { return bytes.Trim(raw, " \t\r\n") }
