package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// maxIncoming bounds the requests of a server that are being answered at one time; more are not read into memory.
const maxIncoming = 256

// A connection is one link of a client with what was agreed over it. It is the link's [Receiver].
type connection struct {
	client *Client
	ready  chan struct{} // closed when link is set
	link   Link
	terms  atomic.Pointer[agreement]
	renew  chan struct{} // holds one while initialize is repeated

	mu       sync.Mutex
	lost     bool
	lostErr  error
	calls    map[jsonrpc.ID]*outCall                // requests under way
	incoming map[jsonrpc.ID]context.CancelCauseFunc // the server's requests being answered
	pages    map[string]*pageWait                   // by elicitationId: pages that a refused call waits for
	tracked  map[jsonrpc.ID]*pageWait               // by progress token: pages that the server is asked to report on

	asked      int       // questions that the server sent as requests since askedSince
	askedSince time.Time // at most a minute ago when the next one counts
}

// An agreement is what a handshake or discovery settled. It is immutable.
type agreement struct {
	rev     Revision
	rules   *era.Rules
	server  ServerInfo
	mirrors bool     // requests are repeated in HTTP headers
	serial  int      // counts handshakes over the link, from 1
	own     []member // what every request says about the client, for the client's own interactor (2026-07-28)
}

func newConnection(c *Client) *connection {
	return &connection{
		client: c, ready: make(chan struct{}), renew: make(chan struct{}, 1),
		calls:    make(map[jsonrpc.ID]*outCall),
		incoming: make(map[jsonrpc.ID]context.CancelCauseFunc),
		pages:    make(map[string]*pageWait),
		tracked:  make(map[jsonrpc.ID]*pageWait),
	}
}

// open opens the link.
func (n *connection) open(ctx context.Context) error {
	link, err := n.client.transport.Open(ctx, n)
	if err != nil {
		return err
	}
	n.link = link
	close(n.ready)
	return nil
}

// agree records what was negotiated and tells the link.
func (n *connection) agree(rev Revision, server ServerInfo) {
	server.Revision = rev
	a := &agreement{rev: rev, rules: rev.Rules(), server: server, serial: 1}
	if !a.rules.Handshake {
		own, err := n.client.identity(rev, n.client.opts.Interactor)
		if err != nil { // the probe has encoded the same a moment ago
			n.client.log.Error("mcp: encoding what requests say about the client", "err", err)
		}
		a.own = own
	}
	if h, ok := n.link.(HeaderLink); ok {
		a.mirrors = h.MirrorsHeaders(rev)
	}
	if old := n.terms.Load(); old != nil {
		a.serial = old.serial + 1
	}
	n.terms.Store(a)
	n.link.Established(rev)
}

// agreed returns what was negotiated; before that, an agreement on nothing.
func (n *connection) agreed() *agreement {
	if a := n.terms.Load(); a != nil {
		return a
	}
	return &agreement{rules: Revision(0).Rules()}
}

func (n *connection) isLost() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost
}

// Lost implements [Receiver].
func (n *connection) Lost(err error) {
	n.mu.Lock()
	n.lost, n.lostErr = true, err
	n.mu.Unlock()
	n.client.log.Warn("mcp: connection lost", "server", n.client.origin, "err", err)
	n.withdraw(fmt.Errorf("%w: %w", ErrClosed, err))
}

// withdraw cancels every question of the server that is being answered.
func (n *connection) withdraw(cause error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, cancel := range n.incoming {
		cancel(cause)
	}
}

// close closes the link; what goes wrong is only logged.
func (n *connection) close() {
	if err := n.closeErr(); err != nil {
		n.client.log.Warn("mcp: closing", "server", n.client.origin, "err", err)
	}
}

func (n *connection) closeErr() error {
	n.withdraw(fmt.Errorf("%w: the client was closed", ErrClosed))
	return n.link.Close()
}

// Receive implements [Receiver].
func (n *connection) Receive(_ context.Context, m *jsonrpc.Message, via jsonrpc.ID) {
	switch m.Kind() {
	case jsonrpc.Notification:
		n.receiveNotice(m, via)
	case jsonrpc.Request:
		n.receiveRequest(m, via)
	case jsonrpc.Response:
		n.client.log.Debug("mcp: ignored a response to no request under way", "server", n.client.origin, "id", m.ID.String())
	}
}

// cancelIncoming withdraws a request of the server.
func (n *connection) cancelIncoming(id jsonrpc.ID, reason string) {
	n.mu.Lock()
	cancel := n.incoming[id]
	n.mu.Unlock()
	if cancel == nil {
		return
	}
	if reason == "" {
		cancel(errWithdrawn)
		return
	}
	cancel(fmt.Errorf("%w: %s", errWithdrawn, clip(reason, 200)))
}

// errWithdrawn is why a question ended that its server took back.
var errWithdrawn = errors.New("mcp: the server withdrew the question")

// track registers a request under way, so that progress and questions find it.
func (n *connection) track(call *outCall) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls[call.id] = call
}

// untrack undoes track.
func (n *connection) untrack(call *outCall) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.calls, call.id)
}

// callsOf returns the requests that a message of the server belongs to: the one whose stream carried it, or where the transport cannot
// tell, every one under way.
func (n *connection) callsOf(via jsonrpc.ID) []*outCall {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !via.IsZero() {
		if call := n.calls[via]; call != nil {
			return []*outCall{call}
		}
		return nil
	}
	out := make([]*outCall, 0, len(n.calls))
	for _, call := range n.calls {
		out = append(out, call)
	}
	return out
}
