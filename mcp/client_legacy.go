//go:build !mcp_modern_only

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// clientRevisions are the revisions that this build speaks.
const clientRevisions = era.AllSet

// initialize performs the handshake, offering the newest of allowed, and takes any revision of allowed that the server offers instead.
func (n *connection) initialize(ctx context.Context, allowed era.Set) error {
	offer := allowed.Legacy().Newest()
	var res InitializeResult
	err := n.offer(ctx, offer, &res)
	if e := (*jsonrpc.Error)(nil); errors.As(err, &e) {
		if next := supportedBy(e, allowed.Legacy()); next != 0 && next != offer {
			err = n.offer(ctx, next, &res)
		}
	}
	if err != nil {
		return fmt.Errorf("mcp: initialize: %w", err)
	}
	rev, known := era.Parse(res.ProtocolVersion)
	if !known || !allowed.Legacy().Has(rev) {
		return fmt.Errorf("mcp: the server answered initialize with revision %q; this client offered %s and speaks %v",
			clip(res.ProtocolVersion, 50), offer, allowed.Legacy().Strings())
	}
	n.agree(rev, ServerInfo{Implementation: res.ServerInfo, Capabilities: res.Capabilities, Instructions: res.Instructions})
	if err := n.link.Send(ctx, &jsonrpc.Message{Method: NotificationInitialized}); err != nil {
		return fmt.Errorf("mcp: initialize: %w", err)
	}
	return n.setLevel(ctx)
}

// offer sends one initialize request.
func (n *connection) offer(ctx context.Context, rev Revision, res *InitializeResult) error {
	params, err := marshalJSON(&InitializeParams{
		ProtocolVersion: rev.String(),
		Capabilities:    *n.client.capabilities(rev.Rules(), n.client.opts.Interactor),
		ClientInfo:      *n.client.opts.Info,
	})
	if err != nil {
		return err
	}
	if params, err = n.client.declareDraft(params); err != nil {
		return err
	}
	resp, err := n.link.RoundTrip(ctx, &Outgoing{ID: n.client.newID(), Method: MethodInitialize, Params: params, Revision: rev})
	if err != nil {
		return err
	}
	if resp.Error != nil {
		return resp.Error
	}
	return decodeResult(MethodInitialize, resp.Result, res)
}

// supportedBy returns the newest revision of allowed that an error response says its server speaks.
func supportedBy(e *jsonrpc.Error, allowed era.Set) Revision {
	var data UnsupportedVersionData
	if len(e.Data) == 0 || unmarshalJSON(e.Data, &data) != nil {
		return 0
	}
	return allowed.Common(data.Supported).Newest()
}

// setLevel asks for log messages, where the client wants some and the server has some.
func (n *connection) setLevel(ctx context.Context) error {
	level := n.client.logLevel()
	if level == "" || n.agreed().server.Capabilities.Logging == nil {
		return nil
	}
	_, err := n.plain(ctx, MethodSetLevel, &SetLevelParams{Level: level})
	var e *jsonrpc.Error
	if errors.As(err, &e) { // the server's business; a connection without its messages is still good
		n.client.log.Warn("mcp: the server refused the log level", "server", n.client.origin, "err", err)
		return nil
	}
	return err
}

// plain sends a request of the handshake era outside of any call.
func (n *connection) plain(ctx context.Context, method string, params any) (json.RawMessage, error) {
	raw, err := marshalJSON(params)
	if err != nil {
		return nil, err
	}
	resp, err := n.link.RoundTrip(ctx, &Outgoing{ID: n.client.newID(), Method: method, Params: raw, Revision: n.agreed().rev})
	if err != nil {
		return nil, err
	}
	if resp.Error != nil {
		return nil, resp.Error
	}
	return resp.Result, nil
}

// renewSession repeats initialize after the server forgot the session, once for all calls that found out: serial is the handshake that
// they knew.
func (n *connection) renewSession(ctx context.Context, serial int) error {
	select {
	case n.renew <- struct{}{}:
		defer func() { <-n.renew }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	terms := n.agreed()
	if terms.serial != serial {
		return nil // another call has done it
	}
	n.client.log.Info("mcp: the server lost the session; beginning a new one", "server", n.client.origin)
	ctx, cancel := withTimeout(ctx, n.client.opts.ConnectTimeout,
		&TimeoutError{What: "a new session", Limit: "ConnectTimeout", After: n.client.opts.ConnectTimeout})
	defer cancel()
	n.withdraw(ErrSessionLost)
	if err := n.initialize(ctx, n.client.opts.revisions()); err != nil {
		return causeOf(ctx, err)
	}
	n.client.stateLost(n)
	return nil
}

// receiveRequest answers a request of the server on a goroutine of its own. Servers have none of revision 2026-07-28.
func (n *connection) receiveRequest(m *jsonrpc.Message, via jsonrpc.ID) {
	if terms := n.terms.Load(); terms != nil && !terms.rules.Handshake {
		n.client.log.Warn("mcp: ignored a request of the server: this revision has none", "server", n.client.origin, "method", m.Method)
		return
	}
	ctx, cancel := context.WithCancelCause(n.client.base)
	if !n.admit(m.ID, cancel) {
		cancel(nil)
		n.client.log.Warn("mcp: dropped a request of the server: its id is in use, or too many are being answered",
			"server", n.client.origin, "method", m.Method, "id", m.ID.String())
		return
	}
	req := &jsonrpc.Message{ID: m.ID, Method: m.Method, Params: slices.Clone(m.Params)}
	q := n.inquire(req, via) // takes its place in the queue now, in order of arrival
	settled := q.endWith(via, cancel)
	ok := n.client.spawn(func() {
		defer cancel(nil)
		defer n.dismiss(req.ID)
		resp := n.answer(ctx, req, q)
		settled()
		resp.ID = req.ID
		n.respond(ctx, resp)
	})
	if !ok {
		settled()
		q.leave()
		n.dismiss(req.ID)
		cancel(nil)
	}
}

// endWith has the question that came on the stream of a call withdrawn when the call ends, for the server cannot tell: that stream ends
// with it. The function that it returns lets the question be.
func (q *inquiry) endWith(via jsonrpc.ID, cancel context.CancelCauseFunc) (settled func()) {
	if q == nil || via.IsZero() || len(q.paused) != 1 {
		return func() {}
	}
	ctx := q.paused[0].ctx
	stop := context.AfterFunc(ctx, func() { cancel(fmt.Errorf("mcp: the call that asked has ended: %w", context.Cause(ctx))) })
	return func() { stop() }
}

// inquire makes the inquiry for a request that the interactor answers, nil for other methods.
func (n *connection) inquire(req *jsonrpc.Message, via jsonrpc.ID) *inquiry {
	draft := req.Method == methodInteractionCreate && n.speaksDraft()
	switch req.Method {
	case MethodElicit, MethodCreateMessage, MethodRootsList:
	default:
		if !draft {
			return nil
		}
	}
	q := &inquiry{
		conn: n, asker: n.client.opts.Interactor, rules: n.agreed().rules, method: req.Method, params: req.Params,
		paused: n.callsOf(via), draft: draft,
	}
	if req.Method != MethodRootsList { // which asks nobody
		q.refused = n.admitQuestion(q.paused)
	}
	if len(q.paused) == 1 {
		call := q.paused[0]
		q.about.Method, q.about.Name = call.req.Method, callName(call.req)
		q.about.Round = call.nextQuestion()
		q.asker, q.of = call.asker, call
	}
	q.join()
	return q
}

// admitQuestion counts a question that the server asks by a request, for the calls that it may belong to and by the minute, and refuses
// one too many.
func (n *connection) admitQuestion(calls []*outCall) error {
	tooMany := &Error{Code: CodeInternalError, Message: "the person has been asked too much"}
	for _, call := range calls {
		if err := n.client.admitQuestions(call, 1); err != nil {
			n.client.log.Warn("mcp: a question was not put", "server", n.client.origin, "err", err)
			return tooMany
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := time.Now(); now.Sub(n.askedSince) >= time.Minute {
		n.askedSince, n.asked = now, 0
	}
	if n.asked++; n.asked > n.client.opts.MaxQuestions {
		return tooMany
	}
	return nil
}

// answer serves one request of the server.
func (n *connection) answer(ctx context.Context, req *jsonrpc.Message, q *inquiry) *jsonrpc.Message {
	var (
		raw json.RawMessage
		err error
	)
	handler := n.client.opts.Methods[req.Method]
	switch {
	case req.Method == MethodPing:
		raw = emptyObject
	case q != nil:
		var a reply
		a, err = q.put(ctx)
		raw = a.result
		if err == nil && q.draft {
			raw, err = interacted(a)
		}
	case handler != nil:
		err = n.client.contain("handler of "+req.Method, func() (err error) {
			raw, err = handler(ctx, req.Params)
			return err
		})
	default:
		err = methodNotFound(req.Method)
	}
	if errors.Is(err, errNoConsent) {
		return &jsonrpc.Message{Error: errNoConsent}
	}
	if err != nil {
		n.client.log.Warn("mcp: a request of the server failed", "server", n.client.origin, "method", req.Method, "err", err)
		return &jsonrpc.Message{Error: wireError(err)}
	}
	return &jsonrpc.Message{Result: raw}
}

// admit notes a request of the server as being answered.
func (n *connection) admit(id jsonrpc.ID, cancel context.CancelCauseFunc) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, used := n.incoming[id]; used || n.lost || len(n.incoming) >= maxIncoming {
		return false
	}
	n.incoming[id] = cancel
	return true
}

func (n *connection) dismiss(id jsonrpc.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.incoming, id)
}

// respondTimeout bounds the sending of a response.
const respondTimeout = time.Minute

// respond sends a response, unless the request was withdrawn meanwhile: nobody waits for it then. Once it is on its way it is not called
// back: over HTTP/1.1 a cancelled exchange takes its connection along, and whatever other request has just been given that.
func (n *connection) respond(ctx context.Context, resp *jsonrpc.Message) {
	select {
	case <-n.ready:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return
	}
	sending, cancel := context.WithTimeout(n.client.base, respondTimeout)
	defer cancel()
	if err := n.link.Send(sending, resp); err != nil && n.client.base.Err() == nil {
		n.client.log.Warn("mcp: answering the server", "server", n.client.origin, "err", err)
	}
}
