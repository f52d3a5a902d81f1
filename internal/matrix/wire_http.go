package matrix

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/seed38e7925c/parley/internal/sse"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// httpConn is a conversation over HTTP.
type httpConn struct {
	w      *Wire
	url    string // where messages are posted
	old    bool   // HTTP+SSE
	client *http.Client
	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // bounds every exchange of the conversation
	wg     sync.WaitGroup
	ready  chan struct{} // closed when the endpoint is known (HTTP+SSE)

	mu      sync.Mutex
	more    http.Header // of every request
	session string
	open    map[string]context.CancelFunc // exchanges by id
	once    sync.Once
}

func (w *Wire) openHTTP(target string) conn {
	c := &httpConn{w: w, url: target, old: !w.Revision.Rules().HTTP.Streamable, client: &http.Client{Transport: &http.Transport{}},
		open: map[string]context.CancelFunc{}, more: http.Header{}, ready: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if c.old {
		c.listen()
		<-c.ready
	}
	return c
}

// Header sends a header with every request over HTTP; elsewhere it does nothing.
func (w *Wire) Header(name, value string) {
	if c, ok := w.conn.(*httpConn); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.more.Set(name, value)
	}
}

// request makes a request with the headers that the message asks for.
func (c *httpConn) request(ctx context.Context, method, message string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(message))
	if err != nil {
		c.w.t.Error(err)
		return nil
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	} else {
		req.Header.Set("Accept", "text/event-stream")
	}
	r := route(message)
	if r.Method != "initialize" {
		req.Header.Set("Mcp-Protocol-Version", c.w.Revision.String())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	for name, values := range c.more {
		req.Header[name] = values
	}
	if c.w.Modern() && r.Method != "" {
		req.Header.Set("Mcp-Method", r.Method)
		if name := r.name(); name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	}
	return req
}

// send posts a message. For a request it returns once the server has it; for anything else when it is answered.
func (c *httpConn) send(message string) {
	ctx, cancel := context.WithCancel(c.ctx)
	r := route(message)
	c.mu.Lock()
	c.open[string(r.ID)] = cancel
	c.mu.Unlock()
	req := c.request(ctx, http.MethodPost, message)
	exchange := func() {
		defer cancel()
		resp, err := c.client.Do(req)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				c.w.t.Errorf("POST %.100s: %v", message, err)
			}
			return
		}
		defer resp.Body.Close()
		c.answered(resp)
		if r.Method == "notifications/initialized" && !c.old {
			c.listen()
		}
	}
	m, err := jsonrpc.Decode([]byte(message))
	if err == nil && m.Kind() != jsonrpc.Request || r.Method == "initialize" {
		exchange()
		return
	}
	c.wg.Go(exchange)
}

// answered hears the answer to a POST.
func (c *httpConn) answered(resp *http.Response) {
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.mu.Lock()
		c.session = id
		c.mu.Unlock()
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		c.events(resp)
		return
	}
	body, err := io.ReadAll(resp.Body)
	if text := strings.TrimSpace(string(body)); err == nil && text != "" {
		c.w.hear(text, c.status(resp))
	}
}

// status returns a status that says something about its message, which those of HTTP+SSE do not.
func (c *httpConn) status(resp *http.Response) int {
	if c.old {
		return 0
	}
	return resp.StatusCode
}

// listen opens the stream for what the server says of its own accord.
func (c *httpConn) listen() {
	opened := make(chan struct{})
	c.wg.Go(func() {
		resp, err := c.client.Do(c.request(c.ctx, http.MethodGet, ""))
		close(opened)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			c.w.t.Errorf("GET: %s", resp.Status)
			return
		}
		c.events(resp)
	})
	<-opened
}

// events hears a stream of events.
func (c *httpConn) events(resp *http.Response) {
	r := sse.NewReader(resp.Body, 0)
	for {
		ev, err := r.Next()
		if err != nil {
			return
		}
		switch {
		case ev.Name == "endpoint":
			c.endpoint(string(ev.Data))
		case len(ev.Data) > 0:
			c.w.hear(string(ev.Data), c.status(resp))
		}
	}
}

func (c *httpConn) endpoint(ref string) {
	base, err := url.Parse(c.url)
	if err == nil {
		base, err = base.Parse(ref)
	}
	if err != nil {
		c.w.t.Errorf("endpoint %q: %v", ref, err)
		return
	}
	c.url = base.String()
	close(c.ready)
}

// drop closes the exchange of a request.
func (c *httpConn) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.open[id]; cancel != nil {
		cancel()
	}
}

func (c *httpConn) hangUp() {
	c.once.Do(func() {
		c.cancel()
		c.wg.Wait()
		c.client.CloseIdleConnections()
	})
}
