package mcphttp_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcphttp"
)

// FuzzHandler posts anything at all. Whatever comes, the answer has a status of the protocol, and a body that is one JSON-RPC message,
// an array of them or a stream; an id in it was in the request; nothing is answered with an internal error.
func FuzzHandler(f *testing.F) {
	good := callTool("1", "echo", `{"text":"x"}`)
	for _, body := range []string{
		good.body, modern(`"s"`, "tools/list", "", "").body, initBody("2025-11-25"), `[` + initBody("2025-03-26") + `,1]`, `{`, ``, `null`, `[]`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":1}}}`,
	} {
		f.Add(body, "application/json, text/event-stream", "application/json", modernRev, "tools/call", "echo", "", "localhost", "")
		f.Add(body, "*/*;q=0.1", "application/json; charset=utf-8", "2025-03-26", "", "", "nope", "[::1]:80", "http://localhost")
	}
	srv, _ := newServer(nil)
	h := mcphttp.NewHandler(srv, &mcphttp.Options{KeepAlive: -1, Logger: slog.New(slog.DiscardHandler), Sessions: &mcphttp.SessionOptions{Stateless: true}})
	f.Fuzz(func(t *testing.T, body, accept, contentType, version, method, name, session, host, origin string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
		r.Host = host
		for k, v := range map[string]string{"Accept": accept, "Content-Type": contentType, "Mcp-Protocol-Version": version,
			"Mcp-Method": method, "Mcp-Name": name, "Mcp-Session-Id": session, "Origin": origin} {
			if v != "" {
				r.Header[k] = []string{v}
			}
		}
		if strings.Contains(body, "wait") || strings.Contains(body, "poll") || strings.Contains(body, "listen") {
			return // would block
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if !slices.Contains([]int{200, 202, 400, 403, 404, 406, 413, 415, 429, 431}, w.Code) {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		answer := w.Body.Bytes()
		if strings.Contains(w.Body.String(), `"internal error"`) {
			t.Fatalf("an internal error: %s", answer)
		}
		switch ct := w.Header().Get("Content-Type"); {
		case len(answer) == 0 && w.Code == http.StatusAccepted, ct == "text/event-stream":
		case ct != "application/json":
			t.Fatalf("%d %s %q", w.Code, ct, answer)
		case jsonrpc.IsBatch(answer):
			if _, err := jsonrpc.DecodeBatch(answer); err != nil {
				t.Fatalf("%v in %q", err, answer)
			}
		default:
			m, err := jsonrpc.Decode(answer)
			if err != nil {
				t.Fatalf("%v in %q", err, answer)
			}
			if asked, err := jsonrpc.Decode([]byte(body)); err == nil && !m.ID.IsZero() && m.ID != asked.ID {
				t.Fatalf("id %v answered with %v", asked.ID, m.ID)
			}
		}
	})
}
