package jsonrpc

import (
	"encoding/json"
	"errors"
	"strconv"
)

// Code is the number that classifies an [Error].
type Code int64

// The codes that JSON-RPC 2.0 itself defines.
const (
	// CodeParseError: the bytes are not JSON.
	CodeParseError Code = -32700
	// CodeInvalidRequest: JSON, but not a message of this protocol.
	CodeInvalidRequest Code = -32600
	// CodeMethodNotFound: the receiver does not know the method.
	CodeMethodNotFound Code = -32601
	// CodeInvalidParams: the method does not accept these params.
	CodeInvalidParams Code = -32602
	// CodeInternalError: the receiver failed.
	CodeInternalError Code = -32603
)

// Error is the error object of a response, and the error that [Decode] returns.
// It must not be changed once it was handed on.
type Error struct {
	Code    Code
	Message string          // one sentence; it crosses the wire
	Data    json.RawMessage // further detail as one JSON value, nil for none
}

// Error returns the message and the code.
func (e *Error) Error() string {
	return e.Message + " (" + strconv.FormatInt(int64(e.Code), 10) + ")"
}

// Is reports whether target is an [*Error] with the same code, for [errors.Is].
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t != nil && t.Code == e.Code
}

// asError returns err as the *Error it wraps, or as an invalid request.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeInvalidRequest, Message: "invalid request: " + err.Error()}
}
