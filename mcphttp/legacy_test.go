//go:build !mcp_modern_only

package mcphttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// methodsServed is what the endpoint takes.
const methodsServed = "GET, POST, DELETE"

// inEachEra returns a call for each era.
func (s *site) inEachEra(tool, args string) []*request {
	return []*request{callTool("1", tool, args).withToken(), s.open("2025-11-25").call("1", tool, args)}
}

// A legacyClient is a session of the handshake era, spoken by hand.
type legacyClient struct {
	*site
	rev, id string
	auth    string
}

// open makes a session.
func (s *site) open(version string) *legacyClient {
	s.t.Helper()
	return s.openAs(version, "")
}

func (s *site) openAs(version, auth string) *legacyClient {
	s.t.Helper()
	r := plainPost(initBody(version))
	if auth != "" {
		r.with("Authorization", auth)
	}
	a := s.ask(r)
	if a.status != 200 || a.header.Get("Mcp-Session-Id") == "" {
		s.t.Fatalf("initialize: %d %v %s", a.status, a.header, a.body)
	}
	c := &legacyClient{site: s, rev: version, id: a.header.Get("Mcp-Session-Id"), auth: auth}
	if a := s.ask(c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); a.status != 202 {
		s.t.Fatalf("initialized: %d %s", a.status, a.body)
	}
	return c
}

// claim adds the headers of the session.
func (c *legacyClient) claim(r *request) *request {
	r.with("Mcp-Session-Id", c.id)
	if c.rev > "2025-03-26" {
		r.with("Mcp-Protocol-Version", c.rev)
	}
	if c.auth != "" {
		r.with("Authorization", c.auth)
	}
	return r
}

func (c *legacyClient) post(body string) *request { return c.claim(plainPost(body)) }

func (c *legacyClient) call(id, tool, args string) *request {
	return c.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"_meta":{"progressToken":"p1"},"name":"` + tool +
		`","arguments":` + args + `}}`)
}

func (c *legacyClient) get(lastID string) *request {
	r := c.claim(&request{method: http.MethodGet, header: http.Header{"Accept": {"text/event-stream"}}})
	if lastID != "" {
		r.with("Last-Event-ID", lastID)
	}
	return r
}

func (c *legacyClient) del() *request {
	return c.claim(&request{method: http.MethodDelete, header: http.Header{}})
}

func TestSessionLifecycle(t *testing.T) {
	for _, rev := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(rev, func(t *testing.T) {
			s := serveSite(t, nil)
			c := s.open(rev)
			if len(c.id) < 22 || strings.ContainsFunc(c.id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
				t.Errorf("session id %q", c.id)
			}
			a := s.ask(c.call("2", "echo", `{"text":"hello"}`))
			if a.status != 200 || a.header.Get("Content-Type") != "application/json" || !strings.Contains(a.body, "hello") {
				t.Errorf("call: %d %v %s", a.status, a.header, a.body)
			}
			a = s.ask(c.call("3", "progress", `{}`))
			if a.header.Get("Content-Type") != "text/event-stream" || strings.Count(a.body, "notifications/progress") != 3 {
				t.Errorf("progress: %v %s", a.header, a.body)
			}
			if primed := strings.HasPrefix(a.body, "id: "); primed != (rev == "2025-11-25") {
				t.Errorf("priming event: %q", a.body)
			}
			if a := s.ask(c.del()); a.status/100 != 2 {
				t.Errorf("delete: %d", a.status)
			}
			for _, r := range []*request{c.call("4", "echo", `{"text":"x"}`), c.get(""), c.del(), c.post(`{"jsonrpc":"2.0","id":1,"result":{}}`)} {
				if a := s.ask(r); a.status != 404 {
					t.Errorf("after the end, %s: %d %s", r.method, a.status, a.body)
				}
			}
		})
	}
}

func TestCaseN01UnknownAndMissingSession(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-11-25")
	requests := func() []*request {
		return []*request{c.call("4", "echo", `{"text":"x"}`), c.get(""), c.del(), c.post(`{"jsonrpc":"2.0","id":1,"result":{}}`),
			c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)}
	}
	for _, r := range requests() {
		if a := s.ask(r.with("Mcp-Session-Id", "nope")); a.status != 404 {
			t.Errorf("unknown, %s %s: %d", r.method, r.body, a.status)
		}
	}
	for _, r := range requests() {
		if a := s.ask(r.without("Mcp-Session-Id")); a.status != 400 {
			t.Errorf("missing, %s %s: %d", r.method, r.body, a.status)
		}
	}
	for _, r := range requests() {
		if a := s.ask(r.with("Mcp-Session-Id", c.id, c.id)); a.status != 400 {
			t.Errorf("twice, %s %s: %d", r.method, r.body, a.status)
		}
	}
}

func TestVersionHeader(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-11-25")
	for version, status := range map[string]int{"2025-11-25": 200, "2025-06-18": 200, "1999-01-01": 400, "garbage": 400} {
		if a := s.ask(c.call("1", "echo", `{"text":"x"}`).with("Mcp-Protocol-Version", version)); a.status != status {
			t.Errorf("%q: %d %s", version, a.status, a.body)
		}
	}
	if a := s.ask(c.call("1", "echo", `{"text":"x"}`).without("Mcp-Protocol-Version")); a.status != 200 {
		t.Errorf("absent: %d %s", a.status, a.body)
	}
	if a := s.ask(c.get("").with("Mcp-Protocol-Version", "garbage")); a.status != 400 {
		t.Errorf("GET: %d %s", a.status, a.body)
	}
}

func TestCaseV01V02V05VersionNegotiation(t *testing.T) {
	s := serveSite(t, nil)
	for offered, want := range map[string]string{
		"1999-01-01": "2025-11-25", "2099-01-01": "2025-11-25", "": "2025-11-25", modernRev: "2025-11-25", "2025-03-26": "2025-03-26",
	} {
		for _, header := range []string{"", "2025-11-25", "2099-01-01"} {
			r := plainPost(initBody(offered))
			if header != "" {
				r.with("Mcp-Protocol-Version", header)
			}
			if a := s.ask(r); a.status != 200 || !strings.Contains(a.body, `"protocolVersion":"`+want+`"`) {
				t.Errorf("offer %q, header %q: %d %s", offered, header, a.status, a.body)
			}
		}
	}
	bad := strings.Replace(initBody("5"), `"5"`, `5`, 1)
	if a := s.ask(plainPost(bad)); !strings.Contains(a.body, "-32602") || a.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("a number: %d %s", a.status, a.body)
	}
}

func TestCaseN10SessionBelongsToItsPrincipal(t *testing.T) {
	srv, g := newServer(nil)
	s := serveServer(t, srv, g, &mcphttp.Options{Authenticate: func(r *http.Request) (*mcp.Principal, error) {
		name, scope, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "/")
		if name == "" {
			return nil, nil //nolint:nilnil // anonymous
		}
		return &mcp.Principal{Issuer: "i", Subject: name, Scopes: []string{scope}}, nil
	}})
	a := s.openAs("2025-11-25", "Bearer alice")
	for _, auth := range []string{"Bearer bob", ""} {
		thief := &legacyClient{site: s, rev: a.rev, id: a.id, auth: auth}
		for _, r := range []*request{thief.call("9", "echo", `{"text":"x"}`), thief.get(""), thief.get("x.0-1"), thief.del(),
			thief.post(`{"jsonrpc":"2.0","id":1,"result":{}}`)} {
			if got := s.ask(r); got.status != 404 {
				t.Errorf("%q %s: %d %s", auth, r.method, got.status, got.body)
			}
		}
	}
	refreshed := &legacyClient{site: s, rev: a.rev, id: a.id, auth: "Bearer alice/more"}
	if got := s.ask(refreshed.call("9", "echo", `{"text":"still here"}`)); got.status != 200 {
		t.Errorf("refreshed token: %d %s", got.status, got.body)
	}
}

func TestCaseN05FailedInitializeLeavesNothing(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{MaxSessions: 3}})
	bad := strings.Replace(initBody("5"), `"5"`, `5`, 1)
	for range 20 {
		s.ask(plainPost(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		s.ask(plainPost(`garbage`))
		s.ask(plainPost(bad))
		s.ask(plainPost(initBody("2025-11-25")).with("Accept", "text/html"))
		s.ask(plainPost(initBody("2025-11-25")).with("Origin", "http://evil.test"))
	}
	for range 3 {
		s.open("2025-11-25")
	}
	a := s.ask(plainPost(initBody("2025-11-25")))
	if a.status != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("beyond the cap: %d %v", a.status, a.header)
	}
	a.wantError(t, 503, -32603, "1")
}

func TestCaseN06DiscoverThenSessionThenDelete(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{MaxSessions: 1}})
	for i := range 100 {
		if a := s.ask(modern(strconv.Itoa(i), "server/discover", "", "")); a.status != 200 {
			t.Fatalf("discover: %d %s", a.status, a.body)
		}
		c := s.open("2025-11-25") // fails when a session was left
		s.ask(c.del())
	}
}

func TestDisconnectIsNotCancelInSessions(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-06-18")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-s.entered
		cancel()
	}()
	if resp, err := s.try(ctx, c.call("1", "wait", `{}`)); err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err == nil {
			t.Fatal("the call was answered")
		}
	}
	close(s.gates.open)
	within(t, "the tool's end", func() {
		if err := <-s.ended; err != nil {
			t.Errorf("the tool was cancelled: %v", err)
		}
	})
}

func TestCaseC02C04CancelledNotification(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-11-25")
	got := make(chan *answer, 1)
	go func() { got <- s.ask(c.call("5", "wait", `{}`)) }()
	<-s.entered
	for _, body := range []string{`"requestId":"5"`, `"requestId":null`, `"requestId":99`, ``} { // C04: none of these may cancel 5
		if a := s.ask(c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{` + body + `}}`)); a.status/100 == 5 {
			t.Errorf("%s: %d", body, a.status)
		}
	}
	select {
	case a := <-got:
		t.Fatalf("answered early: %+v", a)
	default:
	}
	s.ask(c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`))
	within(t, "the end of the cancelled request", func() {
		if a := <-got; strings.Contains(a.body, `"id":5`) {
			t.Errorf("C02: a cancelled request was answered: %s", a.body)
		}
	})
	if a := s.ask(c.call("6", "echo", `{"text":"alive"}`)); !strings.Contains(a.body, "alive") {
		t.Errorf("afterwards: %d %s", a.status, a.body)
	}
}

func TestDeleteEndsRunningCalls(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-11-25")
	got := make(chan *answer, 1)
	go func() { got <- s.ask(c.call("5", "wait", `{}`)) }()
	<-s.entered
	s.ask(c.del())
	within(t, "the end of the call", func() {
		<-s.ended
		<-got
	})
}

func TestCaseF21RequestsOnTheCallsStream(t *testing.T) {
	srv, g := newServer(nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "roots"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		r, err := mcp.CallClient[struct{}, map[string]string](ctx, c, "x/ask", struct{}{})
		if err != nil {
			return "", mcp.ToolErrorf("asking: %v", err)
		}
		return "client says " + r["answer"], nil
	})
	s := serveServer(t, srv, g, nil)
	c := s.open("2025-06-18")
	ev := eventsOf(t, s.do(t.Context(), c.call("7", "roots", `{}`)))
	ev.want(`"method":"x/ask"`, `"id":1`)
	if a := s.ask(c.post(`{"jsonrpc":"2.0","id":1,"result":{"answer":"yes"}}`)); a.status != 202 || a.body != "" {
		t.Errorf("the answer got %d %q", a.status, a.body)
	}
	ev.want("client says yes", `"id":7`)
	ev.end()
	ev = eventsOf(t, s.do(t.Context(), c.call("8", "roots", `{}`)))
	ev.want(`"method":"x/ask"`, `"id":2`)
	s.ask(c.post(`{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}`))
	ev.want("asking: no")
	if a := s.ask(c.post(`{"jsonrpc":"2.0","id":99,"result":{}}`)); a.status != 202 {
		t.Errorf("a stray answer got %d", a.status)
	}
	if a := s.ask(c.call("9", "roots", `{}`).with("Accept", "application/json")); !strings.Contains(a.body, "a question needs a stream") {
		t.Errorf("E17: a client without a stream: %s", a.body)
	}
	if a := s.ask(c.call("10", "progress", `{}`).with("Accept", "application/json")); !strings.Contains(a.body, "done") {
		t.Errorf("a client without a stream: %s", a.body)
	}
}

func TestInFlightCap(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{MaxInFlight: 2}})
	c := s.open("2025-11-25")
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { s.ask(c.call(strconv.Itoa(i), "wait", `{}`)) })
		<-s.entered
	}
	a := s.ask(c.call("9", "echo", `{"text":"x"}`))
	a.wantError(t, 429, -32600, "9")
	close(s.gates.open)
	wg.Wait()
}

func TestGetNeedsStreamAccept(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-11-25")
	if a := s.ask(c.get("").with("Accept", "application/json")); a.status != 406 {
		t.Errorf("%d", a.status)
	}
}

// openDirect makes a session without a network and returns its id.
func (s *site) openDirect() string {
	s.t.Helper()
	serve := func(r *request) http.Header {
		req := httptest.NewRequestWithContext(s.t.Context(), r.method, "http://localhost/mcp", strings.NewReader(r.body))
		req.Header = r.header
		w := httptest.NewRecorder()
		s.h.ServeHTTP(w, req)
		return w.Header()
	}
	id := serve(plainPost(initBody("2025-11-25"))).Get("Mcp-Session-Id")
	serve(plainPost(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).with("Mcp-Session-Id", id))
	return id
}

func TestCaseN13SessionClosedFromWithin(t *testing.T) {
	srv, g := newServer(nil)
	sessions := make(chan *mcp.Session, 1)
	mcp.AddTool(srv, &mcp.Tool{Name: "close"}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return "", c.Session().Close()
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "session"}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		sessions <- c.Session()
		return "", nil
	})
	s := serveServer(t, srv, g, nil)
	for _, end := range []func(c *legacyClient){
		func(c *legacyClient) { s.ask(c.call("1", "close", `{}`)) },
		func(c *legacyClient) {
			s.ask(c.call("1", "session", `{}`))
			if err := (<-sessions).Close(); err != nil {
				t.Error(err)
			}
		},
	} {
		c := s.open("2025-11-25")
		ev, _ := c.follow("")
		ev.next()
		within(t, "the end of the session", func() {
			end(c)
			ev.end()
		})
		if a := s.ask(c.call("2", "echo", `{"text":"x"}`)); a.status != 404 {
			t.Errorf("afterwards: %d", a.status)
		}
	}
}

func TestCaseC01CancelAtTheEndOfACall(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-11-25")
	for i := range 200 {
		id := strconv.Itoa(i)
		var wg sync.WaitGroup
		wg.Go(func() {
			if a := s.ask(c.call(id, "echo", `{"text":"x"}`)); strings.Count(a.body, `"id":`+id) > 1 {
				t.Errorf("two answers: %s", a.body)
			}
		})
		wg.Go(func() {
			s.ask(c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`))
		})
		wg.Wait()
	}
	if a := s.ask(c.call("999", "echo", `{"text":"alive"}`)); !strings.Contains(a.body, "alive") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A list that is written without being copied is the same in every era, whole, and as long as it says.
func TestLongLists(t *testing.T) {
	srv, g := newServer(nil)
	for i := range 300 {
		mcp.AddTool(srv, &mcp.Tool{Name: fmt.Sprintf("tool%d", i), Description: strings.Repeat("long ", 50)},
			func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
	}
	s := serveServer(t, srv, g, nil)
	legacy := s.open("2025-11-25")
	for i, r := range []*request{modern("1", "tools/list", "", ""), legacy.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)} {
		a := s.ask(r)
		if n := a.header.Get("Content-Length"); a.status != 200 || n != strconv.Itoa(len(a.body)) {
			t.Errorf("%d: status %d, %s of %d bytes", i, a.status, n, len(a.body))
		}
		var m struct {
			ID     int
			Result struct{ Tools []struct{ Name string } }
		}
		if err := json.Unmarshal([]byte(a.body), &m); err != nil || m.ID != 1 || len(m.Result.Tools) < 300 || len(a.body) < 64<<10 {
			t.Errorf("%d: %d tools in %d bytes: %v", i, len(m.Result.Tools), len(a.body), err)
		}
	}
}
