package mcphttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

func TestModernJSONAnswer(t *testing.T) {
	s := serveSite(t, nil)
	a := s.ask(callTool(`"a-1"`, "echo", `{"text":"hello"}`).with("Mcp-Session-Id", "ignored").with("Last-Event-ID", "ignored"))
	if a.status != 200 || a.header.Get("Content-Type") != "application/json" || a.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%d %v", a.status, a.header)
	}
	for _, part := range []string{`"id":"a-1"`, `"text":"hello"`, `"resultType":"complete"`} {
		if !strings.Contains(a.body, part) {
			t.Errorf("%s lacks %s", a.body, part)
		}
	}
}

func TestModernStatusCodes(t *testing.T) {
	s := serveSite(t, nil)
	list := func() *request { return modern("7", "tools/list", "", "") }
	for name, c := range map[string]struct {
		r            *request
		status, code int
		id           string
	}{
		"broken JSON":        {with(list(), `{"jsonrpc":"2.0","id":7,`), 400, -32700, ""},
		"no JSON-RPC":        {with(list(), `{"id":7,"method":"tools/list"}`), 400, -32600, "7"},
		"array":              {with(list(), `[`+list().body+`]`), 400, -32600, ""},
		"response":           {with(list(), `{"jsonrpc":"2.0","id":7,"result":{}}`), 400, -32600, ""},
		"null id":            {with(list(), `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`), 400, -32600, ""},
		"empty body":         {with(list(), ``), 400, -32700, ""},
		"no _meta":           {with(list(), `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`), 400, -32602, "7"},
		"no version header":  {list().without("Mcp-Protocol-Version"), 400, -32020, "7"},
		"no method header":   {list().without("Mcp-Method"), 400, -32020, "7"},
		"version twice":      {list().with("Mcp-Protocol-Version", modernRev, modernRev), 400, -32020, "7"},
		"unknown method":     {modern("7", "no/such", "", ""), 404, -32601, "7"},
		"ping is gone":       {modern("7", "ping", "", ""), 404, -32601, "7"},
		"initialize is gone": {modern("7", "initialize", "", ""), 404, -32601, "7"},
		"unknown version": {with(list().with("Mcp-Protocol-Version", "2099-01-01"),
			strings.Replace(list().body, modernRev, "2099-01-01", 1)), 400, -32022, "7"},
	} {
		t.Run(name, func(t *testing.T) { s.ask(c.r).wantError(t, c.status, c.code, c.id) })
	}
}

func with(r *request, body string) *request {
	r.body = body
	return r
}

func TestCaseH08Base64Name(t *testing.T) {
	s := serveSite(t, nil)
	mcp.AddResource(s.srv, &mcp.Resource{URI: "file:///żółw.md", Name: "turtle"},
		func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "slow"}}}, nil
		})
	read := func(header string) *request {
		return modern("1", "resources/read", header, `"uri":"file:///żółw.md"`)
	}
	if a := s.ask(read("=?base64?ZmlsZTovLy/FvMOzxYJ3Lm1k?=")); a.status != 200 || !strings.Contains(a.body, "slow") {
		t.Errorf("encoded name: %d %s", a.status, a.body)
	}
	s.ask(read("=?base64?!!!?=")).wantError(t, 400, -32020, "1")
	s.ask(read("=?BASE64?ZmlsZTovLy/FvMOzxYJ3Lm1k?=")).wantError(t, 400, -32020, "1")
}

func TestCaseH10HeaderAndBodyDisagree(t *testing.T) {
	s := serveSite(t, nil)
	for name, r := range map[string]*request{
		"name":            callTool("3", "echo", `{"text":"x"}`).with("Mcp-Name", "safe"),
		"method":          callTool("3", "echo", `{"text":"x"}`).with("Mcp-Method", "tools/list"),
		"version":         callTool("3", "echo", `{"text":"x"}`).with("Mcp-Protocol-Version", "2025-11-25"),
		"name missing":    callTool("3", "echo", `{"text":"x"}`).without("Mcp-Name"),
		"method missing":  callTool("3", "echo", `{"text":"x"}`).without("Mcp-Method"),
		"version missing": callTool("3", "echo", `{"text":"x"}`).without("Mcp-Protocol-Version"),
		"name twice":      callTool("3", "echo", `{"text":"x"}`).with("Mcp-Name", "echo", "echo"),
		"method twice":    callTool("3", "echo", `{"text":"x"}`).with("Mcp-Method", "tools/call", "tools/call"),
		"version twice":   callTool("3", "echo", `{"text":"x"}`).with("Mcp-Protocol-Version", modernRev, "2025-11-25"),
	} {
		t.Run(name, func(t *testing.T) { s.ask(r).wantError(t, 400, -32020, "3") })
	}
}

func TestCaseH13StreamsAreNotBuffered(t *testing.T) {
	s := serveSite(t, nil)
	resp := s.do(t.Context(), callTool("1", "stepwait", `{}`).withToken())
	if resp.Header.Get("X-Accel-Buffering") != "no" || !strings.Contains(resp.Header.Get("Cache-Control"), "no-transform") {
		t.Errorf("%v", resp.Header)
	}
	ev := eventsOf(t, resp)
	ev.want(`"progressToken":"p1"`, `"message":"before"`) // arrives while the tool is held
	close(s.gates.open)
	ev.want(`"message":"after"`)
	ev.want(`"id":1`, `"resultType":"complete"`)
	ev.end()
}

func TestAcceptIsObeyed(t *testing.T) {
	s := serveSite(t, nil)
	a := s.ask(callTool("1", "progress", `{}`).withToken().with("Accept", "application/json"))
	if a.header.Get("Content-Type") != "application/json" || !strings.Contains(a.body, "done") || strings.Contains(a.body, "step") {
		t.Errorf("JSON only: %v %s", a.header, a.body)
	}
	a = s.ask(callTool("1", "echo", `{"text":"x"}`).with("Accept", "text/event-stream"))
	if a.header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(a.body, "event: message\ndata: {") {
		t.Errorf("stream only: %v %s", a.header, a.body)
	}
	s.ask(modern("1", "no/such", "", "").with("Accept", "text/event-stream")).wantError(t, 404, -32601, "1")
	s.ask(modern("1", "subscriptions/listen", "", `"notifications":{}`).with("Accept", "application/json")).wantError(t, 406, -32600, "1")
}

func TestDisconnectCancels(t *testing.T) {
	s := serveSite(t, nil)
	for _, tool := range []string{"wait", "stepwait"} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := s.try(ctx, callTool("1", tool, `{}`).withToken()); err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
		<-s.entered
		cancel()
		<-done
		within(t, "cancellation of "+tool, func() {
			if err := <-s.ended; err == nil {
				t.Error("the tool was let through")
			}
		})
	}
}

func TestModernOnlyServer(t *testing.T) {
	srv, g := newServer(&mcp.ServerOptions{Revisions: []mcp.Revision{mcp.Revision20260728}})
	s := serveServer(t, srv, g, nil)
	for _, m := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		a := s.ask(&request{method: m, header: http.Header{"Accept": {"text/event-stream"}}})
		if a.status != 405 || a.header.Get("Allow") != "POST" {
			t.Errorf("%s: %d Allow %q", m, a.status, a.header.Get("Allow"))
		}
	}
	a := s.ask(plainPost(initBody("2025-11-25")))
	a.wantError(t, 400, -32022, "1")
	if !strings.Contains(a.body, modernRev) {
		t.Errorf("the refusal names no version: %s", a.body)
	}
	s.ask(plainPost(`[]`)).wantError(t, 400, -32600, "")
	s.ask(plainPost(`{"jsonrpc":"2.0","id":1,"result":{}}`)).wantError(t, 400, -32600, "")
	if err := s.h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestBodyLimits(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{MaxBodyBytes: 1000})
	big := callTool("1", "echo", `{"text":"`+strings.Repeat("x", 1000)+`"}`)
	s.ask(big).wantError(t, 413, -32600, "")
	// Without a Content-Length.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, io.MultiReader(strings.NewReader(big.body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = big.header
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 413 {
		t.Errorf("chunked: %d", resp.StatusCode)
	}
	exact := callTool("1", "echo", `{"text":""}`)
	exact.body = strings.Replace(exact.body, `"text":""`, `"text":"`+strings.Repeat("y", 1000-len(exact.body))+`"`, 1)
	if a := s.ask(exact); a.status != 200 {
		t.Errorf("a body of exactly the limit: %d %s", a.status, a.body)
	}
}

func TestLargeMessagesPass(t *testing.T) {
	s := serveSite(t, nil)
	for _, n := range []int{2000, 4 << 10, 64 << 10, 3 << 20} {
		text := strings.Repeat("z", n)
		if a := s.ask(callTool("1", "echo", `{"text":"`+text+`"}`)); a.status != 200 || !strings.Contains(a.body, text) {
			t.Errorf("%d bytes: %d", n, a.status)
		}
	}
}

// rawConn sends bytes as they are and returns the answer's status.
func (s *site) rawConn(send func(c net.Conn)) (int, string) {
	s.t.Helper()
	c, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", s.ts.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	send(c)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		s.t.Fatalf("no answer: %v", err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

const rawHead = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"

func TestTruncatedBody(t *testing.T) {
	s := serveSite(t, nil)
	status, body := s.rawConn(func(c net.Conn) {
		fmt.Fprint(c, rawHead+`{"jsonrpc":"2.0"`)
		c.(*net.TCPConn).CloseWrite()
	})
	if status != 400 || !strings.Contains(body, "-32700") {
		t.Errorf("%d %s", status, body)
	}
}

func TestSlowBodyIsBounded(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{BodyTimeout: 50 * time.Millisecond})
	status, _ := s.rawConn(func(c net.Conn) { fmt.Fprint(c, rawHead+`{"jsonrpc"`) })
	if status != 408 {
		t.Errorf("status %d", status)
	}
}

func TestCaseN15ConcurrentAndLateSends(t *testing.T) {
	srv, g := newServer(nil)
	late := make(chan error, 1)
	release := make(chan struct{})
	mcp.AddTool(srv, &mcp.Tool{Name: "many"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				c.Notify(ctx, "notifications/custom", map[string]int{"n": i})
			})
		}
		wg.Wait()
		go func() {
			<-release
			late <- c.Notify(context.WithoutCancel(ctx), "notifications/custom", map[string]int{"n": -1})
		}()
		return "done", nil
	})
	s := serveServer(t, srv, g, nil)
	for _, r := range s.inEachEra("many", `{}`) {
		a := s.ask(r)
		if n := strings.Count(a.body, `"notifications/custom"`); n != 50 || !strings.Contains(a.body, "done") {
			t.Errorf("%d of 50 notifications\n%s", n, a.body)
		}
		for event := range strings.SplitSeq(strings.TrimSpace(a.body), "\n\n") {
			if i := strings.LastIndex(event, "data: "); strings.Count(event, "data: ") > 1 || i < 0 {
				t.Errorf("event torn: %q", event)
			}
		}
		release <- struct{}{}
		if err := <-late; err == nil {
			t.Error("a message after the answer was accepted")
		}
	}
}

func TestUnlistedMethods(t *testing.T) {
	s := serveSite(t, nil)
	a := s.ask(&request{method: http.MethodPatch})
	if a.status != 405 || a.header.Get("Allow") != methodsServed {
		t.Errorf("%d %v", a.status, a.header)
	}
	a = s.ask(&request{method: http.MethodOptions})
	if a.status != 204 || !strings.Contains(a.header.Get("Allow"), "POST") {
		t.Errorf("%d %v", a.status, a.header)
	}
}

func TestUnflushableResponseIsReportedOnce(t *testing.T) {
	srv, _ := newServer(nil)
	var log strings.Builder
	h := mcphttp.NewHandler(srv, &mcphttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 2 {
		r := callTool("1", "progress", `{}`).withToken()
		req := httptest.NewRequestWithContext(t.Context(), r.method, "http://localhost/mcp", strings.NewReader(r.body))
		req.Header = r.header
		w := &nullWriter{header: http.Header{}}
		h.ServeHTTP(w, req)
		if w.n == 0 {
			t.Error("nothing was written")
		}
	}
	if n := strings.Count(log.String(), "cannot be flushed"); n != 1 {
		t.Errorf("reported %d times", n)
	}
}

func TestLargeEventsPass(t *testing.T) {
	s := serveSite(t, nil)
	text := strings.Repeat("w", 300<<10)
	a := s.ask(callTool("1", "echo", `{"text":"`+text+`"}`).with("Accept", "text/event-stream"))
	if !strings.Contains(a.body, text) || !strings.HasSuffix(a.body, "\n\n") {
		t.Errorf("%d bytes", len(a.body))
	}
}
