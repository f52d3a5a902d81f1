package matrix

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
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
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, err
		}
		h := build(era == play.Modern)
		if record {
			h = recorder{h, tape}
			tape = nil
		}
		mux := http.NewServeMux()
		mux.Handle("/mcp", h)
		srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }()
		stop := func() error {
			err := srv.Close()
			if e := <-served; !errors.Is(e, http.ErrServerClosed) {
				err = errors.Join(err, e)
			}
			return err
		}
		return &play.Target{URL: "http://" + l.Addr().String() + "/mcp", Era: era, Tape: tape}, stop, nil
	}
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
	for _, era := range []string{play.Legacy, play.Modern} {
		out = append(out,
			&Pair{Client: Ours, Server: GoSDK, Transport: "stdio", Era: era, Dial: parley.Dial, Open: openRole(GoSDK)},
			&Pair{Client: Ours, Server: GoSDK, Transport: "http", Era: era, Dial: parley.Dial, Open: openHandler(gosdk.Handler, false)},
			&Pair{Client: Ours, Server: MCPGo, Transport: "stdio", Era: era, Dial: parley.Dial, Open: openRole(MCPGo)},
			&Pair{Client: Ours, Server: MCPGo, Transport: "http", Era: era, Dial: parley.Dial, Open: openHandler(mcpgoHandler, false)},
			&Pair{Client: GoSDK, Server: Ours, Transport: "stdio", Era: era, Dial: gosdk.Dial, Open: openRole(Ours)},
			&Pair{Client: GoSDK, Server: Ours, Transport: "http", Era: era, Dial: gosdk.Dial, Open: openHandler(parleyHandler, true)},
			&Pair{Client: MCPGo, Server: Ours, Transport: "stdio", Era: era, Dial: mcpgo.Dial, Open: openRole(Ours)},
			&Pair{Client: MCPGo, Server: Ours, Transport: "http", Era: era, Dial: mcpgo.Dial, Open: openHandler(parleyHandler, true)},
			&Pair{Client: Ours, Server: Ours, Transport: "stdio", Era: era, Dial: parley.Dial, Open: openRole(Ours)},
			&Pair{Client: Ours, Server: Ours, Transport: "http", Era: era, Dial: parley.Dial, Open: openHandler(parleyHandler, false)},
		)
	}
	return out
}
