package matrix_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// H11: requests about a task repeat its id in a header, and the server compares.
func TestCaseH11TaskName(t *testing.T) {
	srv := mcp.NewServer("tasks", "1", &mcp.ServerOptions{Logger: quiet()})
	type about struct {
		TaskID string `json:"taskId"`
	}
	mcp.HandleMethod(srv, mcp.MethodTasksGet, func(_ context.Context, _ *mcp.Call, p about) (map[string]string, error) {
		return map[string]string{"task": p.TaskID}, nil
	})
	ts := httptest.NewServer(mcphttp.NewHandler(srv, &mcphttp.Options{Logger: quiet()}))
	defer ts.Close()
	for _, tc := range []struct {
		header []string
		id     string
		status int
	}{
		{[]string{"t1"}, "t1", 200}, {nil, "t1", 400}, {[]string{"t2"}, "t1", 400}, {[]string{"t1", "t1"}, "t1", 400},
		{[]string{"=?base64?IHQx?="}, " t1", 200}, {[]string{"=?base64?IHQx"}, " t1", 400}, {[]string{"=?base64?!!!?="}, " t1", 400},
	} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"taskId":%q,"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tc.id)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, ts.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tasks/get"}, "Mcp-Name": tc.header}
		resp, err := ts.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			Error *struct {
				Code int `json:"code"`
			} `json:"error"`
		}
		if err := jsonv2.UnmarshalRead(resp.Body, &m); err != nil {
			t.Error(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tc.status || (m.Error == nil) != (tc.status == 200) || m.Error != nil && m.Error.Code != -32020 {
			t.Errorf("Mcp-Name %q, task %q: %d %v", tc.header, tc.id, resp.StatusCode, m.Error)
		}
	}
}

// badList has one tool that must not be used over HTTP between two that are fine.
const badList = `{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}},` +
	`{"name":"b","inputSchema":{"type":"object","properties":{"x":%s}}},` +
	`{"name":"c","inputSchema":{"type":"object","properties":{"at":{"type":"object","properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}}}}}]}`

// H12: one tool whose headers are wrong is left out where headers matter, and the others stay.
func TestCaseH12OneBadHeader(t *testing.T) {
	for _, x := range []string{
		`{"type":"number","x-mcp-header":"N"}`, `{"type":"array","items":{"type":"string","x-mcp-header":"N"}}`, `{"type":"string","x-mcp-header":"Re gion"}`,
		`{"type":"string","x-mcp-header":"N"},"y":{"type":"string","x-mcp-header":"n"}`,
	} {
		var mu sync.Mutex
		var zones []string
		serve := func(method string, h http.Header) string {
			switch method {
			case mcp.MethodDiscover:
				return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
			case mcp.MethodToolsList:
				return fmt.Sprintf(badList, x)
			}
			mu.Lock()
			zones = append(zones, fmt.Sprint(h["Mcp-Param-Zone"]))
			mu.Unlock()
			return `{"resultType":"complete","content":[]}`
		}
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			if err := jsonv2.UnmarshalRead(r.Body, &m); err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, serve(m.Method, r.Header))
		}))
		var log strings.Builder
		names := func(transport mcp.Transport) (*mcp.Client, []string) {
			c, err := mcp.Connect(t.Context(), transport, &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for tool, err := range c.Tools(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, tool.Name)
			}
			return c, got
		}
		c, got := names(mcphttp.Dial(ts.URL))
		if !slices.Equal(got, []string{"a", "c"}) || !strings.Contains(log.String(), `"b"`) && !strings.Contains(log.String(), "=b") {
			t.Errorf("%s: over HTTP %v; log %s", x, got, log.String())
		}
		for _, args := range []string{`{"at":{"zone":"eu"}}`, `{"at":{"zone":null}}`, `{}`} {
			if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "c", Arguments: json.RawMessage(args)}); err != nil {
				t.Errorf("%s: %v", args, err)
			}
		}
		if got := strings.Join(zones, " "); got != "[eu] [] []" {
			t.Errorf("mirrored %s", got)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		ts.Close()
		s, got := names(mcp.Pipe(matrix.Lines(func(method string) string { return serve(method, nil) })))
		if !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("%s: in memory %v", x, got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// N16: who calls is known to the handler, per request, of a server that all share; what Use adds is there once.
func TestCaseN16IdentityPerRequest(t *testing.T) {
	srv := mcp.NewServer("shared", "1", &mcp.ServerOptions{Logger: quiet()})
	var mu sync.Mutex
	passed := 0
	srv.Use(func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, c *mcp.Call) (any, error) {
			if c.Method() == mcp.MethodToolsCall {
				mu.Lock()
				passed++
				mu.Unlock()
			}
			return next(ctx, c)
		}
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "who"}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return c.Principal().Subject, nil
	})
	h := mcphttp.NewHandler(srv, &mcphttp.Options{Logger: quiet(), Authenticate: func(r *http.Request) (*mcp.Principal, error) {
		return &mcp.Principal{Issuer: "i", Subject: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}, nil
	}})
	ts := httptest.NewServer(h)
	defer ts.Close()
	for _, l := range matrix.Legs(matrix.Is(matrix.HTTP)) {
		if l.Revision == mcp.Revision20241105 {
			continue
		}
		passed = 0
		var wg sync.WaitGroup
		for i := range 12 {
			name := fmt.Sprint("user", i)
			wg.Go(func() {
				c, err := mcp.Connect(t.Context(), mcphttp.Dial(ts.URL, &mcphttp.DialOptions{Header: http.Header{"Authorization": {"Bearer " + name}}}),
					&mcp.ClientOptions{Revisions: []mcp.Revision{l.Revision}})
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := mcp.CallTool[string](t.Context(), c, "who", nil); err != nil || got != name {
					t.Errorf("%s is taken for %q, %v", name, got, err)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if passed != 12 {
			t.Errorf("%v: the middleware ran %d times for 12 calls", l, passed)
		}
	}
}
