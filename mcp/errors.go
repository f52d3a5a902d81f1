package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// Errors that calls of this package return, alone or wrapped. Use [errors.Is].
var (
	// ErrInputRequired unwinds a handler whose question is now on its way to the person (2026-07-28). Return it as it is.
	ErrInputRequired = errors.New("mcp: the answer is not here yet; the question is being asked")
	// ErrDeclined: the person was asked and said no.
	ErrDeclined = errors.New("mcp: the person declined")
	// ErrCanceled: the person was asked and dismissed the question without an answer.
	ErrCanceled = errors.New("mcp: the person dismissed the question")
	// ErrUnavailable: nobody could be asked, or the client offers no way for what was wanted.
	ErrUnavailable = errors.New("mcp: unavailable at this client")
	// ErrClosed: the connection, session or exchange is over.
	ErrClosed = errors.New("mcp: closed")
	// ErrSessionLost: the server no longer knows the session; what it held is gone.
	ErrSessionLost = errors.New("mcp: session lost")
	// ErrTooManyRounds: a call kept asking beyond the bound.
	ErrTooManyRounds = errors.New("mcp: too many rounds of questions")
	// ErrNotFound: there is no such resource, prompt or tool. Clients learn it of resources from every server, and of tools and prompts
	// from servers that name the missing thing in the error's data, as those of this package do; others answer -32602 ([CodeInvalidParams])
	// with a text, as they do for bad arguments.
	ErrNotFound = errors.New("mcp: not found")
)

// A ToolError is a failure that a model should read: the tool's answer is a result with isError and this text. Make one with
// [ToolErrorf]. Its text crosses the wire; Err, if set, does not and is only logged.
//
// # How failures travel
//
// This is the one place that explains it. A request can fail in two ways, and which one it is decides who gets to see it.
//
// A protocol error is a JSON-RPC error response: the request could not be served as such. Hosts treat it as an outage or a bug, and
// models usually never see it. A tool failure is an ordinary result with isError set: the tool ran, or refused to run, and the model
// reads why and can do better. Unknown tools, malformed requests and missing capabilities are protocol errors; bad arguments are
// tool failures since 2025-11-25 and protocol errors (-32602) before.
//
// What a handler returns as its error is sent like this, the first line that fits decides:
//
//	an error that is or wraps *Error       that protocol error, code, message and data as they are
//	an error that is or wraps *ToolError   tools: a result with isError and the message; elsewhere -32603 with the message
//	an error that wraps ErrNotFound        resources: "resource not found" with the code of the revision and the URI; prompts: -32602
//	the errors of asking                   see Call.Ask
//	anything else                          "internal error": tools as a result with isError, elsewhere -32603; logged in full
//
// So only messages that were written for the peer cross the wire: those of *Error and *ToolError. An *Error that a handler got from
// another server, as the client of that server, counts: wrap it without %w, or make a ToolError of it, where it is not meant to go on.
// A panic is answered with -32603 "internal error", and its stack goes to the log, unless ServerOptions.PropagatePanics is set. A
// goroutine that a handler starts is on its own: Go offers no way to contain a panic there.
type ToolError struct {
	Text string
	Err  error // cause, for errors.Is and the log; may be nil
}

// Error returns the text.
func (e *ToolError) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *ToolError) Unwrap() error { return e.Err }

// ToolErrorf returns a [*ToolError] with a formatted text. As with [fmt.Errorf], an operand of the verb %w becomes the cause; its text
// is then part of the message and crosses the wire.
func ToolErrorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &ToolError{Text: err.Error(), Err: errors.Unwrap(err)}
}

// A TransportError is a refusal below the protocol: an HTTP status without a JSON-RPC body that would explain it, an answer that broke
// off, or, with Status 0, no answer at all.
type TransportError struct {
	Status     int           // HTTP status, 0 if there was no answer
	Body       string        // the beginning of the body, at most 4 KiB, for people
	RetryAfter time.Duration // what the server asked to wait; zero when it did not say
	Challenges []string      // the values of WWW-Authenticate
	Err        error         // cause, may be nil
}

// Error returns status, cause and the beginning of the body.
func (e *TransportError) Error() string {
	s := "mcp: no answer from the server"
	if e.Status != 0 {
		s = "mcp: the server answered with HTTP status " + strconv.Itoa(e.Status)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Body != "" {
		s += ": " + strconv.Quote(e.Body)
	}
	return s
}

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Err }

// logTool notes the cause of a deliberate failure: at which level depends on whether something went wrong at all.
func logTool(ctx context.Context, log *slog.Logger, msg string, tool *ToolError) {
	level := slog.LevelWarn
	switch {
	case tool.Err == nil:
		return
	case errors.Is(tool.Err, ErrDeclined), errors.Is(tool.Err, ErrCanceled):
		level = slog.LevelDebug // the person's good right
	case errors.Is(tool.Err, ErrUnavailable):
		level = slog.LevelInfo
	}
	log.Log(ctx, level, msg, "error", tool.Text, "cause", tool.Err)
}

// errInternal is what a peer learns of a failure that was not meant for it.
var errInternal = &Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}

// errBadCursor refuses a cursor that this server did not make.
var errBadCursor = invalidParams("cursor is not one of this server's; start again without it")

// invalidParams returns a protocol error with code -32602.
func invalidParams(format string, args ...any) *Error {
	return &Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// methodNotFound returns the protocol error for a method that is not served.
func methodNotFound(method string) *Error {
	return &Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: " + clip(method, 100)}
}

// clip returns s, or its beginning of at most n bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
