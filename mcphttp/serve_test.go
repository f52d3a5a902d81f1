package mcphttp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// serving runs Serve on a loopback port and returns where, and a function that ends it and returns what it returned.
func serving(t *testing.T, o *mcphttp.Options) (*site, func() error) {
	t.Helper()
	srv, g := newServer(nil)
	if o == nil {
		o = &mcphttp.Options{}
	}
	o.Logger = slog.New(slog.DiscardHandler)
	l, err := mcphttp.Listen(t.Context(), ":0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mcphttp.Serve(ctx, l, srv, o) }()
	s := &site{t: t, srv: srv, url: "http://" + l.Addr().String() + "/mcp", gates: g, client: &http.Client{Transport: &http.Transport{}}}
	return s, func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(20 * time.Second):
			t.Fatal("Serve does not end")
			return nil
		}
	}
}

func TestServe(t *testing.T) {
	s, end := serving(t, nil)
	if !strings.HasPrefix(s.url, "http://127.0.0.1:") {
		t.Errorf("an empty host listens at %s", s.url)
	}
	for _, slash := range []string{"", "/"} {
		own := *s
		own.url += slash
		if a := own.ask(callTool("1", "echo", `{"text":"hi"}`)); a.status != 200 {
			t.Errorf("%s: %d", own.url, a.status)
		}
	}
	listen := eventsOf(t, s.do(t.Context(), listenTo(`"l"`, `{"toolsListChanged":true}`)))
	listen.want("acknowledged")
	got := make(chan *answer, 1)
	go func() { got <- s.ask(callTool("1", "wait", `{}`)) }()
	<-s.entered
	go func() { listen.want(`"id":"l"`); close(s.gates.open) }()
	if err := end(); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if a := <-got; !strings.Contains(a.body, "waited") {
		t.Errorf("the running call: %d %s", a.status, a.body)
	}
}

func TestServeGivesUpOnCallsThatDoNotEnd(t *testing.T) {
	s, end := serving(t, &mcphttp.Options{ShutdownTimeout: 50 * time.Millisecond})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := s.try(t.Context(), callTool("1", "wait", `{}`)); err == nil {
			resp.Body.Close()
		}
	}()
	<-s.entered
	if err := end(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Serve: %v", err)
	}
	<-done
	<-s.ended
}

func TestServeReportsWhatIsWrong(t *testing.T) {
	srv, _ := newServer(nil)
	l := newPipeNet()
	if err := mcphttp.Serve(t.Context(), l, srv, &mcphttp.Options{Path: "x"}); err == nil || !strings.Contains(err.Error(), "Path") {
		t.Errorf("%v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error("the listener is open")
	}
	bad := mcp.NewServer("", "", &mcp.ServerOptions{PageSize: -1, Logger: slog.New(slog.DiscardHandler)})
	if err := mcphttp.Serve(t.Context(), newPipeNet(), bad, nil); err == nil || !strings.Contains(err.Error(), "PageSize") {
		t.Errorf("%v", err)
	}
	broken := newPipeNet()
	broken.Close()
	if err := mcphttp.Serve(t.Context(), broken, srv, nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
	for _, addr := range []string{"nonsense", "256.0.0.1:1"} {
		if err := mcphttp.ListenAndServe(addr, srv, nil); err == nil || !strings.HasPrefix(err.Error(), "mcphttp: ") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestHTTP2(t *testing.T) {
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS() // for its certificate
	defer cert.Close()
	pool := cert.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	var h2, h2c http.Protocols
	h2.SetHTTP2(true)
	h2c.SetUnencryptedHTTP2(true)
	for name, c := range map[string]struct {
		o         *mcphttp.Options
		transport *http.Transport
	}{
		"TLS": {&mcphttp.Options{TLSConfig: &tls.Config{Certificates: cert.TLS.Certificates}},
			&http.Transport{Protocols: &h2, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "example.com"}}},
		"in the clear": {nil, &http.Transport{Protocols: &h2c}},
	} {
		t.Run(name, func(t *testing.T) {
			s, end := serving(t, c.o)
			s.client.Transport = c.transport
			if c.o != nil && c.o.TLSConfig != nil {
				s.url = "https" + strings.TrimPrefix(s.url, "http")
			}
			for _, r := range s.inEachEra("stepwait", `{}`) {
				resp := s.do(t.Context(), r)
				if resp.ProtoMajor != 2 {
					t.Errorf("protocol %s", resp.Proto)
				}
				ev := eventsOf(t, resp)
				ev.want(`"message":"before"`)
				<-s.entered
				s.gates.open <- struct{}{}
				ev.want(`"message":"after"`)
				ev.want("waited")
				ev.end()
			}
			ctx, cancel := context.WithCancel(t.Context())
			resp := s.do(ctx, callTool("1", "stepwait", `{}`).withToken())
			<-s.entered
			cancel()
			io.Copy(io.Discard, resp.Body)
			within(t, "cancellation", func() { <-s.ended })
			if err := end(); err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}

// Whoever asks at another path is told where the endpoint is, unless the program has something to show there.
func TestServeElsewhere(t *testing.T) {
	get := func(s *site) (int, string) {
		t.Helper()
		resp, err := s.client.Get(strings.TrimSuffix(s.url, "/mcp") + "/pay/42")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	s, end := serving(t, nil)
	if status, body := get(s); status != 404 || !strings.Contains(body, "/mcp") {
		t.Errorf("%d %q", status, body)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	s, end = serving(t, &mcphttp.Options{Fallback: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "page "+r.URL.Path) })})
	if status, body := get(s); status != 200 || body != "page /pay/42" {
		t.Errorf("with a fallback: %d %q", status, body)
	}
	if a := s.ask(callTool("1", "echo", `{"text":"hi"}`)); a.status != 200 {
		t.Errorf("the endpoint: %d", a.status)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
