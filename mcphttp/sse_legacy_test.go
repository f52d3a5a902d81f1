//go:build !mcp_modern_only

package mcphttp_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// An oldClient is a client of HTTP+SSE, spoken by hand.
type oldClient struct {
	*site
	ev   *events
	drop context.CancelFunc
}

// serveOld serves HTTP+SSE at a path.
func serveOld(t *testing.T, path string, o *mcphttp.Options) *site {
	t.Helper()
	srv, g := newServer(nil)
	if o == nil {
		o = &mcphttp.Options{}
	}
	o.Logger = slog.New(slog.DiscardHandler)
	mux := http.NewServeMux()
	mux.Handle(path, mcphttp.NewSSEHandler(srv, o))
	ts := httptest.NewServer(mux)
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return &site{t: t, srv: srv, ts: ts, url: ts.URL + path, gates: g, client: ts.Client()}
}

// connect opens the stream and takes the endpoint from it.
func (s *site) connect(header http.Header) *oldClient {
	s.t.Helper()
	ctx, drop := context.WithCancel(s.t.Context())
	s.t.Cleanup(drop)
	r := &request{method: http.MethodGet, header: http.Header{"Accept": {"text/event-stream"}}}
	for k, v := range header {
		r.header[k] = v
	}
	ev := eventsOf(s.t, s.do(ctx, r))
	first := ev.next()
	if first.Name != "endpoint" {
		s.t.Fatalf("first event %+v", first)
	}
	base, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	ref, err := base.Parse(string(first.Data))
	if err != nil {
		s.t.Fatal(err)
	}
	own := *s
	own.url = ref.String()
	return &oldClient{site: &own, ev: ev, drop: drop}
}

func (c *oldClient) send(body string) *answer {
	c.t.Helper()
	return c.ask(plainPost(body))
}

func (c *oldClient) mustSend(body string) {
	c.t.Helper()
	if a := c.send(body); a.status != 202 || a.body != "" {
		c.t.Fatalf("%s: %d %s", body, a.status, a.body)
	}
}

// shake does the handshake.
func (c *oldClient) shake() *oldClient {
	c.t.Helper()
	c.mustSend(initBody("2024-11-05"))
	c.ev.want(`"protocolVersion":"2024-11-05"`)
	c.mustSend(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func oldCall(id, tool, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"_meta":{"progressToken":7},"name":"` + tool + `","arguments":` + args + `}}`
}

func TestHTTPPlusSSE(t *testing.T) {
	s := serveOld(t, "/sse", nil)
	c := s.connect(nil)
	c.mustSend(`{"jsonrpc":"2.0","id":0,"method":"ping"}`) // V11: also before the handshake
	c.ev.want(`"id":0`, `"result":{}`)
	c.shake()
	c.mustSend(oldCall("2", "progress", `{}`))
	for range 3 {
		c.ev.want("notifications/progress", `"progressToken":7`)
	}
	c.ev.want(`"id":2`, "done")
	s.srv.Notify("notifications/custom", nil)
	c.ev.want("notifications/custom")
	mcp.AddTool(s.srv, &mcp.Tool{Name: "roots"}, func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
		_, err := mcp.CallClient[struct{}, struct{}](ctx, call, "x/ask", struct{}{})
		return "asked", err
	})
	c.ev.want("notifications/tools/list_changed")
	c.mustSend(oldCall("3", "roots", `{}`))
	c.ev.want(`"method":"x/ask"`, `"id":1`)
	c.mustSend(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	c.ev.want(`"id":3`, "asked")
}

func TestHTTPPlusSSEDisconnectEndsTheSession(t *testing.T) {
	s := serveOld(t, "/sse", nil)
	c := s.connect(nil).shake()
	c.mustSend(oldCall("2", "wait", `{}`))
	<-s.entered
	c.drop()
	within(t, "the end of the call", func() {
		if err := <-s.ended; err == nil {
			t.Error("the call went on")
		}
	})
	within(t, "the end of the session", func() {
		for c.send(oldCall("3", "echo", `{"text":"x"}`)).status != 404 {
			continue
		}
	})
}

func TestHTTPPlusSSERefusals(t *testing.T) {
	s := serveOld(t, "/sse", &mcphttp.Options{Sessions: &mcphttp.SessionOptions{MaxSessions: 1, MaxInFlight: 1},
		Authenticate: func(r *http.Request) (*mcp.Principal, error) {
			return &mcp.Principal{Subject: r.Header.Get("Authorization")}, nil
		}})
	alice := http.Header{"Authorization": {"alice"}}
	c := s.connect(alice)
	as := func(who, body string) *answer { return c.ask(plainPost(body).with("Authorization", who)) }
	if a := as("bob", initBody("2024-11-05")); a.status != 404 {
		t.Errorf("N10: another principal: %d", a.status)
	}
	if a := as("alice", oldCall("2", "echo", `{"text":"x"}`)); a.status != 400 {
		t.Errorf("before initialize: %d %s", a.status, a.body)
	}
	if a := as("alice", modern("1", "server/discover", "", "").body); a.status != 400 || strings.Contains(a.body, "-32022") {
		t.Errorf("2026-07-28: %d %s", a.status, a.body)
	}
	if a := as("alice", `{`); a.status != 400 || !strings.Contains(a.body, "-32700") {
		t.Errorf("broken: %d %s", a.status, a.body)
	}
	if a := as("alice", initBody("2024-11-05")); a.status != 202 {
		t.Errorf("initialize: %d %s", a.status, a.body)
	}
	c.ev.want(`"id":1`)
	if a := as("alice", oldCall("2", "wait", `{}`)); a.status != 202 {
		t.Errorf("call: %d %s", a.status, a.body)
	}
	<-s.entered
	if a := as("alice", oldCall("3", "echo", `{"text":"x"}`)); a.status != 429 {
		t.Errorf("too many calls: %d", a.status)
	}
	if a := as("alice", `{"jsonrpc":"2.0","id":1}`); a.status != 400 {
		t.Errorf("no message: %d", a.status)
	}
	if a := c.ask(plainPost(initBody("2024-11-05")).with("Content-Type", "text/plain").with("Authorization", "alice")); a.status != 415 {
		t.Errorf("content type: %d", a.status)
	}
	close(s.gates.open)
	if a := s.ask(&request{method: http.MethodGet, header: http.Header{"Accept": {"text/event-stream"}}}); a.status != 503 {
		t.Errorf("too many streams: %d", a.status)
	}
	if a := s.ask(&request{method: http.MethodGet, header: http.Header{"Accept": {"application/json"}}}); a.status != 406 {
		t.Errorf("Accept: %d", a.status)
	}
	if a := s.ask(&request{method: http.MethodDelete, header: http.Header{}}); a.status != 405 || a.header.Get("Allow") != "GET, POST" {
		t.Errorf("DELETE: %d", a.status)
	}
	if a := s.ask(&request{method: http.MethodGet, header: http.Header{"Accept": {"text/event-stream"}, "Origin": {"http://evil.test"}}}); a.status != 403 {
		t.Errorf("Origin: %d", a.status)
	}
}

func TestCaseE16EndpointBehindAPrefix(t *testing.T) {
	s := serveOld(t, "/api/v1/sse", nil)
	if c := s.connect(nil).shake(); !strings.HasPrefix(c.url, s.ts.URL+"/api/v1/sse?session=") {
		t.Errorf("endpoint %s", c.url)
	}
	// A proxy that adds a prefix which the server does not know.
	target, err := url.Parse(s.ts.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.StripPrefix("/public", forward(target)))
	defer func() {
		proxy.CloseClientConnections()
		proxy.Close()
	}()
	front := *s
	front.url = proxy.URL + "/public/api/v1/sse"
	front.client = proxy.Client()
	front.connect(nil).shake()

	fixed := serveOld(t, "/sse", &mcphttp.Options{SSEEndpoint: "https://mcp.example/messages?v=1"})
	if c := fixed.connect(nil); !strings.HasPrefix(c.url, "https://mcp.example/messages?v=1&session=") {
		t.Errorf("endpoint %s", c.url)
	}
}
