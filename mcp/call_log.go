package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// Log sends a log message to the client, if the client wants messages of that level: in revision 2026-07-28 the request itself must
// ask for them, before it the level is that of logging/setLevel (or ServerOptions.LogLevel). data is encoded as JSON; logger may be
// empty. What is not wanted is dropped without an error. Clients show such messages to people and may hand them to models: they must
// hold no secrets.
//
// Specification: server/utilities/logging.
func (c *Call) Log(ctx context.Context, level LoggingLevel, logger string, data any) error {
	if !level.Valid() {
		return fmt.Errorf("mcp: %q is no log level", level)
	}
	if !c.logs(level) {
		return nil
	}
	raw, err := marshalJSON(data)
	if err != nil {
		return fmt.Errorf("mcp: the data of a log message cannot be encoded: %w", err)
	}
	params, err := marshalJSON(&LoggingMessageParams{Level: level, Logger: logger, Data: raw})
	if err != nil {
		return fmt.Errorf("mcp: a log message cannot be encoded: %w", err)
	}
	return c.send(ctx, &jsonrpc.Message{Method: NotificationMessage, Params: params})
}

// logs reports whether the client wants messages of the level.
func (c *Call) logs(level LoggingLevel) bool {
	if c.exchange == nil || c.exchange.Stream == nil || c.client.logLevel == "" {
		return false
	}
	if c.server != nil && c.server.options.NoLogging {
		return false
	}
	return level.Severity() >= c.client.logLevel.Severity()
}

// Logger returns a logger whose records go to the client by [Call.Log]: the data of a message is an object with the record's msg and
// attributes. Levels between those of slog are rounded down; slog.LevelError+4 and above are critical. It is meant for what the
// person at the client should see; the server's own log is another one.
func (c *Call) Logger() *slog.Logger {
	buf := &logBuffer{}
	inner := slog.NewJSONHandler(&buf.text, &slog.HandlerOptions{
		Level: slog.LevelDebug - 1000,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return slog.Attr{}
			}
			return a
		},
	})
	return slog.New(&callHandler{call: c, inner: inner, buf: buf})
}

// logBuffer is where one record at a time is encoded.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// callHandler is the slog.Handler of Call.Logger.
type callHandler struct {
	call  *Call
	inner slog.Handler // writes to buf
	buf   *logBuffer
}

// Enabled reports whether the client wants messages of the level.
func (h *callHandler) Enabled(_ context.Context, level slog.Level) bool {
	return h.call.logs(loggingLevel(level))
}

// Handle sends the record to the client.
func (h *callHandler) Handle(ctx context.Context, r slog.Record) error {
	h.buf.mu.Lock()
	h.buf.text.Reset()
	err := h.inner.Handle(ctx, r)
	data := bytes.Clone(bytes.TrimSpace(h.buf.text.Bytes()))
	h.buf.mu.Unlock()
	if err != nil {
		return err
	}
	return h.call.Log(ctx, loggingLevel(r.Level), "", json.RawMessage(data))
}

// WithAttrs returns a handler that adds attributes.
func (h *callHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &callHandler{call: h.call, inner: h.inner.WithAttrs(attrs), buf: h.buf}
}

// WithGroup returns a handler that opens a group.
func (h *callHandler) WithGroup(name string) slog.Handler {
	return &callHandler{call: h.call, inner: h.inner.WithGroup(name), buf: h.buf}
}

// loggingLevel maps a level of slog to one of the protocol.
func loggingLevel(l slog.Level) LoggingLevel {
	switch {
	case l < slog.LevelInfo:
		return LevelDebug
	case l < slog.LevelInfo+2:
		return LevelInfo
	case l < slog.LevelWarn:
		return LevelNotice
	case l < slog.LevelError:
		return LevelWarning
	case l < slog.LevelError+4:
		return LevelError
	}
	return LevelCritical
}
