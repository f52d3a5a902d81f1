package matrix_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/mcp"
)

// S01: long messages pass, both ways.
func TestCaseS01LongMessages(t *testing.T) {
	type text struct {
		Text string `json:"text"`
	}
	echo := matrix.Local(func() *mcp.Server {
		srv := mcp.NewServer("echo", "1", &mcp.ServerOptions{Logger: quiet()})
		mcp.AddTool(srv, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.Call, in text) (text, error) { return in, nil })
		return srv
	})
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		c := l.Client(t, echo, nil)
		for _, n := range []int{64<<10 - 1, 64 << 10, 1 << 20} {
			out, err := mcp.CallTool[text](t.Context(), c, "echo", text{strings.Repeat("x", n)})
			if err != nil || len(out.Text) != n {
				t.Errorf("%d bytes: %d came back, %v", n, len(out.Text), err)
			}
		}
	}, inProcess, pages)
}

// S12: when the client goes, running calls end and so does the server.
func TestCaseS12EndOfInput(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		begin(w, "1", "wait")
		begun := time.Now()
		w.HangUp() // waits for the server, and fails the test if it ends with an error
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
	}, func(l matrix.Leg) bool { return l.Transport != matrix.HTTP })
}

// F18: a question that is dismissed, and one whose server or client goes away, is over at once.
func TestCaseF18DismissedQuestions(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		n := 0
		c := l.Client(t, field, &mcp.ClientOptions{Interactor: &mcp.Interactor{
			Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) { n++; return nil, mcp.ErrCanceled },
		}})
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "seat"})
		if n != 1 || err == nil && !r.IsError || err != nil && !errors.Is(err, mcp.ErrCanceled) {
			t.Errorf("asked %d times: %+v, %v", n, r, err)
		}
		open, gone := make(chan struct{}), make(chan error, 1)
		c = l.Client(t, field, &mcp.ClientOptions{Interactor: &mcp.Interactor{
			Form: func(ctx context.Context, _ *mcp.FormQuestion) (*mcp.ElicitResult, error) {
				close(open)
				<-ctx.Done()
				gone <- context.Cause(ctx)
				return nil, ctx.Err()
			},
		}})
		ended := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "seat"})
			ended <- err
		}()
		<-open
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-gone; err == nil {
			t.Error("no reason")
		}
		if err := <-ended; !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("the call ended with %v", err)
		}
	}, forms)
}

// U04: that the person agreed to open a page does not mean that they are done there. The tool waits, and begins nothing anew.
func TestCaseU04AgreedIsNotDone(t *testing.T) {
	var flows atomic.Int64
	type visit struct {
		done  *gate
		waits chan struct{} // receives each time the tool asks whether the person is done
	}
	var visiting atomic.Pointer[visit]
	login := matrix.Local(func() *mcp.Server {
		srv := mcp.NewServer("login", "1", &mcp.ServerOptions{Logger: quiet(), Ask: &mcp.AskOptions{Hold: time.Millisecond}})
		mcp.AddTool(srv, &mcp.Tool{Name: "login"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
			if _, err := mcp.Once(ctx, c, "flow", func() (int64, error) { return flows.Add(1), nil }); err != nil {
				return "", err
			}
			if err := ask.Open(ctx, c, "page", "Please sign in.", "https://travel.example/connect/1"); err != nil {
				return "", err
			}
			err := c.Await(ctx, "login", "waiting for the person to sign in", func(ctx context.Context) error {
				v := visiting.Load()
				v.waits <- struct{}{}
				select {
				case <-v.done.c:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
			return "signed in", err
		})
		return srv
	})
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		flows.Store(0)
		v := &visit{newGate(), make(chan struct{}, 100)}
		visiting.Store(v)
		in := answering(`{}`)
		opened := 0
		in.Open = func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			opened++
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
		}
		c := l.Client(t, login, &mcp.ClientOptions{Interactor: in})
		ended := make(chan string, 1)
		go func() { ended <- called(t, c, "login") }()
		<-v.waits
		if l.Modern() { // the client has been sent away, and has come back
			<-v.waits
		}
		select {
		case got := <-ended:
			t.Fatalf("ended before the person was done: %s", got)
		default:
		}
		v.done.open()
		if got := <-ended; got != "signed in" || flows.Load() != 1 || opened != 1 {
			t.Errorf("%s after %d flows and %d pages", got, flows.Load(), opened)
		}
	}, pages, inProcess)
}
