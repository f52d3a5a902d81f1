package mcphttp_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// BenchmarkAskRounds is a call of a tool that asks one question, at the handler: the request that is answered with the question, and the
// one that brings the answer and the sealed state back.
func BenchmarkAskRounds(b *testing.B) {
	type approval struct {
		Yes bool `json:"yes" jsonschema:"whether to go on"`
	}
	type subject struct {
		Subject string `json:"subject"`
	}
	srv := mcp.NewServer("bench", "1", &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	mcp.AddTool(srv, &mcp.Tool{Name: "approve", Asks: ask.Declare(ask.FormItem[approval]("q0", "Go on?"))},
		func(ctx context.Context, c *mcp.Call, in subject) (string, error) {
			f, err := ask.Form[approval](ctx, c, "q0", "Go on?")
			if err != nil || !f.Yes {
				return "", err
			}
			return "done: " + in.Subject, nil
		})
	h := mcphttp.NewHandler(srv, nil)
	r := callTool("1", "approve", `{"subject":"launch"}`)
	first := bytes.Replace([]byte(r.body), []byte(`"io.modelcontextprotocol/clientCapabilities":{}`),
		[]byte(`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}`), 1)
	params := []byte(`"params":{`)
	cut := bytes.Index(first, params) + len(params)
	req := httptest.NewRequestWithContext(b.Context(), r.method, "http://localhost/mcp", nil)
	req.Header = r.header
	var body bytes.Reader
	req.Body = io.NopCloser(&body)
	w := &keptWriter{header: make(http.Header, 8)}
	serve := func(raw []byte) []byte {
		body.Reset(raw)
		req.ContentLength = int64(len(raw))
		clear(w.header)
		w.body = w.body[:0]
		h.ServeHTTP(w, req)
		if w.status != http.StatusOK {
			b.Fatalf("status %s: %s", strconv.Itoa(w.status), w.body)
		}
		return w.body
	}
	var next []byte
	b.ReportAllocs()
	for b.Loop() {
		_, state, found := bytes.Cut(serve(first), []byte(`"requestState":"`))
		state, _, _ = bytes.Cut(state, []byte(`"`))
		if !found {
			b.Fatalf("no question: %s", w.body)
		}
		next = append(next[:0], first[:cut]...)
		next = append(next, `"inputResponses":{"q0":{"action":"accept","content":{"yes":true}}},"requestState":"`...)
		next = append(append(append(next, state...), `",`...), first[cut:]...)
		if !bytes.Contains(serve(next), []byte("done: launch")) {
			b.Fatalf("no answer: %s", w.body)
		}
	}
}

// keptWriter keeps the last body.
type keptWriter struct {
	header http.Header
	status int
	body   []byte
}

func (w *keptWriter) Header() http.Header { return w.header }
func (w *keptWriter) WriteHeader(s int)   { w.status = s }
func (w *keptWriter) Write(p []byte) (int, error) {
	w.body = append(w.body, p...)
	return len(p), nil
}
