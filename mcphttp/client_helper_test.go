package mcphttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

const (
	typeEvents = "text/event-stream"
	okResult   = `{"resultType":"complete"}`
)

// A hit is one request that a scripted server got.
type hit struct {
	*http.Request
	body string
	msg  jsonrpc.Message
	w    http.ResponseWriter
}

// id returns the id of the request as JSON.
func (h *hit) id() string { return string(h.msg.ID.AppendJSON(nil)) }

// json answers with a result.
func (h *hit) json(result string) {
	h.w.Header().Set("Content-Type", "application/json")
	h.write(`{"jsonrpc":"2.0","id":%s,"result":%s}`, h.id(), result)
}

// events begins an event stream.
func (h *hit) events() {
	h.w.Header().Set("Content-Type", typeEvents)
	h.w.WriteHeader(http.StatusOK)
	h.flush()
}

// write writes to the body and flushes.
func (h *hit) write(format string, args ...any) {
	if _, err := fmt.Fprintf(h.w, format, args...); err == nil {
		h.flush()
	}
}

// event writes one event with a message.
func (h *hit) event(message string) { h.write("data: %s\n\n", message) }

// answer writes the response to the request as an event.
func (h *hit) answer(result string) {
	h.event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, h.id(), result))
}

func (h *hit) flush() {
	if f, ok := h.w.(http.Flusher); ok {
		f.Flush()
	}
}

// wait keeps the exchange open until its peer gives up.
func (h *hit) wait() { <-h.Context().Done() }

// script serves requests with a function and remembers them.
func script(f func(h *hit)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		h := &hit{Request: r, body: string(body), w: w}
		if len(body) > 0 {
			if h.msg, err = jsonrpc.Decode(body); err != nil {
				http.Error(w, err.Error(), http.StatusTeapot)
				return
			}
		}
		f(h)
	})
}

// A catcher is a receiver that keeps what it gets.
type catcher struct {
	mu   sync.Mutex
	got  []string // method and where it came from
	lost error
	ch   chan string
	on   func(m *jsonrpc.Message, via jsonrpc.ID)
}

func newCatcher() *catcher { return &catcher{ch: make(chan string, 1000)} }

func (c *catcher) Receive(_ context.Context, m *jsonrpc.Message, via jsonrpc.ID) {
	s := m.Method
	if !m.ID.IsZero() {
		s += "#" + m.ID.String()
	}
	if !via.IsZero() {
		s += " via " + via.String()
	}
	c.mu.Lock()
	c.got = append(c.got, s)
	c.mu.Unlock()
	c.ch <- s
	if c.on != nil {
		c.on(m, via)
	}
}

func (c *catcher) Lost(err error) { c.lost = err }

func (c *catcher) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.got, ", ")
}

// next waits for the next message.
func (c *catcher) next(t *testing.T) string {
	t.Helper()
	select {
	case s := <-c.ch:
		return s
	case <-t.Context().Done():
		t.Fatal("nothing came")
		return ""
	}
}

// A dialed is a link to a scripted server.
type dialed struct {
	mcp.Link
	t   *testing.T
	to  *catcher
	url string
	n   int64

	closed bool
}

// dialScript opens a link to a scripted server on loopback.
func dialScript(t *testing.T, o *mcphttp.DialOptions, f func(h *hit)) *dialed {
	t.Helper()
	ts := httptest.NewServer(script(f))
	t.Cleanup(ts.Close)
	return dialURL(t, ts.URL+"/mcp", o)
}

// dialURL opens a link, and checks in the end that it leaves nothing behind.
func dialURL(t *testing.T, url string, o *mcphttp.DialOptions) *dialed {
	t.Helper()
	to := newCatcher()
	l, err := mcphttp.Dial(url, o).Open(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	openLinks.Add(1)
	d := &dialed{Link: l, t: t, to: to, url: url}
	t.Cleanup(d.close)
	return d
}

// openLinks counts the links of the tests that are not closed.
var openLinks atomic.Int64

// close closes the link and, when it was the last one, looks for goroutines that links left.
func (d *dialed) close() {
	if d.closed {
		return
	}
	d.closed = true
	if err := d.Close(); err != nil {
		d.t.Logf("Close: %v", err)
	}
	if openLinks.Add(-1) > 0 {
		return
	}
	var left string
	for range 1000 { // a goroutine that was waited for may still be returning
		if left = linkGoroutine(); left == "" {
			return
		}
		runtime.Gosched()
	}
	d.t.Errorf("Close left a goroutine:\n%s", left)
}

// linkGoroutine returns the stack of a goroutine that belongs to a link.
func linkGoroutine() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for _, g := range strings.Split(string(buf), "\n\n") {
		if strings.Contains(g, "mcphttp.(*link)") || strings.Contains(g, "mcphttp.(*standing)") {
			return g
		}
	}
	return ""
}

// outgoing makes a request of a revision with the next id.
func (d *dialed) outgoing(rev mcp.Revision, method string) *mcp.Outgoing {
	d.n++
	return &mcp.Outgoing{ID: jsonrpc.IntID(d.n), Method: method, Params: json.RawMessage(`{}`), Revision: rev}
}

// modern sends a request of 2026-07-28.
func (d *dialed) modern(method string) (*jsonrpc.Message, error) {
	return d.RoundTrip(d.t.Context(), d.outgoing(mcp.Revision20260728, method))
}

// call sends a request of 2025-11-25.
func (d *dialed) call(method string) (*jsonrpc.Message, error) {
	return d.RoundTrip(d.t.Context(), d.outgoing(mcp.Revision20251125, method))
}

// handshake begins a session of 2025-11-25.
func (d *dialed) handshake() {
	d.t.Helper()
	m, err := d.call(mcp.MethodInitialize)
	if err != nil || m.Error != nil {
		d.t.Fatalf("initialize: %v %v", m, err)
	}
	d.Established(mcp.Revision20251125)
	if err := d.Send(d.t.Context(), &jsonrpc.Message{Method: mcp.NotificationInitialized}); err != nil {
		d.t.Fatal(err)
	}
}

// result asserts that a request had a result.
func result(t *testing.T, m *jsonrpc.Message, err error) string {
	t.Helper()
	switch {
	case err != nil:
		t.Fatal(err)
	case m.Error != nil:
		t.Fatal(m.Error)
	}
	return string(m.Result)
}

// transportError asserts that a request failed at transport level with a status and a text.
func transportError(t *testing.T, err error, status int, text string) *mcp.TransportError {
	t.Helper()
	var e *mcp.TransportError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a TransportError", err)
	}
	if e.Status != status || !strings.Contains(e.Error(), text) {
		t.Errorf("got %v, want status %d and %q", e, status, text)
	}
	return e
}

// legacyScript answers the handshake of 2025-11-25 with a session and no standalone stream, and leaves the rest to f.
func legacyScript(f func(h *hit)) func(h *hit) {
	return func(h *hit) {
		switch {
		case h.msg.Method == mcp.MethodInitialize:
			h.w.Header().Set("Mcp-Session-Id", "s1")
			h.json(`{"protocolVersion":"2025-11-25"}`)
		case h.msg.Method == mcp.NotificationInitialized:
			h.w.WriteHeader(http.StatusAccepted)
		case h.Method == http.MethodDelete:
			h.w.WriteHeader(http.StatusOK)
		case h.Method == http.MethodGet && h.Header.Get("Last-Event-Id") == "":
			h.w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			f(h)
		}
	}
}

// A memoryNet is a network in memory, for tests with a clock of their own.
type memoryNet struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newMemoryNet() *memoryNet {
	return &memoryNet{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (n *memoryNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *memoryNet) Close() error {
	n.once.Do(func() { close(n.done) })
	return nil
}

func (n *memoryNet) Addr() net.Addr { return &net.IPAddr{} }

func (n *memoryNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case n.conns <- far:
		return near, nil
	case <-n.done:
		return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// dialMemory opens a link to a scripted server in memory; it is for use inside a synctest bubble.
func dialMemory(t *testing.T, o *mcphttp.DialOptions, f func(h *hit)) *dialed {
	t.Helper()
	n := newMemoryNet()
	srv := &http.Server{Handler: script(f)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(n)
	}()
	transport := &http.Transport{DialContext: n.dial}
	if o == nil {
		o = &mcphttp.DialOptions{}
	}
	o.Client = &http.Client{Transport: transport}
	d := dialURL(t, "http://memory.test/mcp", o)
	t.Cleanup(func() {
		d.close()
		transport.CloseIdleConnections()
		if err := srv.Shutdown(context.Background()); err != nil { // waits for handlers too
			t.Error(err)
		}
		<-served
	})
	return d
}

// A kept is a list that handlers add to.
type kept[T any] struct {
	mu sync.Mutex
	v  []T
}

func (k *kept[T]) add(v T) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.v = append(k.v, v)
	return len(k.v)
}

func (k *kept[T]) all() []T {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.v)
}
