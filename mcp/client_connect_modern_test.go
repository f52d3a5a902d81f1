package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

func TestConnectModern(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		c := f.connect(&mcp.ClientOptions{Info: &mcp.Implementation{Name: "host", Version: "2"}})
		s := c.Server()
		if s.Revision != mcp.Revision20260728 || s.Implementation.Name != "fake" || s.Instructions != "be kind" || s.Capabilities.Tools == nil {
			t.Errorf("Server() = %+v", s)
		}
		m := f.received("server/discover")[0]
		if v := memberIn(t, m.Params, "_meta", mcp.MetaProtocolVersion); v != `"2026-07-28"` {
			t.Errorf("version = %s", v)
		}
		if v := memberIn(t, m.Params, "_meta", mcp.MetaClientInfo); v != `{"name":"host","version":"2"}` {
			t.Errorf("clientInfo = %s", v)
		}
		if v := memberIn(t, m.Params, "_meta", mcp.MetaClientCapabilities); v != `{}` {
			t.Errorf("capabilities = %s", v)
		}
		if len(f.received("")) != 1 {
			t.Errorf("the client sent %v", f.received(""))
		}
	})
}

// A server that starts slowly is silent at first; its answer to the probe counts even if initialize was sent meanwhile.
func TestConnectSlowModernServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		answer := f.on["server/discover"]
		f.on["server/discover"] = func(p *fakePeer, m *jsonrpc.Message) {
			time.Sleep(7 * time.Second)
			answer(p, m)
		}
		f.on["initialize"] = func(p *fakePeer, m *jsonrpc.Message) {
			time.Sleep(3 * time.Second)
			p.fail(m, -32601, "unknown; this server speaks 2026-07-28", "")
		}
		if rev := f.connect(nil).Server().Revision; rev != mcp.Revision20260728 {
			t.Errorf("revision %v", rev)
		}
	})
}

func TestConnectBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := mcp.Pipe(func(ctx context.Context, rwc io.ReadWriteCloser) error {
			<-ctx.Done()
			return nil
		})
		start := time.Now()
		_, err := mcp.Connect(t.Context(), silent, &mcp.ClientOptions{ConnectTimeout: 20 * time.Second})
		var te *mcp.TimeoutError
		if !errors.As(err, &te) || te.Limit != "ConnectTimeout" || time.Since(start) > 25*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := mcp.Connect(ctx, silent, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Connect: %v", err)
		}
	})
}

// Errors of a transport that cannot be opened come through.
func TestConnectCannotOpen(t *testing.T) {
	broken := errors.New("no route")
	tr := mcp.ConnTransport(func(context.Context) (io.ReadWriteCloser, error) { return nil, broken }, nil)
	if _, err := mcp.Connect(t.Context(), tr, nil); !errors.Is(err, broken) {
		t.Errorf("Connect: %v", err)
	}
	tr = mcp.ConnTransport(func(context.Context) (io.ReadWriteCloser, error) { return nil, nil }, nil)
	if _, err := mcp.Connect(t.Context(), tr, nil); err == nil {
		t.Error("Connect without a connection succeeded")
	}
	if _, err := mcp.Connect(t.Context(), nil, nil); err == nil {
		t.Error("Connect without a transport succeeded")
	}
	if _, err := mcp.Connect(t.Context(), tr, &mcp.ClientOptions{Extensions: map[string]json.RawMessage{"a/b": json.RawMessage("1")}}); err == nil {
		t.Error("accepted an extension whose settings are a number")
	}
}
