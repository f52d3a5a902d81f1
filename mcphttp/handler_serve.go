package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"syscall"

	"github.com/seed38e7925c/parley/mcp"
)

// ListenAndServe serves srv at addr until the process gets SIGINT or SIGTERM, then ends gracefully as [Serve] does. An empty host, as
// in ":8080", means the loopback interface; to be reached from elsewhere name an address such as "0.0.0.0:8080", and the host names in
// [Options.AllowedHosts]. It returns nil after a graceful end.
func ListenAndServe(addr string, srv *mcp.Server, o *Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	l, err := Listen(ctx, addr)
	if err != nil {
		return err
	}
	return Serve(ctx, l, srv, o)
}

// Listen listens on a TCP address; an empty host means the loopback interface.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("mcphttp: address %q: %w", addr, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("mcphttp: %w", err)
	}
	return l, nil
}

// Serve serves srv on l, at [Options.Path], until ctx ends or accepting fails. Then it drains: no new connections, srv is shut down,
// which ends its streams, and running calls have [Options.ShutdownTimeout] to finish. It closes l and returns nil if all of them did.
//
// The HTTP server that it runs bounds the time for request headers and idle connections, and leaves bodies and answers to the
// handler's own bounds. It speaks HTTP/1.1 and HTTP/2, over TLS with [Options.TLSConfig] and in the clear without.
func Serve(ctx context.Context, l net.Listener, srv *mcp.Server, o *Options) error {
	h, err := newHandler(srv, o)
	if err == nil {
		err = srv.Err()
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	hs := h.httpServer()
	h.opts.Logger.InfoContext(ctx, "mcphttp: serving", "url", h.url(l.Addr()))
	failed := make(chan error, 1)
	go func() { // ends when hs is shut down or closed below
		if hs.TLSConfig != nil {
			failed <- hs.ServeTLS(l, "", "")
		} else {
			failed <- hs.Serve(&firstByteListener{l, hs.IdleTimeout, hs.ReadHeaderTimeout})
		}
	}()
	select {
	case err = <-failed:
		return errors.Join(fmt.Errorf("mcphttp: serving: %w", err), h.drain(ctx, hs))
	case <-ctx.Done():
	}
	err = h.drain(ctx, hs)
	<-failed //nolint:errcheck // it is http.ErrServerClosed
	return err
}

// url is where clients find the endpoint.
func (h *Handler) url(addr net.Addr) string {
	scheme := "http"
	if h.opts.TLSConfig != nil {
		scheme = "https"
	}
	return scheme + "://" + addr.String() + h.opts.Path
}

// elsewhere serves every path but the endpoint's.
func (h *Handler) elsewhere() http.Handler {
	if h.opts.Fallback != nil {
		return h.opts.Fallback
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "nothing is here; the MCP endpoint of this server is at "+h.opts.Path, http.StatusNotFound)
	})
}

// httpServer returns an HTTP server with safe bounds that serves h.
func (h *Handler) httpServer() *http.Server {
	mux := http.NewServeMux()
	Mount(mux, h.opts.Path, h)
	if h.opts.Path != "/" || h.opts.Fallback != nil {
		mux.Handle("/", h.elsewhere())
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(h.opts.TLSConfig == nil)
	hs := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: defaultReadHeaderExpiry,
		IdleTimeout:       defaultConnIdleExpiry,
		MaxHeaderBytes:    h.opts.MaxHeaderBytes,
		Protocols:         &protocols,
		ErrorLog:          slog.NewLogLogger(h.opts.Logger.Handler(), slog.LevelWarn),
	}
	if h.opts.TLSConfig != nil {
		hs.TLSConfig = h.opts.TLSConfig.Clone()
	}
	return hs
}

// drain ends everything, in the order that loses least: streams get their proper end, calls their answers.
func (h *Handler) drain(ctx context.Context, hs *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.opts.ShutdownTimeout)
	defer cancel()
	down := make(chan error, 1)
	go func() { down <- hs.Shutdown(ctx) }() // stops accepting at once; ended by ctx at the latest
	errs := []error{h.srv.Shutdown(ctx), h.Close(ctx), <-down}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, hs.Close())
	}
	return nil
}
