package matrix_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/mcp"
)

// steady reports progress every 100 ms: "steady" for three seconds, "endless" as long as it may, and "falling" goes backwards.
func steady() *mcp.Server {
	srv := mcp.NewServer("steady", "1", &mcp.ServerOptions{Logger: quiet()})
	tick := func(name string, n int, of func(i int) float64) {
		mcp.AddTool(srv, &mcp.Tool{Name: name}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
			for i := range n {
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
					return "", ctx.Err()
				}
				if err := c.Progress(ctx, of(i), 0, ""); err != nil {
					return "", err
				}
			}
			return "done", nil
		})
	}
	tick("steady", 30, func(i int) float64 { return float64(i + 1) })
	tick("endless", 1_000_000, func(i int) float64 { return float64(i + 1) })
	tick("falling", 1_000_000, func(i int) float64 { return -float64(i) })
	return srv
}

// C06, C07: progress prolongs a call that asked for it, within the limit of the whole; what is no progress does not.
func TestCaseC06C07ProgressAndLimits(t *testing.T) {
	f := matrix.Local(steady)
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		synctest.Test(t, func(t *testing.T) {
			c := l.Client(t, f, &mcp.ClientOptions{RequestTimeout: time.Second, TotalTimeout: 5 * time.Second, ResetOnProgress: true})
			if got, err := mcp.CallTool[string](t.Context(), c, "steady", nil); err != nil || got != "done" {
				t.Errorf("steady: %q, %v", got, err)
			}
			for tool, limit := range map[string]string{"endless": "TotalTimeout", "falling": "RequestTimeout"} {
				begun := time.Now()
				_, err := mcp.CallTool[string](t.Context(), c, tool, nil)
				took := time.Since(begun)
				if err == nil || !strings.Contains(err.Error(), limit) || tool == "endless" && took != 5*time.Second || tool == "falling" && took > 2*time.Second {
					t.Errorf("%s: %v after %v", tool, err, took)
				}
			}
		})
	}, matrix.Is(matrix.Pipe))
}

// N12: a server that is shut down answers what runs, ends what streams, and is done in time.
func TestCaseN12Shutdown(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		var srv *mcp.Server
		leave := newGate()
		f := matrix.Local(func() *mcp.Server {
			srv = newField()
			mcp.AddTool(srv, &mcp.Tool{Name: "finish"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
				if err := c.Progress(ctx, 1, 0, ""); err != nil {
					return "", err
				}
				<-leave.c
				return "finished", ctx.Err()
			})
			return srv
		})
		w := l.Wire(t, f)
		if l.Modern() {
			w.Request(`"listen"`, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
			w.Notice("notifications/subscriptions/acknowledged")
		}
		begin(w, "1", "finish")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := srv.Shutdown(ctx); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		})
		if l.Modern() {
			w.Answer(`"listen"`).Has(t, `"resultType":"complete"`)
		}
		leave.open()
		w.Answer("1").Has(t, "finished")
		wg.Wait()
	}, inProcess)
}

// N13: a session can be closed by the server, from within a call and from elsewhere, while its client listens.
func TestCaseN13CloseUnderListeners(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		for _, within := range []bool{true, false} {
			sessions := make(chan *mcp.Session, 1)
			f := matrix.Local(func() *mcp.Server {
				srv := newField()
				mcp.AddTool(srv, &mcp.Tool{Name: "session"}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
					sessions <- c.Session()
					if within {
						return "", c.Session().Close()
					}
					return "", nil
				})
				return srv
			})
			w := l.Wire(t, f)
			w.Ask("1", "resources/subscribe", `"uri":"note:///a"`).Has(t, `"result":{}`)
			w.Request("2", "tools/call", `"name":"session","arguments":{}`)
			ss := <-sessions
			closed := make(chan error, 1)
			go func() { closed <- ss.Close() }()
			select {
			case err := <-closed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("Close does not return")
			}
			if !ss.Closed() {
				t.Error("the session is open")
			}
			w.HangUp()
		}
	}, inProcess, matrix.Handshake)
}

// B06: a subscription is there or not, however often it was asked for, and belongs to one session.
func TestCaseB06SetOfSubscriptions(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		for i, method := range []string{"resources/unsubscribe", "resources/subscribe", "resources/subscribe", "resources/unsubscribe"} {
			w.Ask(fmt.Sprint(i), method, `"uri":"note:///a"`).Has(t, `"result":{}`)
		}
		w.Ask("5", "tools/call", `"name":"touch","arguments":{"uri":"note:///a"}`).Has(t, "touched")
		w.Ask("6", "resources/subscribe", `"uri":"note:///b"`)
		w.Ask("7", "tools/call", `"name":"touch","arguments":{"uri":"note:///b"}`).Has(t, "touched")
		w.Notice("notifications/resources/updated").Has(t, "note:///b")
		for _, text := range w.Rest() {
			t.Errorf("the server said %s", text)
		}
	}, matrix.Handshake)
}

// U10, U11: each revision has its own way to a page and back, and what a client puts into the answer goes nowhere.
func TestCaseU10U11SignalsOfPages(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field, `{"elicitation":{"form":{},"url":{}}}`)
		d := &dialog{replies: []string{`{"action":"accept","content":{"leak":1}}`}}
		h := d.call(t, w, "page")
		h.Has(t, "opened")
		all := strings.Join(append(w.Rest(), append(d.asked, h.Text)...), "\n")
		if strings.Contains(all, "leak") || strings.Contains(all, "-32042") || strings.Contains(all, "elicitationId") == l.Modern() ||
			strings.Contains(all, "notifications/elicitation/complete") || !strings.Contains(all, `"mode":"url"`) {
			t.Errorf("the server said %s", all)
		}
		c := l.Client(t, field, &mcp.ClientOptions{Interactor: &mcp.Interactor{
			Open: func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{"leak":1}`)}, nil
			},
		}})
		if got := called(t, c, "page"); got != "opened" {
			t.Error(got)
		}
	}, pages)
}

// V05: the header of a handshake says nothing; what is offered in it does, also to a server that is older than its client.
func TestCaseV05OlderServerOverHTTP(t *testing.T) {
	old := matrix.Local(func() *mcp.Server {
		return mcp.NewServer("old", "1", &mcp.ServerOptions{Logger: quiet(), Revisions: []mcp.Revision{mcp.Revision20250326, mcp.Revision20250618}})
	})
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		for _, version := range []string{"2025-11-25", "2099-01-01", "2026-07-28"} {
			w := l.Raw(t, old)
			w.Header("Mcp-Protocol-Version", version)
			initialize(w, `"`+version+`"`).Has(t, `"protocolVersion":"2025-06-18"`)
		}
	}, matrix.Is(matrix.HTTP), newest)
}
