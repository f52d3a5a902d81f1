package railway

import "github.com/seed38e7925c/parley/internal/loopback"

// A Server is an API that listens on this computer.
type Server struct {
	*API
	srv *loopback.Server
}

// TB is what [Start] needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(cleanup func())
	Fatal(args ...any)
}

// Start runs an API on a free port of 127.0.0.1 until the test ends.
func Start(t TB, o *Options) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Listen runs an API on a TCP address. Without Options.URL it is http and the address that is listened on. The caller closes it.
func Listen(address string, o *Options) (*Server, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	srv, err := loopback.Listen(address)
	if err != nil {
		return nil, err
	}
	if opts.URL == "" {
		opts.URL = srv.URL()
	}
	s := &Server{API: New(&opts), srv: srv}
	srv.Serve(s.API)
	return s, nil
}

// Close ends the server and its requests, and waits for them.
func (s *Server) Close() { s.srv.Close() }
