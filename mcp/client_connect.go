package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// maxProbes bounds how often server/discover is repeated because the server wants it in another revision.
const maxProbes = 3

// HTTP statuses that mean something to the probe; this package does not import net/http.
const (
	statusUnauthorized = 401
	statusForbidden    = 403
	statusServerError  = 500
)

// establish opens a link and finds out how to speak to the server, as [basic/versioning] has it.
//
// [basic/versioning]: https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
func (c *Client) establish(ctx context.Context) (*connection, error) {
	allowed := c.opts.revisions()
	if allowed.Modern() == 0 {
		return c.handshake(ctx, allowed)
	}
	if known := c.memo.load(); allowed.Has(known) && known.Legacy() {
		n, err := c.handshake(ctx, allowed)
		if err == nil || ctx.Err() != nil {
			return n, err
		}
		c.log.Info("mcp: the server does not speak as it did before; finding out anew", "server", c.origin, "err", err)
		c.memo.store(0)
	}
	n := newConnection(c)
	if err := n.open(ctx); err != nil {
		return nil, err
	}
	v := n.probe(ctx, allowed)
	switch {
	case v.err == nil && v.agreed:
		c.memo.store(n.agreed().rev)
		return n, nil
	case v.err == nil && !v.reopen:
		v.err = n.initialize(ctx, allowed)
		if v.err == nil {
			c.remember(n, v)
			return n, nil
		}
	case v.err == nil:
		n.close()
		c.log.Info("mcp: the server died of server/discover; starting it again", "server", c.origin, "err", v.cause)
		n, err := c.handshake(ctx, allowed)
		if err == nil {
			c.remember(n, v)
		}
		return n, err
	}
	n.close()
	return nil, v.err
}

// remember keeps the era of the server, unless what it was concluded from may be a passing failure.
func (c *Client) remember(n *connection, v verdict) {
	if !v.doubtful {
		c.memo.store(n.agreed().rev)
	}
}

// handshake opens a link and initializes it in the older way.
func (c *Client) handshake(ctx context.Context, allowed era.Set) (*connection, error) {
	n := newConnection(c)
	if err := n.open(ctx); err != nil {
		return nil, err
	}
	if err := n.initialize(ctx, allowed); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// A verdict is what a probe found out.
type verdict struct {
	agreed   bool  // the server speaks a revision without handshake, and the connection is ready
	reopen   bool  // the link is dead; initialize needs a new one
	doubtful bool  // the server may only have failed for the moment
	cause    error // what it was concluded from
	err      error // there is no way to speak to it
	retry    Revision
}

// A discovery is the outcome of one server/discover.
type discovery struct {
	resp *jsonrpc.Message
	err  error
}

// probe asks the server for the revisions it speaks.
func (n *connection) probe(ctx context.Context, allowed era.Set) verdict {
	rev := allowed.Modern().Newest()
	for tries := 1; ; tries++ {
		v := n.probeOnce(ctx, rev, allowed)
		if v.retry == 0 {
			return v
		}
		if tries == maxProbes {
			return verdict{err: fmt.Errorf("mcp: server/discover: the server keeps refusing revision %s, which it says it speaks: %w", rev, v.cause)}
		}
		rev = v.retry
	}
}

// probeOnce sends server/discover in one revision. If the server is silent, and may be of the older kind, it is sent initialize as well
// and whichever answer is good decides.
func (n *connection) probeOnce(ctx context.Context, rev Revision, allowed era.Set) verdict {
	own, err := n.client.identity(rev, n.client.opts.Interactor)
	if err != nil {
		return verdict{err: fmt.Errorf("mcp: server/discover: %w", err)}
	}
	meta, err := withMembers(nil, own...)
	if err != nil {
		return verdict{err: err}
	}
	params, err := withMembers(nil, member{"_meta", meta})
	if err != nil {
		return verdict{err: err}
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	silence := make(chan struct{})
	asking, ringing := withTimer(asking, n.client.opts.ProbeTimeout, sync.OnceFunc(func() { close(silence) }))
	defer ringing()
	answered := make(chan discovery, 1)
	go func() { // ends with stop, and is waited for below
		resp, err := n.link.RoundTrip(asking, &Outgoing{ID: n.client.newID(), Method: MethodDiscover, Params: params, Revision: rev})
		answered <- discovery{resp, err}
	}()
	select {
	case d := <-answered:
		return n.judge(ctx, rev, allowed, d)
	case <-silence:
	}
	if allowed.Legacy() == 0 {
		return n.judge(ctx, rev, allowed, <-answered)
	}
	n.client.log.Info("mcp: the server is silent about server/discover; trying initialize", "server", n.client.origin)
	return n.raceInitialize(ctx, rev, allowed, answered, stop)
}

// raceInitialize sends initialize while server/discover is still unanswered.
func (n *connection) raceInitialize(ctx context.Context, rev Revision, allowed era.Set, answered <-chan discovery, stop func()) verdict {
	err := n.initialize(ctx, allowed)
	if err == nil {
		stop()
		<-answered
		return verdict{agreed: true}
	}
	var e *jsonrpc.Error
	if !errors.As(err, &e) { // no answer at all: that of discover is not to be hoped for either
		stop()
		<-answered
		return verdict{err: err}
	}
	late := time.AfterFunc(n.client.opts.ProbeTimeout, stop)
	defer late.Stop()
	if d := <-answered; d.err == nil && d.resp.Error == nil {
		return n.judge(ctx, rev, allowed, d)
	}
	return verdict{err: err}
}

// judge decides what an answer to server/discover means.
func (n *connection) judge(ctx context.Context, rev Revision, allowed era.Set, d discovery) verdict {
	switch {
	case ctx.Err() != nil:
		return verdict{err: causeOf(ctx, context.Cause(ctx))}
	case d.err != nil:
		return judgeFailure(d.err, allowed)
	case d.resp.Error != nil:
		return judgeRefusal(d.resp.Error, rev, allowed)
	}
	var res DiscoverResult
	if err := decodeResult(MethodDiscover, d.resp.Result, &res); err != nil || len(res.SupportedVersions) == 0 {
		if err == nil {
			err = errors.New("mcp: the answer to server/discover names no revisions")
		}
		return fallBack(allowed, err)
	}
	common := allowed.Common(res.SupportedVersions)
	best := common.Modern().Newest()
	switch {
	case best == 0 && common.Legacy() != 0:
		return verdict{cause: errors.New("mcp: the server speaks only revisions with a handshake")}
	case best == 0:
		return verdict{err: fmt.Errorf("mcp: the server speaks the revisions %q, this client %q", res.SupportedVersions, allowed.Strings())}
	}
	server := ServerInfo{Capabilities: res.Capabilities, Instructions: res.Instructions}
	if _, err := res.Meta.Get(MetaServerInfo, &server.Implementation); err != nil {
		n.client.log.Warn("mcp: server/discover", "server", n.client.origin, "err", err)
	}
	n.agree(best, server)
	return verdict{agreed: true}
}

// judgeFailure decides what it means that there was no answer at all.
func judgeFailure(err error, allowed era.Set) verdict {
	var t *TransportError
	switch {
	case errors.As(err, &t) && (t.Status == statusUnauthorized || t.Status == statusForbidden):
		return verdict{err: fmt.Errorf("mcp: server/discover: %w", err)} // authorize first, decide after
	case errors.As(err, &t) && t.Status != 0:
		v := fallBack(allowed, err)
		v.doubtful = t.Status >= statusServerError
		return v
	case errors.Is(err, ErrClosed):
		v := fallBack(allowed, err)
		v.reopen = true
		return v
	}
	return verdict{err: fmt.Errorf("mcp: server/discover: %w", err)}
}

// judgeRefusal decides what an error response means: the codes of the new era belong to a server of the new era, every other one to a
// server of the old.
func judgeRefusal(e *jsonrpc.Error, rev Revision, allowed era.Set) verdict {
	switch e.Code {
	case CodeUnsupportedVersion:
		var data UnsupportedVersionData
		if len(e.Data) > 0 {
			if err := unmarshalJSON(e.Data, &data); err != nil {
				return verdict{err: fmt.Errorf("mcp: server/discover: %w; its data cannot be read: %w", e, err)}
			}
		}
		common := allowed.Common(data.Supported)
		if next := common.Modern().Newest(); next != 0 {
			return verdict{retry: next, cause: e}
		}
		if common.Legacy() != 0 { // not a guess: the server names the revision
			return verdict{cause: e}
		}
		return verdict{err: fmt.Errorf("mcp: server/discover: %w: the server speaks the revisions %q, this client %q",
			e, data.Supported, allowed.Strings())}
	case CodeHeaderMismatch:
		return verdict{retry: rev, cause: e}
	case CodeMissingCapability:
		return verdict{err: fmt.Errorf("mcp: server/discover: %w", e)}
	}
	return fallBack(allowed, e)
}

// fallBack goes over to the older handshake, where that is allowed.
func fallBack(allowed era.Set, cause error) verdict {
	if allowed.Legacy() == 0 {
		return verdict{err: fmt.Errorf("mcp: server/discover: %w; ClientOptions.Revisions allow no older revision", cause)}
	}
	return verdict{cause: cause}
}
