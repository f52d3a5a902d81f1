package idp

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// A Server is a provider that listens on this computer.
type Server struct {
	*Provider
	srv    *http.Server
	served sync.WaitGroup

	mu      sync.Mutex
	idle    *sync.Cond
	running int
	closed  bool
}

// TB is what [Start] needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(func())
	Fatal(args ...any)
}

// Start runs a provider on a free port of 127.0.0.1 until the test ends.
func Start(t TB, o *Options) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Listen runs a provider on a TCP address. Without Options.Issuer the issuer is http, the address that is listened on, and Options.Path.
// The caller closes it.
func Listen(address string, o *Options) (*Server, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	if opts.Issuer == "" {
		opts.Issuer = "http://" + ln.Addr().String() + opts.Path
	}
	p, err := New(&opts)
	if err != nil {
		_ = ln.Close()
		return nil, err
	}
	s := &Server{Provider: p}
	s.idle = sync.NewCond(&s.mu)
	s.srv = &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: maxBody}
	s.served.Go(func() { _ = s.srv.Serve(ln) }) // it ends with ErrServerClosed
	return s, nil
}

// ServeHTTP serves the provider.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.running++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
		s.idle.Broadcast()
	}()
	s.Provider.ServeHTTP(w, r)
}

// Close ends the server and its requests, and waits for them.
func (s *Server) Close() {
	_ = s.srv.Close() // a listener that is closed already is closed
	s.served.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for s.running > 0 {
		s.idle.Wait()
	}
}
