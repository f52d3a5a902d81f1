package mcphttp_test

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// forward returns a reverse proxy that does not hold events back.
func forward(target *url.URL) http.Handler {
	return &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = "localhost"
	}}
}

func listenTo(id, filter string) *request {
	return modern(id, "subscriptions/listen", "", `"notifications":`+filter)
}

func addTool(srv *mcp.Server, name string) {
	mcp.AddTool(srv, &mcp.Tool{Name: name}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
}

func TestListenStream(t *testing.T) {
	s := serveSite(t, nil)
	ctx, drop := context.WithCancel(t.Context())
	defer drop()
	ev := eventsOf(t, s.do(ctx, listenTo("1", `{"toolsListChanged":true}`)))
	ev.want("subscriptions/acknowledged", `"io.modelcontextprotocol/subscriptionId":1`)
	addTool(s.srv, "new")
	ev.want("notifications/tools/list_changed", `"io.modelcontextprotocol/subscriptionId":1`)
}

func TestCaseN12ShutdownEndsStreamsAndLetsCallsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := bubbleSite(t, nil, nil)
		listen := eventsOf(t, s.do(t.Context(), listenTo(`"sub"`, `{"toolsListChanged":true}`)))
		listen.want("acknowledged")
		got := make(chan *answer, 1)
		go func() { got <- s.ask(callTool("1", "wait", `{}`)) }()
		<-s.entered
		var wg sync.WaitGroup
		begun := time.Now()
		wg.Go(end)
		listen.want(`"id":"sub"`, `"resultType":"complete"`)
		listen.end()
		time.Sleep(2 * time.Second)
		s.gates.open <- struct{}{}
		if a := <-got; a.status != 200 || !strings.Contains(a.body, "waited") {
			t.Errorf("%d %s", a.status, a.body)
		}
		wg.Wait()
		if d := time.Since(begun); d > 5*time.Second {
			t.Errorf("shutdown took %v", d)
		}
	})
}

func TestCaseN14OneListenerThatStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := bubbleSite(t, &mcphttp.Options{WriteTimeout: 10 * time.Second}, nil)
		defer end()
		stuck, err := s.pn.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer stuck.Close()
		r := listenTo("99", `{"toolsListChanged":true}`)
		req, err := http.NewRequestWithContext(t.Context(), r.method, s.url, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = r.header
		if err := req.Write(stuck); err != nil {
			t.Fatal(err)
		}
		const n = 50
		listeners := make([]*events, n)
		drops := make([]context.CancelFunc, n)
		for i := range listeners {
			ctx, drop := context.WithCancel(t.Context())
			drops[i] = drop
			listeners[i] = eventsOf(t, s.do(ctx, listenTo(strconv.Itoa(i+1), `{"toolsListChanged":true}`)))
			listeners[i].want("acknowledged")
		}
		for i := range 20 {
			begun := time.Now()
			addTool(s.srv, "t"+strconv.Itoa(i))
			if d := time.Since(begun); d != 0 {
				t.Errorf("the broadcast took %v", d)
			}
			for _, l := range listeners {
				l.want("list_changed")
			}
			if d := time.Since(begun); d > time.Second {
				t.Errorf("healthy listeners waited %v", d)
			}
		}
		time.Sleep(11 * time.Second) // the stuck one is cut off
		for _, drop := range drops {
			drop()
		}
	})
}

func TestListenStreamsAreCheap(t *testing.T) {
	s := serveSite(t, nil)
	open := func(n int) context.CancelFunc {
		ctx, drop := context.WithCancel(t.Context())
		for i := range n {
			ev := eventsOf(t, s.do(ctx, listenTo(strconv.Itoa(i+1), `{"toolsListChanged":true}`)))
			ev.want("acknowledged")
		}
		return drop
	}
	defer open(1)()
	before := runtime.NumGoroutine()
	const n = 50
	drop := open(n)
	// Two of the server and two of the client for each connection.
	if g := runtime.NumGoroutine() - before; g > 4*n+4 {
		t.Errorf("%d goroutines for %d streams and their clients", g, n)
	}
	drop()
	within(t, "the end of the streams", func() { // N07
		for runtime.NumGoroutine() > before+4 {
			runtime.Gosched()
		}
	})
}

func TestCaseN07StatelessRequestsLeaveNothing(t *testing.T) {
	s := serveSite(t, nil)
	s.ask(callTool("1", "echo", `{"text":"x"}`))
	before := runtime.NumGoroutine()
	for i := range 200 {
		switch i % 3 {
		case 0:
			s.ask(callTool("1", "echo", `{"text":"x"}`))
		case 1:
			s.ask(callTool("1", "progress", `{}`).withToken())
		case 2:
			ctx, cancel := context.WithCancel(t.Context())
			resp, err := s.try(ctx, callTool("1", "stepwait", `{}`).withToken())
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			resp.Body.Close()
			<-s.ended
		}
	}
	s.client.CloseIdleConnections()
	within(t, "the base line", func() {
		for runtime.NumGoroutine() > before {
			runtime.Gosched()
		}
	})
}
