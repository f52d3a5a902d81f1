package mcphttp_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// protocolsOf returns how the tests reach a scripted server: over HTTP/1.1, over HTTP/2 with TLS, and over HTTP/2 without.
func protocolsOf() map[string]func(t *testing.T, f func(h *hit)) *dialed {
	return map[string]func(t *testing.T, f func(h *hit)) *dialed{
		"http1": func(t *testing.T, f func(h *hit)) *dialed { return dialScript(t, nil, f) },
		"h2": func(t *testing.T, f func(h *hit)) *dialed {
			ts := httptest.NewUnstartedServer(script(f))
			ts.EnableHTTP2 = true
			ts.StartTLS()
			t.Cleanup(ts.Close)
			return dialURL(t, ts.URL, &mcphttp.DialOptions{Client: ts.Client()})
		},
		"h2c": func(t *testing.T, f func(h *hit)) *dialed {
			ts := httptest.NewUnstartedServer(script(f))
			ts.Config.Protocols = new(http.Protocols)
			ts.Config.Protocols.SetUnencryptedHTTP2(true)
			ts.Start()
			t.Cleanup(ts.Close)
			return dialURL(t, ts.URL, &mcphttp.DialOptions{UnencryptedHTTP2: true})
		},
	}
}

// H15: a call returns on its response, although the server leaves the stream open.
func TestCaseH15OpenStream(t *testing.T) {
	for name, dial := range protocolsOf() {
		var ended sync.WaitGroup
		ended.Add(50)
		d := dial(t, func(h *hit) {
			defer ended.Done()
			if want := map[string]int{"http1": 1, "h2": 2, "h2c": 2}[name]; h.ProtoMajor != want {
				t.Errorf("%s: HTTP/%d", name, h.ProtoMajor)
			}
			h.events()
			h.answer(okResult)
			h.wait()
		})
		var calls sync.WaitGroup
		began := time.Now()
		for i := range 50 {
			calls.Go(func() {
				m, err := d.RoundTrip(t.Context(), &mcp.Outgoing{ID: jsonrpc.IntID(int64(i + 1)), Method: mcp.MethodToolsCall, Revision: mcp.Revision20260728})
				if err != nil || string(m.Result) != okResult {
					t.Errorf("%s: %v %v", name, m, err)
				}
			})
		}
		calls.Wait()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		ended.Wait() // the exchanges are given up, not kept
	}
}

// H16: a stream on which nothing comes ends with the context, and so does its connection.
func TestCaseH16IdleStream(t *testing.T) {
	for name, dial := range protocolsOf() {
		entered, ended := make(chan struct{}), make(chan struct{})
		d := dial(t, func(h *hit) {
			h.events()
			close(entered)
			h.wait()
			close(ended)
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-entered
			cancel()
		}()
		if _, err := d.RoundTrip(ctx, d.outgoing(mcp.Revision20260728, mcp.MethodListen)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		<-ended
	}
}

// A goAwayServer speaks just enough HTTP/2 over one connection: it begins an event stream for the first request and then sends
// GOAWAY(NO_ERROR) and closes.
func goAwayServer(t *testing.T, c net.Conn) {
	defer c.Close()
	preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	if _, err := io.ReadFull(c, preface); err != nil {
		t.Error(err)
		return
	}
	frame := func(kind, flags byte, stream uint32, payload []byte) {
		head := make([]byte, 9, 9+len(payload))
		binary.BigEndian.PutUint32(head, uint32(len(payload))<<8|uint32(kind))
		head[4] = flags
		binary.BigEndian.PutUint32(head[5:], stream)
		if _, err := c.Write(append(head, payload...)); err != nil {
			t.Log(err)
		}
	}
	const data, headers, settings, goAway, endHeaders, ack = 0, 1, 4, 7, 4, 1
	frame(settings, 0, 0, nil)
	head := make([]byte, 9)
	for {
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, c, length); err != nil {
			return
		}
		switch {
		case head[3] == settings && head[4] != ack:
			frame(settings, ack, 0, nil)
		case head[3] == headers:
			stream := binary.BigEndian.Uint32(head[5:])
			// :status 200 is indexed; content-type is a literal with an indexed name (31).
			block := append([]byte{0x88, 0x0F, 0x10, byte(len(typeEvents))}, typeEvents...)
			frame(headers, endHeaders, stream, block)
			frame(data, 0, stream, []byte(": hello\n\n"))
			frame(goAway, 0, 0, []byte{0, 0, 0, 0, 0, 0, 0, 0})
			return
		}
	}
}

// H17: GOAWAY without an error is a disconnection like any other: the stream ends, and the next call works.
func TestCaseH17GoAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rest := newMemoryNet() // later connections are served by a real server
	srv := &http.Server{Protocols: new(http.Protocols), Handler: script(func(h *hit) { h.json(okResult) })}
	srv.Protocols.SetUnencryptedHTTP2(true)
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(rest) })
	wg.Go(func() {
		for first := true; ; first = false {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if first {
				goAwayServer(t, c)
				continue
			}
			rest.conns <- c
		}
	})
	defer wg.Wait()
	defer srv.Close()
	defer l.Close()
	d := dialURL(t, "http://"+l.Addr().String(), &mcphttp.DialOptions{UnencryptedHTTP2: true})
	_, err = d.modern(mcp.MethodListen)
	transportError(t, err, 200, "before the response")
	m, err := d.modern(mcp.MethodToolsCall)
	result(t, m, err)
}

// Headers beyond the bound are refused.
func TestHeaderBound(t *testing.T) {
	d := dialScript(t, &mcphttp.DialOptions{MaxHeaderBytes: 10_000}, func(h *hit) {
		h.w.Header().Set("X-Big", string(make([]byte, 0))+longText(20_000))
		h.json(okResult)
	})
	_, err := d.modern(mcp.MethodToolsCall)
	transportError(t, err, 0, "10000 bytes")
}

func longText(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a'
	}
	return string(b)
}
