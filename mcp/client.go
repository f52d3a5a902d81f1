package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// A Client is one conversation with one server. It is made by [Connect] and safe for concurrent use.
//
// A failed request never ends a client. When the connection itself is lost (a server process that died, a socket that was closed), the
// requests under way fail with an error that wraps [ErrClosed] and says why, and the next request opens a new connection. Only Close ends it.
//
// Methods return *[Error] for error responses of the server, *[TransportError] for refusals below the protocol, *[TimeoutError] when a
// timeout of the client's options fired, the context's error when it ended, and errors that wrap [ErrClosed], [ErrSessionLost],
// [ErrTooManyRounds], [ErrNotFound], [ErrDeclined], [ErrCanceled] or [ErrUnavailable].
//
// A call that failed wraps ErrDeclined or ErrCanceled when that is what the person said to its last question, as the client itself knows;
// the message stays the server's. A question that the [Interactor] did not answer makes the call fail with the precise cause: since
// 2026-07-28 at once, before when the server fails the call for it. A tool that failed is a result, not an error, for
// [Client.CallTool]; the function [CallTool] makes a *[ToolResultError] of it, which wraps the same causes. In the handshake era a
// server's request is taken for a question of the call on whose stream it came, or, where the transport has one stream for all, of the
// only call under way.
type Client struct {
	transport Transport
	opts      *ClientOptions
	log       *slog.Logger
	memo      *EraMemo
	origin    string
	serial    uint64
	send      SendFunc
	tools     toolBook
	notices   noticeQueue
	subs      subscriptions

	base   context.Context //nolint:containedctx // the life of the client: ends with Close, and with it everything the client started
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // everything the client started
	lastID atomic.Int64
	level  atomic.Pointer[LoggingLevel] // set by SetLogLevel

	mu      sync.Mutex
	closed  bool
	current *connection
	dialing *dialing
}

// A dialing is a connection being made, shared by all who need it.
type dialing struct {
	done chan struct{}
	conn *connection
	err  error
}

// ServerInfo is what a server told about itself when the connection was made.
type ServerInfo struct {
	Implementation Implementation // empty name when the server did not say
	Capabilities   ServerCapabilities
	Instructions   string
	Revision       Revision // in force: the negotiated one
}

// Connect opens a link through t and finds out how to speak to the server behind it: by server/discover, and if it does not know
// that, by the older initialize handshake, as [ClientOptions.Revisions] allow. ctx bounds the connecting only; the client lives until
// [Client.Close].
//
// A server that refuses both ways, answers with a revision that the client does not speak, or dies, is an error that says which.
// See [basic/versioning].
//
// [basic/versioning]: https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
func Connect(ctx context.Context, t Transport, o *ClientOptions) (*Client, error) {
	if t == nil {
		return nil, errors.New("mcp: Connect needs a transport")
	}
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if opts.revisions() == 0 {
		return nil, errors.New("mcp: ClientOptions.Revisions names no revision that this build speaks")
	}
	c := &Client{transport: t, opts: opts, log: opts.Logger, memo: memoOf(t), origin: originOf(t), serial: clientSerial.Add(1)}
	c.base, c.cancel = context.WithCancelCause(context.Background())
	c.send = c.roundTrip
	for _, mw := range slices.Backward(opts.Middleware) {
		c.send = mw(c.send)
	}
	c.notices.init()
	c.wg.Go(c.notices.run)
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.mu.Lock()
	c.current = conn
	c.mu.Unlock()
	return c, nil
}

// originOf says where a transport leads to.
func originOf(t Transport) string {
	if s, ok := t.(fmt.Stringer); ok {
		return s.String()
	}
	return ""
}

// programInfo describes the running program.
func programInfo() *Implementation {
	info := &Implementation{Name: "parley", Version: "0"}
	if len(os.Args) > 0 {
		if base := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"); base != "" && base != "." {
			info.Name = base
		}
	}
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" {
		info.Version = bi.Main.Version
	}
	return info
}

// dial makes a connection, bounded by ctx, the connect timeout and the life of the client.
func (c *Client) dial(ctx context.Context) (*connection, error) {
	ctx, cancel := withTimeout(ctx, c.opts.ConnectTimeout,
		&TimeoutError{What: "connecting", Limit: "ConnectTimeout", After: c.opts.ConnectTimeout})
	defer cancel()
	stop := context.AfterFunc(c.base, cancel)
	defer stop()
	conn, err := c.establish(ctx)
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	return conn, nil
}

// connection returns the living connection, making one if the last was lost.
func (c *Client) connection(ctx context.Context) (*connection, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, fmt.Errorf("%w: the client was closed", ErrClosed)
	}
	if c.current != nil && !c.current.isLost() {
		conn := c.current
		c.mu.Unlock()
		return conn, nil
	}
	d := c.dialing
	if d == nil {
		d = &dialing{done: make(chan struct{})}
		c.dialing = d
		old := c.current
		c.wg.Go(func() { c.redial(d, old) }) // under the lock, so before Close waits
	}
	c.mu.Unlock()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// redial replaces a lost connection.
func (c *Client) redial(d *dialing, old *connection) {
	if old != nil {
		old.close()
	}
	c.log.Info("mcp: connecting again", "server", c.origin)
	conn, err := c.dial(c.base)
	c.mu.Lock()
	c.dialing = nil
	if err == nil && c.closed {
		err = fmt.Errorf("%w: the client was closed", ErrClosed)
		c.wg.Go(conn.close) // counted already: redial itself is
	}
	if err == nil {
		c.current = conn
	}
	c.mu.Unlock()
	if err != nil {
		d.err = err
	} else {
		d.conn = conn
		c.stateLost(conn)
	}
	close(d.done)
}

// stateLost deals with a server that has begun anew.
func (c *Client) stateLost(conn *connection) {
	c.opts.Cache.dropAll(c.cacheServer())
	c.spawn(func() { c.resubscribe(conn) })
	if c.opts.OnStateLost != nil {
		c.later("state lost", "OnStateLost", func(context.Context) { c.opts.OnStateLost() })
	}
}

// Close ends the client: the link is closed, a server process is stopped, questions are withdrawn, and every call under way returns
// an error that wraps [ErrClosed]. It waits until what the client started has ended, handlers for at most
// [ClientOptions.CloseTimeout]; it must not be called from a handler of the same client. Idempotent.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	conn := c.current
	c.mu.Unlock()
	c.cancel(fmt.Errorf("%w: the client was closed", ErrClosed))
	var err error
	if conn != nil {
		err = conn.closeErr()
	}
	c.notices.stop()
	c.opts.Cache.drop(c.cacheServer(), func(k cacheKey) bool { return k.audience == c.cacheSelf() || k.server == c.cacheSelf() })
	done := make(chan struct{})
	go func() { // ends when the group does: at once, or when the last handler returns
		c.wg.Wait()
		close(done)
	}()
	timer := time.NewTimer(c.opts.CloseTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		return errors.Join(err, fmt.Errorf("mcp: Close: a handler is still running after %v", c.opts.CloseTimeout))
	}
	return err
}

// Server returns what the server said about itself at the last handshake or discovery. It changes only when the client had to connect
// again.
func (c *Client) Server() ServerInfo {
	c.mu.Lock()
	conn := c.current
	c.mu.Unlock()
	if conn == nil {
		return ServerInfo{}
	}
	return conn.agreed().server
}

// spawn runs f on a goroutine that Close waits for. It reports false, and does not run f, once Close has begun.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Go(f)
	return true
}

// newID returns an id that this client has not used before.
func (c *Client) newID() jsonrpc.ID { return jsonrpc.IntID(c.lastID.Add(1)) }

// causeOf returns the cause of ctx's end when err is only its echo, and err otherwise.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return context.Cause(ctx)
	}
	return err
}
