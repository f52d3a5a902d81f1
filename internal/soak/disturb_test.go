package soak

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

// A follower is a subscription and what it has told.
type follower struct {
	sub  *mcp.Subscription
	told chan mcp.Notice // the latest
}

// follow subscribes; every notice must be one that was asked for.
func (g *guest) follow(ctx context.Context, f mcp.SubscriptionFilter, uri string) (*follower, error) {
	fo := &follower{told: make(chan mcp.Notice, 64)}
	var err error
	fo.sub, err = g.client.Subscribe(ctx, f, func(_ context.Context, n mcp.Notice) {
		if n.Kind == mcp.NoticeResource && n.URI != uri || n.Kind == mcp.NoticeTools != f.ToolsListChanged && n.Kind <= mcp.NoticeResource && n.Kind != mcp.NoticeResource {
			text := fmt.Sprintf("a notice of kind %d about %q", n.Kind, n.URI)
			g.foreign.CompareAndSwap(nil, &text)
		}
		select {
		case fo.told <- n:
		default:
		}
	})
	return fo, err
}

// hear does something again and again until a notice of the kind has come. once: doing it a single time must do.
func (fo *follower) hear(ctx context.Context, kind mcp.NoticeKind, once bool, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if err := do(); err != nil {
			return err
		}
		wait, stop := ctx, context.CancelFunc(func() {})
		if !once {
			wait, stop = context.WithTimeout(ctx, 500*time.Millisecond)
		}
		heard := fo.await(wait, kind)
		stop()
		switch {
		case heard:
			return nil
		case ctx.Err() != nil:
			return wrong("no notice of kind %d within %v (honoured: %+v)", kind, patience, fo.sub.Filter())
		}
	}
}

func (fo *follower) await(ctx context.Context, kind mcp.NoticeKind) bool {
	for {
		select {
		case n := <-fo.told:
			if n.Kind == kind && !n.Gap {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

func (fo *follower) drain() {
	for {
		select {
		case <-fo.told:
		default:
			return
		}
	}
}

func (g *guest) followOwn(ctx context.Context) (*follower, func() error, error) {
	own := g.canary()
	fo, err := g.follow(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"soak:///" + own}}, "soak:///"+own)
	return fo, func() error { return g.callAs(ctx, canaryIn{own, 0}, "touch", "", nil) }, err
}

func doFollow(ctx context.Context, g *guest) (string, error) {
	fo, touch, err := g.followOwn(ctx)
	if err != nil {
		return "", err
	}
	for range 1 + g.rng.IntN(3) {
		fo.drain()
		if err := fo.hear(ctx, mcp.NoticeResource, true, touch); err != nil {
			return "", errors.Join(err, fo.sub.Close())
		}
	}
	return "", fo.sub.Close()
}

func doTools(ctx context.Context, g *guest) (string, error) {
	fo, err := g.follow(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}, "")
	if err != nil {
		return "", err
	}
	err = fo.hear(ctx, mcp.NoticeTools, true, func() error { return g.call(ctx, "change", 0, "", nil) })
	return "", errors.Join(err, fo.sub.Close())
}

// settle makes the connections anew after they were cut. Pings are repeated by the transport.
func (g *guest) settle(ctx context.Context) error {
	for {
		err := g.client.Ping(ctx)
		if err == nil || !excused(err) || !pause(ctx, 10*time.Millisecond) {
			return err
		}
	}
}

// excused reports whether a call may fail like this when its connection was cut.
func excused(err error) bool {
	var e *mcp.TransportError
	return !errors.Is(err, errWrong) && (errors.As(err, &e) && (e.Status == 0 || e.Status == http.StatusOK) || errors.Is(err, mcp.ErrSessionLost))
}

func doCut(ctx context.Context, g *guest) (string, error) {
	var err error
	var call sync.WaitGroup
	call.Go(func() { err = g.steps(ctx, 40) })
	pause(ctx, g.below(30*time.Millisecond))
	g.wire.cut(g.rng.IntN(2) == 0)
	call.Wait()
	outcome := "answered nevertheless"
	if err != nil {
		if !excused(err) {
			return "", err
		}
		outcome = "lost"
	}
	return outcome, g.settle(ctx)
}

func doCutFollow(ctx context.Context, g *guest) (string, error) {
	fo, touch, err := g.followOwn(ctx)
	if err != nil {
		return "", err
	}
	g.wire.cut(g.rng.IntN(2) == 0)
	if err := g.settle(ctx); err != nil {
		return "", errors.Join(err, fo.sub.Close())
	}
	fo.drain()
	err = fo.hear(ctx, mcp.NoticeResource, false, touch)
	return "", errors.Join(err, fo.sub.Close())
}

func doStall(ctx context.Context, g *guest) (string, error) {
	var stalled sync.WaitGroup
	d := g.below(700 * time.Millisecond)
	stalled.Go(func() { g.wire.stall(ctx, d) })
	in := canaryIn{g.canary(), 100_000}
	err := errors.Join(g.steps(ctx, 10), g.callAs(ctx, in, "echo", filler(in.Canary, in.Size), nil))
	stalled.Wait()
	return "", err
}

// rudenesses are what a broken or hostile client says before it falls silent or goes away.
var rudenesses = []string{
	"", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"",
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00", "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nAccept: text/event-stream\r\n\r\n",
	"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n[{\"a\"\r\n",
}

func doRude(ctx context.Context, g *guest) (string, error) {
	return "", rude(ctx, g.addr, rudenesses[g.rng.IntN(len(rudenesses))], 10*time.Millisecond+g.below(500*time.Millisecond))
}
