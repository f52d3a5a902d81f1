package parley

import (
	"context"

	"github.com/seed38e7925c/parley/interop/internal/play"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// tap is a transport whose messages are recorded.
type tap struct {
	mcp.Transport
	tape *play.Tape
}

// Open implements [mcp.Transport].
func (t *tap) Open(ctx context.Context, r mcp.Receiver) (mcp.Link, error) {
	l, err := t.Transport.Open(ctx, &tapReceiver{r, t.tape})
	if err != nil {
		t.tape.Add("×", err.Error())
		return nil, err
	}
	tl := &tapLink{l, t.tape}
	if h, ok := l.(mcp.HeaderLink); ok {
		return &tapHeaderLink{tl, h}, nil
	}
	return tl, nil
}

type tapReceiver struct {
	mcp.Receiver
	tape *play.Tape
}

// Receive implements [mcp.Receiver].
func (r *tapReceiver) Receive(ctx context.Context, m *jsonrpc.Message, via jsonrpc.ID) {
	r.tape.Add("←", string(jsonrpc.Append(nil, m)))
	r.Receiver.Receive(ctx, m, via)
}

type tapLink struct {
	mcp.Link
	tape *play.Tape
}

// RoundTrip implements [mcp.Link].
func (l *tapLink) RoundTrip(ctx context.Context, req *mcp.Outgoing) (*jsonrpc.Message, error) {
	l.tape.Add("→", req.Method+" "+string(req.Params))
	m, err := l.Link.RoundTrip(ctx, req)
	if err != nil {
		l.tape.Add("×", req.Method+": "+err.Error())
		return m, err
	}
	l.tape.Add("←", string(jsonrpc.Append(nil, m)))
	return m, nil
}

// Send implements [mcp.Link].
func (l *tapLink) Send(ctx context.Context, m *jsonrpc.Message) error {
	l.tape.Add("→", string(jsonrpc.Append(nil, m)))
	return l.Link.Send(ctx, m)
}

type tapHeaderLink struct {
	*tapLink
	h mcp.HeaderLink
}

// MirrorsHeaders implements [mcp.HeaderLink].
func (l *tapHeaderLink) MirrorsHeaders(rev mcp.Revision) bool { return l.h.MirrorsHeaders(rev) }
