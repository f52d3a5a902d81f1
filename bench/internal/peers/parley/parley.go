// Package parley is this project's library as a peer.
package parley

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/bench/internal/tool"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// Peer is the library with its defaults: arguments are validated, state is sealed.
type Peer struct{}

// Name implements [peer.Peer].
func (Peer) Name() string { return "parley" }

func server(s peer.Setup) *mcp.Server {
	o := &mcp.ServerOptions{MaxListeners: s.Room, Logger: slog.New(slog.DiscardHandler)}
	if s.Filter {
		o.Visible = func(_ *mcp.Call, _ mcp.Kind, name string) bool { return tool.ShownName(name) }
	}
	// The person who answers is a program here, far faster than the default allows.
	o.Ask = &mcp.AskOptions{MaxPerMinute: 1 << 30}
	srv := mcp.NewServer(tool.Server, tool.Version, o)
	addRepeat(srv, tool.Repeat, tool.RepeatText)
	for i := range s.Extra {
		addRepeat(srv, tool.Extra(i), tool.ExtraText(i))
	}
	if s.Ask {
		addAsking(srv, tool.Approve, tool.ApproveText, 1)
		addAsking(srv, tool.Trip, tool.TripText, tool.Asks)
	}
	return srv
}

func addRepeat(srv *mcp.Server, name, text string) {
	mcp.AddTool(srv, &mcp.Tool{Name: name, Description: text},
		func(_ context.Context, _ *mcp.Call, in tool.In) (tool.Out, error) { return tool.Do(in), nil })
}

// addAsking adds a tool that asks n questions, one after the other.
func addAsking(srv *mcp.Server, name, text string, n int) {
	items := make([]ask.Asked, n)
	for i := range items {
		items[i] = ask.FormItem[tool.Form](tool.Key(i), tool.Question(i))
	}
	mcp.AddTool(srv, &mcp.Tool{Name: name, Description: text, Asks: ask.Declare(items...)},
		func(ctx context.Context, call *mcp.Call, in tool.Subject) (string, error) {
			approved := 0
			for i := range n {
				f, err := ask.Form[tool.Form](ctx, call, tool.Key(i), tool.Question(i))
				if err != nil {
					return "", err
				}
				if f.Yes {
					approved++
				}
			}
			return tool.Done(in.Subject, approved), nil
		})
}

// Serve implements [peer.Peer].
func (Peer) Serve(s peer.Setup) (*peer.Server, error) {
	srv := server(s)
	h := mcphttp.NewHandler(srv, &mcphttp.Options{
		Logger:   slog.New(slog.DiscardHandler),
		Sessions: &mcphttp.SessionOptions{Stateless: s.Mode == peer.Stateless, MaxSessions: s.Room},
	})
	var n atomic.Int64
	return &peer.Server{Handler: h, Change: func() {
		if n.Add(1)%2 == 0 {
			srv.RemoveTools("fresh")
			return
		}
		addRepeat(srv, "fresh", tool.RepeatText)
	}}, nil
}

// lines is a byte stream in two halves.
type lines struct {
	io.Reader
	io.Writer
}

// Close implements io.Closer; the halves belong to the caller.
func (lines) Close() error { return nil }

// ServeLines implements [peer.Peer].
func (Peer) ServeLines(ctx context.Context, r io.Reader, w io.Writer, s peer.Setup) error {
	err := server(s).ServeConn(ctx, lines{r, w})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

type caller struct{ c *mcp.Client }

// Dial implements [peer.Peer].
func (Peer) Dial(ctx context.Context, url string) (peer.Caller, error) {
	c, err := mcp.Connect(ctx, mcphttp.Dial(url), nil)
	if err != nil {
		return nil, err
	}
	return caller{c}, nil
}

// Call implements [peer.Caller].
func (c caller) Call(ctx context.Context) error {
	out, err := mcp.CallTool[tool.Out](ctx, c.c, tool.Repeat, tool.In{Message: "hello", Number: 7})
	if err == nil && (out.Message != "hello" || out.Number != 7) {
		err = fmt.Errorf("wrong answer %v", out)
	}
	return err
}

// Close implements [peer.Caller].
func (c caller) Close() error { return c.c.Close() }
