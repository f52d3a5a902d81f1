package mcphttp_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// What may be repeated is, after the pause that is due, and nothing else. A tool call is repeated only when the server said that it did
// nothing.
func TestRetries(t *testing.T) {
	const list, call = mcp.MethodToolsList, mcp.MethodToolsCall
	for name, tt := range map[string]struct {
		method   string
		statuses []int // the last one is answered for ever
		after    string
		tries    int
		least    time.Duration
		most     time.Duration
	}{
		"list 503":             {list, []int{503, 200}, "", 2, 150 * time.Millisecond, 300 * time.Millisecond},
		"list 429 502 200":     {list, []int{429, 502, 200}, "", 3, 500 * time.Millisecond, 800 * time.Millisecond},
		"list 504":             {list, []int{504}, "", 3, 500 * time.Millisecond, 800 * time.Millisecond},
		"list 500":             {list, []int{500, 200}, "", 1, 0, 0},
		"list 404":             {list, []int{404, 200}, "", 1, 0, 0},
		"list 503 with time":   {list, []int{503, 200}, "7", 2, 7 * time.Second, 7 * time.Second},
		"list 503 with date":   {list, []int{503, 200}, "Sat, 01 Jan 2000 00:00:09 GMT", 2, 8 * time.Second, 9 * time.Second},
		"list 503 with past":   {list, []int{503, 200}, "Sat, 01 Jan 1999 00:00:09 GMT", 2, 150 * time.Millisecond, 300 * time.Millisecond},
		"list 503 with trash":  {list, []int{503, 200}, "soon", 2, 150 * time.Millisecond, 300 * time.Millisecond},
		"list 503 much later":  {list, []int{503, 200}, "31", 1, 0, 0},
		"call 503":             {call, []int{503, 200}, "", 1, 0, 0},
		"call 502 with time":   {call, []int{502, 200}, "1", 1, 0, 0},
		"call 503 with time":   {call, []int{503, 200}, "1", 2, time.Second, time.Second},
		"call 429 with time":   {call, []int{429, 200}, "2", 2, 2 * time.Second, 2 * time.Second},
		"custom 503":           {"custom/method", []int{503, 200}, "", 1, 0, 0},
		"custom 503 with time": {"custom/method", []int{503, 200}, "1", 2, time.Second, time.Second},
		"initialize 503":       {mcp.MethodInitialize, []int{503, 200}, "", 2, 150 * time.Millisecond, 300 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			var hits kept[string]
			d := dialMemory(t, nil, func(h *hit) {
				n := hits.add(h.body)
				status := tt.statuses[min(n, len(tt.statuses))-1]
				if status == 200 {
					h.json(okResult)
					return
				}
				if tt.after != "" {
					h.w.Header().Set("Retry-After", tt.after)
				}
				http.Error(h.w, "busy", status)
			})
			began := time.Now()
			m, err := d.modern(tt.method)
			took := time.Since(began)
			got := hits.all()
			if len(got) != tt.tries || took < tt.least || took > tt.most {
				t.Errorf("%s: %d tries in %v", name, len(got), took)
			}
			if tt.tries > 1 && got[0] != got[1] {
				t.Errorf("%s: another body was sent: %q", name, got)
			}
			if tt.statuses[min(tt.tries, len(tt.statuses))-1] == 200 {
				result(t, m, err)
				return
			}
			e := transportError(t, err, tt.statuses[0], "busy")
			if tt.after == "31" && e.RetryAfter != 31*time.Second {
				t.Errorf("RetryAfter %v", e.RetryAfter)
			}
		})
	}
}

// Retries can be turned off, and do not begin what the caller's time is too short for.
func TestRetriesBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hits kept[int]
		d := dialMemory(t, &mcphttp.DialOptions{MaxRetries: -1}, func(h *hit) {
			hits.add(1)
			h.w.WriteHeader(http.StatusServiceUnavailable)
		})
		_, err := d.modern(mcp.MethodToolsList)
		transportError(t, err, 503, "")
		if n := len(hits.all()); n != 1 {
			t.Errorf("%d tries", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := dialMemory(t, nil, func(h *hit) {
			h.w.Header().Set("Retry-After", "20")
			h.w.WriteHeader(http.StatusServiceUnavailable)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		_, err := d.RoundTrip(ctx, d.outgoing(mcp.Revision20260728, mcp.MethodToolsList))
		if e := transportError(t, err, 503, ""); e.RetryAfter != 20*time.Second || time.Since(began) > 0 {
			t.Errorf("RetryAfter %v after %v", e.RetryAfter, time.Since(began))
		}
	})
	synctest.Test(t, func(t *testing.T) { // the caller gives up during a pause
		d := dialMemory(t, nil, func(h *hit) {
			h.w.Header().Set("Retry-After", "20")
			h.w.WriteHeader(http.StatusServiceUnavailable)
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		began := time.Now()
		_, err := d.RoundTrip(ctx, d.outgoing(mcp.Revision20260728, mcp.MethodToolsList))
		if !errors.Is(err, context.Canceled) || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A roundTripper is a RoundTripper made of a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Failures of the network are repeated where that is safe; everything else that a RoundTripper may fail of is not: a person who
// declined to log in is not asked again.
func TestRetriesOfFailures(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	read := &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
	name := &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}
	for what, tt := range map[string]struct {
		err        error
		list, call int
	}{
		"dial":     {dial, 3, 3},
		"read":     {read, 3, 1},
		"name":     {name, 1, 1},
		"login":    {errors.New("oauth: the person declined"), 1, 1},
		"idle":     {errors.New("http: server closed idle connection"), 3, 1},
		"http2":    {errors.New("http2: server sent GOAWAY and closed the connection"), 3, 1},
		"tls":      {&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, 1, 1},
		"canceled": {context.Canceled, 1, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			d := dialURL(t, "http://secret:pw@host.test/mcp?key=hidden", &mcphttp.DialOptions{
				Client: &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
					tries++
					return nil, tt.err
				})},
			})
			for method, want := range map[string]int{mcp.MethodToolsList: tt.list, mcp.MethodToolsCall: tt.call} {
				tries = 0
				_, err := d.modern(method)
				e := transportError(t, err, 0, "no answer from the server")
				if tries != want || !errors.Is(err, tt.err) {
					t.Errorf("%s %s: %d tries, %v", what, method, tries, err)
				}
				if strings.Contains(e.Error(), "hidden") || strings.Contains(e.Error(), "secret") {
					t.Errorf("the error tells secrets: %v", e)
				}
			}
		})
	}
}

// One failed exchange ends nothing.
func TestLinkSurvives(t *testing.T) {
	fail := true
	d := dialURL(t, "http://host.test/", &mcphttp.DialOptions{
		MaxRetries: -1,
		Client: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if fail {
				return nil, errors.New("broken")
			}
			return textAnswer(r, 200, "application/json", `{"jsonrpc":"2.0","id":2,"result":{}}`), nil
		})},
	})
	if _, err := d.modern(mcp.MethodToolsCall); err == nil {
		t.Error("no error")
	}
	if err := d.Send(t.Context(), &jsonrpc.Message{Method: "notifications/x"}); err == nil {
		t.Error("no error")
	}
	fail = false
	m, err := d.modern(mcp.MethodToolsCall)
	result(t, m, err)
	if d.to.lost != nil {
		t.Error(d.to.lost)
	}
}
