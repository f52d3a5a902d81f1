package conn_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/internal/conn"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// blocking works on every request until it is cancelled, then answers.
func blocking(t *testing.T, l *log) funcs {
	return funcs{message: func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
		must(t, c.Go(ctx, m.ID, func(ctx context.Context) {
			<-ctx.Done()
			l.add(context.Cause(ctx).Error())
			if err := c.Write(&jsonrpc.Message{ID: m.ID, Error: &jsonrpc.Error{Code: 1, Message: "cancelled"}}); err != nil {
				l.add(err.Error())
			}
		}))
	}}
}

// S12: when the input ends, work is cancelled and Run returns at once. What the
// work still had to say is sent.
func TestCaseS12(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		s, p := withPeer(t.Context(), t, blocking(t, &l), nil)
		p.send(pingOne + "\n")
		synctest.Wait()
		began := time.Now()
		must(t, p.out.Close())
		p.wantLine(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"cancelled"}}`)
		must(t, s.wait())
		if took := time.Since(began); took != 0 {
			t.Errorf("took %v", took)
		}
		if got := l.all(); len(got) != 1 || got[0] != "connection closed by the peer" {
			t.Errorf("got %q", got)
		}
	})
}

// Linger lets work finish after the input ended, unless something else ends it.
func TestLinger(t *testing.T) {
	for name, tt := range map[string]struct {
		stop func(s *side, cancel func())
		took time.Duration
		work time.Duration
		want error
	}{
		"work done": {func(*side, func()) {}, 2 * time.Second, 2 * time.Second, nil},
		"too slow":  {func(*side, func()) {}, 5 * time.Second, time.Hour, nil},
		"cancelled": {func(_ *side, cancel func()) { cancel() }, time.Second, time.Hour, nil},
		"closed":    {func(s *side, _ func()) { _ = s.Close() }, time.Second, time.Hour, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s, p := withPeer(ctx, t, funcs{message: func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
					must(t, c.Go(ctx, m.ID, func(ctx context.Context) {
						select {
						case <-ctx.Done():
						case <-time.After(tt.work):
						}
					}))
				}}, &conn.Options{Linger: 5 * time.Second})
				p.send(pingOne + "\n")
				began := time.Now()
				must(t, p.out.Close())
				time.AfterFunc(time.Second, func() { tt.stop(s, cancel) })
				if err := s.wait(); !errors.Is(err, tt.want) {
					t.Errorf("Run: %v", err)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				time.Sleep(time.Second) // the AfterFunc
			})
		})
	}
}

// The end of the context of Run is the end of the connection, also against a
// peer that does not read.
func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		ctx, cancel := context.WithCancelCause(t.Context())
		s, p := withPeer(ctx, t, blocking(t, &l), &conn.Options{MaxQueue: 10})
		p.send(pingOne + "\n")
		for range 2 {
			must(t, s.Write(&jsonrpc.Message{Method: strings.Repeat("m", 20)}))
			synctest.Wait()
		}
		stuck := make(chan error)
		go func() { stuck <- s.Write(&jsonrpc.Message{Method: "m"}) }()
		waiting := make(chan error)
		go func() {
			_, err := s.Call(t.Context(), s.NewID(), "m", nil)
			waiting <- err
		}()
		synctest.Wait()
		shutdown := errors.New("the service stops")
		began := time.Now()
		cancel(shutdown)
		wantClosed(t, <-stuck, shutdown)
		wantClosed(t, <-waiting, shutdown)
		if err := s.wait(); err == nil {
			t.Error("Run returned nil")
		}
		// The queue, which nobody takes, has three seconds.
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
		if got := l.all(); len(got) != 1 || got[0] != shutdown.Error() {
			t.Errorf("got %q", got)
		}
	})
}

// Run returns the cause of its context.
func TestRunReturnsCause(t *testing.T) {
	in, feed := io.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := start(ctx, in, discard{}, funcs{}, nil)
	cancel(io.ErrNoProgress)
	if err := s.wait(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("Run: %v", err)
	}
	if _, err := feed.Write([]byte("x")); err == nil {
		t.Error("the input was not closed")
	}
}

// Work that ignores its cancellation does not keep Run for ever.
func TestStuckWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s, p := withPeer(t.Context(), t, funcs{message: func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
			must(t, c.Go(ctx, m.ID, func(context.Context) { <-release }))
		}}, nil)
		p.send(pingOne + "\n")
		began := time.Now()
		must(t, p.out.Close())
		if err := s.wait(); err == nil || !strings.Contains(err.Error(), "1 requests") {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
		close(release)
	})
}

// Work may end its goroutine, as a test's FailNow does.
func TestWorkEndsGoroutine(t *testing.T) {
	h := funcs{message: func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
		must(t, c.Go(ctx, m.ID, func(context.Context) {
			must(t, c.Write(&jsonrpc.Message{ID: m.ID, Result: m.Params}))
			if string(m.Params) == "[]" {
				runtime.Goexit()
			}
		}))
	}}
	a, _ := pair(t, funcs{}, h, nil)
	for range 100 {
		call(t, a, "[]")
		call(t, a, "{}")
	}
}

// deaf cannot be interrupted, like a standard input that blocks.
type deaf struct{ release chan struct{} }

func (d deaf) Read([]byte) (int, error)    { <-d.release; return 0, io.EOF }
func (d deaf) Write(p []byte) (int, error) { <-d.release; return len(p), nil }
func (d deaf) Close() error                { return nil }

// Streams that do not notice that they were closed do not keep Run for ever.
func TestDeafStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deaf{make(chan struct{})}
		s := start(t.Context(), d, d, funcs{}, nil)
		must(t, s.Write(&jsonrpc.Message{Method: "m"}))
		began := time.Now()
		must(t, s.Close())
		must(t, s.wait())
		if took := time.Since(began); took != 3500*time.Millisecond {
			t.Errorf("took %v", took)
		}
		close(d.release)
	})
}

// Close works from within a handler, before Run and instead of Run.
func TestCloseAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := withPeer(t.Context(), t, funcs{message: func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
			if m.Kind() == jsonrpc.Notification {
				must(t, c.Close())
				return
			}
			must(t, c.Go(ctx, m.ID, func(context.Context) { must(t, c.Close()) }))
		}}, nil)
		p.send(pingOne + "\n")
		must(t, s.wait())

		s, p = withPeer(t.Context(), t, funcs{message: func(_ context.Context, c *conn.Conn, m *jsonrpc.Message) {
			must(t, c.Close())
		}}, nil)
		p.send(`{"jsonrpc":"2.0","method":"n"}` + "\n")
		must(t, s.wait())

		in, _ := io.Pipe()
		c := conn.New(in, discard{}, funcs{}, nil)
		must(t, c.Close())
		_, err := c.Call(t.Context(), c.NewID(), "m", nil)
		wantClosed(t, err, nil)
		if err.Error() != conn.ErrClosed.Error() {
			t.Error(err)
		}
		must(t, c.Run(t.Context()))
	})
}

// broken fails to close.
type broken struct{ discard }

var errBroken = errors.New("disk full")

func (broken) Close() error { return errBroken }

// The error of closing a stream is reported, but not that it was closed before.
func TestCloseErrors(t *testing.T) {
	c := conn.New(io.NopCloser(strings.NewReader("")), broken{}, funcs{}, nil)
	if err := c.Close(); !errors.Is(err, errBroken) {
		t.Errorf("Close: %v", err)
	}
	a, b := net.Pipe()
	s := start(t.Context(), a, a, funcs{}, nil) // closed twice
	must(t, b.Close())
	must(t, s.wait())
	must(t, s.Close())
}

// No goroutine outlives Run.
func TestNoLeak(t *testing.T) {
	before := runtime.NumGoroutine()
	for i := range 50 {
		synctest.Test(t, func(t *testing.T) { // which fails if one is left
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s, p := withPeer(ctx, t, echo(t), nil)
			p.send(pingOne + "\n")
			p.line()
			switch i % 3 {
			case 0:
				must(t, p.out.Close())
			case 1:
				must(t, s.Close())
			case 2:
				cancel()
			}
			if err := s.wait(); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	if after := runtime.NumGoroutine(); after > before+2 {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}
