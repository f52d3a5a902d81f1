package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// refusing is a transport that refuses server/discover below the protocol, as HTTP does.
type refusing struct {
	mcp.Transport
	mcp.EraMemo
	with  error
	count int
}

type refusingLink struct {
	mcp.Link
	t *refusing
}

func (r *refusing) Open(ctx context.Context, to mcp.Receiver) (mcp.Link, error) {
	l, err := r.Transport.Open(ctx, to)
	return &refusingLink{l, r}, err
}

func (l *refusingLink) RoundTrip(ctx context.Context, o *mcp.Outgoing) (*jsonrpc.Message, error) {
	if o.Method == mcp.MethodDiscover {
		l.t.count++
		return nil, l.t.with
	}
	return l.Link.RoundTrip(ctx, o)
}

// Every refusal of the probe leads to initialize, except for one that asks for authorization, and no answer at all.
func TestCaseV06RefusalsOfTheTransport(t *testing.T) {
	needLegacy(t)
	tests := []struct {
		with     error
		fallback bool
		probes   int // of two connections: what may be a passing failure is not remembered
	}{
		{&mcp.TransportError{Status: 400, Body: "<html>"}, true, 1},
		{&mcp.TransportError{Status: 404}, true, 1},
		{&mcp.TransportError{Status: 405}, true, 1},
		{&mcp.TransportError{Status: 406}, true, 1},
		{&mcp.TransportError{Status: 500}, true, 2},
		{&mcp.TransportError{Status: 401}, false, 2},
		{&mcp.TransportError{Status: 403}, false, 2},
		{&mcp.TransportError{Err: errors.New("connection refused")}, false, 2},
		{errors.New("something else"), false, 2},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.with), func(t *testing.T) {
			f := legacyFake(t, "2025-06-18")
			tr := &refusing{Transport: mcp.Pipe(f.serve), with: tt.with}
			for range 2 {
				c, err := mcp.Connect(t.Context(), tr, nil)
				if (err == nil) != tt.fallback || err != nil && !errors.Is(err, tt.with) {
					t.Fatalf("Connect: %v", err)
				}
				if c != nil {
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
			}
			if tr.count != tt.probes {
				t.Errorf("%d probes, want %d", tr.count, tt.probes)
			}
			if n := len(f.received("initialize")); (n > 0) != tt.fallback {
				t.Errorf("%d times initialize", n)
			}
		})
	}
}
