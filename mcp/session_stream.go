//go:build !mcp_modern_only

package mcp

import (
	"context"
	"errors"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// handshake serves what belongs to the handshake era but not to an open session: initialize, and messages before it. It reports false
// for messages of an open session, which are served like any other.
func (f *streamServer) handshake(ctx context.Context, x *Exchange, adm Admission, done func(*jsonrpc.Message)) bool {
	m := x.Message
	switch {
	case adm.Initialize && f.session == nil:
		f.initialize(ctx, x, done)
	case f.session != nil:
		return false
	case m.Kind() == jsonrpc.Notification: // nothing is known of the client yet: there is nothing to do
	case m.Method == MethodPing:
		done(&jsonrpc.Message{ID: m.ID, Result: emptyObject})
	default:
		done(&jsonrpc.Message{ID: m.ID, Error: &Error{Code: CodeInvalidRequest, Message: "not initialized: call initialize first"}})
	}
	return true
}

// initialize opens the connection's session. It is served on the reading goroutine: what follows it finds the session open.
func (f *streamServer) initialize(ctx context.Context, x *Exchange, done func(*jsonrpc.Message)) {
	x.Session = f.server.NewSession(connStream{f.conn}, nil)
	reply, _ := f.server.Serve(ctx, x)
	if reply == nil || reply.Error != nil {
		if err := x.Session.Close(); err != nil {
			f.server.log.Debug("mcp: closing a session", "error", err)
		}
		done(reply)
		return
	}
	f.session = x.Session
	done(reply)
	f.feeds.Add(1)
	go func() {
		defer f.feeds.Done()
		f.writeFeed(ctx, f.session)
	}()
}

// writeFeed writes what the server sends of its own accord, until the session or the connection ends.
func (f *streamServer) writeFeed(ctx context.Context, ss *Session) {
	for {
		m, err := ss.Next(ctx)
		if err != nil {
			return
		}
		f.write(m)
	}
}

// deliver hands on a response of the client.
func (f *streamServer) deliver(m *jsonrpc.Message) {
	if f.session == nil {
		f.server.log.Debug("mcp: a response although nothing was asked", "id", m.ID.String())
		return
	}
	f.session.Deliver(m)
}

// endSession ends the session with its connection.
func (f *streamServer) endSession() {
	if f.session == nil {
		return
	}
	if err := f.session.Close(); err != nil {
		f.server.log.Debug("mcp: closing a session", "error", err)
	}
}

// acceptsBatch reports whether the session's revision has batches.
func (f *streamServer) acceptsBatch() bool {
	return f.session != nil && f.session.Revision().Rules().Batch
}

// handleBatch serves the messages of a batch one by one and answers with one array. initialize inside a batch finds the session open
// and is refused.
func (f *streamServer) handleBatch(ctx context.Context, line []byte) {
	items, err := jsonrpc.DecodeBatch(line)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{Code: CodeInvalidRequest, Message: err.Error()}
		}
		f.write(&jsonrpc.Message{Error: e})
		return
	}
	b := &batchReply{f: f, left: 1}
	f.batch = b
	for i := range items {
		item := &items[i]
		if item.Err != nil {
			if item.Message.Error == nil {
				b.expect()(&jsonrpc.Message{ID: item.Message.ID, Error: item.Err})
			}
			continue
		}
		f.conn.Deliver(ctx, &item.Message)
	}
	f.batch = nil
	b.add(nil)
}
