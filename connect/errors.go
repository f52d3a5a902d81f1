package connect

import (
	"errors"
	"fmt"

	"github.com/seed38e7925c/parley/mcp"
)

// Errors that the methods of this package return to handlers, beside those of [mcp.Call.Ask]; use errors.Is. A handler returns them as
// they are: each has words for the model.
var (
	// ErrExpired: nobody finished the interaction in time.
	ErrExpired = errors.New("connect: the interaction was not finished in time")
	// ErrTooMany: the person, or the tool, has too many interactions open ([Options.MaxOpenPerPerson], [Options.MaxOpenPerTool]).
	ErrTooMany = errors.New("connect: too many open interactions")
	// ErrUnknown: an approved action was begun, and nobody knows whether it took effect. It is never run again by itself.
	ErrUnknown = errors.New("connect: the outcome of the action is unknown")
	// ErrFailed: the interaction ended without what was wanted, for a reason that the person has seen on its page.
	ErrFailed = errors.New("connect: the interaction failed")
)

// told is an error with words for the model, and its cause for the log and errors.Is.
func told(cause error, format string, args ...any) error {
	return &mcp.ToolError{Text: fmt.Sprintf(format, args...), Err: cause}
}

// A LinkError is what a handler gets when its client cannot send a person to a page: the page's address, for the person to open. As the
// error of a tool it becomes a result that a model can read and pass on. The link is harmless to anybody but the person who is asked:
// its page demands that they sign in. The same call, made again once the person is done, goes on.
type LinkError struct {
	URL   string // of the page
	Title string // of what is asked
	text  string
}

// Error returns the words that the model reads.
func (e *LinkError) Error() string { return e.text }

// Unwrap makes it a failure of the tool, with the words.
func (e *LinkError) Unwrap() error { return &mcp.ToolError{Text: e.text} }

// Is reports that it is a way of saying [mcp.ErrUnavailable].
func (e *LinkError) Is(target error) bool { return target == mcp.ErrUnavailable }

// RefusedError says why what a person typed is not accepted. Make one with [Refuse].
type RefusedError struct{ Text string }

// Error returns the text.
func (e *RefusedError) Error() string { return e.Text }

// Refuse returns a [*RefusedError], for [SecretSpec.Validate] and the functions of a [PageSpec]: the person reads its text, on the page.
func Refuse(format string, args ...any) error {
	return &RefusedError{Text: fmt.Sprintf(format, args...)}
}
