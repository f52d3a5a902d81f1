package load

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/bench/internal/wire"
)

// many is how many tools a long list has.
const many = 1000

func handlerLoads() []Load {
	var all []Load
	for _, m := range modes {
		for _, size := range sizes {
			all = append(all, Load{join("handler", m, size.name), func(r *Run) error {
				return r.handler(peer.Setup{Mode: m}, wire.Call(m == peer.Modern, size.n), nil)
			}})
		}
	}
	list := func(name string, s peer.Setup, during func(*peer.Server, <-chan struct{})) {
		all = append(all, Load{join("list", name), func(r *Run) error {
			return r.handler(s, wire.List(s.Mode == peer.Modern), during)
		}})
	}
	list("2026", peer.Setup{Mode: peer.Modern, Extra: many - 1}, nil)
	list("2025", peer.Setup{Mode: peer.Stateful, Extra: many - 1}, nil)
	list("filtered", peer.Setup{Mode: peer.Modern, Extra: many - 1, Filter: true}, nil)
	list("changing", peer.Setup{Mode: peer.Modern, Extra: many - 1}, func(s *peer.Server, over <-chan struct{}) {
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for {
			s.Change()
			select {
			case <-second.C:
			case <-over:
				return
			}
		}
	})
	return all
}

// handler measures a message at the http.Handler, with no network in between.
func (r *Run) handler(s peer.Setup, m wire.Message, during func(*peer.Server, <-chan struct{})) error {
	srv, err := r.peer.Serve(s)
	if err != nil {
		return err
	}
	d := &direct{h: srv.Handler}
	session := ""
	if s.Mode != peer.Modern {
		if session, err = d.handshake(); err != nil {
			return err
		}
	}
	d.prepare(m, session)
	size := 0
	op := func(_, n int) error {
		if err := d.do(n); err != nil {
			return err
		}
		if got := d.w.n; got < 100 || during == nil && size != 0 && size != got {
			return fmt.Errorf("an answer of %d bytes, and one of %d before: %w", got, size, errNoAnswer)
		}
		size = d.w.n
		return nil
	}
	if during == nil {
		return r.measure(1, op)
	}
	over := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() { during(srv, over) })
	err = r.measure(1, op)
	close(over)
	changes.Wait()
	return err
}

// direct calls a handler. It costs four small allocations a call.
type direct struct {
	h    http.Handler
	req  *http.Request
	msg  *wire.Bytes
	body body
	w    writer
	ctx  context.Context //nolint:containedctx // what net/http would make for the connection
}

type body struct{ bytes.Reader }

func (*body) Close() error { return nil }

// writer counts what is written.
type writer struct {
	header http.Header
	status int
	n      int
	keep   *bytes.Buffer // what was written, where it is set
}

func (w *writer) Header() http.Header    { return w.header }
func (w *writer) WriteHeader(status int) { w.status = status }
func (w *writer) Flush()                 {}
func (w *writer) Write(p []byte) (int, error) {
	w.n += len(p)
	if w.keep != nil {
		return w.keep.Write(p)
	}
	return len(p), nil
}

func (d *direct) prepare(m wire.Message, session string) {
	d.msg = m.Body()
	d.req = &http.Request{
		Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Host: "127.0.0.1:8080", RequestURI: "/mcp", RemoteAddr: "127.0.0.1:5000", ContentLength: int64(len(d.msg.Raw)),
	}
	d.req.URL = &url.URL{Path: "/mcp"}
	for _, h := range m.Headers(session) {
		d.req.Header.Set(h[0], h[1])
	}
	d.w.header = http.Header{}
	d.ctx = connection()
}

// connection is the context that net/http would make for a connection.
func connection() context.Context {
	return context.WithValue(context.Background(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}))
}

// do sends the message with another id.
func (d *direct) do(n int) error {
	d.msg.SetID(n)
	d.body.Reset(d.msg.Raw)
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	req := d.req.WithContext(ctx)
	req.Body = &d.body
	clear(d.w.header)
	d.w.status, d.w.n = http.StatusOK, 0
	d.h.ServeHTTP(&d.w, req)
	if d.w.status >= http.StatusMultipleChoices {
		return fmt.Errorf("status %d", d.w.status)
	}
	return nil
}

func (d *direct) handshake() (session string, err error) {
	d.prepare(wire.Initialize(), "")
	if err := d.do(0); err != nil {
		return "", fmt.Errorf("initialize: %w", err)
	}
	session = d.w.header.Get("Mcp-Session-Id")
	d.prepare(wire.Initialized(), session)
	if err := d.do(0); err != nil {
		return "", fmt.Errorf("initialized: %w", err)
	}
	return session, nil
}
