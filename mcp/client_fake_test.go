package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// A fake is a scripted server: what it does with each method is a function of the test.
type fakeServer struct {
	t  *testing.T
	on map[string]func(p *fakePeer, m *jsonrpc.Message)

	mu    sync.Mutex
	got   []jsonrpc.Message
	peers []*fakePeer
}

// A peer is one connection of a fake.
type fakePeer struct {
	f     *fakeServer
	rwc   io.ReadWriteCloser
	n     int // which connection, from 0
	mu    sync.Mutex
	calls sync.Map // id -> chan *jsonrpc.Message, requests of the fake
}

// modernFake makes a fake that speaks 2026-07-28 only.
func modernFake(t *testing.T) *fakeServer {
	f := newFake(t)
	f.on["server/discover"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.result(m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"instructions":"be kind",`+
			`"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}},`+
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1"}}}`)
	}
	return f
}

// legacyFake makes a fake that knows only the handshake, and answers every initialize with version.
func legacyFake(t *testing.T, version string) *fakeServer {
	f := newFake(t)
	f.on["initialize"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.result(m, fmt.Sprintf(`{"protocolVersion":%q,"serverInfo":{"name":"old","version":"1"},"instructions":"be brief",`+
			`"capabilities":{"logging":{},"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}}`, version))
	}
	return f
}

func newFake(t *testing.T) *fakeServer {
	return &fakeServer{t: t, on: map[string]func(*fakePeer, *jsonrpc.Message){}}
}

// serve is the server's end of a pipe.
func (f *fakeServer) serve(ctx context.Context, rwc io.ReadWriteCloser) error {
	f.mu.Lock()
	p := &fakePeer{f: f, rwc: rwc, n: len(f.peers)}
	f.peers = append(f.peers, p)
	f.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { rwc.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	lines := bufio.NewReader(rwc)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil
		}
		m, err := jsonrpc.Decode(line)
		if err != nil {
			f.t.Errorf("the client sent %q: %v", line, err)
			return err
		}
		f.mu.Lock()
		f.got = append(f.got, m)
		h := f.on[m.Method]
		f.mu.Unlock()
		switch {
		case m.Kind() == jsonrpc.Response:
			if c, ok := p.calls.LoadAndDelete(m.ID); ok {
				c.(chan *jsonrpc.Message) <- &m
			}
		case h != nil && m.Kind() == jsonrpc.Request:
			wg.Go(func() { h(p, &m) })
		case h != nil:
			h(p, &m)
		case m.Kind() == jsonrpc.Request:
			p.fail(&m, -32601, "method not found", "")
		}
	}
}

// set changes what the server does with a method while it is serving.
func (f *fakeServer) set(method string, h func(*fakePeer, *jsonrpc.Message)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on[method] = h
}

// received returns what the client sent of one method; all of it for an empty method.
func (f *fakeServer) received(method string) []jsonrpc.Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []jsonrpc.Message
	for _, m := range f.got {
		if method == "" || m.Method == method {
			out = append(out, m)
		}
	}
	return out
}

// last returns the last connection.
func (f *fakeServer) last() *fakePeer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peers[len(f.peers)-1]
}

func (p *fakePeer) send(m *jsonrpc.Message) {
	p.raw(string(jsonrpc.Append(nil, m)))
}

func (p *fakePeer) raw(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	io.WriteString(p.rwc, line+"\n") // the client may be gone, which is its right
}

func (p *fakePeer) result(m *jsonrpc.Message, raw string) {
	p.send(&jsonrpc.Message{ID: m.ID, Result: json.RawMessage(raw)})
}

func (p *fakePeer) fail(m *jsonrpc.Message, code int, msg, data string) {
	e := &jsonrpc.Error{Code: jsonrpc.Code(code), Message: msg}
	if data != "" {
		e.Data = json.RawMessage(data)
	}
	p.send(&jsonrpc.Message{ID: m.ID, Error: e})
}

func (p *fakePeer) notify(method, params string) {
	m := &jsonrpc.Message{Method: method}
	if params != "" {
		m.Params = json.RawMessage(params)
	}
	p.send(m)
}

// ask sends a request to the client and waits for its response, nil when ctx ends first.
func (p *fakePeer) ask(ctx context.Context, id, method, params string) *jsonrpc.Message {
	c := make(chan *jsonrpc.Message, 1)
	rid := jsonrpc.StringID(id)
	p.calls.Store(rid, c)
	p.send(&jsonrpc.Message{ID: rid, Method: method, Params: json.RawMessage(params)})
	select {
	case m := <-c:
		return m
	case <-ctx.Done():
		return nil
	}
}

// connect connects a client to the fake and closes it with the test.
func (f *fakeServer) connect(o *mcp.ClientOptions) *mcp.Client {
	f.t.Helper()
	c, err := mcp.Connect(f.t.Context(), mcp.Pipe(f.serve), o)
	if err != nil {
		f.t.Fatalf("Connect: %v", err)
	}
	f.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			f.t.Errorf("Close: %v", err)
		}
	})
	return c
}

// member returns a member of params or result, by path.
func memberIn(t *testing.T, raw json.RawMessage, path ...string) string {
	t.Helper()
	for _, step := range path {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatalf("%s: no object: %s", step, raw)
		}
		raw = m[step]
	}
	return string(raw)
}

// text answers a tools/call with a text.
func textResult(s string) string {
	return fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":%q}]}`, s)
}

// A clientLog collects what a client logs.
type clientLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *clientLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *clientLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *clientLog) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
