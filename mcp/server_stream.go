package mcp

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/internal/conn"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// lingerAfterEOF is how long requests may go on after the client has closed its output: those who pipe a few lines into a server want
// to see the answers.
const lingerAfterEOF = 200 * time.Millisecond

// ServeConn serves one client over a byte stream, one message a line: a socket, a pipe, anything. Both eras are served on it, message
// by message, unless [ServerOptions.Revisions] says otherwise. It returns when the client closes its side (nil), when ctx ends (its
// cause) or when the stream fails; handlers that are still running are cancelled first and waited for, as long as
// [ServerOptions.StopDelay]. rwc is closed.
//
// A client is anonymous: whoever can open the stream is served. ServeConn may be called for many streams at once.
func (s *Server) ServeConn(ctx context.Context, rwc io.ReadWriteCloser) error {
	return s.serveStream(ctx, rwc, rwc)
}

// serveStream is ServeConn for streams that are two.
func (s *Server) serveStream(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	if s.check != nil {
		return errors.Join(s.check, r.Close(), w.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &streamServer{server: s, local: private(r)}
	c := conn.New(r, w, f, &conn.Options{
		MaxLine: s.options.MaxLine, MaxInFlight: s.options.MaxInFlight, Grace: s.options.StopDelay, Linger: lingerAfterEOF,
	})
	f.conn = c
	if !s.drain.addConn(c) {
		cancel()
		return errors.Join(errShuttingDown, r.Close(), w.Close())
	}
	defer s.drain.removeConn(c)
	err := c.Run(ctx)
	cancel()
	f.endSession()
	f.feeds.Wait()
	return err
}

// private reports whether only who runs the program can be at the other end of a stream: a pipe of the process, and nothing that
// was accepted from a network or a socket.
func private(stream any) bool {
	peer, network := stream.(interface{ RemoteAddr() net.Addr })
	if !network {
		return true
	}
	addr := peer.RemoteAddr()
	return addr != nil && addr.Network() == "pipe"
}

// streamServer serves one connection. All but what feeds does happens on the connection's reading goroutine, or in work started from
// there.
type streamServer struct {
	server  *Server
	conn    *conn.Conn
	local   bool
	session *Session // set by the reading goroutine only
	batch   *batchReply
	feeds   sync.WaitGroup // the goroutine that writes what the server sends of its own accord
}

// HandleMessage serves one message.
func (f *streamServer) HandleMessage(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
	f.handle(ctx, m, f.replyTo(m))
}

// replyTo returns what takes the response to m, or nil if there is none.
func (f *streamServer) replyTo(m *jsonrpc.Message) func(*jsonrpc.Message) {
	if b := f.batch; b != nil && m.Kind() == jsonrpc.Request {
		return b.expect()
	}
	return func(reply *jsonrpc.Message) {
		if reply != nil {
			f.write(reply)
		}
	}
}

// handle serves one message; done is called once, with the response or nil.
func (f *streamServer) handle(ctx context.Context, m *jsonrpc.Message, done func(*jsonrpc.Message)) {
	s := f.server
	if m.Kind() == jsonrpc.Response {
		f.deliver(m)
		return
	}
	x := &Exchange{Message: m, Session: f.session, Stream: connStream{f.conn}, local: f.local}
	adm := s.Admit(x)
	switch {
	case adm.Err != nil:
		if m.Kind() == jsonrpc.Notification {
			s.log.Warn("mcp: a notification was refused", "method", clip(m.Method, maxQuotedName), "error", adm.Err)
			return
		}
		done(&jsonrpc.Message{ID: m.ID, Error: adm.Err})
	case m.Method == NotificationCancelled && m.Kind() == jsonrpc.Notification:
		if id, err := jsonrpc.ParseID(x.params.member(paramRequestID)); err == nil {
			f.conn.CancelIncoming(id, errCancelled)
		}
	case adm.Handshake && f.handshake(ctx, x, adm, done):
	case m.Kind() == jsonrpc.Notification:
		s.Serve(ctx, x)
	default:
		f.serve(ctx, x, done)
	}
}

// serve runs a request in a goroutine of its own.
func (f *streamServer) serve(ctx context.Context, x *Exchange, done func(*jsonrpc.Message)) {
	err := f.conn.Go(ctx, x.Message.ID, func(ctx context.Context) {
		reply, _ := f.server.Serve(ctx, x)
		done(reply)
	})
	switch {
	case err == nil:
	case errors.Is(err, conn.ErrClosed):
		done(nil)
	default: // an answer with that id would be taken for the one to the first request
		done(&jsonrpc.Message{Error: &Error{Code: CodeInvalidRequest, Message: "the request id is in use by a request that was not answered yet"}})
	}
}

// HandleMalformed answers a line that is no message.
func (f *streamServer) HandleMalformed(ctx context.Context, c *conn.Conn, line []byte, m *jsonrpc.Message, err *jsonrpc.Error) {
	if jsonrpc.IsBatch(line) && f.acceptsBatch() {
		f.handleBatch(ctx, line)
		return
	}
	if m.Error != nil { // it was meant as a response, which is never answered
		f.server.log.Warn("mcp: a response could not be read", "error", err)
		return
	}
	f.write(&jsonrpc.Message{ID: m.ID, Error: err})
}

// write sends a message; that the client has gone is no news here, for the connection tells.
func (f *streamServer) write(m *jsonrpc.Message) {
	if err := f.conn.Write(m); err != nil {
		f.server.log.Debug("mcp: a message could not be sent", "error", err)
	}
}

// connStream is a connection seen as the stream of an exchange.
type connStream struct{ c *conn.Conn }

// Send writes a message; it waits while the client reads too slowly.
func (s connStream) Send(ctx context.Context, m *jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	err := s.c.WriteContext(ctx, m)
	if errors.Is(err, conn.ErrClosed) {
		return errors.Join(ErrClosed, err)
	}
	return err
}

// batchReply collects the responses to a batch (2025-03-26), which are sent as one array when the last one is there.
type batchReply struct {
	f    *streamServer
	mu   sync.Mutex
	left int // responses to come, and one for the reader
	out  []*jsonrpc.Message
}

// expect announces a response.
func (b *batchReply) expect() func(*jsonrpc.Message) {
	b.mu.Lock()
	b.left++
	b.mu.Unlock()
	return b.add
}

// add takes a response, nil for none, and sends the array after the last.
func (b *batchReply) add(reply *jsonrpc.Message) {
	b.mu.Lock()
	if reply != nil {
		b.out = append(b.out, reply)
	}
	b.left--
	last := b.left == 0
	b.mu.Unlock()
	if !last || len(b.out) == 0 {
		return
	}
	if err := b.f.conn.WriteBatch(b.out); err != nil {
		b.f.server.log.Debug("mcp: a batch could not be answered", "error", err)
	}
}
