package matrix

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// A Heard is one message of the server.
type Heard struct {
	Text   string
	Status int // the HTTP status it came with, 0 on other transports
}

// A Wire is a connection to a server on which a test writes the client's messages by hand.
type Wire struct {
	Leg
	// Capabilities is what the client declares, as JSON: in the handshake, or with each request.
	Capabilities string

	t    *testing.T
	conn conn
	got  chan Heard
	kept []Heard // heard and not yet asked for
}

// conn carries messages.
type conn interface {
	// send sends a message as it is. It returns when the server has it.
	send(message string)
	// hangUp ends the connection from the client's side, and waits for what reads from it.
	hangUp()
}

// Wire opens a connection to a server of the fixture, shakes hands where the revision does that, and closes it with the test.
// Capabilities are the client's, {} by default.
func (l Leg) Wire(t *testing.T, f *Fixture, capabilities ...string) *Wire {
	t.Helper()
	w := l.Raw(t, f)
	w.Capabilities = strings.Join(append(capabilities, "{}")[:1], "")
	w.Handshake()
	return w
}

// Raw is Wire without the handshake.
func (l Leg) Raw(t *testing.T, f *Fixture) *Wire {
	t.Helper()
	w := &Wire{Leg: l, Capabilities: "{}", t: t, got: make(chan Heard, 10_000)}
	switch l.Transport {
	case HTTP:
		w.conn = w.openHTTP(l.serveHTTP(t, f.make()))
	case Stdio:
		w.conn = w.openLines(f.start(t))
	default:
		w.conn = w.openLines(serveLines(t, f.make()))
	}
	t.Cleanup(w.conn.hangUp)
	return w
}

// Handshake begins a session at the leg's revision. It does nothing where there are none.
func (w *Wire) Handshake() {
	w.t.Helper()
	if w.Modern() {
		return
	}
	w.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,`+
		`"clientInfo":{"name":"wire","version":"0"}}}`, w.Revision, w.Capabilities))
	if got := w.Answer(`"hello"`).Text; !strings.Contains(got, `"protocolVersion":"`+w.Revision.String()+`"`) {
		w.t.Fatalf("initialize: %s", got)
	}
	w.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// Send sends a message as it is.
func (w *Wire) Send(message string) { w.conn.send(message) }

// HangUp ends the connection from the client's side.
func (w *Wire) HangUp() { w.conn.hangUp() }

// Meta is the _meta of a request, as a member of its params, empty before 2026-07-28; more are further members of it.
func (w *Wire) Meta(more ...string) string {
	var members []string
	if w.Modern() {
		members = append(members, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`,
			`"io.modelcontextprotocol/clientCapabilities":`+w.Capabilities)
	}
	if members = append(members, more...); len(members) == 0 {
		return ""
	}
	return `"_meta":{` + strings.Join(members, ",") + `}`
}

// Line returns a request as the revision wants it; id is JSON, params the members of params beside _meta.
func (w *Wire) Line(id, method, params string, meta ...string) string {
	members := w.Meta(meta...)
	if members != "" && params != "" {
		members += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method, members, params)
}

// Request sends a request as the revision wants it.
func (w *Wire) Request(id, method, params string, meta ...string) {
	w.Send(w.Line(id, method, params, meta...))
}

// Ask sends a request and returns its answer.
func (w *Wire) Ask(id, method, params string, meta ...string) Heard {
	w.t.Helper()
	w.Request(id, method, params, meta...)
	return w.Answer(id)
}

// Cancel cancels a request: with a notification, or by closing its exchange where that is the revision's way.
func (w *Wire) Cancel(id string) {
	if h, ok := w.conn.(*httpConn); ok && w.Modern() {
		h.drop(id)
		return
	}
	w.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{` + strings.TrimSuffix(w.Meta(), "}") +
		map[bool]string{true: "},"}[w.Modern()] + `"requestId":` + id + `}}`)
}

// Answer waits for the answer to a request; id is JSON, and empty for an answer without an id. What else comes is kept.
func (w *Wire) Answer(id string) Heard {
	w.t.Helper()
	return w.Find("the answer to "+id, func(m *jsonrpc.Message) bool {
		return m.Kind() == jsonrpc.Response && idOf(m) == id
	})
}

// Notice waits for a notification or a request of a method.
func (w *Wire) Notice(method string) Heard {
	w.t.Helper()
	return w.Find(method, func(m *jsonrpc.Message) bool { return m.Method == method })
}

// Find waits for a message and keeps what came before it.
func (w *Wire) Find(what string, is func(m *jsonrpc.Message) bool) Heard {
	w.t.Helper()
	match := func(h Heard) bool {
		m, err := jsonrpc.Decode([]byte(h.Text))
		if err != nil {
			w.t.Fatalf("the server said %q: %v", h.Text, err)
		}
		return is(&m)
	}
	for i, h := range w.kept {
		if match(h) {
			w.kept = append(w.kept[:i], w.kept[i+1:]...)
			return h
		}
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case h := <-w.got:
			if match(h) {
				return h
			}
			w.kept = append(w.kept, h)
		case <-timer.C:
			w.t.Fatalf("%s did not come; heard: %v", what, w.kept)
		}
	}
}

// Rest returns what was heard and not asked for, after a further request was answered: whatever the server had to say by then.
func (w *Wire) Rest() []string {
	w.t.Helper()
	w.Ask(`"fence"`, "tools/list", "")
	return w.Kept()
}

// Kept returns what was heard and not asked for.
func (w *Wire) Kept() []string {
	var texts []string
	for _, h := range w.kept {
		texts = append(texts, h.Text)
	}
	w.kept = nil
	return texts
}

// hear takes a message of the server.
func (w *Wire) hear(text string, status int) { w.got <- Heard{Text: text, Status: status} }

func idOf(m *jsonrpc.Message) string {
	if m.ID.IsZero() {
		return ""
	}
	return string(m.ID.AppendJSON(nil))
}

// Error returns code, message and data of an error response, failing the test for anything else.
func (h Heard) Error(t *testing.T) (code int, message, data string) {
	t.Helper()
	var m struct {
		Error *struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	}
	if err := jsonv2.Unmarshal([]byte(h.Text), &m); err != nil || m.Error == nil {
		t.Fatalf("no error: %s (%v)", h.Text, err)
	}
	return m.Error.Code, m.Error.Message, string(m.Error.Data)
}

// WantError checks the code of an error response and, over HTTP, the status unless it is 0.
func (h Heard) WantError(t *testing.T, code, status int) {
	t.Helper()
	if got, _, _ := h.Error(t); got != code || h.Status != 0 && status != 0 && h.Status != status {
		t.Errorf("got status %d, %s; want code %d, status %d", h.Status, h.Text, code, status)
	}
}

// Has reports whether the text has all of parts, failing the test if not.
func (h Heard) Has(t *testing.T, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(h.Text, p) {
			t.Errorf("no %s in %s", p, h.Text)
		}
	}
}

// routed is what HTTP repeats of a message in headers.
type routed struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params struct {
		Name   jsontext.Value `json:"name"`
		URI    jsontext.Value `json:"uri"`
		TaskID jsontext.Value `json:"taskId"`
	} `json:"params"`
}

// route reads what it can of a message that may be broken.
func route(message string) routed {
	var r routed
	if err := jsonv2.Unmarshal([]byte(message), &r, jsontext.AllowDuplicateNames(true)); err != nil {
		return routed{ID: r.ID, Method: r.Method}
	}
	return r
}

// name returns what Mcp-Name must say.
func (r *routed) name() (name string) {
	for _, v := range []jsontext.Value{r.Params.Name, r.Params.URI, r.Params.TaskID} {
		if v.Kind() == '"' && jsonv2.Unmarshal(v, &name) == nil {
			return name
		}
	}
	return ""
}

// lineConn is a stream connection.
type lineConn struct {
	w    *Wire
	in   io.WriteCloser
	out  *bufio.Reader
	wait func() // for the server's end

	once sync.Once
	read chan struct{}
}

// serveLines serves srv in memory.
func serveLines(t *testing.T, srv *mcp.Server) *lineConn {
	near, far := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.ServeConn(ctx, far) }()
	return &lineConn{in: near, out: bufio.NewReader(near), wait: func() {
		defer cancel()
		select {
		case err := <-served:
			if err != nil && !errors.Is(err, io.ErrClosedPipe) { // which is a client that hung up on an answer
				t.Errorf("ServeConn: %v", err)
			}
		case <-time.After(patience):
			t.Error("ServeConn does not return")
		}
	}}
}

func (w *Wire) openLines(c *lineConn) conn {
	c.w, c.read = w, make(chan struct{})
	go func() {
		defer close(c.read)
		for {
			line, err := c.out.ReadString('\n')
			if err != nil {
				if line != "" {
					w.hear(line, 0)
				}
				return
			}
			w.hear(strings.TrimSuffix(line, "\n"), 0)
		}
	}()
	return c
}

func (c *lineConn) send(message string) {
	if _, err := io.WriteString(c.in, message+"\n"); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		c.w.t.Errorf("sending %.100s: %v", message, err)
	}
}

func (c *lineConn) hangUp() {
	c.once.Do(func() {
		_ = c.in.Close()
		<-c.read
		c.wait()
	})
}
