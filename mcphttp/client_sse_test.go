//go:build !mcp_modern_only

package mcphttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// An oldServer speaks HTTP+SSE of 2024-11-05 at /api/v1/sse.
type oldServer struct {
	t        *testing.T
	endpoint string
	post     func(h *hit) bool // false: go on as usual
	out      chan string       // what to send on the stream
	drop     chan struct{}     // ends the stream
}

func (s *oldServer) serve(h *hit) {
	switch {
	case h.Method == http.MethodGet && h.URL.Path == "/api/v1/sse":
		h.events()
		h.write(": hello\n\nevent: endpoint\ndata: %s\n\n", strings.ReplaceAll(s.endpoint, "HOST", h.Host))
		for {
			select {
			case m := <-s.out:
				h.write("event: message\ndata: %s\n\n", m)
			case <-s.drop:
				return
			case <-h.Context().Done():
				return
			}
		}
	case h.URL.Path == "/api/v1/sse":
		http.Error(h.w, "method not allowed", http.StatusMethodNotAllowed)
	case h.Method != http.MethodPost || h.URL.RequestURI() != "/api/v1/messages?sid=1" && h.URL.RequestURI() != "/messages?sid=1":
		s.t.Errorf("unexpected %s %s", h.Method, h.URL)
	case s.post != nil && s.post(h):
	default:
		h.w.WriteHeader(http.StatusAccepted)
		if !h.msg.ID.IsZero() && h.msg.Method != "" {
			s.out <- `{"jsonrpc":"2.0","method":"notifications/message"}`
			s.out <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"method":%q}}`, h.id(), h.msg.Method)
		}
	}
}

// dialOld begins a session with an old server.
func dialOld(t *testing.T, s *oldServer) *dialed {
	t.Helper()
	s.t, s.out, s.drop = t, make(chan string, 10), make(chan struct{}, 1)
	d := dialScript(t, nil, s.serve)
	base := strings.TrimSuffix(d.url, "/mcp")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return dialURL(t, base+"/api/v1/sse", nil)
}

// begin shakes hands with an old server.
func (d *dialed) begin() {
	d.t.Helper()
	m, err := d.RoundTrip(d.t.Context(), d.outgoing(mcp.Revision20251125, mcp.MethodInitialize))
	result(d.t, m, err)
	d.Established(mcp.Revision20241105)
	if err := d.Send(d.t.Context(), &jsonrpc.Message{Method: mcp.NotificationInitialized}); err != nil {
		d.t.Fatal(err)
	}
}

// old sends a request of 2024-11-05.
func (d *dialed) old(method string) (*jsonrpc.Message, error) {
	return d.RoundTrip(d.t.Context(), d.outgoing(mcp.Revision20241105, method))
}

// E16: the endpoint is a URI reference, resolved against the URL of the stream.
func TestCaseE16Endpoint(t *testing.T) {
	for _, endpoint := range []string{
		"messages?sid=1", "/api/v1/messages?sid=1", "./messages?sid=1", "/messages?sid=1", "http://HOST/messages?sid=1", "../v1/messages?sid=1#x",
	} {
		d := dialOld(t, &oldServer{endpoint: endpoint})
		d.begin()
		m, err := d.old(mcp.MethodToolsList)
		if got := result(t, m, err); got != `{"method":"tools/list"}` {
			t.Errorf("%s: %s", endpoint, got)
		}
		if got := d.to.next(t); got != "notifications/message" {
			t.Error(got)
		}
	}
	for endpoint, text := range map[string]string{
		"http://internal.test:8080/messages": "another origin",
		"https://HOST/messages":              "another origin",
		"//evil.test/messages":               "another origin",
		"http://[bad":                        "endpoint",
		"javascript:alert(1)":                "another origin",
	} {
		d := dialOld(t, &oldServer{endpoint: endpoint})
		_, err := d.call(mcp.MethodInitialize)
		transportError(t, err, 405, text)
	}
}

// What refuses initialize and is no old server either fails with its first answer; what is an error of the new era is no reason to try.
func TestSSEFallBack(t *testing.T) {
	const rpc = `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m"}}`
	for name, tt := range map[string]struct {
		status int
		body   string
		get    func(h *hit)
		text   string // empty: an error response
		gets   int
	}{
		"html":         {404, "<html>", func(h *hit) { h.write("<html>") }, "does not speak HTTP+SSE either", 1},
		"405":          {405, rpc, func(h *hit) { h.w.WriteHeader(404) }, "does not speak HTTP+SSE either", 1},
		"first event":  {400, "", func(h *hit) { h.events(); h.event("{}") }, "instead of endpoint", 1},
		"ended":        {400, "", func(h *hit) { h.events() }, "EOF", 1},
		"dropped":      {400, "", func(*hit) { panic(http.ErrAbortHandler) }, "either", 1},
		"401":          {401, "", nil, "401", 0},
		"406":          {406, "", nil, "406", 0},
		"error at 400": {400, rpc, func(h *hit) { h.w.WriteHeader(405) }, "", 1},
		"modern error": {400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m","data":{"supported":["2026-07-28"]}}}`, nil, "", 0},
		"error at 406": {406, rpc, nil, "", 0},
	} {
		var gets kept[int]
		d := dialScript(t, nil, func(h *hit) {
			if h.Method == http.MethodGet {
				gets.add(1)
				tt.get(h)
				return
			}
			h.w.WriteHeader(tt.status)
			h.write("%s", tt.body)
		})
		m, err := d.call(mcp.MethodInitialize)
		if n := len(gets.all()); n < tt.gets || n > 2*tt.gets { // net/http may repeat a GET by itself
			t.Errorf("%s: %d GETs", name, n)
		}
		if tt.text == "" {
			if err != nil || m.Error == nil {
				t.Errorf("%s: %v %v", name, m, err)
			}
			continue
		}
		transportError(t, err, tt.status, tt.text)
	}
}

// An event stream that names no endpoint is not waited for for ever.
func TestSSEWithoutEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dialMemory(t, nil, func(h *hit) {
			if h.Method == http.MethodGet {
				h.events()
				h.wait()
				return
			}
			h.w.WriteHeader(http.StatusBadRequest)
		})
		began := time.Now()
		_, err := d.call(mcp.MethodInitialize)
		transportError(t, err, 400, "no endpoint event within 10s")
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// The caller can give up while the server is silent about its endpoint.
func TestSSESilence(t *testing.T) {
	entered := make(chan struct{})
	d := dialScript(t, nil, func(h *hit) {
		if h.Method == http.MethodPost {
			h.w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		h.events()
		close(entered)
		h.wait()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	if _, err := d.RoundTrip(ctx, d.outgoing(mcp.Revision20251125, mcp.MethodInitialize)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A session of HTTP+SSE ends with its stream: calls under way fail without being taken for not sent, later ones learn that the session
// is gone, and initialize begins a new one.
func TestSSESessionLost(t *testing.T) {
	s := &oldServer{endpoint: "messages?sid=1"}
	s.post = func(h *hit) bool {
		if h.msg.Method != mcp.MethodToolsCall {
			return false
		}
		h.w.WriteHeader(http.StatusAccepted)
		s.drop <- struct{}{}
		return true
	}
	d := dialOld(t, s)
	d.begin()
	_, err := d.old(mcp.MethodToolsCall)
	transportError(t, err, 200, "ended before the response")
	if _, err := d.old(mcp.MethodToolsList); !errors.Is(err, mcp.ErrSessionLost) {
		t.Error(err)
	}
	if err := d.Send(t.Context(), &jsonrpc.Message{Method: "notifications/x"}); !errors.Is(err, mcp.ErrSessionLost) {
		t.Error(err)
	}
	d.begin()
	m, err := d.old(mcp.MethodToolsList)
	result(t, m, err)
	if d.to.lost != nil {
		t.Error(d.to.lost)
	}
	d.begin() // while the last one is alive
	m, err = d.old(mcp.MethodToolsList)
	result(t, m, err)
}

// Refusals of a POST are those of the request; what the stream says that nobody waits for is passed over.
func TestSSEPostRefused(t *testing.T) {
	s := &oldServer{endpoint: "messages?sid=1"}
	s.post = func(h *hit) bool {
		switch h.msg.Method {
		case "test/busy":
			http.Error(h.w, "busy", http.StatusBadRequest)
		case "test/gone":
			http.Error(h.w, "no such session", http.StatusNotFound)
		case "test/error":
			h.w.WriteHeader(http.StatusBadRequest)
			h.write(`{"jsonrpc":"2.0","error":{"code":-32600,"message":"m"}}`)
		case "test/unreadable":
			h.w.WriteHeader(http.StatusAccepted)
			s.out <- `nonsense`
			s.out <- `{"jsonrpc":"2.0","id":999,"result":{}}`
			s.out <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"a":1,"a":2}}`, h.id())
		case "test/drop":
			panic(http.ErrAbortHandler)
		default:
			return false
		}
		return true
	}
	d := dialOld(t, s)
	d.begin()
	_, err := d.old("test/busy")
	transportError(t, err, 400, "busy")
	if _, err := d.old("test/gone"); !errors.Is(err, mcp.ErrSessionLost) {
		t.Error(err)
	}
	for _, method := range []string{"test/error", "test/unreadable"} {
		m, err := d.old(method)
		if err != nil || m.Error == nil || m.Error.Code != jsonrpc.CodeInvalidRequest {
			t.Errorf("%s: %v %v", method, m, err)
		}
	}
	_, err = d.old("test/drop")
	transportError(t, err, 0, "no answer")
	m, err := d.old(mcp.MethodToolsList)
	result(t, m, err)
}

// Giving up is told to the server, and Close unblocks a call.
func TestSSECancel(t *testing.T) {
	entered, told := make(chan struct{}, 2), make(chan string, 2)
	s := &oldServer{endpoint: "messages?sid=1"}
	s.post = func(h *hit) bool {
		switch h.msg.Method {
		case mcp.MethodToolsCall:
			entered <- struct{}{}
		case mcp.NotificationCancelled:
			told <- string(h.msg.Params)
		default:
			return false
		}
		h.w.WriteHeader(http.StatusAccepted)
		return true
	}
	d := dialOld(t, s)
	d.begin()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	if _, err := d.RoundTrip(ctx, d.outgoing(mcp.Revision20241105, mcp.MethodToolsCall)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := <-told; !strings.Contains(got, `"requestId":2`) {
		t.Error(got)
	}
	closed := make(chan error, 1)
	go func() {
		<-entered
		closed <- d.Close()
	}()
	if _, err := d.old(mcp.MethodToolsCall); !errors.Is(err, mcp.ErrClosed) {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// The old stream is bounded per message like the new ones.
func TestSSEBound(t *testing.T) {
	s := &oldServer{endpoint: "messages?sid=1", t: t, out: make(chan string, 10), drop: make(chan struct{})}
	s.post = func(h *hit) bool {
		if h.msg.Method == mcp.MethodToolsCall {
			h.w.WriteHeader(http.StatusAccepted)
			s.out <- strings.Repeat("a", 5000)
			return true
		}
		return false
	}
	base := dialScript(t, nil, s.serve)
	d := dialURL(t, strings.TrimSuffix(base.url, "/mcp")+"/api/v1/sse", &mcphttp.DialOptions{MaxMessageBytes: 4000})
	d.begin()
	_, err := d.old(mcp.MethodToolsCall)
	transportError(t, err, 200, "4000")
}
