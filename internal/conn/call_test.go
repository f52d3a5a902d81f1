package conn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/internal/conn"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// S14: a call ends when its context does; the connection goes on, and the late
// response goes to the handler.
func TestCaseS14(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		s, p := withPeer(t.Context(), t, recorder(t, &l), nil)
		go func() {
			p.wantLine(`{"jsonrpc":"2.0","id":1,"method":"slow"}`)
			p.wantLine(`{"jsonrpc":"2.0","id":2,"method":"quick"}`)
			p.send(`{"jsonrpc":"2.0","id":1,"result":"late"}` + "\n" + `{"jsonrpc":"2.0","id":2,"result":"good"}` + "\n")
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := s.Call(ctx, s.NewID(), "slow", nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if _, err := s.Call(ctx, s.NewID(), "never sent", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		m, err := s.Call(t.Context(), jsonrpc.IntID(2), "quick", nil)
		if err != nil || string(m.Result) != `"good"` {
			t.Errorf("got %+v, %v", m, err)
		}
		if got := l.all(); fmt.Sprint(got) != "[response 1 ]" {
			t.Errorf("got %q", got)
		}
		must(t, p.out.Close())
		must(t, s.wait())
	})
}

func TestCallErrors(t *testing.T) {
	s, p := withPeer(t.Context(), t, funcs{}, nil)
	for _, tt := range []struct {
		id     jsonrpc.ID
		method string
	}{{jsonrpc.ID{}, "m"}, {jsonrpc.IntID(1), ""}} {
		if _, err := s.Call(t.Context(), tt.id, tt.method, nil); err == nil {
			t.Errorf("Call(%v, %q) was accepted", tt.id, tt.method)
		}
	}
	first := make(chan error)
	go func() {
		m, err := s.Call(t.Context(), jsonrpc.StringID("1"), "m", nil)
		if err == nil && m.Error.Code != -7 {
			err = m.Error
		}
		first <- err
	}()
	p.line()
	if _, err := s.Call(t.Context(), jsonrpc.StringID("1"), "m", nil); err == nil {
		t.Error("an id that waits was accepted again")
	}
	p.send(`{"jsonrpc":"2.0","id":1,"result":"another id"}` + "\n" + `{"jsonrpc":"2.0","id":"1","error":{"code":-7,"message":"no"}}` + "\n")
	must(t, <-first)
	must(t, p.out.Close())
	must(t, s.wait())
	_, err := s.Call(t.Context(), s.NewID(), "m", nil)
	wantClosed(t, err, io.EOF)
	if err.Error() != "connection closed by the peer" {
		t.Error(err)
	}
}

// The end of the input ends calls that wait.
func TestEndOfInputEndsCalls(t *testing.T) {
	s, p := withPeer(t.Context(), t, funcs{}, nil)
	go func() {
		p.line()
		must(t, p.out.Close())
	}()
	_, err := s.Call(t.Context(), s.NewID(), "m", nil)
	wantClosed(t, err, io.EOF)
	must(t, s.wait())
}

// Both sides call each other at the same time, from many goroutines.
func TestConcurrentCalls(t *testing.T) {
	a, b := pair(t, echo(t), echo(t), &conn.Options{MaxInFlight: 64, MaxQueue: 1 << 10})
	var wg sync.WaitGroup
	for _, s := range []*side{a, b} {
		for n := range 32 {
			wg.Go(func() {
				for i := range 50 {
					text := fmt.Sprintf("[%d,%d,%q]", n, i, make([]byte, n*i))
					if n%4 == 0 {
						text = fmt.Sprint(i)
					}
					text = string(jsonrpc.StringID(text).AppendJSON(nil))
					if got := call(t, s, text); got != text {
						t.Errorf("got %s, want %s", got, text)
					}
				}
			})
		}
	}
	wg.Wait()
}

// Responses arrive in order with the notifications before them.
func TestOrder(t *testing.T) {
	const n = 1000
	var l log
	a, _ := pair(t, recorder(t, &l), funcs{message: func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
		for i := range n {
			must(t, c.Write(&jsonrpc.Message{Method: fmt.Sprint(i)}))
		}
		must(t, c.Write(&jsonrpc.Message{ID: m.ID, Result: []byte("{}")}))
	}}, nil)
	call(t, a, "{}")
	got := l.all()
	if len(got) != n {
		t.Fatalf("%d notifications", len(got))
	}
	for i, s := range got {
		if s != fmt.Sprintf("notification none %d", i) {
			t.Fatalf("at %d: %s", i, s)
		}
	}
}

func TestNewID(t *testing.T) {
	c := conn.New(io.NopCloser(lazy{}), discard{}, funcs{}, nil)
	seen := map[jsonrpc.ID]bool{}
	for range 100 {
		id := c.NewID()
		if seen[id] || id.IsZero() {
			t.Fatal(id)
		}
		seen[id] = true
	}
	must(t, c.Close())
}

// An id is in use until its response is queued, then free at once.
func TestIncomingIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finish := make(chan struct{})
		var l log
		s, p := withPeer(t.Context(), t, funcs{message: func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
			if m.Method == "cancel" {
				l.add(fmt.Sprint(c.CancelIncoming(jsonrpc.IntID(1), errors.New("not wanted"))))
				return
			}
			err := c.Go(ctx, m.ID, func(ctx context.Context) {
				if m.Method == "wait" {
					<-ctx.Done()
					l.add(context.Cause(ctx).Error())
				}
				must(t, c.Write(&jsonrpc.Message{ID: m.ID, Result: []byte("1")}))
				<-finish
			})
			if err != nil {
				l.add(err.Error())
			}
		}}, nil)
		const cancel = `{"jsonrpc":"2.0","method":"cancel"}` + "\n"
		const wait = `{"jsonrpc":"2.0","id":1,"method":"wait"}` + "\n"
		const quick = `{"jsonrpc":"2.0","id":1,"method":"quick"}` + "\n"
		p.send(cancel + wait + wait + cancel) // unknown; taken; twice; cancelled
		p.line()
		p.send(cancel + quick) // answered already; free again although the work goes on
		p.line()
		synctest.Wait()
		close(finish)
		synctest.Wait()
		p.send(quick)
		p.line()
		must(t, p.out.Close())
		must(t, s.wait())
		want := []string{"false", "the id 1 is already in use", "true", "not wanted", "false"}
		got := l.all()
		for i := range want {
			if i >= len(got) || i != 1 && got[i] != want[i] {
				t.Fatalf("got %q", got)
			}
		}
		if len(got) != len(want) {
			t.Errorf("got %q", got)
		}
	})
}

// Work without an id is awaited like any other.
func TestWorkWithoutID(t *testing.T) {
	ended := 0
	s, p := withPeer(t.Context(), t, funcs{message: func(ctx context.Context, c *conn.Conn, _ *jsonrpc.Message) {
		must(t, c.Go(ctx, jsonrpc.ID{}, func(ctx context.Context) {
			<-ctx.Done()
			ended++
		}))
	}}, nil)
	p.send(`{"jsonrpc":"2.0","method":"n"}` + "\n")
	must(t, p.out.Close())
	must(t, s.wait())
	if ended != 1 {
		t.Error("Run did not wait")
	}
	wantClosed(t, s.Go(t.Context(), jsonrpc.IntID(1), func(context.Context) {}), io.EOF)
}

// Beyond MaxInFlight requests are held back; nothing is lost.
func TestMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		working, most := 0, 0
		s, p := withPeer(t.Context(), t, funcs{message: func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
			must(t, c.Go(ctx, m.ID, func(context.Context) {
				mu.Lock()
				working++
				most = max(most, working)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				working--
				mu.Unlock()
				must(t, c.Write(&jsonrpc.Message{ID: m.ID, Result: []byte("1")}))
			}))
		}}, &conn.Options{MaxInFlight: 3})
		go func() {
			for i := range 10 {
				p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m"}`+"\n", i))
			}
		}()
		began := time.Now()
		for range 10 {
			p.line()
		}
		if took := time.Since(began); took != 4*time.Second || most != 3 {
			t.Errorf("%d at once, %v", most, took)
		}
		must(t, p.out.Close())
		must(t, s.wait())
	})
}

// A request that is held back does not hold back the end.
func TestCloseWhileFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := withPeer(t.Context(), t, funcs{message: func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
			must(t, c.Go(ctx, m.ID, func(ctx context.Context) { <-ctx.Done() }))
		}}, &conn.Options{MaxInFlight: 1})
		p.send(pingOne + "\n" + `{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n")
		synctest.Wait()
		must(t, s.Close())
		must(t, s.wait())
	})
}
