package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// HandleMethod serves requests of a method that the protocol does not define, of every revision. Params are decoded into P, where
// names match exactly and unknown members are ignored; _meta is at Call.Meta. The result R must encode to a JSON object; at
// 2026-07-28 it gets what every result has. Choose a method name with a prefix of your own, as in "com.example/reindex". HandleMethod
// panics if the name is taken or is one that the protocol defines; a nil h removes what was there.
func HandleMethod[P, R any](s *Server, name string, h func(ctx context.Context, call *Call, params P) (R, error)) {
	var handler Handler
	if h != nil {
		handler = func(ctx context.Context, c *Call) (any, error) {
			var p P
			if err := decodeParams(c, &p); err != nil {
				return nil, err
			}
			return h(ctx, c, p)
		}
	}
	if err := s.custom.set(&s.custom.requests, name, methods[name] != nil, handler); err != nil {
		panic(err)
	}
}

// HandleNotification serves notifications of a method that the protocol does not define, and those of the protocol that the core has
// no use for, such as "notifications/roots/list_changed" and "notifications/progress". It is like [HandleMethod]; errors are logged,
// for nobody can be told. Notifications of one connection are handled one after the other, so that a slow handler holds up its
// connection.
func HandleNotification[P any](s *Server, name string, h func(ctx context.Context, call *Call, params P) error) {
	var handler Handler
	if h != nil {
		handler = func(ctx context.Context, c *Call) (any, error) {
			var p P
			if err := decodeParams(c, &p); err != nil {
				return nil, err
			}
			return nil, h(ctx, c, p)
		}
	}
	own := name == NotificationCancelled || name == NotificationInitialized
	if err := s.custom.set(&s.custom.notifications, name, own, handler); err != nil {
		panic(err)
	}
}

// set adds or removes a handler.
func (m *customMethods) set(table *map[string]Handler, name string, own bool, h Handler) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch _, taken := (*table)[name]; {
	case name == "":
		return errors.New("mcp: a method needs a name")
	case own:
		return fmt.Errorf("mcp: method %q is served by this package", name)
	case h == nil:
		delete(*table, name)
		return nil
	case taken:
		return fmt.Errorf("mcp: method %q has a handler already", name)
	}
	if *table == nil {
		*table = make(map[string]Handler)
	}
	(*table)[name] = h
	return nil
}

// handleNotification serves a notification of either era.
func (s *Server) handleNotification(ctx context.Context, c *Call) error {
	if c.exchange.Session != nil && c.exchange.Session.notified(c) {
		return nil
	}
	if h, ok := s.custom.notification(c.method); ok {
		_, err := h(ctx, c)
		return err
	}
	return nil
}

// decodeParams decodes the params of a call; absent params are {}.
func decodeParams(c *Call, v any) error {
	raw := c.exchange.Message.Params
	if c.exchange.params.shape == paramsAbsent {
		raw = emptyObject
	}
	if err := unmarshalJSON(raw, v); err != nil {
		return invalidParams("params: %v", errDecode{err})
	}
	return nil
}

// encodeParams encodes params of a message to the client.
func encodeParams(params any) (json.RawMessage, error) {
	if params == nil {
		return nil, nil
	}
	raw, err := marshalJSON(params)
	if err != nil {
		return nil, fmt.Errorf("mcp: params cannot be encoded: %w", err)
	}
	if objectState(raw) != era.Valid {
		return nil, errors.New("mcp: params must encode to a JSON object")
	}
	return raw, nil
}

// errDecode tells a peer what is wrong with its JSON, without the names of Go types.
type errDecode struct{ err error }

// Error says which value is of a wrong type, or what is wrong with the syntax.
func (e errDecode) Error() string {
	var sem *jsonv2.SemanticError
	if errors.As(e.err, &sem) {
		where := "the value"
		if sem.JSONPointer != "" {
			where = string(sem.JSONPointer)
		}
		if sem.JSONKind != 0 && sem.JSONKind != jsontext.KindInvalid {
			return where + " is " + kindName(sem.JSONKind) + ", which does not fit here"
		}
		return where + " does not fit here"
	}
	var syn *jsontext.SyntacticError
	if errors.As(e.err, &syn) {
		if syn.JSONPointer != "" {
			return string(syn.JSONPointer) + " is not valid: " + syn.Err.Error()
		}
		return "not valid: " + syn.Err.Error()
	}
	return "it cannot be read"
}

// Unwrap returns the decoder's own error, for the log.
func (e errDecode) Unwrap() error { return e.err }

// isNumber reports whether text is a JSON number.
func isNumber(text string) bool {
	v := jsontext.Value(text)
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && v.IsValid() && v.Kind() == '0' &&
		text[len(text)-1] > ' '
}

// errNotObject says that bytes are not one JSON object.
var errNotObject = errors.New("not a JSON object")

// errNotFinite refuses what JSON cannot write.
var errNotFinite = errors.New("mcp: progress must be a finite number")

// finite reports whether JSON can write f.
func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// appendNumber appends a finite number.
func appendNumber(dst []byte, f float64) []byte {
	raw, err := jsonv2.Marshal(f)
	if err != nil { // only numbers that are not finite fail
		return append(dst, '0')
	}
	return append(dst, raw...)
}

// logCall returns the server's logger with what the call is about.
func (s *Server) logCall(c *Call) *slog.Logger {
	return s.log.With("method", c.method, "name", clip(c.name, maxQuotedName), "id", c.ID().String(), "revision", c.rev.String())
}

// requestMessage builds a request to a client.
func requestMessage(id jsonrpc.ID, method string, params json.RawMessage) *jsonrpc.Message {
	return &jsonrpc.Message{ID: id, Method: method, Params: params}
}
