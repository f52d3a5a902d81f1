// Package loopback serves HTTP on this computer, for tests and demonstrations, and leaves nothing running when it is closed.
package loopback

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// A Server is an HTTP server that listens.
type Server struct {
	ln     net.Listener
	srv    *http.Server
	served sync.WaitGroup

	mu      sync.Mutex
	idle    *sync.Cond
	running int
	closed  bool
}

// Listen opens a TCP address. Requests are answered from [Server.Serve] on.
func Listen(address string) (*Server, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	s := &Server{ln: ln}
	s.idle = sync.NewCond(&s.mu)
	return s, nil
}

// URL is the origin of the server.
func (s *Server) URL() string { return "http://" + s.ln.Addr().String() }

// Serve answers requests until Close. It does not wait, and is called once.
func (s *Server) Serve(h http.Handler) {
	s.srv = &http.Server{Handler: s.counted(h), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10}
	s.served.Go(func() { _ = s.srv.Serve(s.ln) }) // it ends with ErrServerClosed
}

func (s *Server) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
		h.ServeHTTP(w, r)
	})
}

// Close breaks all connections, which ends the contexts of their requests, and waits for the handlers.
func (s *Server) Close() {
	if s.srv == nil {
		_ = s.ln.Close() // nobody was served
		return
	}
	_ = s.srv.Close() // a listener that is closed already is closed
	s.served.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for s.running > 0 {
		s.idle.Wait()
	}
}
