package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// ConnTransport returns a [Transport] that speaks newline-delimited JSON-RPC over connections that dial makes: sockets, pipes, tunnels.
// Each link dials once and closes what it got. Closing the connection must interrupt its Read and Write, as it does for every
// [net.Conn].
func ConnTransport(dial func(ctx context.Context) (io.ReadWriteCloser, error), o *StreamOptions) Transport {
	return &connTransport{dial: dial, opts: o}
}

type connTransport struct {
	EraMemo
	dial func(ctx context.Context) (io.ReadWriteCloser, error)
	opts *StreamOptions
}

// Open implements [Transport].
func (t *connTransport) Open(ctx context.Context, r Receiver) (Link, error) {
	rwc, err := t.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("mcp: connecting: %w", err)
	}
	if rwc == nil {
		return nil, errors.New("mcp: connecting: dial returned no connection")
	}
	return openStream(rwc, rwc, r, t.opts, nil), nil
}
