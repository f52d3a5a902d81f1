package soak

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// A wire is one client's way to the server. All its connections can be cut, or stalled, at once.
type wire struct {
	transport *http.Transport
	mu        sync.Mutex
	conns     map[*cord]struct{}
	clear     chan struct{} // closed while nothing is stalled
	dead      bool          // no connection is made any more
}

var errDead = errors.New("soak: this client has gone away")

// newWire makes a way over HTTP/1.1 or over HTTP/2.
func newWire(name string, http2 bool) (*wire, *http.Client) {
	w := &wire{conns: make(map[*cord]struct{}), clear: make(chan struct{})}
	close(w.clear)
	w.transport = &http.Transport{DialContext: w.dial, MaxIdleConnsPerHost: 8, Protocols: new(http.Protocols)}
	w.transport.Protocols.SetHTTP1(!http2)
	w.transport.Protocols.SetUnencryptedHTTP2(http2)
	return w, &http.Client{Transport: &named{w.transport, "Bearer " + name}}
}

// named sends a client's name with each request.
type named struct {
	next *http.Transport
	auth string
}

func (n *named) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", n.auth)
	return n.next.RoundTrip(r)
}

// AuthContext tells whose private responses are kept.
func (n *named) AuthContext() string { return n.auth }

func (w *wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	k := &cord{Conn: c, w: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return nil, errors.Join(errDead, c.Close())
	}
	w.conns[k] = struct{}{}
	return k, nil
}

// cut breaks every connection, half of the time with a reset.
func (w *wire) cut(reset bool) int {
	w.mu.Lock()
	all := make([]*cord, 0, len(w.conns))
	for k := range w.conns {
		all = append(all, k)
	}
	w.mu.Unlock()
	for _, k := range all {
		if tcp, ok := k.Conn.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0) // it may be closed already
		}
		_ = k.Close() // that is the point
	}
	return len(all)
}

// die is to go away without a word.
func (w *wire) die(reset bool) {
	w.mu.Lock()
	w.dead = true
	w.mu.Unlock()
	w.cut(reset)
}

// stall stops reading for a while.
func (w *wire) stall(ctx context.Context, d time.Duration) {
	gate := make(chan struct{})
	w.mu.Lock()
	w.clear = gate
	w.mu.Unlock()
	pause(ctx, d)
	close(gate)
}

// A cord is one connection.
type cord struct {
	net.Conn
	w    *wire
	once sync.Once
	err  error
}

func (k *cord) Read(p []byte) (int, error) {
	k.w.mu.Lock()
	clear := k.w.clear
	k.w.mu.Unlock()
	<-clear
	return k.Conn.Read(p)
}

func (k *cord) Close() error {
	k.once.Do(func() {
		k.w.mu.Lock()
		delete(k.w.conns, k)
		k.w.mu.Unlock()
		k.err = k.Conn.Close()
	})
	return k.err
}

// rude speaks to the server as no client would: text, and then nothing, for a moment.
func rude(ctx context.Context, addr, text string, d time.Duration) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(d)); err != nil {
		return err
	}
	if _, err := c.Write([]byte(text)); err != nil {
		return nil //nolint:nilerr // the server may turn it away
	}
	buf := make([]byte, 512)
	for {
		if _, err := c.Read(buf); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return nil //nolint:nilerr // whatever ends it
		}
	}
}
