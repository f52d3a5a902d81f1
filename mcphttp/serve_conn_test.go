package mcphttp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/mcphttp"
)

// The time for the headers of a connection's first request begins with its first byte, and until then the connection is an idle one, so
// that a client which dialled early is served, as long as it would keep an idle connection itself.
//
// Without that, calls met the end of their connection after ten seconds, and net/http answered some with "400 Bad Request": with HTTP/2 in
// the clear it reads the first 14 bytes by themselves, and when its deadline came before the next read it took them for the whole request
// line.
func TestFirstRequestAtTheLastMoment(t *testing.T) {
	const request = "GET /elsewhere HTTP/1.1\r\nHost: localhost\r\n\r\n"
	const served, refused = "HTTP/1.1 404 Not Found\r\n", "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	for name, tt := range map[string]struct {
		first, second time.Duration // when a part of the request is sent
		want          string        // how the answer begins; nothing is no answer at all
	}{
		"at once":            {0, 0, served},
		"late":               {9990 * time.Millisecond, 10010 * time.Millisecond, served},
		"later":              {90 * time.Second, 99 * time.Second, served}, // net/http's client gives up what was idle for so long
		"at the last moment": {119990 * time.Millisecond, 120010 * time.Millisecond, served},
		"too late":           {120010 * time.Millisecond, 120010 * time.Millisecond, ""},
		"half, in time":      {5 * time.Second, 14 * time.Second, served},
		"half, for too long": {5 * time.Second, 16 * time.Second, refused}, // which is how net/http says it
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, _ := newServer(nil)
				pn := newPipeNet()
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- mcphttp.Serve(ctx, pn, srv, &mcphttp.Options{Logger: slog.New(slog.DiscardHandler)}) }()
				c, err := pn.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					time.Sleep(tt.first)
					_, err1 := io.WriteString(c, request[:14])
					time.Sleep(time.Until(begun.Add(tt.second)))
					_, err2 := io.WriteString(c, request[14:])
					if err := errors.Join(err1, err2); err != nil && !errors.Is(err, io.ErrClosedPipe) {
						t.Error(err)
					}
				}()
				got := make([]byte, 512)
				n, err := bufio.NewReader(c).Read(got)
				if err != nil && !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				if answer := string(got[:n]); !strings.HasPrefix(answer, tt.want) || tt.want == "" && answer != "" {
					t.Errorf("%q, want %q", answer, tt.want)
				}
				c.Close()
				<-sent
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A connection still does what net/http looks for in it.
func TestServedConnections(t *testing.T) {
	s, end := serving(t, &mcphttp.Options{Fallback: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader(strings.Repeat("x", 1<<20))); err != nil {
			t.Error(err)
		}
	})})
	resp, err := s.client.Get(strings.TrimSuffix(s.url, "/mcp") + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != 1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	host := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp")
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// Headers that are too large are answered, and the answer is not lost with a reset although the client is still writing.
	go func() { _, _ = io.WriteString(c, "GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 200<<10)) }()
	if answer, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 431") {
		t.Errorf("%.100q %v", answer, err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
