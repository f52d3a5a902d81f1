//go:build !mcp_modern_only

package mcp_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

// whereabouts is what a handler finds out about the way its call came.
type whereabouts struct {
	Local     bool
	Form, URL bool
	Kept      bool
	Arguments string
}

// wayServer has a tool that tells.
func wayServer(t *testing.T) *mcp.Server {
	t.Helper()
	srv := mcp.NewServer("way", "1", nil)
	type in struct {
		N int `json:"n"`
	}
	mcp.AddTool(srv, &mcp.Tool{Name: "way"}, func(_ context.Context, c *mcp.Call, _ in) (whereabouts, error) {
		return whereabouts{c.Local(), c.CanAsk(mcp.AskForm), c.CanAsk(mcp.AskURL), c.FlowKept(), string(c.Arguments())}, nil
	})
	return srv
}

func TestCallTellsItsWay(t *testing.T) {
	ask := func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
	}
	for _, rev := range []mcp.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		for _, network := range []bool{false, true} {
			srv := wayServer(t)
			serve := srv.ServeConn
			if network {
				serve = func(ctx context.Context, rwc io.ReadWriteCloser) error { return srv.ServeConn(ctx, fromNetwork{rwc}) }
			}
			c, err := mcp.Connect(t.Context(), mcp.Pipe(serve), &mcp.ClientOptions{
				Revisions: []mcp.Revision{rev}, Interactor: &mcp.Interactor{Open: ask},
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := mcp.CallTool[whereabouts](t.Context(), c, "way", map[string]int{"n": 7})
			if err != nil {
				t.Fatal(err)
			}
			want := whereabouts{Local: !network, URL: rev != mcp.Revision20250618, Kept: true, Arguments: `{"n":7}`}
			if got != want {
				t.Errorf("at %v, network %v: %+v, want %+v", rev, network, got, want)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// fromNetwork is a stream that was accepted from a socket.
type fromNetwork struct{ io.ReadWriteCloser }

func (fromNetwork) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func TestScriptedCallTellsItsWay(t *testing.T) {
	c := mcp.NewCall(nil)
	if !c.Local() || !c.CanAsk(mcp.AskURL) || !c.FlowKept() {
		t.Error("a scripted call without a principal is local, and can ask")
	}
	if mcp.NewCall(&mcp.CallOptions{Principal: &mcp.Principal{Subject: "a"}}).Local() {
		t.Error("a scripted call with a principal is not local")
	}
	if c.Server() != nil {
		t.Error("a scripted call has a server")
	}
}
