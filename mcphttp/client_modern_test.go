package mcphttp_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// Requests of 2026-07-28 repeat what they are about in headers.
func TestModernHeaders(t *testing.T) {
	var got http.Header
	var body string
	d := dialScript(t, &mcphttp.DialOptions{Header: http.Header{"X-Key": {"k"}}}, func(h *hit) {
		got, body = h.Header, h.body
		h.json(okResult)
	})
	d.Established(mcp.Revision20260728)
	for _, tt := range []struct {
		method, name string
		mirrored     []mcp.MirroredParam
		want         map[string]string
	}{
		{mcp.MethodDiscover, "", nil, map[string]string{"Mcp-Name": "(absent)"}},
		{mcp.MethodToolsCall, "book", []mcp.MirroredParam{{Name: "Region", Value: "eu"}, {Name: "x-Note", Value: " grüß "}, {Name: "E", Value: ""}},
			map[string]string{"Mcp-Name": "book", "Mcp-Param-Region": "eu", "Mcp-Param-X-Note": "=?base64?IGdyw7zDnyA=?=", "Mcp-Param-E": ""}},
		{mcp.MethodResourcesRead, "file:///żółw.md", nil, map[string]string{"Mcp-Name": "=?base64?ZmlsZTovLy/FvMOzxYJ3Lm1k?="}},
		{mcp.MethodTasksGet, " t1", nil, map[string]string{"Mcp-Name": "=?base64?IHQx?="}},
		{"custom/method", "unused", nil, map[string]string{"Mcp-Name": "(absent)"}},
	} {
		req := d.outgoing(mcp.Revision20260728, tt.method)
		req.Name, req.Mirrored = tt.name, tt.mirrored
		m, err := d.RoundTrip(t.Context(), req)
		result(t, m, err)
		want := map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": tt.method, "Content-Type": "application/json",
			"Accept": "application/json, text/event-stream", "Mcp-Session-Id": "(absent)", "X-Key": "k", "Idempotency-Key": "(absent)",
		}
		for k, v := range tt.want {
			want[k] = v
		}
		for k, v := range want {
			have := "(absent)"
			if vs := got.Values(k); len(vs) == 1 {
				have = vs[0]
			}
			if have != v {
				t.Errorf("%s: %s: %q, want %q", tt.method, k, have, v)
			}
		}
		if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`, d.n, tt.method); body != want {
			t.Errorf("body %s, want %s", body, want)
		}
	}
	mirrors := d.Link.(mcp.HeaderLink).MirrorsHeaders
	if !mirrors(mcp.Revision20260728) || mirrors(mcp.Revision20251125) {
		t.Error("headers are mirrored in 2026-07-28, and only there")
	}
}

// H01: every POST accepts both kinds of answers, notifications and responses too.
func TestCaseH01ClientAccept(t *testing.T) {
	var got kept[string]
	d := dialScript(t, nil, func(h *hit) {
		got.add(fmt.Sprintf("%q %q %s %s", h.Header.Values("Accept"), h.Header.Values("Content-Type"), h.Header.Get("Mcp-Method"), h.Header.Get("Mcp-Protocol-Version")))
		if h.msg.Method == mcp.MethodDiscover {
			h.json(okResult)
			return
		}
		h.w.WriteHeader(http.StatusAccepted)
	})
	m, err := d.modern(mcp.MethodDiscover)
	result(t, m, err)
	d.Established(mcp.Revision20260728)
	for _, m := range []*jsonrpc.Message{{Method: "notifications/x"}, {ID: jsonrpc.IntID(5), Result: []byte(`{}`)}} {
		if err := d.Send(t.Context(), m); err != nil {
			t.Error(err)
		}
	}
	for i, method := range []string{mcp.MethodDiscover, "notifications/x", ""} {
		want := `["application/json, text/event-stream"] ["application/json"] ` + method + ` 2026-07-28`
		if all := got.all(); all[i] != want {
			t.Errorf("%s, want %s", all[i], want)
		}
	}
}

// H02: the media type of an answer is compared, not its spelling.
func TestCaseH02ClientAnswers(t *testing.T) {
	for _, typ := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON", "", typeEvents, typeEvents + ";charset=utf-8", "Text/Event-Stream"} {
		d := dialScript(t, nil, func(h *hit) {
			h.w.Header()["Content-Type"] = []string{typ}
			if typ == "" {
				h.w.Header()["Content-Type"] = nil
			}
			if strings.Contains(strings.ToLower(typ), "event") {
				h.answer(okResult)
				return
			}
			h.write(`{"jsonrpc":"2.0","id":%s,"result":%s}`, h.id(), okResult)
		})
		m, err := d.modern(mcp.MethodDiscover)
		if got := result(t, m, err); got != okResult {
			t.Errorf("%s: %s", typ, got)
		}
	}
}

// E01, E03, E04, E05, E06: what streams look like in the wild; everything before the response reaches the receiver.
func TestCaseE01E03E04E05E06Streams(t *testing.T) {
	const note = `{"jsonrpc":"2.0","method":"notifications/progress"}`
	for name, tt := range map[string]struct{ stream, got string }{
		"E01 crlf":     {"event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n\r\n", ""},
		"E01 cr":       {"event: message\rdata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\r", ""},
		"E03 lines":    {"data: {\"jsonrpc\":\"2.0\",\ndata:  \"id\":1,\ndata:  \"result\":{}}\n\n", ""},
		"E04 no space": {"\ufeffdata:{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", ""},
		"E04 others":   {"foo: bar\n\ndata\n\nid\n\ndata:{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", ""},
		"E06 pings": {": hi\n\nevent: ping\ndata:\n\nid: s1-0\ndata:\n\nevent: foo\ndata: {}\n\nevent: foo\ndata: " + note + "\n\ndata: " + note +
			"\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", "notifications/progress via 1"},
		"C03 others": {"data: {\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{\"no\":1}}\n\ndata: nonsense\n\n" +
			"data: {\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"stray\"}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"no\":1}}\n\n" +
			"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", ""},
	} {
		d := dialScript(t, nil, func(h *hit) {
			h.events()
			h.write("%s", tt.stream)
		})
		m, err := d.modern(mcp.MethodToolsCall)
		if got := result(t, m, err); got != "{}" || d.to.all() != tt.got {
			t.Errorf("%s: result %s, received %q, want %q", name, got, d.to.all(), tt.got)
		}
	}
	d := dialScript(t, nil, func(h *hit) { // E05
		h.events()
		for _, b := range []byte(`data: {"jsonrpc":"2.0","id":1,"result":{"text":"漢字"}}` + "\n\n") {
			if _, err := h.w.Write([]byte{b}); err != nil {
				return
			}
			h.flush()
		}
	})
	m, err := d.modern(mcp.MethodToolsCall)
	if got := result(t, m, err); got != `{"text":"漢字"}` {
		t.Errorf("E05: %s", got)
	}
}

// A stream without the response is a failed request, never a success, and is not resumed in 2026-07-28 (E04: nor is an event without
// its end one).
func TestModernBrokenStreams(t *testing.T) {
	for name, tt := range map[string]struct{ stream, text string }{
		"empty":        {"", "ended before the response"},
		"unterminated": {"id: 5\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", "ended before the response"},
		"with an id":   {"id: 5\ndata:\n\n", "ended before the response"},
		"stray error":  {"data: {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"cannot read\"}}\n\n", "cannot read"},
	} {
		hits := 0
		d := dialScript(t, nil, func(h *hit) {
			hits++
			h.events()
			h.write("%s", tt.stream)
		})
		_, err := d.modern(mcp.MethodToolsCall)
		transportError(t, err, 200, tt.text)
		if hits != 1 {
			t.Errorf("%s: %d requests", name, hits)
		}
	}
	d := dialScript(t, nil, func(h *hit) { // a connection that breaks
		h.events()
		h.event(`{"jsonrpc":"2.0","method":"notifications/progress"}`)
		panic(http.ErrAbortHandler)
	})
	_, err := d.modern(mcp.MethodToolsCall)
	transportError(t, err, 200, "broke before the response")
}

// The end of the caller's context closes the exchange, which cancels it, and says nothing else; other exchanges go on.
func TestModernCancel(t *testing.T) {
	entered, ended := make(chan string, 10), make(chan string, 10)
	d := dialScript(t, nil, func(h *hit) {
		entered <- h.msg.Method
		if h.msg.Method == "test/quick" {
			h.json(okResult)
			return
		}
		if h.msg.Method == "test/stream" {
			h.events()
		}
		h.wait()
		ended <- h.msg.Method
	})
	for _, method := range []string{"test/silent", "test/stream"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("the person pressed escape")
		go func() {
			<-entered
			cancel(cause)
		}()
		if _, err := d.RoundTrip(ctx, d.outgoing(mcp.Revision20260728, method)); !errors.Is(err, cause) {
			t.Errorf("%s: %v", method, err)
		}
		if got := <-ended; got != method {
			t.Errorf("ended %s", got)
		}
		m, err := d.modern("test/quick")
		result(t, m, err)
		if got := <-entered; got != "test/quick" {
			t.Errorf("the server also got %s", got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.RoundTrip(ctx, d.outgoing(mcp.Revision20260728, "test/quick")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := d.Send(ctx, &jsonrpc.Message{Method: "notifications/x"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Close unblocks whatever is under way.
func TestCloseUnblocks(t *testing.T) {
	var entered sync.WaitGroup
	entered.Add(3)
	d := dialScript(t, nil, func(h *hit) {
		entered.Done()
		if h.msg.Method == mcp.MethodListen {
			h.events()
		}
		h.wait()
	})
	failed := make(chan error, 3)
	for i, method := range []string{mcp.MethodToolsCall, mcp.MethodListen} {
		req := d.outgoing(mcp.Revision20260728, method)
		req.ID = jsonrpc.IntID(int64(i + 1))
		go func() {
			_, err := d.RoundTrip(t.Context(), req)
			failed <- err
		}()
	}
	go func() { failed <- d.Send(t.Context(), &jsonrpc.Message{Method: "notifications/x"}) }()
	entered.Wait()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	for range 3 {
		if err := <-failed; !errors.Is(err, mcp.ErrClosed) {
			t.Error(err)
		}
	}
	if _, err := d.modern(mcp.MethodDiscover); !errors.Is(err, mcp.ErrClosed) {
		t.Error(err)
	}
	if err := d.Send(t.Context(), &jsonrpc.Message{Method: "notifications/x"}); !errors.Is(err, mcp.ErrClosed) {
		t.Error(err)
	}
}

// S02: the bound is per message, is named in the error, and holds for JSON, events and lines without end.
func TestCaseS02ClientBounds(t *testing.T) {
	const bound = 64 << 10
	big := strings.Repeat("a", bound+1)
	for name, f := range map[string]func(h *hit){
		"json":    func(h *hit) { h.json(`{"text":"` + big + `"}`) },
		"event":   func(h *hit) { h.events(); h.answer(`{"text":"` + big + `"}`) },
		"no line": func(h *hit) { h.events(); endless(h) },
		"no json": func(h *hit) { h.w.Header().Set("Content-Type", "application/json"); endless(h) },
		"gzip": func(h *hit) {
			h.w.Header().Set("Content-Type", "application/json")
			h.w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(h.w)
			for range 640 {
				if _, err := z.Write([]byte(big)); err != nil {
					return
				}
			}
			if err := z.Close(); err != nil {
				return
			}
		},
	} {
		d := dialScript(t, &mcphttp.DialOptions{MaxMessageBytes: bound}, f)
		_, err := d.modern(mcp.MethodToolsCall)
		if e := transportError(t, err, 200, "65536"); e.Body != "" {
			t.Errorf("%s: body %q", name, e.Body)
		}
	}
	d := dialScript(t, &mcphttp.DialOptions{MaxMessageBytes: 2 * bound}, func(h *hit) {
		h.events()
		for range 100 { // far beyond the bound together
			h.event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + big + `"}}`)
		}
		h.answer(okResult)
	})
	m, err := d.modern(mcp.MethodToolsCall)
	result(t, m, err)
}

// endless writes without a line break until the peer gives up.
func endless(h *hit) {
	chunk := []byte(strings.Repeat("a", 64<<10))
	for {
		if _, err := h.w.Write(chunk); err != nil {
			return
		}
	}
}

// H13: compressed answers are understood.
func TestCaseH13ClientGzip(t *testing.T) {
	d := dialScript(t, nil, func(h *hit) {
		if h.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("Accept-Encoding: %q", h.Header.Get("Accept-Encoding"))
		}
		h.w.Header().Set("Content-Type", "application/json")
		h.w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(h.w)
		fmt.Fprintf(z, `{"jsonrpc":"2.0","id":%s,"result":%s}`, h.id(), okResult)
		if err := z.Close(); err != nil {
			t.Error(err)
		}
	})
	m, err := d.modern(mcp.MethodToolsCall)
	if got := result(t, m, err); got != okResult {
		t.Error(got)
	}
}

// Connections are used again, whatever the answers look like.
func TestConnectionReuse(t *testing.T) {
	var mu sync.Mutex
	peers := map[string]bool{}
	d := dialScript(t, nil, func(h *hit) {
		mu.Lock()
		peers[h.RemoteAddr] = true
		mu.Unlock()
		switch h.msg.Method {
		case mcp.MethodToolsCall:
			h.events()
			h.answer(okResult)
		case mcp.MethodPing:
			h.w.WriteHeader(http.StatusBadRequest)
			h.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"no"}}`, h.id())
		case mcp.MethodComplete:
			http.Error(h.w, "no", http.StatusNotFound)
		case "notifications/x":
			h.w.WriteHeader(http.StatusAccepted)
		default:
			h.json(okResult)
		}
	})
	for range 10 {
		for _, method := range []string{mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodPing, mcp.MethodComplete} {
			m, err := d.modern(method)
			if (err != nil) != (method == mcp.MethodComplete) || err == nil && (m.Error != nil) != (method == mcp.MethodPing) {
				t.Fatalf("%s: %v %v", method, m, err)
			}
		}
		if err := d.Send(t.Context(), &jsonrpc.Message{Method: "notifications/x"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(peers) > 3 { // a stream's connection may still be read to its end when the next request begins
		t.Errorf("50 requests took %d connections", len(peers))
	}
}

// Close is bounded whatever a RoundTripper does.
func TestCloseBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		d := dialURL(t, "http://h.test/", &mcphttp.DialOptions{
			CloseTimeout: time.Second,
			Client: &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				<-stuck // whatever happens to the context
				return nil, errors.New("late")
			})},
		})
		failed := make(chan error, 1)
		go func() {
			_, err := d.modern(mcp.MethodToolsCall)
			failed <- err
		}()
		synctest.Wait()
		began := time.Now()
		if err := d.Close(); err == nil || !strings.Contains(err.Error(), "within 1s") || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		close(stuck)
		if err := <-failed; !errors.Is(err, mcp.ErrClosed) {
			t.Error(err)
		}
	})
}
