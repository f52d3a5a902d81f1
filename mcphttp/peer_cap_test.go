//go:build !mcp_modern_only

package mcphttp_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// from answers a request as if it came from a network address; who, unless it is empty, is the verified caller.
func from(h http.Handler, r *request, remote, who string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(r.method, "http://localhost/mcp", strings.NewReader(r.body))
	req.Header, req.RemoteAddr = r.header, remote
	if who != "" {
		req = req.WithContext(mcphttp.WithPrincipal(req.Context(), &mcp.Principal{Issuer: "i", Subject: who}))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// One caller cannot take all the sessions: not from many ports, not from many addresses of its network, and not while others are served.
func TestSessionsOfOnePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := bubbleSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{MaxSessions: 20, MaxSessionsPerPeer: 2, IdleTimeout: time.Hour}}, nil)
		defer end()
		open := func(remote, who string) *httptest.ResponseRecorder {
			return from(s.h, plainPost(initBody("2025-11-25")), remote, who)
		}
		one := open("192.0.2.1:1000", "")
		for i, tt := range []struct {
			remote, who string
			want        int
		}{
			{"192.0.2.1:1001", "", 200}, {"192.0.2.1:1002", "", 429}, {"192.0.2.2:1002", "", 200}, {"192.0.2.1:1003", "ann", 200},
			{"192.0.2.9:1", "ann", 200}, {"192.0.2.9:1", "ann", 429}, {"192.0.2.9:1", "bob", 200},
			{"[2001:db8::1]:1", "", 200}, {"[2001:db8::2]:1", "", 200}, {"[2001:db8::3]:1", "", 429}, {"[2001:db8:0:1::3]:1", "", 200},
			{"127.0.0.1:1", "", 200}, {"127.0.0.1:2", "", 200}, {"127.0.0.1:3", "", 200}, {"pipe", "", 200}, {"pipe", "", 200}, {"pipe", "", 200},
		} {
			w := open(tt.remote, tt.who)
			if w.Code != tt.want || w.Code == 429 && (w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "as one caller may have")) {
				t.Errorf("%d: %s %s: %d %s", i, tt.remote, tt.who, w.Code, w.Body)
			}
		}
		// What has ended, by its client or by time, is free again.
		gone := &request{method: http.MethodDelete, header: http.Header{"Mcp-Session-Id": {one.Header().Get("Mcp-Session-Id")}}}
		if w := from(s.h, gone, "192.0.2.1:1", ""); w.Code != 204 {
			t.Errorf("DELETE: %d", w.Code)
		}
		for i, want := range []int{200, 429} {
			if w := open("192.0.2.1:1", ""); w.Code != want {
				t.Errorf("after DELETE, %d: %d", i, w.Code)
			}
		}
		time.Sleep(2 * time.Minute) // nobody came back after initialize
		for i, want := range []int{200, 200, 429} {
			if w := open("192.0.2.1:1", ""); w.Code != want {
				t.Errorf("after they expired, %d: %d", i, w.Code)
			}
		}
		// Room for all is another matter.
		for i := range 18 {
			if w := open("192.0.2."+strconv.Itoa(100+i)+":1", ""); w.Code != 200 {
				t.Fatalf("%d: %d", i, w.Code)
			}
		}
		if w := open("192.0.2.200:1", ""); w.Code != 503 {
			t.Errorf("when the table is full: %d", w.Code)
		}
	})
}

// The same holds of the streams of HTTP+SSE.
func TestOldSessionsOfOnePeer(t *testing.T) {
	srv, _ := newServer(nil)
	h := mcphttp.NewSSEHandler(srv, &mcphttp.Options{Logger: slog.New(slog.DiscardHandler), Sessions: &mcphttp.SessionOptions{MaxSessionsPerPeer: 1}})
	begun := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan int, 1)
	get := func(ctx context.Context, w http.ResponseWriter, remote string) {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/sse", nil).WithContext(ctx)
		r.Header.Set("Accept", "text/event-stream")
		r.RemoteAddr = remote
		h.ServeHTTP(w, r)
	}
	go func() {
		w := &notifying{ResponseRecorder: httptest.NewRecorder(), begun: begun}
		get(ctx, w, "192.0.2.1:1")
		first <- w.Code
	}()
	<-begun
	w := httptest.NewRecorder()
	if get(t.Context(), w, "192.0.2.1:2"); w.Code != 429 {
		t.Errorf("the second: %d %s", w.Code, w.Body)
	}
	cancel()
	if code := <-first; code != 200 {
		t.Errorf("the first: %d", code)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w = httptest.NewRecorder()
	if get(ended, w, "192.0.2.1:3"); w.Code == 429 {
		t.Errorf("after the first has ended: %d", w.Code)
	}
}

// notifying says when something is written.
type notifying struct {
	*httptest.ResponseRecorder
	begun chan struct{}
}

func (n *notifying) Write(p []byte) (int, error) {
	defer func() {
		if n.begun != nil {
			close(n.begun)
			n.begun = nil
		}
	}()
	return n.ResponseRecorder.Write(p)
}

// Of listen streams the server's own limit counts, and a caller's share of it.
func TestListenersOfOnePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newServer(&mcp.ServerOptions{MaxListeners: 4, MaxListenersPerPeer: 2, Logger: slog.New(slog.DiscardHandler)})
		h := mcphttp.NewHandler(srv, &mcphttp.Options{Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		var open []<-chan struct{}
		listen := func(remote, who string) string {
			r := listenTo(`"1"`, `{"toolsListChanged":true}`)
			req := httptest.NewRequest(r.method, "http://localhost/mcp", strings.NewReader(r.body)).WithContext(ctx)
			req.Header, req.RemoteAddr = r.header, remote
			if who != "" {
				req = req.WithContext(mcphttp.WithPrincipal(ctx, &mcp.Principal{Issuer: "i", Subject: who}))
			}
			w, done := httptest.NewRecorder(), make(chan struct{})
			go func() { defer close(done); h.ServeHTTP(w, req) }()
			synctest.Wait()
			select {
			case <-done:
				body, err := io.ReadAll(w.Result().Body)
				if err != nil {
					t.Error(err)
				}
				return string(body)
			default:
				open = append(open, done)
				return "open"
			}
		}
		for i, tt := range []struct{ remote, who, want string }{
			{"192.0.2.1:1", "", "open"}, {"192.0.2.1:2", "", "open"}, {"192.0.2.1:3", "", "you have too many subscriptions"}, {"192.0.2.1:3", "ann", "open"},
			{"192.0.2.2:1", "", "open"}, {"192.0.2.3:1", "", "too many subscriptions are open at this server"},
		} {
			if got := listen(tt.remote, tt.who); !strings.Contains(got, tt.want) {
				t.Errorf("%d: %s, want %s", i, got, tt.want)
			}
		}
		cancel()
		for _, done := range open {
			<-done
		}
		open = nil
		ctx, cancel = context.WithCancel(t.Context())
		if got := listen("192.0.2.1:3", ""); got != "open" {
			t.Errorf("after the others have ended: %s", got)
		}
		cancel()
		for _, done := range open {
			<-done
		}
	})
}
