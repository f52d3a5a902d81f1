package mcphttp_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// bubbleSite serves a new server over in-memory connections inside a synctest bubble. The returned function ends everything, and must
// be called before the bubble does.
func bubbleSite(t *testing.T, o *mcphttp.Options, tune func(*http.Server)) (*bubble, func()) {
	t.Helper()
	srv, g := newServer(nil)
	if o == nil {
		o = &mcphttp.Options{}
	}
	o.Logger = slog.New(slog.DiscardHandler)
	h := mcphttp.NewHandler(srv, o)
	mux := http.NewServeMux()
	mcphttp.Mount(mux, "/mcp", h)
	hs := &http.Server{Handler: mux, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	if tune != nil {
		tune(hs)
	}
	pn := newPipeNet()
	go hs.Serve(pn)
	tr := &http.Transport{DialContext: pn.dial}
	b := &bubble{site: site{t: t, h: h, srv: srv, url: "http://localhost/mcp", gates: g, client: &http.Client{Transport: tr}}, pn: pn}
	return b, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := h.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		tr.CloseIdleConnections()
		hs.Shutdown(ctx) // a client that does not read is cut off below
		if err := hs.Close(); err != nil {
			t.Errorf("closing the server: %v", err)
		}
	}
}

type bubble struct {
	site
	pn *pipeNet
}

// countComments reads a stream to its end and counts what is in it.
func countComments(t *testing.T, body io.Reader) (comments int, text string) {
	t.Helper()
	b, err := io.ReadAll(body)
	if err != nil {
		t.Errorf("reading: %v", err)
	}
	return strings.Count(string(b), ": keep-alive\n\n"), string(b)
}

func TestCaseE15KeepAliveOfSilentCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := bubbleSite(t, nil, func(hs *http.Server) { hs.WriteTimeout, hs.ReadTimeout = 20*time.Second, 20*time.Second })
		defer end()
		for _, r := range s.inEachEra("wait", `{}`) {
			go func() {
				<-s.entered
				time.Sleep(65 * time.Second)
				s.gates.open <- struct{}{}
			}()
			begun := time.Now()
			resp := s.do(t.Context(), r)
			if d := time.Since(begun); d != 15*time.Second {
				t.Errorf("the stream began after %v", d)
			}
			n, text := countComments(t, resp.Body)
			resp.Body.Close()
			if n < 3 || n > 4 || !strings.Contains(text, "waited") {
				t.Errorf("%d comments in %s", n, text)
			}
			if err := <-s.ended; err != nil {
				t.Errorf("cancelled: %v", err)
			}
		}
	})
}

func TestKeepAliveDoesNotTouchJSONOnlyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := bubbleSite(t, nil, func(hs *http.Server) { hs.WriteTimeout = 20 * time.Second })
		defer end()
		go func() {
			<-s.entered
			time.Sleep(65 * time.Second)
			s.gates.open <- struct{}{}
		}()
		a := s.ask(callTool("1", "wait", `{}`).with("Accept", "application/json"))
		if a.status != 200 || !strings.Contains(a.body, "waited") {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

func TestCaseE15KeepAliveOfListenStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := bubbleSite(t, &mcphttp.Options{KeepAlive: 5 * time.Second}, func(hs *http.Server) { hs.WriteTimeout = 7 * time.Second })
		resp := s.do(t.Context(), modern(`"sub"`, "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`))
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(61 * time.Second)
			end()
		})
		n, text := countComments(t, resp.Body)
		if n != 12 || !strings.Contains(text, "acknowledged") || !strings.Contains(text, `"id":"sub"`) {
			t.Errorf("%d comments in %s", n, text)
		}
		wg.Wait()
	})
}

func TestReaderThatDoesNotReadIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := bubbleSite(t, &mcphttp.Options{WriteTimeout: 10 * time.Second}, nil)
		defer end()
		c, err := s.pn.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		r := callTool("1", "stepwait", `{}`).withToken()
		req, err := http.NewRequestWithContext(t.Context(), r.method, s.url, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = r.header
		if err := req.Write(c); err != nil { // and nothing is ever read
			t.Fatal(err)
		}
		begun := time.Now()
		if err := <-s.ended; !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("the progress was sent: %v", err)
		}
		if d := time.Since(begun); d != 10*time.Second {
			t.Errorf("the write took %v", d)
		}
	})
}
