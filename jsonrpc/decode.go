package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	envelope
}

// reset makes d read data.
func (d *decoder) reset(data []byte, opts ...jsontext.Options) {
	d.in = *bytes.NewBuffer(data)
	d.text.Reset(&d.in, opts...)
}

// release drops every reference to the data and gives d back to the pool.
func (d *decoder) release() {
	d.reset(nil)
	d.envelope = envelope{}
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
	d.set(which, value)
	return nil
}

var errNotObject = errors.New("not an object")

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
