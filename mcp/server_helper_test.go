package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// metaText is the _meta that every request of 2026-07-28 needs.
const metaText = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// testServer is a server whose log can be read.
type testServer struct {
	*mcp.Server
	log *syncBuffer
}

// syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newServer(t testing.TB, o *mcp.ServerOptions) *testServer {
	t.Helper()
	if o == nil {
		o = &mcp.ServerOptions{}
	}
	log := &syncBuffer{}
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return &testServer{mcp.NewServer("test", "1.0", o), log}
}

// recorder is a stream that keeps what is sent.
type recorder struct {
	mu   sync.Mutex
	sent []string
	ch   chan string // if not nil, gets each message too
	fail error
	hang chan struct{} // if not nil, Send waits until it is closed
}

func (r *recorder) Send(_ context.Context, m *jsonrpc.Message) error {
	line := string(jsonrpc.Append(nil, m))
	r.mu.Lock()
	hang := r.hang
	r.mu.Unlock()
	if hang != nil {
		<-hang
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return r.fail
	}
	r.sent = append(r.sent, line)
	if r.ch != nil {
		r.ch <- line
	}
	return nil
}

func (r *recorder) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.sent...)
}

// exchange decodes one message for an Exchange.
func exchange(t testing.TB, line string) *mcp.Exchange {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(line))
	if err != nil {
		t.Fatalf("decode %s: %v", line, err)
	}
	return &mcp.Exchange{Message: &m}
}

// serve admits and serves one exchange, and returns the reply as a line, "" for none.
func (s *testServer) serve(ctx context.Context, x *mcp.Exchange) (string, int) {
	if adm := s.Admit(x); adm.Err != nil {
		return string(jsonrpc.Append(nil, &jsonrpc.Message{ID: x.Message.ID, Error: adm.Err})), adm.Status
	}
	reply, status := s.Serve(ctx, x)
	if reply == nil {
		return "", status
	}
	return string(jsonrpc.Append(nil, reply)), status
}

// modern serves one request of 2026-07-28; params are the members of params beside _meta.
func (s *testServer) modern(t testing.TB, method, params string) string {
	t.Helper()
	line, _ := s.serve(t.Context(), exchange(t, modernLine(1, method, params)))
	return line
}

func modernLine(id int, method, params string) string {
	if params != "" {
		params = "," + params
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s}}`, id, method, metaText, params)
}

// legacy is a session of the handshake era in memory.
type legacy struct {
	t       testing.TB
	s       *testServer
	session *mcp.Session
	stream  *recorder
	id      int
}

// text returns a member of a JSON text by a path of names and indexes, as it stands there.
func at(t testing.TB, text string, path ...any) string {
	t.Helper()
	raw := jsontext.Value(text)
	for _, step := range path {
		switch step := step.(type) {
		case string:
			var m map[string]json.RawMessage
			if err := json.Unmarshal(raw, &m); err != nil {
				t.Fatalf("%s has no member %q: %v", text, step, err)
			}
			raw = jsontext.Value(m[step])
		case int:
			var l []json.RawMessage
			if err := json.Unmarshal(raw, &l); err != nil || step >= len(l) {
				t.Fatalf("%s has no element %d: %v", text, step, err)
			}
			raw = jsontext.Value(l[step])
		}
	}
	return string(raw)
}

// want fails the test if got does not hold all of parts.
func want(t testing.TB, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Fatalf("want %s in\n%s", part, got)
		}
	}
}

// wantNot fails the test if got holds one of parts.
func wantNot(t testing.TB, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(got, part) {
			t.Fatalf("do not want %s in\n%s", part, got)
		}
	}
}

type echoIn struct {
	Text string `json:"text" jsonschema:"what to say"`
	N    int64  `json:"n,omitempty"`
}

type echoOut struct {
	Text string `json:"text"`
	N    int64  `json:"n"`
}

func addEcho(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Title: "Echo", Description: "Says it again."},
		func(_ context.Context, _ *mcp.Call, in echoIn) (echoOut, error) { return echoOut(in), nil })
}

var _ io.Writer = (*syncBuffer)(nil)

// addNotes adds two resources and a template.
func addNotes(s *mcp.Server) {
	read := func(_ context.Context, c *mcp.Call) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "text of " + c.Name()}}}, nil
	}
	mcp.AddResource(s, &mcp.Resource{URI: "note:///a", Name: "a", MIMEType: "text/plain"}, read)
	mcp.AddResource(s, &mcp.Resource{URI: "note:///b", Name: "b"}, read)
	mcp.AddResourceTemplate(s, &mcp.ResourceTemplate{URITemplate: "day:///{year}/{month}", Name: "day", MIMEType: "text/x-day"},
		func(_ context.Context, _ *mcp.Call, vars mcp.TemplateVars) (*mcp.ReadResourceResult, error) {
			if vars.Get("month") == "13" {
				return nil, fmt.Errorf("no month 13: %w", mcp.ErrNotFound)
			}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: vars.Get("year") + "-" + vars.Get("month")}}}, nil
		})
}
