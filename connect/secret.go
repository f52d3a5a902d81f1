package connect

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/seed38e7925c/parley/mcp"
)

// redacted is what a secret shows of itself.
const redacted = "[secret]"

// A Secret is a value that shows itself to nobody who does not ask for it: printed, logged, formatted with any verb or encoded as JSON or
// text it is "[secret]", and [mcp.Once] refuses results that contain one. [Secret.Reveal] returns the value. The zero Secret holds the
// zero value.
type Secret[T any] struct {
	reveal func() T // a function, since package fmt prints what a pointer points to, and the fields of unexported fields
}

// A Value is a secret text: a key, a password, a token.
type Value = Secret[string]

var (
	_ mcp.Secret     = Value{}
	_ fmt.Formatter  = Value{}
	_ slog.LogValuer = Value{}
)

// NewSecret makes a secret of a value.
func NewSecret[T any](v T) Secret[T] { return Secret[T]{func() T { return v }} }

// Reveal returns the value. Do not store, log or send what it returns, other than to the one the secret is for.
func (s Secret[T]) Reveal() T {
	if s.reveal == nil {
		var zero T
		return zero
	}
	return s.reveal()
}

// String implements [fmt.Stringer].
func (s Secret[T]) String() string { return redacted }

// GoString implements [fmt.GoStringer].
func (s Secret[T]) GoString() string { return redacted }

// Format implements [fmt.Formatter], for every verb.
func (s Secret[T]) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalJSON implements the interface of encoding/json and of the libraries that follow it.
func (s Secret[T]) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText implements [encoding.TextMarshaler].
func (s Secret[T]) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements [slog.LogValuer].
func (s Secret[T]) LogValue() slog.Value { return slog.StringValue(redacted) }

// SecretValue marks the type as a [mcp.Secret].
func (s Secret[T]) SecretValue() {}
