package connect_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
)

// TestHeldCalls measures what a call that waits for its person costs, at the handler: above a stream that net/http merely holds, and above a
// call that is held for nothing. The bound of the design is 8 KiB.
func TestHeldCalls(t *testing.T) {
	n := 2000
	if slack > 1 {
		n = 200
	}
	w := newWorld(t, &worldOptions{ask: mcp.AskOptions{Hold: time.Hour, Lifetime: 2 * time.Hour, MaxPerMinute: -1}, desk: func(o *connect.Options) {
		o.MaxOpenPerPerson, o.MaxOpenPerTool = 10_000, 10_000
	}, tools: func(srv *mcp.Server, _ *replica) {
		mcp.AddTool(srv, &mcp.Tool{Name: "hold"}, func(ctx context.Context, call *mcp.Call, in where) (where, error) {
			return in, call.Await(ctx, "nothing", "", func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
		})
	}})
	bare := held(t, n, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}), "bare", func(int) []byte { return nil }, func() bool { return true })
	nothing := held(t, n, w.replicas[0].http, "hold", func(int) []byte {
		return envelope(t, "tools/call", map[string]any{"name": "hold", "arguments": map[string]any{"text": "Bern"}})
	}, func() bool { return true })

	retries := make([][]byte, n)
	var wg sync.WaitGroup
	for part := range 8 {
		wg.Go(func() {
			for i := part; i < n; i += 8 {
				params := map[string]any{"name": "geocode", "arguments": map[string]any{"text": "Bern"}}
				first := w.wire("p"+strconv.Itoa(i)+"/raw", "tools/call", params)
				_, params["requestState"] = asked(t, first)
				params["inputResponses"] = accepted(first)
				retries[i] = envelope(t, "tools/call", params)
			}
		})
	}
	wg.Wait()
	desk := w.replicas[0].desk
	ours := held(t, n, w.replicas[0].http, "geocode", func(i int) []byte { return retries[i] }, func() bool { return desk.Waiting() == n })
	t.Logf("a stream that is held costs %d bytes, a call that is held %d, a call that waits for its person %d", bare, nothing, ours)
	if limit := int64(slack * 8 << 10); ours-nothing > limit {
		t.Errorf("%d bytes more than a held call; the bound is %d", ours-nothing, limit)
	}
}

// held has a handler hold so many requests, and returns what each of them costs.
func held(t *testing.T, n int, h http.Handler, tool string, body func(i int) []byte, there func() bool) int64 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	before := memory()
	var wg, begun sync.WaitGroup
	begun.Add(n)
	for i := range n {
		wg.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/mcp", bytes.NewReader(body(i)))
			begun.Done()
			if err != nil {
				t.Error(err)
				return
			}
			rawHeaders(req, "p"+strconv.Itoa(i)+"/raw", "tools/call", tool)
			h.ServeHTTP(httptest.NewRecorder(), req)
		})
	}
	begun.Wait()
	eventually(t, "all of them wait", there)
	<-time.After(200 * time.Millisecond)
	cost := (memory() - before) / int64(n)
	cancel()
	wg.Wait()
	return cost
}
