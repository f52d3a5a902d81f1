//go:build !mcp_modern_only

package mcphttp_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// Tools of the server that whole clients are tried against.
type (
	bookIn struct {
		From string `json:"from" header:"From"`
		Note string `json:"note,omitempty" header:"Note"`
		N    int64  `json:"n,omitempty" header:"N"`
	}
	seatForm struct {
		Class string `json:"class" enum:"first=First class,second=Second class" default:"second"`
		Quiet bool   `json:"quiet,omitempty"`
	}
)

// newDesk returns a server with tools that use all that a transport must carry.
func newDesk() *mcp.Server {
	srv := mcp.NewServer("desk", "1", &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler), NoticeDelay: -1})
	mcp.AddTool(srv, &mcp.Tool{Name: "book"}, func(ctx context.Context, c *mcp.Call, in bookIn) (string, error) {
		seat, err := ask.Form[seatForm](ctx, c, "seat", "Where?")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %s %d %s %v", in.From, in.Note, in.N, seat.Class, seat.Quiet), nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "steps"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		for i := range 5 {
			if err := c.Progress(ctx, float64(i+1), 5, ""); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.Call, struct{}) (string, error) {
		return "", &mcp.Error{Code: 7, Message: "the desk is closed"}
	})
	mcp.AddResource(srv, &mcp.Resource{URI: "file:///żółw.md", Name: "turtle"}, func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///żółw.md", Text: "slow"}}}, nil
	})
	return srv
}

// A peer is one way for a client to reach the desk.
type peer struct {
	name string
	rev  mcp.Revision
	opts *mcphttp.Options
	sse  bool
}

var peers = []peer{
	{"2026-07-28", mcp.Revision20260728, nil, false},
	{"2025-11-25", mcp.Revision20251125, nil, false},
	{"2025-06-18", mcp.Revision20250618, nil, false},
	{"HTTP+SSE", mcp.Revision20250618, nil, true},
}

// connect makes a client of the desk that answers forms.
func (p *peer) connect(t *testing.T, srv *mcp.Server, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	opts := &mcphttp.Options{Logger: slog.New(slog.DiscardHandler)}
	var h http.Handler
	if p.sse {
		h = mcphttp.NewSSEHandler(srv, opts)
	} else {
		h = mcphttp.NewHandler(srv, opts)
	}
	ts := httptest.NewServer(h)
	t.Cleanup(func() {
		if h, ok := h.(*mcphttp.Handler); ok {
			if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("%s: closing the handler: %v", p.name, err)
			}
		}
		ts.Close()
	})
	if o == nil {
		o = &mcp.ClientOptions{}
	}
	o.Revisions = []mcp.Revision{p.rev}
	if o.Interactor == nil {
		o.Interactor = &mcp.Interactor{Form: func(_ context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			if q.Origin != ts.URL+"/" && q.Origin != ts.URL {
				t.Errorf("origin %q", q.Origin)
			}
			return &mcp.ElicitResult{Action: "accept", Content: []byte(`{"class":"first","quiet":true}`)}, nil
		}}
	}
	c, err := mcp.Connect(t.Context(), mcphttp.Dial(ts.URL), o)
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("%s: closing the client: %v", p.name, err)
		}
	})
	return c
}

// One handler, every revision: a call with a question in the middle, progress, errors and names that are no ASCII.
func TestClientAndHandler(t *testing.T) {
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			c := p.connect(t, newDesk(), nil)
			if got := c.Server().Revision; got != p.rev {
				t.Errorf("revision %s", got)
			}
			var names []string
			for tool, err := range c.Tools(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, tool.Name)
			}
			if slices.Sort(names); fmt.Sprint(names) != "[book fail steps]" {
				t.Errorf("tools %v", names)
			}
			for _, in := range []bookIn{{From: "Bern"}, {From: " Zürich ", Note: "=?base64?x?=", N: 1<<53 - 1}, {From: "\t漢\r\n", Note: "a b", N: -5}, {From: ""}} {
				got, err := mcp.CallTool[string](t.Context(), c, "book", in)
				if want := fmt.Sprintf("%s %s %d first true", in.From, in.Note, in.N); err != nil || got != want {
					t.Errorf("%q, %v; want %q", got, err, want)
				}
			}
			var steps []float64
			_, err := mcp.CallTool[string](t.Context(), c, "steps", struct{}{}, &mcp.RequestOptions{Progress: func(p mcp.Progress) { steps = append(steps, p.Done) }})
			if err != nil || len(steps) == 0 || steps[len(steps)-1] != 5 {
				t.Errorf("steps %v, %v", steps, err)
			}
			var e *mcp.Error
			if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail"}); !errors.As(err, &e) || e.Code != 7 {
				t.Errorf("got %v", err)
			}
			res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///żółw.md"})
			if err != nil || len(res.Contents) != 1 {
				t.Errorf("%v, %v", res, err)
			}
		})
	}
}

// Many calls at once, with questions, over every kind of stream.
func TestClientParallel(t *testing.T) {
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			c := p.connect(t, newDesk(), nil)
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() {
					want := fmt.Sprintf("c%d  0 first true", i)
					if got, err := mcp.CallTool[string](t.Context(), c, "book", bookIn{From: fmt.Sprint("c", i)}); err != nil || got != want {
						t.Errorf("%q, %v", got, err)
					}
				})
			}
			wg.Wait()
		})
	}
}

// Changes reach the client: on a listen stream, on the standalone stream, on the stream of HTTP+SSE.
func TestClientNotices(t *testing.T) {
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			srv := newDesk()
			c := p.connect(t, srv, nil)
			got := make(chan mcp.Notice, 100)
			sub, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"file:///żółw.md"}},
				func(_ context.Context, n mcp.Notice) { got <- n })
			if err != nil {
				t.Fatal(err)
			}
			if _, err := mcp.CallTool[string](t.Context(), c, "steps", struct{}{}); err != nil { // the standalone stream is open by now
				t.Fatal(err)
			}
			srv.ResourceUpdated("file:///żółw.md")
			if n := <-got; n.Kind != mcp.NoticeResource || n.URI != "file:///żółw.md" {
				t.Errorf("%+v", n)
			}
			mcp.AddTool(srv, &mcp.Tool{Name: "new"}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
			if n := <-got; n.Kind != mcp.NoticeTools {
				t.Errorf("%+v", n)
			}
			if err := sub.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// N02: a server that restarts forgets its sessions; calls under way when that is found out share one new handshake.
func TestCaseN02ServerRestarts(t *testing.T) {
	var mu sync.Mutex
	var current *mcphttp.Handler
	inits := 0
	restart := func() {
		h := mcphttp.NewHandler(newDesk(), &mcphttp.Options{Logger: slog.New(slog.DiscardHandler)})
		mu.Lock()
		old := current
		current = h
		mu.Unlock()
		if old != nil {
			if err := old.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}
	}
	restart()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := current
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
			inits++
		}
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	defer ts.Close()
	lost := make(chan struct{}, 10)
	c, err := mcp.Connect(t.Context(), mcphttp.Dial(ts.URL), &mcp.ClientOptions{
		Revisions: []mcp.Revision{mcp.Revision20251125}, OnStateLost: func() { lost <- struct{}{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	restart()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, err := mcp.CallTool[string](t.Context(), c, "steps", struct{}{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	<-lost
	mu.Lock()
	if inits != 2 {
		t.Errorf("%d handshakes", inits)
	}
	mu.Unlock()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if err := current.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// A stream that the server closes in the middle of a call is picked up again.
func TestClientComesBack(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{RetryAfter: 10 * time.Millisecond}})
	c, err := mcp.Connect(t.Context(), mcphttp.Dial(s.url), &mcp.ClientOptions{Revisions: []mcp.Revision{mcp.Revision20251125}})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-s.entered
		s.gates.open <- struct{}{}
	}()
	got, err := mcp.CallTool[string](t.Context(), c, "poll", struct{}{})
	if err != nil || got != "closed: true" {
		t.Errorf("%q, %v", got, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// Giving up cancels the handler, in both eras.
func TestClientCancels(t *testing.T) {
	for _, rev := range []mcp.Revision{mcp.Revision20260728, mcp.Revision20251125} {
		s := serveSite(t, nil)
		c, err := mcp.Connect(t.Context(), mcphttp.Dial(s.url), &mcp.ClientOptions{Revisions: []mcp.Revision{rev}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-s.entered
			cancel()
		}()
		if _, err := mcp.CallTool[string](ctx, c, "wait", struct{}{}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := <-s.ended; err == nil {
			t.Error("the handler was let through")
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A client that may speak everything finds the era of every kind of server, and remembers it.
func TestClientFindsEra(t *testing.T) {
	modern := mcp.NewServer("m", "1", &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{mcp.Revision20260728}})
	legacy := mcp.NewServer("l", "1", &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{mcp.Revision20250618}})
	for _, srv := range []*mcp.Server{modern, legacy} {
		mcp.AddTool(srv, &mcp.Tool{Name: "x"}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
	}
	both := newDesk()
	quiet := &mcphttp.Options{Logger: slog.New(slog.DiscardHandler)}
	for name, tt := range map[string]struct {
		h    http.Handler
		want mcp.Revision
	}{
		"modern": {mcphttp.NewHandler(modern, quiet), mcp.Revision20260728},
		"legacy": {mcphttp.NewHandler(legacy, quiet), mcp.Revision20250618},
		"both":   {mcphttp.NewHandler(both, quiet), mcp.Revision20260728},
		"sse":    {mcphttp.NewSSEHandler(legacy, quiet), mcp.Revision20250618},
		"stateless": {mcphttp.NewHandler(legacy, &mcphttp.Options{Logger: quiet.Logger, Sessions: &mcphttp.SessionOptions{Stateless: true}}),
			mcp.Revision20250618},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var methods []string
			ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				methods = append(methods, r.Method+" "+r.Header.Get("Mcp-Method"))
				mu.Unlock()
				tt.h.ServeHTTP(w, r)
			}))
			defer ts.Close()
			tr := mcphttp.Dial(ts.URL)
			for range 2 {
				c, err := mcp.Connect(t.Context(), tr, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := c.Server().Revision; got != tt.want {
					t.Errorf("revision %s", got)
				}
				for _, err := range c.Tools(t.Context()) {
					if err != nil {
						t.Error(err)
					}
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			want := 1
			if tt.want == mcp.Revision20260728 {
				want = 2
			}
			if n := strings.Count(fmt.Sprint(methods), "server/discover"); n != want {
				t.Errorf("%d probes in %v", n, methods)
			}
		})
	}
}
