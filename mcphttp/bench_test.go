package mcphttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// The workload of the shared benchmarks: a tool that echoes a text, a number and labels, with structured output.
type echoIn struct {
	Text  string   `json:"text" jsonschema:"text to echo"`
	Count int      `json:"count" jsonschema:"a number to echo"`
	Tags  []string `json:"tags,omitempty" jsonschema:"labels to echo"`
}

type echoOut struct {
	Text  string   `json:"text" jsonschema:"the text"`
	Count int      `json:"count" jsonschema:"the number"`
	Tags  []string `json:"tags,omitempty" jsonschema:"the labels"`
}

func echoServer() *mcp.Server {
	srv := mcp.NewServer("bench", "1", &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	mcp.AddTool(srv, &mcp.Tool{Name: "echo", Description: "Echoes."}, func(_ context.Context, _ *mcp.Call, in echoIn) (echoOut, error) {
		return echoOut(in), nil
	})
	return srv
}

// nullWriter is a response that goes nowhere.
type nullWriter struct {
	header http.Header
	status int
	n      int
}

func (w *nullWriter) Header() http.Header { return w.header }
func (w *nullWriter) WriteHeader(s int)   { w.status = s }
func (w *nullWriter) Write(p []byte) (int, error) {
	w.n += len(p)
	return len(p), nil
}

// bench sends one request over and over to a handler, without a socket. Making the request costs the same for all.
func bench(b *testing.B, h http.Handler, r *request) {
	b.Helper()
	body := bytes.NewReader([]byte(r.body))
	req := httptest.NewRequestWithContext(b.Context(), r.method, "http://localhost/mcp", nil)
	req.Header = r.header
	req.Body = io.NopCloser(body)
	req.ContentLength = int64(len(r.body))
	w := &nullWriter{header: make(http.Header, 8)}
	b.ReportAllocs()
	for b.Loop() {
		body.Reset([]byte(r.body))
		clear(w.header)
		h.ServeHTTP(w, req)
		if w.status != http.StatusOK {
			b.Fatalf("status %d", w.status)
		}
	}
	b.SetBytes(int64(len(r.body)))
}

func echoArgs(n int) string {
	return `{"text":"` + strings.Repeat("x", n) + `","count":7,"tags":["a","b"]}`
}

func BenchmarkHandler(b *testing.B) {
	h := mcphttp.NewHandler(echoServer(), nil)
	for _, size := range []struct {
		name string
		n    int
	}{{"100B", 100}, {"64KiB", 64 << 10}} {
		b.Run("2026/"+size.name, func(b *testing.B) { bench(b, h, callTool("1", "echo", echoArgs(size.n))) })
		b.Run("floor/"+size.name, func(b *testing.B) { bench(b, http.HandlerFunc(floor), callTool("1", "echo", echoArgs(size.n))) })
	}
	b.Run("2026/list", func(b *testing.B) { bench(b, h, modern("1", "tools/list", "", "")) })
}

// floor is what a handler written by hand for this one tool would do with encoding/json, without any check.
func floor(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Params struct {
			Name      string `json:"name"`
			Arguments echoIn `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	out, err := json.Marshal(m.Params.Arguments)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	type content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	var reply struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  struct {
			Type       string          `json:"resultType"`
			Content    []content       `json:"content"`
			Structured json.RawMessage `json:"structuredContent"`
		} `json:"result"`
	}
	reply.Version, reply.ID = "2.0", m.ID
	reply.Result.Type, reply.Result.Content, reply.Result.Structured = "complete", []content{{"text", string(out)}}, out
	answer, err := json.Marshal(&reply)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	w.Write(answer)
}

// BenchmarkSocket has 64 clients over loopback, which is what net/http allows.
func BenchmarkSocket(b *testing.B) {
	for name, h := range map[string]http.Handler{"2026": mcphttp.NewHandler(echoServer(), nil), "floor": http.HandlerFunc(floor)} {
		b.Run(name, func(b *testing.B) {
			ts := httptest.NewServer(h)
			defer ts.Close()
			tr := &http.Transport{MaxIdleConnsPerHost: 100}
			defer tr.CloseIdleConnections()
			c := &http.Client{Transport: tr}
			r := callTool("1", "echo", echoArgs(100))
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := post(b.Context(), c, ts.URL, r); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// post sends a request and reads the answer.
func post(ctx context.Context, c *http.Client, url string, r *request) error {
	req, err := http.NewRequestWithContext(ctx, r.method, url, strings.NewReader(r.body))
	if err != nil {
		return err
	}
	req.Header = r.header
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
