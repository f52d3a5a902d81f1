package conn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/internal/conn"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// counter counts the writes that reach a stream.
type counter struct {
	mu     sync.Mutex
	writes int
	buf    bytes.Buffer
	err    error // of the next write
}

func (c *counter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	c.writes++
	return c.buf.Write(p)
}

func (c *counter) Close() error { return nil }

func (c *counter) lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Split(strings.TrimSuffix(c.buf.String(), "\n"), "\n")
}

// gate holds the first write until it is opened.
type gate struct {
	counter
	open chan struct{}
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.counter.Write(p)
}

// Answers that are ready while another is written leave in one write.
func TestWritesCoalesce(t *testing.T) {
	const n = 64
	out := gate{open: make(chan struct{})}
	in, feed := io.Pipe()
	written := make(chan struct{}, n)
	s := start(t.Context(), in, &out, funcs{message: func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
		must(t, c.Go(ctx, m.ID, func(context.Context) {
			must(t, c.Write(&jsonrpc.Message{ID: m.ID, Result: []byte("{}")}))
			written <- struct{}{}
		}))
	}}, nil)
	for i := range n {
		fmt.Fprintf(feed, `{"jsonrpc":"2.0","id":%d,"method":"m"}`+"\n", i)
	}
	for range n {
		<-written
	}
	close(out.open)
	must(t, feed.Close())
	must(t, s.wait())
	if got := len(out.lines()); got != n || out.writes > 2 {
		t.Errorf("%d messages in %d writes", got, out.writes)
	}
}

// A peer that does not read makes Write wait, and Close ends the waiting after
// the grace.
func TestBackPressureAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := withPeer(t.Context(), t, funcs{}, &conn.Options{MaxQueue: 1000, Grace: 2 * time.Second})
		var wg sync.WaitGroup
		var l log
		for range 100 {
			wg.Go(func() {
				if err := s.Write(&jsonrpc.Message{Method: strings.Repeat("m", 100)}); err != nil {
					wantClosed(t, err, nil)
					l.add("refused")
				}
			})
		}
		timeout, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		synctest.Wait()
		if _, err := s.Call(timeout, s.NewID(), "m", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Call: %v", err)
		}
		began := time.Now()
		must(t, s.Close())
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("Close took %v", took)
		}
		wg.Wait()
		must(t, s.wait())
		if n := len(l.all()); n < 70 || n > 95 {
			t.Errorf("%d of 100 writes were refused", n)
		}
		wantClosed(t, s.Write(&jsonrpc.Message{Method: "m"}), nil)
		must(t, p.out.Close())
	})
}

// WriteContext waits no longer than its context, and writes when there is space.
func TestWriteContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := withPeer(t.Context(), t, funcs{}, &conn.Options{MaxQueue: 1})
		must(t, s.Write(&jsonrpc.Message{Method: "being written"}))
		synctest.Wait()
		must(t, s.Write(&jsonrpc.Message{Method: "queued"}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.WriteContext(ctx, &jsonrpc.Message{Method: "given up"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WriteContext: %v", err)
		}
		// A response does not wait.
		must(t, s.WriteContext(ctx, &jsonrpc.Message{ID: jsonrpc.IntID(1), Result: []byte("1")}))
		go func() { must(t, s.WriteContext(t.Context(), &jsonrpc.Message{Method: "patient"})) }()
		synctest.Wait()
		p.wantLine(`{"jsonrpc":"2.0","method":"being written"}`)
		p.wantLine(`{"jsonrpc":"2.0","method":"queued"}`)
		p.wantLine(`{"jsonrpc":"2.0","id":1,"result":1}`)
		p.wantLine(`{"jsonrpc":"2.0","method":"patient"}`)
		must(t, p.out.Close())
		must(t, s.wait())
	})
}

// A batch of responses is one line, frees its ids and is refused after the end.
func TestWriteBatch(t *testing.T) {
	batch := []*jsonrpc.Message{{ID: jsonrpc.IntID(1), Result: []byte("1")}, {Error: &jsonrpc.Error{Code: 1, Message: "x"}}}
	s, p := withPeer(t.Context(), t, funcs{message: func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
		must(t, c.Go(ctx, m.ID, func(ctx context.Context) {
			must(t, c.WriteBatch(batch))
			if c.CancelIncoming(m.ID, nil) {
				t.Error("the id is still in use")
			}
		}))
	}}, nil)
	for range 3 {
		p.send(pingOne + "\n")
		p.wantLine(`[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}]`)
	}
	must(t, p.out.Close())
	must(t, s.wait())
	wantClosed(t, s.WriteBatch(batch), io.EOF)
}

// A large message passes a queue that is smaller.
func TestQueueSmallerThanMessage(t *testing.T) {
	a, _ := pair(t, funcs{}, echo(t), &conn.Options{MaxQueue: 1})
	text := `"` + strings.Repeat("x", 100_000) + `"`
	for range 3 {
		if call(t, a, text) != text || call(t, a, "1") != "1" {
			t.Error("lost")
		}
	}
}

// Close sends what was accepted before.
func TestCloseLosesNothing(t *testing.T) {
	for _, n := range []int{1, 10, 5000} {
		s, p := withPeer(t.Context(), t, funcs{}, nil)
		count := make(chan int)
		go func() {
			lines := 0
			for {
				if _, err := p.in.ReadString('\n'); err != nil {
					count <- lines
					return
				}
				lines++
			}
		}()
		for range n {
			must(t, s.Write(&jsonrpc.Message{Method: strings.Repeat("m", 300)}))
		}
		must(t, s.Close())
		must(t, s.Close())
		if got := <-count; got != n {
			t.Errorf("%d of %d messages arrived", got, n)
		}
		must(t, s.wait())
	}
}

// A stream that refuses to write ends the connection with its error.
func TestWriteError(t *testing.T) {
	for _, tt := range []struct {
		w    io.WriteCloser
		want error
	}{
		{&counter{err: io.ErrClosedPipe}, io.ErrClosedPipe},
		{short{}, nil},
	} {
		in, feed := io.Pipe()
		s := start(t.Context(), in, tt.w, funcs{}, nil)
		must(t, s.Write(&jsonrpc.Message{Method: "m"}))
		err := s.wait()
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("Run: %v", err)
		}
		wantClosed(t, s.Write(&jsonrpc.Message{Method: "m"}), tt.want)
		must(t, feed.Close())
	}
}

// short writes less than it was given.
type short struct{}

func (short) Write(p []byte) (int, error) { return len(p) / 2, nil }
func (short) Close() error                { return nil }

// Write may be called before Run, by the reader, and for every kind of message.
func TestWriteBeforeRun(t *testing.T) {
	var out counter
	c := conn.New(io.NopCloser(strings.NewReader("")), &out, funcs{}, nil)
	big := []byte(`"` + strings.Repeat("x", 10_000) + `"`)
	must(t, c.Write(&jsonrpc.Message{Method: "m"}))
	must(t, c.Write(&jsonrpc.Message{ID: jsonrpc.IntID(1), Result: big}))
	must(t, c.Write(&jsonrpc.Message{Error: &jsonrpc.Error{Code: 1, Message: "a\nb", Data: big}}))
	must(t, c.Run(t.Context()))
	want := []string{
		`{"jsonrpc":"2.0","method":"m"}`,
		`{"jsonrpc":"2.0","id":1,"result":` + string(big) + `}`,
		`{"jsonrpc":"2.0","error":{"code":1,"message":"a\nb","data":` + string(big) + `}}`,
	}
	if got := out.lines(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %.200q", got)
	}
	if err := c.Run(t.Context()); err == nil {
		t.Error("Run ran twice")
	}
}
