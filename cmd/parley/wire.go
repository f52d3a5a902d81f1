package main

import (
	"context"
	"fmt"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// A direction is which way a message goes.
type direction bool

const (
	toServer direction = true
	toHost   direction = false
)

// A tap is a transport whose messages are shown to see, in the order in which they go and come.
type tap struct {
	mcp.Transport
	see func(d direction, m *jsonrpc.Message, err error)
}

// String says where the server really is.
func (t *tap) String() string {
	if s, ok := t.Transport.(fmt.Stringer); ok {
		return s.String()
	}
	return ""
}

// Open opens the link behind the tap.
func (t *tap) Open(ctx context.Context, r mcp.Receiver) (mcp.Link, error) {
	l, err := t.Transport.Open(ctx, &tapReceiver{Receiver: r, tap: t})
	if err != nil {
		return nil, err
	}
	tapped := tapLink{Link: l, tap: t}
	if a, ok := l.(mcp.AuthLink); ok {
		return &tapAuthLink{tapLink: tapped, auth: a}, nil
	}
	return &tapped, nil
}

type tapReceiver struct {
	mcp.Receiver
	tap *tap
}

// Receive shows what the server sends of its own accord.
func (r *tapReceiver) Receive(ctx context.Context, m *jsonrpc.Message, via jsonrpc.ID) {
	r.tap.see(toHost, m, nil)
	r.Receiver.Receive(ctx, m, via)
}

type tapLink struct {
	mcp.Link
	tap *tap
}

// RoundTrip shows a request and its response.
func (l *tapLink) RoundTrip(ctx context.Context, req *mcp.Outgoing) (*jsonrpc.Message, error) {
	l.tap.see(toServer, &jsonrpc.Message{ID: req.ID, Method: req.Method, Params: req.Params}, nil)
	m, err := l.Link.RoundTrip(ctx, req)
	l.tap.see(toHost, m, err)
	return m, err
}

// Send shows a notification or a response.
func (l *tapLink) Send(ctx context.Context, m *jsonrpc.Message) error {
	l.tap.see(toServer, m, nil)
	return l.Link.Send(ctx, m)
}

// MirrorsHeaders is that of the link behind the tap.
func (l *tapLink) MirrorsHeaders(rev mcp.Revision) bool {
	h, ok := l.Link.(mcp.HeaderLink)
	return ok && h.MirrorsHeaders(rev)
}

type tapAuthLink struct {
	tapLink
	auth mcp.AuthLink
}

// AuthContext is that of the link behind the tap.
func (l *tapAuthLink) AuthContext() string { return l.auth.AuthContext() }
