package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/internal/conn"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// maxFarewells bounds the cancellations that wait for a peer which does not read.
const maxFarewells = 256

// StreamOptions are the bounds of a link over a byte stream. Nil and zero mean the defaults.
type StreamOptions struct {
	// MaxLine bounds one incoming message in bytes. Default 16 MiB. A longer line is skipped in constant memory and fails the request
	// it answers, as far as that can be told.
	MaxLine int
	// CloseTimeout bounds how long Close waits for queued output to be taken. Default 3 s.
	CloseTimeout time.Duration
	// Logger is told of lines that are no messages, once for each link. Default: nobody.
	Logger *slog.Logger
}

// A streamLink is a [Link] over a byte stream, one message a line.
type streamLink struct {
	conn    *conn.Conn
	to      Receiver
	log     *slog.Logger
	explain func(err error) error // says why the stream ended, may wait a little; nil for as is
	rev     atomic.Uint32
	noise   atomic.Bool // a line that is no message was logged

	ended chan struct{} // closed when the stream has ended and lostErr is set
	gone  error
	wg    sync.WaitGroup

	mu        sync.Mutex
	closing   bool
	farewells []jsonrpc.Message
	bidding   bool
}

// openStream starts a link that reads r and writes w.
func openStream(r io.ReadCloser, w io.WriteCloser, to Receiver, o *StreamOptions, explain func(error) error) *streamLink {
	if o == nil {
		o = &StreamOptions{}
	}
	l := &streamLink{to: to, log: o.Logger, explain: explain, ended: make(chan struct{})}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	l.conn = conn.New(r, w, l, &conn.Options{MaxLine: o.MaxLine, Grace: o.CloseTimeout})
	l.wg.Go(l.run)
	return l
}

// run reads until the stream ends.
func (l *streamLink) run() {
	err := l.conn.Run(context.Background())
	l.mu.Lock()
	closing := l.closing
	l.mu.Unlock()
	switch {
	case closing:
		l.gone = fmt.Errorf("%w: the client was closed", ErrClosed)
	default:
		if err == nil {
			err = errors.New("the server ended its output")
		}
		if l.explain != nil {
			err = l.explain(err)
		}
		l.gone = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	close(l.ended)
	if !closing {
		l.to.Lost(err)
	}
}

// RoundTrip implements [Link].
func (l *streamLink) RoundTrip(ctx context.Context, req *Outgoing) (*jsonrpc.Message, error) {
	resp, err := l.conn.Call(ctx, req.ID, req.Method, req.Params)
	switch {
	case err == nil:
		return resp, nil
	case errors.Is(err, conn.ErrClosed):
		return nil, l.reason(ctx)
	case ctx.Err() != nil && req.Method != MethodInitialize && req.Method != MethodDiscover:
		l.bid(req.ID, context.Cause(ctx))
	}
	return nil, err
}

// reason waits until it is known why the stream ended.
func (l *streamLink) reason(ctx context.Context) error {
	select {
	case <-l.ended:
		return l.gone
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrClosed, context.Cause(ctx))
	}
}

// bid tells the server that nobody waits for a request any more. One goroutine at most writes these, so that a peer that does not read
// holds nobody up and costs no more than it.
func (l *streamLink) bid(id jsonrpc.ID, cause error) {
	params, err := marshalJSON(&CancelledParams{RequestID: id, Reason: cancelReason(cause)})
	if err != nil {
		l.log.Error("mcp: encoding a cancellation", "err", err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing || len(l.farewells) >= maxFarewells {
		return
	}
	l.farewells = append(l.farewells, jsonrpc.Message{Method: NotificationCancelled, Params: params})
	if !l.bidding {
		l.bidding = true
		l.wg.Go(l.bidAll)
	}
}

func (l *streamLink) bidAll() {
	for {
		l.mu.Lock()
		if len(l.farewells) == 0 {
			l.bidding = false
			l.mu.Unlock()
			return
		}
		m := l.farewells[0]
		l.farewells = l.farewells[1:]
		l.mu.Unlock()
		if err := l.conn.Write(&m); err != nil {
			l.log.Debug("mcp: sending a cancellation", "err", err)
		}
	}
}

// cancelReason says why a request is cancelled, in words that are meant for the server.
func cancelReason(cause error) string {
	if errors.Is(cause, context.DeadlineExceeded) {
		return "timed out"
	}
	return "cancelled"
}

// Send implements [Link].
func (l *streamLink) Send(ctx context.Context, m *jsonrpc.Message) error {
	err := l.conn.WriteContext(ctx, m)
	if errors.Is(err, conn.ErrClosed) {
		return l.reason(ctx)
	}
	return err
}

// Established implements [Link].
func (l *streamLink) Established(rev Revision) { l.rev.Store(uint32(rev)) }

// Close implements [Link].
func (l *streamLink) Close() error {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	err := l.conn.Close()
	l.wg.Wait()
	return err
}

// HandleMessage implements the handler of package conn.
func (l *streamLink) HandleMessage(ctx context.Context, _ *conn.Conn, m *jsonrpc.Message) {
	l.to.Receive(ctx, m, jsonrpc.ID{})
}

// HandleMalformed implements the handler of package conn: batches of the revision that has them are taken apart, and everything else
// is passed over.
func (l *streamLink) HandleMalformed(ctx context.Context, c *conn.Conn, line []byte, m *jsonrpc.Message, err *jsonrpc.Error) {
	if jsonrpc.IsBatch(line) && Revision(l.rev.Load()).Rules().Batch {
		items, bad := jsonrpc.DecodeBatch(line)
		if bad == nil {
			for i := range items {
				if items[i].Err == nil {
					c.Deliver(ctx, &items[i].Message)
				}
			}
			return
		}
	}
	if m != nil && m.Error != nil { // an error response about something unreadable, or one that a call has got already
		l.log.Debug("mcp: the server sent an error that answers nothing", "err", m.Error)
		return
	}
	if !l.noise.Swap(true) {
		l.log.Warn("mcp: the server writes things that are no messages on its output; passing over them",
			"line", clip(validText(string(line)), 200), "err", err.Message)
	}
}
