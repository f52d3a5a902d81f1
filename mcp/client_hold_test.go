package mcp_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// A slowTransport has a person busy for a while before each request goes on.
type slowTransport struct {
	mcp.Transport
	busy time.Duration
	hold bool
}

func (s *slowTransport) Open(ctx context.Context, r mcp.Receiver) (mcp.Link, error) {
	l, err := s.Transport.Open(ctx, r)
	return &slowLink{l, s}, err
}

type slowLink struct {
	mcp.Link
	of *slowTransport
}

func (l *slowLink) RoundTrip(ctx context.Context, out *mcp.Outgoing) (*jsonrpc.Message, error) {
	wait := time.NewTimer(l.of.busy)
	defer wait.Stop()
	release := func() {}
	if l.of.hold {
		release = mcp.HoldTimeouts(ctx)
	}
	select {
	case <-wait.C:
		release()
		return l.Link.RoundTrip(ctx, out)
	case <-ctx.Done():
		release()
		return nil, context.Cause(ctx)
	}
}

// The time of a person who has to log in counts against no limit of the client's: not that of connecting, of the probe or of a call.
func TestHoldTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, textResult("ok")) }
		f.on["initialize"] = func(p *fakePeer, m *jsonrpc.Message) { t.Error("the probe was taken for unanswered") }
		transport := &slowTransport{Transport: mcp.Pipe(f.serve), busy: 5 * time.Minute, hold: true}
		c, err := mcp.Connect(t.Context(), transport, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}, &mcp.RequestOptions{TotalTimeout: time.Minute}); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "x"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's own deadline: %v", err)
		}
		transport.hold = false
		var timeout *mcp.TimeoutError
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.As(err, &timeout) {
			t.Errorf("without holding: %v", err)
		}
		mcp.HoldTimeouts(t.Context())()
	})
}
