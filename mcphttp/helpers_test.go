package mcphttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/internal/sse"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

const (
	modernRev = "2026-07-28"
	metaKey   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

// gates lets a test hold a tool and see what happened to it.
type gates struct {
	entered chan struct{} // receives when "wait" has begun
	open    chan struct{} // "wait" returns when it can receive
	ended   chan error    // how "wait" saw its context end, nil when it was let through
}

// newServer returns a server with the tools that the tests call.
func newServer(o *mcp.ServerOptions) (*mcp.Server, *gates) {
	if o == nil {
		o = &mcp.ServerOptions{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.NoticeDelay == 0 {
		o.NoticeDelay = -1
	}
	srv := mcp.NewServer("test", "1", o)
	g := &gates{entered: make(chan struct{}, 1000), open: make(chan struct{}), ended: make(chan error, 1000)}
	type text struct {
		Text string `json:"text"`
	}
	mcp.AddTool(srv, &mcp.Tool{Name: "echo", Description: "echoes"}, func(_ context.Context, _ *mcp.Call, in text) (string, error) {
		return in.Text, nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "progress", Description: "tells progress"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		for i := range 3 {
			if err := c.Progress(ctx, float64(i+1), 3, fmt.Sprint("step ", i+1)); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "wait", Description: "waits for the test"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		g.entered <- struct{}{}
		select {
		case <-g.open:
			g.ended <- nil
		case <-ctx.Done():
			g.ended <- context.Cause(ctx)
			return "", ctx.Err()
		}
		if err := c.Progress(ctx, 1, 1, "through"); err != nil {
			return "", err
		}
		return "waited", nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "stepwait", Description: "progress, then waits"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		if err := c.Progress(ctx, 1, 3, "before"); err != nil {
			g.ended <- err
			return "", err
		}
		g.entered <- struct{}{}
		select {
		case <-g.open:
		case <-ctx.Done():
			g.ended <- context.Cause(ctx)
			return "", ctx.Err()
		}
		if err := c.Progress(ctx, 2, 3, "after"); err != nil {
			return "", err
		}
		return "waited", nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "poll", Description: "closes its stream"}, func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		closed := mcphttp.CloseStream(ctx)
		g.entered <- struct{}{}
		select {
		case <-g.open:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		return fmt.Sprint("closed: ", closed), nil
	})
	return srv, g
}

// A site is a handler behind a real HTTP server.
type site struct {
	t      *testing.T
	h      *mcphttp.Handler
	srv    *mcp.Server
	ts     *httptest.Server
	url    string
	client *http.Client
	*gates
}

// serveSite serves a new server; o may be nil.
func serveSite(t *testing.T, o *mcphttp.Options) *site {
	t.Helper()
	srv, g := newServer(nil)
	return serveServer(t, srv, g, o)
}

func serveServer(t *testing.T, srv *mcp.Server, g *gates, o *mcphttp.Options) *site {
	t.Helper()
	if o == nil {
		o = &mcphttp.Options{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := mcphttp.NewHandler(srv, o)
	mux := http.NewServeMux()
	mcphttp.Mount(mux, "/mcp", h)
	ts := httptest.NewServer(mux)
	s := &site{t: t, h: h, srv: srv, ts: ts, url: ts.URL + "/mcp", gates: g, client: ts.Client()}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Errorf("closing the handler: %v", err)
		}
		ts.CloseClientConnections()
		ts.Close()
	})
	return s
}

// A request is an HTTP request in the making.
type request struct {
	method, body string
	header       http.Header
}

// modern returns a right POST of 2026-07-28; params are the members after _meta, such as `"name":"echo"`.
func modern(id, method, name, params string) *request {
	if params != "" {
		params = "," + params
	}
	r := &request{
		method: http.MethodPost,
		body:   `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + metaKey + params + `}}`,
		header: http.Header{
			"Content-Type":         {"application/json"},
			"Accept":               {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {modernRev},
			"Mcp-Method":           {method},
		},
	}
	if name != "" {
		r.header.Set("Mcp-Name", name)
	}
	return r
}

// callTool returns a modern tools/call; args is a JSON object.
func callTool(id, tool, args string) *request {
	return modern(id, "tools/call", tool, `"name":"`+tool+`","arguments":`+args)
}

// withToken asks for progress.
func (r *request) withToken() *request {
	r.body = strings.Replace(r.body, `"_meta":{`, `"_meta":{"progressToken":"p1",`, 1)
	return r
}

func (r *request) with(name string, values ...string) *request {
	r.header[http.CanonicalHeaderKey(name)] = values
	return r
}

func (r *request) without(name string) *request {
	r.header.Del(name)
	return r
}

// plainPost returns a POST without any claim.
func plainPost(body string) *request {
	return &request{method: http.MethodPost, body: body, header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}}
}

// initBody is an initialize request that offers a version.
func initBody(version string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
}

// do sends r and returns the response with its body unread.
func (s *site) do(ctx context.Context, r *request) *http.Response {
	s.t.Helper()
	resp, err := s.try(ctx, r)
	if err != nil {
		s.t.Fatalf("%s: %v", r.method, err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (s *site) try(ctx context.Context, r *request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, s.url, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	if r.body == "" {
		req.Body = http.NoBody
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	if host := r.header.Get("Host"); host != "" {
		req.Host = host
	}
	return s.client.Do(req)
}

// An answer is a complete response.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends r and reads the whole answer.
func (s *site) ask(r *request) *answer {
	s.t.Helper()
	resp, err := s.try(s.t.Context(), r)
	if err != nil {
		s.t.Fatalf("%s: %v", r.method, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("reading the answer: %v", err)
	}
	return &answer{resp.StatusCode, resp.Header, string(b)}
}

// errorOf returns the JSON-RPC error of an answer, failing when there is none.
func (a *answer) errorOf(t *testing.T) (id string, code int, message string) {
	t.Helper()
	var m struct {
		ID    json.RawMessage `json:"id"`
		Error *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(a.body), &m); err != nil || m.Error == nil {
		t.Fatalf("no JSON-RPC error in %d %q", a.status, a.body)
	}
	return string(m.ID), m.Error.Code, m.Error.Message
}

// wantError checks status, code and id of a refusal.
func (a *answer) wantError(t *testing.T, status, code int, id string) {
	t.Helper()
	gotID, gotCode, msg := a.errorOf(t)
	if a.status != status || gotCode != code || gotID != id {
		t.Errorf("got status %d, code %d, id %q (%s); want %d, %d, %q", a.status, gotCode, gotID, msg, status, code, id)
	}
	if ct := a.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("an error came as %q", ct)
	}
}

// events reads server-sent events.
type events struct {
	t *testing.T
	r *sse.Reader
}

func eventsOf(t *testing.T, resp *http.Response) *events {
	t.Helper()
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("want a stream, got %d %s %s", resp.StatusCode, ct, b)
	}
	return &events{t, sse.NewReader(resp.Body, 0)}
}

// next returns the next event; its Data is a copy.
func (e *events) next() sse.Event {
	e.t.Helper()
	ev, err := e.r.Next()
	if err != nil {
		e.t.Fatalf("next event: %v", err)
	}
	ev.Data = bytes.Clone(ev.Data)
	return ev
}

// message returns the next event that carries a message.
func (e *events) message() sse.Event {
	e.t.Helper()
	for {
		if ev := e.next(); len(ev.Data) > 0 {
			return ev
		}
	}
}

// want checks that the next message contains all of parts.
func (e *events) want(parts ...string) sse.Event {
	e.t.Helper()
	ev := e.message()
	for _, p := range parts {
		if !strings.Contains(string(ev.Data), p) {
			e.t.Fatalf("event %s lacks %s", ev.Data, p)
		}
	}
	return ev
}

// end checks that the stream has ended cleanly.
func (e *events) end() {
	e.t.Helper()
	for {
		ev, err := e.r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			e.t.Fatalf("want the end of the stream, got %v", err)
		}
		if len(ev.Data) > 0 {
			e.t.Fatalf("want the end of the stream, got %s", ev.Data)
		}
	}
}

// within fails the test when f takes longer than a generous bound.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s did not happen", what)
	}
}

// A pipeNet is a network of in-memory connections, which makes time in a synctest bubble stand still until everybody waits.
type pipeNet struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipeNet() *pipeNet { return &pipeNet{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipeNet) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipeNet) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipeNet) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "localhost:1" }

func (p *pipeNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
