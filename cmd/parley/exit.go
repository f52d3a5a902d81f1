package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
)

// Exit codes that scripts can rely on.
const (
	exitOK          = 0
	exitTool        = 1
	exitUsage       = 2
	exitConnect     = 3
	exitProtocol    = 4
	exitDeclined    = 5
	exitUnavailable = 6
	exitTimeout     = 7
	exitLocal       = 8
	exitInterrupted = 130
)

const exitHelp = `Exit codes: 0 done; 1 the tool reported an error; 2 wrong usage; 3 no connection, or it was lost, or the login failed;
4 the server answered with an error; 5 the person declined or cancelled; 6 nobody could be asked, or to log in; 7 timeout;
8 something failed on this side, such as writing a file; 130 interrupted.`

// A usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// A silentError has been told to the person already; it only decides the exit code.
type silentError struct{ code int }

func (e *silentError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// A connectError says that there was no connection.
type connectError struct{ error }

func (e connectError) Unwrap() error { return e.error }

// exitCode chooses the exit code of an error.
func exitCode(ctx context.Context, err error) int {
	var (
		silent    *silentError
		usage     usageError
		connect   connectError
		transport *mcp.TransportError
		exited    *mcp.ServerExitError
		timeout   *mcp.TimeoutError
		protocol  *mcp.Error
		result    *mcp.ResultError
		output    *mcp.OutputError
		tool      *mcp.ToolResultError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &silent):
		return silent.code
	case errors.As(err, &usage):
		return exitUsage
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	case errors.Is(err, mcp.ErrDeclined), errors.Is(err, mcp.ErrCanceled), errors.Is(err, mcpauth.ErrLoginDeclined):
		return exitDeclined
	case errors.Is(err, mcp.ErrUnavailable), errors.Is(err, errNoLogin), missesCapability(err):
		return exitUnavailable
	case errors.As(err, &tool):
		return exitTool
	case errors.As(err, &connect), errors.As(err, &transport), errors.As(err, &exited), errors.Is(err, mcp.ErrClosed), errors.Is(err, mcp.ErrSessionLost):
		return exitConnect
	case errors.As(err, &protocol), errors.As(err, &result), errors.As(err, &output), errors.Is(err, mcp.ErrTooManyRounds):
		return exitProtocol
	}
	return exitLocal
}

// missesCapability reports whether a server refused because it would have had to ask somebody.
func missesCapability(err error) bool {
	var e *mcp.Error
	return errors.As(err, &e) && (e.Code == mcp.CodeMissingCapability || e.Code == mcp.CodeURLElicitationRequired)
}

// explain adds what to do next to errors that people meet.
func explain(err error) string {
	text := err.Error()
	if more := explainLogin(err); more != "" {
		return more
	}
	var e *mcp.Error
	switch {
	case missesCapability(err):
		text += "\nThe server needs to ask somebody. Run this in a terminal, with --interact web, or with --answers FILE."
	case errors.Is(err, mcp.ErrDeclined), errors.Is(err, mcp.ErrCanceled):
		text += "\nNothing was done after that."
	case errors.As(err, &e) && e.Code == mcp.CodeInvalidParams && !errors.Is(err, mcp.ErrNotFound):
		text += "\nparley ls TARGET shows what the server expects."
	}
	return text
}

// unknownMethod reports whether a server said that it does not know what was asked.
func unknownMethod(err error) bool {
	var e *mcp.Error
	return errors.As(err, &e) && e.Code == mcp.CodeMethodNotFound
}
