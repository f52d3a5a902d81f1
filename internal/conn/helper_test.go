package conn_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/internal/conn"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// funcs is a Handler of functions; nil ones do nothing.
type funcs struct {
	message   func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message)
	malformed func(ctx context.Context, c *conn.Conn, line []byte, m *jsonrpc.Message, err *jsonrpc.Error)
}

func (h funcs) HandleMessage(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
	if h.message != nil {
		h.message(ctx, c, m)
	}
}

func (h funcs) HandleMalformed(ctx context.Context, c *conn.Conn, line []byte, m *jsonrpc.Message, err *jsonrpc.Error) {
	if h.malformed != nil {
		h.malformed(ctx, c, line, m, err)
	}
}

// echo answers every request with its params, on a goroutine of its own.
func echo(t testing.TB) funcs {
	return funcs{message: func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
		if m.Kind() != jsonrpc.Request {
			return
		}
		must(t, c.Go(ctx, m.ID, func(context.Context) {
			must(t, c.Write(&jsonrpc.Message{ID: m.ID, Result: m.Params}))
		}))
	}}
}

func must(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Error(err)
	}
}

// side is a running connection.
type side struct {
	*conn.Conn
	done chan struct{}
	err  error // of Run, once done is closed
}

// start runs a connection.
func start(ctx context.Context, r io.ReadCloser, w io.WriteCloser, h conn.Handler, o *conn.Options) *side {
	s := &side{Conn: conn.New(r, w, h, o), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.err = s.Run(ctx)
	}()
	return s
}

// wait returns what Run returned.
func (s *side) wait() error {
	<-s.done
	return s.err
}

// pair runs two connections that talk to each other until the test ends.
func pair(t testing.TB, ha, hb conn.Handler, o *conn.Options) (a, b *side) {
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	ctx := context.WithoutCancel(t.Context()) // which ends before the cleanup
	a = start(ctx, ar, aw, ha, o)
	b = start(ctx, br, bw, hb, o)
	t.Cleanup(func() {
		must(t, a.Close())
		must(t, b.Close())
		must(t, a.wait())
		must(t, b.wait())
	})
	return a, b
}

// peer is the raw other end of a connection.
type peer struct {
	t   testing.TB
	in  *bufio.Reader  // what the connection writes
	out *io.PipeWriter // what it reads
	inR *io.PipeReader
}

// withPeer runs a connection against a raw peer.
func withPeer(ctx context.Context, t testing.TB, h conn.Handler, o *conn.Options) (*side, *peer) {
	cr, pw := io.Pipe()
	pr, cw := io.Pipe()
	return start(ctx, cr, cw, h, o), &peer{t: t, in: bufio.NewReader(pr), out: pw, inR: pr}
}

// send writes text to the connection.
func (p *peer) send(text string) {
	p.t.Helper()
	if _, err := p.out.Write([]byte(text)); err != nil {
		p.t.Errorf("sending %.60q: %v", text, err)
	}
}

// line reads one line from the connection.
func (p *peer) line() string {
	s, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Helper()
		p.t.Errorf("reading a line: %q, %v", s, err)
		return ""
	}
	return s[:len(s)-1]
}

// wantLine fails unless the next line is want.
func (p *peer) wantLine(want string) {
	p.t.Helper()
	if got := p.line(); got != want {
		p.t.Errorf("got  %.200s\nwant %.200s", got, want)
	}
}

// log collects texts of several goroutines.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, s)
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}

// call calls and expects a result.
func call(t testing.TB, s *side, params string) string {
	t.Helper()
	m, err := s.Call(t.Context(), s.NewID(), "echo", json.RawMessage(params))
	if err != nil {
		t.Error(err)
		return ""
	}
	if m.Error != nil {
		t.Error(m.Error)
	}
	return string(m.Result)
}

// wantClosed fails unless err says that the connection is closed, for cause.
func wantClosed(t testing.TB, err, cause error) {
	t.Helper()
	if !errors.Is(err, conn.ErrClosed) || cause != nil && !errors.Is(err, cause) {
		t.Errorf("got %v, want %v because of %v", err, conn.ErrClosed, cause)
	}
}
