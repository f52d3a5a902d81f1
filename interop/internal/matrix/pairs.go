package matrix

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/interop/internal/gosdk"
	"github.com/seed38e7925c/parley/interop/internal/mcpgo"
	"github.com/seed38e7925c/parley/interop/internal/parley"
	"github.com/seed38e7925c/parley/interop/internal/play"
)

// Names of the implementations.
const (
	Ours  = "Parley"
	GoSDK = "go-sdk 1.8.0"
	MCPGo = "mcp-go 1.2.1"
	TSv2  = "ts-sdk 2.4.0"
	TSv1  = "ts-sdk 1.32.2"
)

// JavaScript reports whether one end has no integers beyond 2^53.
func (p *Pair) JavaScript() bool {
	return strings.HasPrefix(p.Client, "ts-") || strings.HasPrefix(p.Server, "ts-")
}

// RoleEnv names the server that a program of this module becomes instead of what it is, over stdio.
const RoleEnv = "PARLEY_INTEROP_ROLE"

var roles = map[string]func(context.Context) error{
	Ours:  parley.ServeStdio,
	GoSDK: gosdk.ServeStdio,
	MCPGo: mcpgo.ServeStdio,
}

// Role serves as the environment says, and reports whether it did.
func Role(ctx context.Context) (bool, error) {
	serve, ok := roles[os.Getenv(RoleEnv)]
	if !ok {
		return false, nil
	}
	return true, serve(ctx)
}

type opener = func(ctx context.Context, era string, tape *play.Tape) (*play.Target, func() error, error)

// openRole runs this program again as a server on stdio.
func openRole(name string) opener {
	return func(_ context.Context, era string, tape *play.Tape) (*play.Target, func() error, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, nil, err
		}
		return &play.Target{Command: []string{self}, Env: []string{RoleEnv + "=" + name}, Era: era, Tape: tape}, func() error { return nil }, nil
	}
}

// openHandler serves an HTTP handler on loopback. Where the client is a peer's, the server's side is recorded.
func openHandler(build func(modern bool) http.Handler, record bool) opener {
	return func(ctx context.Context, era string, tape *play.Tape) (*play.Target, func() error, error) {
		h := build(era == play.Modern)
		if record {
			h = recorder{h, tape}
			tape = nil
		}
		base, stop, err := serve(ctx, h)
		return &play.Target{URL: base + "/mcp", Era: era, Tape: tape}, stop, err
	}
}

// openSSE serves a handler of HTTP+SSE.
func openSSE(build func() http.Handler) opener {
	return func(ctx context.Context, era string, tape *play.Tape) (*play.Target, func() error, error) {
		base, stop, err := serve(ctx, build())
		return &play.Target{URL: base + "/sse", SSE: true, Era: era, Tape: tape}, stop, err
	}
}

func serve(ctx context.Context, h http.Handler) (base string, stop func() error, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	return "http://" + l.Addr().String(), func() error {
		err := srv.Close()
		if e := <-served; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
		return err
	}, nil
}

// recorder records what a handler is sent and answers.
type recorder struct {
	h    http.Handler
	tape *play.Tape
}

// ServeHTTP implements [http.Handler].
func (r recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	r.tape.Add("→", req.Method+" "+string(body))
	r.h.ServeHTTP(&recorded{ResponseWriter: w, tape: r.tape}, req)
}

type recorded struct {
	http.ResponseWriter
	tape *play.Tape
}

// Unwrap lets http.ResponseController through.
func (r *recorded) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Flush implements [http.Flusher].
func (r *recorded) Flush() {
	if f, ok := r.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Write implements [io.Writer].
func (r *recorded) Write(p []byte) (int, error) {
	r.tape.Add("←", string(p))
	return r.ResponseWriter.Write(p)
}

func parleyHandler(bool) http.Handler { return parley.Handler() }
func mcpgoHandler(bool) http.Handler  { return mcpgo.Handler() }

// GoPairs are the pairs that need Go alone.
func GoPairs() []*Pair {
	var out []*Pair
	ours := func(over, era, server string, open opener) {
		out = append(out, &Pair{Client: Ours, Server: server, Transport: over, Era: era, Dial: parley.Dial, Open: open})
	}
	theirs := func(over, era, client string, dial play.Dialer, open opener) {
		out = append(out, &Pair{Client: client, Server: Ours, Transport: over, Era: era, Dial: dial, Open: open})
	}
	for _, era := range []string{play.Modern, play.Legacy, "2025-06-18", "2025-03-26"} {
		ours("stdio", era, GoSDK, openRole(GoSDK))
		ours("http", era, GoSDK, openHandler(gosdk.Handler, false))
		ours("stdio", era, MCPGo, openRole(MCPGo))
		ours("http", era, MCPGo, openHandler(mcpgoHandler, false))
		theirs("stdio", era, GoSDK, gosdk.Dial, openRole(Ours))
		theirs("http", era, GoSDK, gosdk.Dial, openHandler(parleyHandler, true))
		theirs("stdio", era, MCPGo, mcpgo.Dial, openRole(Ours))
		theirs("http", era, MCPGo, mcpgo.Dial, openHandler(parleyHandler, true))
		ours("stdio", era, Ours, openRole(Ours))
		ours("http", era, Ours, openHandler(parleyHandler, false))
	}
	const oldest = "2024-11-05"
	ours("stdio", oldest, GoSDK, openRole(GoSDK))
	ours("sse", oldest, GoSDK, openSSE(gosdk.SSEHandler))
	ours("stdio", oldest, MCPGo, openRole(MCPGo))
	ours("sse", oldest, MCPGo, openSSE(mcpgo.SSEHandler))
	theirs("stdio", oldest, GoSDK, gosdk.Dial, openRole(Ours))
	theirs("sse", oldest, GoSDK, gosdk.Dial, openSSE(parley.SSEHandler))
	theirs("stdio", oldest, MCPGo, mcpgo.Dial, openRole(Ours))
	theirs("sse", oldest, MCPGo, mcpgo.Dial, openSSE(parley.SSEHandler))
	ours("stdio", oldest, Ours, openRole(Ours))
	ours("sse", oldest, Ours, openSSE(parley.SSEHandler))
	slices.SortStableFunc(out, func(a, b *Pair) int { return cmp.Compare(a.rank(), b.rank()) })
	return out
}

// rank puts the rows of a peer together.
func (p *Pair) rank() int {
	switch {
	case p.Client == Ours && p.Server == Ours:
		return 0
	case p.Client == GoSDK || p.Server == GoSDK:
		return 1
	}
	return 2
}
