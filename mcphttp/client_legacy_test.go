//go:build !mcp_modern_only

package mcphttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// V05, and the life of a session: no version header on initialize, version and session on everything after it, DELETE at the end.
func TestLegacySession(t *testing.T) {
	var seen kept[string]
	d := dialScript(t, &mcphttp.DialOptions{DisableStream: true}, func(h *hit) {
		what := h.Method
		if h.msg.Method != "" {
			what = h.msg.Method
		}
		seen.add(fmt.Sprintf("%s %s %s %s", what, h.Header.Get("Mcp-Session-Id"), h.Header.Get("Mcp-Protocol-Version"), h.Header.Get("Mcp-Method")))
		legacyScript(func(h *hit) {
			if h.msg.Method == "" {
				h.w.WriteHeader(http.StatusAccepted)
				return
			}
			h.json("{}")
		})(h)
	})
	d.handshake()
	m, err := d.call(mcp.MethodToolsList)
	result(t, m, err)
	if err := d.Send(t.Context(), &jsonrpc.Message{ID: jsonrpc.IntID(7), Result: []byte(`{}`)}); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	want := "initialize   |notifications/initialized s1 2025-11-25 |tools/list s1 2025-11-25 |POST s1 2025-11-25 |DELETE s1 2025-11-25 "
	if got := strings.Join(seen.all(), "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Revisions before 2025-06-18 have no version header (V04).
func TestCaseV04Headers(t *testing.T) {
	for rev, want := range map[mcp.Revision]string{
		mcp.Revision20241105: "", mcp.Revision20250326: "", mcp.Revision20250618: "2025-06-18", mcp.Revision20251125: "2025-11-25",
	} {
		var got string
		d := dialScript(t, nil, legacyScript(func(h *hit) {
			got = h.Header.Get("Mcp-Protocol-Version")
			h.json("{}")
		}))
		d.handshake()
		d.Established(rev)
		m, err := d.RoundTrip(t.Context(), d.outgoing(rev, mcp.MethodToolsList))
		result(t, m, err)
		if got != want {
			t.Errorf("%s: %q", rev, got)
		}
	}
}

// N02: a session that is gone is told apart from everything else that 404 can mean, and initialize begins a new one on the same link.
func TestCaseN02SessionLost(t *testing.T) {
	sessions, lost := 0, false
	d := dialScript(t, nil, func(h *hit) {
		switch {
		case h.msg.Method == mcp.MethodInitialize:
			if h.Header.Get("Mcp-Session-Id") != "" {
				t.Error("initialize names a session")
			}
			sessions++
			h.w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", sessions))
			h.json("{}")
		case h.Method == http.MethodGet:
			h.w.WriteHeader(http.StatusMethodNotAllowed)
		case lost && h.Header.Get("Mcp-Session-Id") == "s1":
			h.w.Header().Set("Content-Type", "application/json")
			h.w.WriteHeader(http.StatusNotFound)
			h.write(`{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
		case h.msg.Method == "test/unknown":
			h.w.WriteHeader(http.StatusNotFound)
			h.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, h.id())
		case h.msg.ID.IsZero():
			h.w.WriteHeader(http.StatusAccepted)
		default:
			h.json(`{"session":"` + h.Header.Get("Mcp-Session-Id") + `"}`)
		}
	})
	d.handshake()
	m, err := d.call("test/unknown")
	if err != nil || m.Error == nil || m.Error.Code != jsonrpc.CodeMethodNotFound {
		t.Errorf("got %v %v", m, err)
	}
	lost = true
	if _, err := d.call(mcp.MethodToolsCall); !errors.Is(err, mcp.ErrSessionLost) {
		t.Error(err)
	}
	if err := d.Send(t.Context(), &jsonrpc.Message{Method: "notifications/roots/list_changed"}); !errors.Is(err, mcp.ErrSessionLost) {
		t.Error(err)
	}
	d.handshake()
	m, err = d.call(mcp.MethodToolsCall)
	if got := result(t, m, err); got != `{"session":"s2"}` {
		t.Error(got)
	}
}

// Without a session, 404 is the status of a wrong URL.
func TestNotFoundWithoutSession(t *testing.T) {
	d := dialScript(t, nil, func(h *hit) { http.Error(h.w, "<html>nothing here</html>", http.StatusNotFound) })
	_, err := d.call(mcp.MethodToolsList)
	transportError(t, err, 404, "nothing here")
}

// In the handshake era the end of a context is no cancellation by itself: the exchange is closed and the server is told, in the
// background (C05: a server that does not take the notice holds nobody up).
func TestCaseC05CancelLegacy(t *testing.T) {
	entered, told := make(chan struct{}, 1), make(chan string, 1)
	d := dialScript(t, nil, legacyScript(func(h *hit) {
		if h.msg.Method == mcp.NotificationCancelled {
			told <- string(h.msg.Params)
			h.wait()
			return
		}
		entered <- struct{}{}
		h.wait()
	}))
	d.handshake()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	if _, err := d.RoundTrip(ctx, d.outgoing(mcp.Revision20251125, mcp.MethodToolsCall)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := <-told; got != `{"requestId":2,"reason":"the caller gave up"}` {
		t.Error(got)
	}
}

// A request of the server on the stream of a call is handed over, and answered by a POST while the call goes on.
func TestServerRequestOnPostStream(t *testing.T) {
	answered, sent := make(chan string, 1), make(chan error, 1)
	d := dialScript(t, nil, legacyScript(func(h *hit) {
		if h.msg.Method == "" {
			answered <- h.body
			h.w.WriteHeader(http.StatusAccepted)
			return
		}
		h.events()
		h.event(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{}}`)
		h.answer(`{"said":` + <-answered + `}`)
	}))
	d.to.on = func(m *jsonrpc.Message, _ jsonrpc.ID) {
		answer := &jsonrpc.Message{ID: m.ID, Result: []byte(`{"action":"accept"}`)}
		go func() { sent <- d.Send(t.Context(), answer) }()
	}
	d.handshake()
	m, err := d.call(mcp.MethodToolsCall)
	if got := result(t, m, err); got != `{"said":{"jsonrpc":"2.0","id":"q1","result":{"action":"accept"}}}` {
		t.Error(got)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if got := d.to.all(); got != `elicitation/create#"q1" via 2` {
		t.Error(got)
	}
}

// Arrays are taken apart where the revision has them, on streams and in bodies.
func TestBatchAnswers(t *testing.T) {
	const note = `{"jsonrpc":"2.0","method":"notifications/message"}`
	for _, stream := range []bool{false, true} {
		d := dialScript(t, nil, legacyScript(func(h *hit) {
			batch := fmt.Sprintf(`[%s, 5, {"jsonrpc":"2.0","id":%s,"result":{"a":1}}]`, note, h.id())
			if stream {
				h.events()
				h.event(batch)
				return
			}
			h.w.Header().Set("Content-Type", "application/json")
			h.write("%s", batch)
		}))
		d.handshake()
		m, err := d.RoundTrip(t.Context(), d.outgoing(mcp.Revision20250326, mcp.MethodToolsCall))
		if got := result(t, m, err); got != `{"a":1}` || d.to.all() != "notifications/message via 2" {
			t.Errorf("%s, %s", got, d.to.all())
		}
		_, err = d.call(mcp.MethodToolsCall) // 2025-11-25 has none
		if err == nil {
			t.Error("a batch was taken in 2025-11-25")
		}
	}
	d := dialScript(t, nil, legacyScript(func(h *hit) {
		h.w.Header().Set("Content-Type", "application/json")
		h.write("[]")
	}))
	d.handshake()
	_, err := d.RoundTrip(t.Context(), d.outgoing(mcp.Revision20250326, mcp.MethodToolsCall))
	transportError(t, err, 200, "batch")
}

// A stream that the server closes on purpose is picked up where it was left, after the time the server named (sse-retry of the
// conformance suite), as often as it takes; event ids belong to their stream.
func TestResumePolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times kept[time.Time]
		var got kept[string]
		d := dialMemory(t, &mcphttp.DialOptions{DisableStream: true}, legacyScript(func(h *hit) {
			times.add(time.Now())
			n := got.add(h.Header.Get("Last-Event-Id"))
			if h.Method == http.MethodGet && (h.Header.Get("Mcp-Session-Id") != "s1" || h.Header.Get("Mcp-Protocol-Version") != "2025-11-25") {
				t.Errorf("headers of the GET: %v", h.Header)
			}
			h.events()
			switch {
			case n == 1:
				h.write("id: a-0\nretry: 500\ndata:\n\n")
			case n < 20:
				h.write("id: a-%d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n", n)
			default:
				h.write("data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"n\":1}}\n\n")
			}
		}))
		d.handshake()
		m, err := d.call(mcp.MethodToolsCall)
		if got := result(t, m, err); got != `{"n":1}` {
			t.Error(got)
		}
		at, ids := times.all(), got.all()
		for i := range at {
			if i == 0 {
				continue
			}
			if wait := at[i].Sub(at[i-1]); wait < 500*time.Millisecond || wait > 600*time.Millisecond {
				t.Errorf("came back after %v", wait)
			}
		}
		if got := strings.Join(ids[:4], ","); len(ids) != 20 || got != ",a-0,a-2,a-3" {
			t.Errorf("%d: %s", len(ids), got)
		}
		if got := d.to.all(); !strings.HasPrefix(got, "notifications/progress via 2, notifications/progress via 2") {
			t.Error(got)
		}
	})
}

// E13, and the ways in which a stream cannot be picked up. None of them is taken for a lost session: the call may have run.
func TestCaseE13Resume(t *testing.T) {
	type attempt func(h *hit)
	status := func(code int) attempt {
		return func(h *hit) { http.Error(h.w, "no", code) }
	}
	drop := func(*hit) { panic(http.ErrAbortHandler) }
	answer := func(h *hit) {
		h.events()
		h.write("data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
	}
	empty := func(h *hit) { h.events() }
	for name, tt := range map[string]struct {
		attempts []attempt
		status   int
		text     string
	}{
		"dropped":      {[]attempt{drop, answer}, 0, ""},
		"busy":         {[]attempt{status(503), status(429), drop, empty, answer}, 0, ""},
		"not offered":  {[]attempt{status(405)}, 405, "does not let it be picked up"},
		"session gone": {[]attempt{status(404)}, 404, "does not let it be picked up"},
		"no stream":    {[]attempt{func(h *hit) { h.w.WriteHeader(200) }}, 200, "does not let it be picked up"},
		"for ever":     {[]attempt{empty, empty, empty, empty, empty}, 200, "ended before the response"},
		"broken":       {[]attempt{drop, drop, drop, drop, drop}, 200, "before the response"},
		"no id":        {[]attempt{func(h *hit) { h.events(); h.write("id\ndata:\n\n") }}, 200, "ended before the response"},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			d := dialMemory(t, &mcphttp.DialOptions{DisableStream: true}, legacyScript(func(h *hit) {
				if h.Method == http.MethodPost {
					h.events()
					h.write("id: p1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n")
					panic(http.ErrAbortHandler)
				}
				tries++
				tt.attempts[tries-1](h)
			}))
			d.handshake()
			m, err := d.call(mcp.MethodToolsCall)
			if tries != len(tt.attempts) {
				t.Errorf("%s: %d attempts", name, tries)
			}
			if tt.text == "" {
				result(t, m, err)
				return
			}
			transportError(t, err, tt.status, tt.text)
		})
	}
}

// An event id that cannot be sent back is not.
func TestResumeBadIDs(t *testing.T) {
	for _, id := range []string{"a\x01b", strings.Repeat("x", 5000)} {
		gets := 0
		d := dialScript(t, nil, legacyScript(func(h *hit) {
			if h.Method == http.MethodGet {
				gets++
			}
			h.events()
			h.write("id: %s\ndata:\n\n", id)
		}))
		d.handshake()
		_, err := d.call(mcp.MethodToolsCall)
		transportError(t, err, 200, "ended before")
		if gets != 0 {
			t.Errorf("%d GETs", gets)
		}
	}
}

// The wait for a stream to come back ends with the caller.
func TestResumeEndsWithCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dialMemory(t, &mcphttp.DialOptions{DisableStream: true}, legacyScript(func(h *hit) {
			if h.msg.Method == mcp.NotificationCancelled {
				h.w.WriteHeader(http.StatusAccepted)
				return
			}
			h.events()
			h.write("id: 1\nretry: 3600000\ndata:\n\n")
		}))
		d.handshake()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if _, err := d.RoundTrip(ctx, d.outgoing(mcp.Revision20251125, mcp.MethodToolsCall)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

// N11: a DELETE that is not answered ends with its bound; one that is refused is no failure where the specification allows it.
func TestCaseN11Close(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dialMemory(t, &mcphttp.DialOptions{DisableStream: true, CloseTimeout: time.Second}, func(h *hit) {
			if h.Method == http.MethodDelete {
				h.wait()
				return
			}
			legacyScript(nil)(h)
		})
		d.handshake()
		began := time.Now()
		if err := d.Close(); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
	for status, fine := range map[int]bool{200: true, 202: true, 204: true, 404: true, 405: true, 403: false, 500: false} {
		d := dialScript(t, &mcphttp.DialOptions{DisableStream: true}, func(h *hit) {
			if h.Method == http.MethodDelete {
				h.w.WriteHeader(status)
				return
			}
			legacyScript(nil)(h)
		})
		d.handshake()
		if err := d.Close(); (err == nil) != fine {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

// A session id that is no header value is refused before it is used.
func TestSessionID(t *testing.T) {
	for _, id := range []string{"a b", "grün", strings.Repeat("x", 1025)} {
		d := dialScript(t, nil, func(h *hit) {
			h.w.Header().Set("Mcp-Session-Id", id)
			h.json("{}")
		})
		_, err := d.call(mcp.MethodInitialize)
		transportError(t, err, 200, "session id")
	}
	d := dialScript(t, nil, func(h *hit) { // one with an error is none
		if h.Header.Get("Mcp-Session-Id") != "" {
			t.Error("the session of a failed initialize is used")
		}
		h.w.Header().Set("Mcp-Session-Id", "s1")
		h.w.Header().Set("Content-Type", "application/json")
		h.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no"}}`, h.id())
	})
	for _, method := range []string{mcp.MethodInitialize, mcp.MethodToolsList} {
		if m, err := d.call(method); err != nil || m.Error == nil {
			t.Errorf("%v %v", m, err)
		}
	}
}
