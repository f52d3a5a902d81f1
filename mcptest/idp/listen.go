package idp

import "github.com/seed38e7925c/parley/internal/loopback"

// A Server is a provider that listens on this computer.
type Server struct {
	*Provider
	srv *loopback.Server
}

// TB is what [Start] needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(cleanup func())
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
	srv, err := loopback.Listen(address)
	if err != nil {
		return nil, err
	}
	if opts.Issuer == "" {
		opts.Issuer = srv.URL() + opts.Path
	}
	p, err := New(&opts)
	if err != nil {
		srv.Close()
		return nil, err
	}
	srv.Serve(p)
	return &Server{Provider: p, srv: srv}, nil
}

// Close ends the server and its requests, and waits for them.
func (s *Server) Close() { s.srv.Close() }
