package mcphttp

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/seed38e7925c/parley/internal/sse"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// linkEventIDBytes bounds the event ids that are remembered, since they go back in a header.
const linkEventIDBytes = 4 << 10

// A linkTail is what is remembered of a stream: where it was left, and what its server said about coming back.
type linkTail struct {
	id    string         // the last event id, empty for none
	retry time.Duration  // zero if the server did not say
	seen  int            // events
	stray *jsonrpc.Error // an error that names no request
}

// note remembers what an event says of the stream.
func (t *linkTail) note(ev *sse.Event) {
	t.seen++
	if ev.Retry > 0 {
		t.retry = ev.Retry
	}
	if !ev.HasID {
		return
	}
	t.id = ev.ID
	if len(t.id) > linkEventIDBytes || !headerText(t.id) {
		t.id = "" // cannot be sent back
	}
}

// resumable reports whether a stream that ended with err can be asked to go on.
func (t *linkTail) resumable(err error) bool { return t.id != "" && !errors.Is(err, sse.ErrTooLong) }

// headerText reports whether s can be the value of a header as it is.
func headerText(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7F {
			return false
		}
	}
	return true
}

// follow reads a stream until the response to req and hands everything else to the receiver. A req without an id is answered by
// nothing. The error is why the stream ended without the response.
func (l *link) follow(ctx context.Context, body io.Reader, req *mcp.Outgoing, t *linkTail) (*jsonrpc.Message, error) {
	r := sse.NewReader(body, l.opts.MaxMessageBytes)
	for {
		ev, err := r.Next()
		if err != nil {
			return nil, err
		}
		t.note(&ev)
		if !readable(ev.Name, ev.Data) {
			continue
		}
		if m := l.take(ctx, ev.Data, req, t); m != nil {
			return m, nil
		}
	}
}
