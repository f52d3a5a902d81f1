//go:build !mcp_modern_only

package mcphttp_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// getScript answers the handshake and requests, and leaves GETs to f, counted from 1.
func getScript(f func(h *hit, n int)) func(h *hit) {
	var n atomic.Int64
	return func(h *hit) {
		switch {
		case h.Method == http.MethodGet:
			f(h, int(n.Add(1)))
		case h.msg.Method == mcp.MethodInitialize:
			h.w.Header().Set("Mcp-Session-Id", "s1")
			h.json("{}")
		case h.msg.ID.IsZero() || h.msg.Method == "":
			h.w.WriteHeader(http.StatusAccepted)
		default:
			h.json(`{}`)
		}
	}
}

// E17: the standalone stream is opened with the session's id once the handshake is over, and what comes on it is handed over.
func TestCaseE17StandaloneStream(t *testing.T) {
	d := dialScript(t, nil, getScript(func(h *hit, _ int) {
		if h.Header.Get("Mcp-Session-Id") != "s1" || h.Header.Get("Mcp-Protocol-Version") != "2025-11-25" || h.Header.Get("Accept") != typeEvents {
			t.Errorf("headers %v", h.Header)
		}
		h.events()
		h.event(`{"jsonrpc":"2.0","id":"r1","method":"roots/list"}`)
		h.event(`nonsense`)
		h.event(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		h.event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		h.wait()
	}))
	d.handshake()
	if got := d.to.next(t) + ", " + d.to.next(t); got != `roots/list#"r1", notifications/tools/list_changed` {
		t.Error(got)
	}
}

// The first request waits until the stream is open, so that what the server then sends on it is not lost (the elicitation scenarios of
// the conformance suite).
func TestStreamBeforeCalls(t *testing.T) {
	var open atomic.Bool
	d := dialScript(t, nil, func(h *hit) {
		if h.msg.Method == mcp.MethodToolsCall && !open.Load() {
			t.Error("the call came before the stream")
		}
		getScript(func(h *hit, _ int) {
			open.Store(true)
			h.events()
			h.wait()
		})(h)
	})
	d.handshake()
	m, err := d.call(mcp.MethodToolsCall)
	result(t, m, err)
}

// E11: but it does not wait for a server that answers the GET only when it has something to say.
func TestCaseE11LateHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		d := dialMemory(t, nil, getScript(func(h *hit, _ int) { h.wait() })) // no headers, ever
		d.handshake()
		for range 2 {
			m, err := d.call(mcp.MethodToolsCall)
			result(t, m, err)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

// E08: a server without the stream is not asked again, whatever way it says so, at once or later.
func TestCaseE08NoStream(t *testing.T) {
	for name, refuse := range map[string]func(h *hit){
		"405":  func(h *hit) { h.w.WriteHeader(405) },
		"404":  func(h *hit) { http.Error(h.w, "<html>", 404) },
		"400":  func(h *hit) { h.w.WriteHeader(400) },
		"409":  func(h *hit) { h.w.WriteHeader(409) },
		"501":  func(h *hit) { h.w.WriteHeader(501) },
		"json": func(h *hit) { h.w.Header().Set("Content-Type", "application/json"); h.write("{}") },
		"html": func(h *hit) { h.w.Header().Set("Content-Type", "text/html"); h.write("<html>") },
	} {
		for _, first := range []bool{true, false} {
			if name == "409" && !first {
				continue // see E10
			}
			synctest.Test(t, func(t *testing.T) {
				var gets kept[int]
				d := dialMemory(t, nil, getScript(func(h *hit, n int) {
					gets.add(n)
					if n == 1 && !first {
						h.events()
						return
					}
					refuse(h)
				}))
				d.handshake()
				time.Sleep(time.Hour)
				want := 2
				if first {
					want = 1
				}
				if got := len(gets.all()); got != want {
					t.Errorf("%s: %d GETs, want %d", name, got, want)
				}
				m, err := d.call(mcp.MethodToolsCall)
				result(t, m, err)
			})
		}
	}
}

// E09: a stream that ends at once, for ever, is opened again at a falling rate; a retry time of the server is honoured.
func TestCaseE09BackOff(t *testing.T) {
	for _, retry := range []string{"", "retry: 3000\n\n"} {
		synctest.Test(t, func(t *testing.T) {
			var times kept[time.Time]
			d := dialMemory(t, nil, getScript(func(h *hit, _ int) {
				times.add(time.Now())
				h.events()
				h.write("%s", retry)
			}))
			d.handshake()
			time.Sleep(10 * time.Minute)
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			var gaps []time.Duration
			at := times.all()
			for i := 1; i < len(at); i++ {
				gaps = append(gaps, at[i].Sub(at[i-1]))
			}
			if len(gaps) < 10 {
				t.Fatalf("only %v", gaps)
			}
			for _, gap := range gaps {
				if retry != "" && (gap < 3*time.Second || gap > 3400*time.Millisecond) {
					t.Errorf("came back after %v, want 3 s", gap)
				}
			}
			if retry == "" && (len(gaps) > 35 || gaps[0] > time.Second || gaps[9] < 20*time.Second || gaps[9] > 30*time.Second) {
				t.Errorf("%d: %v", len(gaps), gaps)
			}
		})
	}
}

// E07: a stream that carries no ids and is closed every two seconds harms nothing; calls go on.
func TestCaseE07NoIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cycles atomic.Int64
		d := dialMemory(t, nil, getScript(func(h *hit, n int) {
			cycles.Store(int64(n))
			h.events()
			for range 2 {
				h.write(": keep-alive\n\n")
				time.Sleep(time.Second)
			}
			h.event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}))
		d.handshake()
		for cycles.Load() < 20 {
			time.Sleep(time.Second)
			m, err := d.call(mcp.MethodToolsCall)
			result(t, m, err)
		}
		if got := strings.Count(d.to.all(), "list_changed"); got < 19 || d.to.lost != nil {
			t.Errorf("%d notices, lost: %v", got, d.to.lost)
		}
	})
}

// E10: a stream whose connection broke is opened again with the last event id of that stream, also when the server is late to notice or
// forgot the event, and after passing failures.
func TestCaseE10Reopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ids kept[string]
		d := dialMemory(t, nil, getScript(func(h *hit, n int) {
			ids.add(h.Header.Get("Last-Event-Id"))
			switch n {
			case 1:
				h.events()
				h.write("id: g1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/prompts/list_changed\"}\n\n")
				panic(http.ErrAbortHandler)
			case 2:
				h.w.WriteHeader(http.StatusConflict)
			case 3:
				h.w.Header().Set("Retry-After", "7")
				h.w.WriteHeader(http.StatusServiceUnavailable)
			case 4:
				h.w.WriteHeader(http.StatusUnauthorized)
			case 5:
				h.w.WriteHeader(http.StatusBadRequest)
			default:
				h.events()
				h.event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				h.wait()
			}
		}))
		d.handshake()
		if got := d.to.next(t) + ", " + d.to.next(t); got != "notifications/prompts/list_changed, notifications/tools/list_changed" {
			t.Error(got)
		}
		if got := fmt.Sprint(ids.all()); got != "[ g1 g1 g1 g1 ]" {
			t.Error(got)
		}
	})
}

// An event beyond the bound costs that event, not the stream.
func TestStandaloneTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dialMemory(t, &mcphttp.DialOptions{MaxMessageBytes: 1000}, getScript(func(h *hit, n int) {
			h.events()
			if n == 1 {
				h.write("id: 1\ndata:\n\n")
				h.event(strings.Repeat("a", 2000))
			}
			if h.Header.Get("Last-Event-Id") != "" {
				t.Error("the event would come again")
			}
			h.event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			h.wait()
		}))
		d.handshake()
		if got := d.to.next(t); got != "notifications/tools/list_changed" {
			t.Error(got)
		}
	})
}

// A new session has a stream of its own, and the old one is closed.
func TestStandaloneOfNewSession(t *testing.T) {
	ended, opened := make(chan string, 2), make(chan string, 2)
	sessions := 0
	d := dialScript(t, nil, func(h *hit) {
		switch {
		case h.Method == http.MethodGet:
			h.events()
			opened <- h.Header.Get("Mcp-Session-Id")
			h.wait()
			ended <- h.Header.Get("Mcp-Session-Id")
		case h.msg.Method == mcp.MethodInitialize:
			sessions++
			h.w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", sessions))
			h.json("{}")
		default:
			h.w.WriteHeader(http.StatusAccepted)
		}
	})
	d.handshake()
	if got := <-opened; got != "s1" {
		t.Error(got)
	}
	d.handshake()
	if got := <-ended + <-opened; got != "s1s2" {
		t.Error(got)
	}
	if err := d.Send(t.Context(), &jsonrpc.Message{Method: mcp.NotificationInitialized}); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if got := <-ended; got != "s2" {
		t.Error(got)
	}
	select {
	case got := <-opened:
		t.Errorf("another stream was opened: %s", got)
	default:
	}
}
