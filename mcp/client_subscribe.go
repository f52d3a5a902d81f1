package mcp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// The pace at which an interrupted subscription is taken up again.
const (
	firstReopen = 500 * time.Millisecond
	lastReopen  = time.Minute
	steadyAfter = time.Minute // a stream that lasted this long starts the pace anew
)

// errStreamEnded is how a listen stream ends in good order.
var errStreamEnded = errors.New("mcp: the server ended the subscription")

// A Subscription receives changes that a server tells of, until it is closed. Its methods may be called concurrently.
type Subscription struct {
	client  *Client
	want    SubscriptionFilter
	handler func(ctx context.Context, n Notice)
	queue   noticeQueue
	cancel  context.CancelCauseFunc
	done    chan struct{}

	mu        sync.Mutex
	id        jsonrpc.ID              // of the listen request under way (2026-07-28)
	endStream context.CancelCauseFunc // ends it
	ack       chan struct{}
	honored   SubscriptionFilter
	active    bool // acknowledged, and not interrupted since
	ended     bool // the server ended the stream by a notification
	err       error
}

// subscriptions are those of one client.
type subscriptions struct {
	mu   sync.Mutex
	all  []*Subscription
	uris map[string]int // handshake era: how many subscriptions each resource has
}

// Subscribe asks the server to tell of changes, and calls handler with each, one at a time, until the subscription is closed. It
// returns when the server has acknowledged it, or refused: [Subscription.Filter] is what the server honours, which may be less than
// was asked for. ctx bounds the subscribing only. handler may use the client, except for Close; notices of the same change that come
// while it runs are put together.
//
// Since 2026-07-28 this is a subscriptions/listen stream. When it breaks, or the server ends it, it is opened again with growing pauses
// from 500 ms to 1 min; handler is told by [NoticeInterrupted] and [NoticeResumed], and since changes may have been missed, by one
// notice with Gap for everything subscribed to. In the handshake era resources are subscribed to one by one and shared by all
// subscriptions of the client, lists need no request, and both are taken up again when the session or the connection had to be renewed.
func (c *Client) Subscribe(ctx context.Context, f SubscriptionFilter, handler func(ctx context.Context, n Notice)) (*Subscription, error) {
	if handler == nil {
		return nil, errors.New("mcp: Subscribe needs a handler")
	}
	conn, err := c.connection(ctx)
	if err != nil {
		return nil, err
	}
	s := &Subscription{client: c, want: f, handler: handler, done: make(chan struct{}), ack: make(chan struct{})}
	s.want.ResourceSubscriptions = slices.Clone(f.ResourceSubscriptions)
	s.queue.init()
	life, cancel := context.WithCancelCause(c.base)
	s.cancel = cancel
	if !conn.agreed().rules.ListenOnly {
		return c.subscribeEach(ctx, conn, life, s)
	}
	c.subs.add(s)
	failed := make(chan error, 1)
	if !c.spawn(func() { s.run(life, failed) }) {
		c.subs.remove(s)
		cancel(ErrClosed)
		return nil, fmt.Errorf("%w: the client was closed", ErrClosed)
	}
	timer := time.NewTimer(max(c.opts.RequestTimeout, 0))
	defer timer.Stop()
	timeout := timer.C
	if c.opts.RequestTimeout <= 0 {
		timeout = nil
	}
	select {
	case <-s.ack:
		return s, nil
	case err = <-failed:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timeout:
		err = &TimeoutError{What: MethodListen, Limit: "RequestTimeout", After: c.opts.RequestTimeout}
	}
	cancel(err)
	<-s.done
	return nil, err
}

// Filter returns what the server honours, as it last said.
func (s *Subscription) Filter() SubscriptionFilter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.honored
}

// Wait waits until the subscription has ended, by Close or because the server refused to take it up again, and returns why; nil after
// Close. It returns the cause of ctx's end if that comes first.
func (s *Subscription) Wait(ctx context.Context) error {
	select {
	case <-s.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close ends the subscription and waits for its handler, so the handler must not call it. Idempotent.
func (s *Subscription) Close() error {
	s.cancel(errSubscriptionClosed)
	<-s.done
	return nil
}

var errSubscriptionClosed = errors.New("mcp: the subscription was closed")

func (l *subscriptions) add(s *Subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}

func (l *subscriptions) remove(s *Subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(other *Subscription) bool { return other == s })
}

func (l *subscriptions) list() []*Subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// route hands a notification to the subscriptions that it is for. It reports false if it is for none.
func (l *subscriptions) route(n *connection, v Notice, via jsonrpc.ID) bool {
	if !n.agreed().rules.ListenOnly {
		if v.Kind == 0 {
			return false
		}
		taken := false // the handshake era has notices without subscriptions, too
		for _, s := range l.list() {
			taken = s.deliver(v) || taken
		}
		return taken
	}
	id := via
	if raw := memberOf(memberOf(v.Params, "_meta"), MetaSubscriptionID); raw != nil {
		tagged, err := jsonrpc.ParseID(raw)
		if err != nil {
			return false
		}
		id = tagged
	}
	for _, s := range l.list() {
		if s.listensAs(id) {
			s.receive(v)
			return true
		}
	}
	return false
}

// endedByServer deals with notifications/cancelled for a listen stream.
func (l *subscriptions) endedByServer(id jsonrpc.ID) {
	for _, s := range l.list() {
		if s.listensAs(id) {
			s.mu.Lock()
			s.ended = true
			end := s.endStream
			s.mu.Unlock()
			if end != nil {
				end(errStreamEnded)
			}
		}
	}
}

func (s *Subscription) listensAs(id jsonrpc.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.id.IsZero() && s.id == id
}

// receive takes a notification of the subscription's own stream.
func (s *Subscription) receive(v Notice) {
	if v.Method == NotificationAcknowledged {
		var p AcknowledgedParams
		if err := unmarshalJSON(v.Params, &p); err != nil {
			s.client.log.Warn("mcp: the acknowledgement of a subscription cannot be read", "server", s.client.origin, "err", err)
			return
		}
		s.acknowledge(p.Notifications)
		return
	}
	s.deliver(v)
}

// acknowledge notes what the server honours of what was asked for.
func (s *Subscription) acknowledge(f SubscriptionFilter) {
	s.mu.Lock()
	first := !s.active
	s.honored = intersect(s.want, f)
	s.active = true
	if first {
		select {
		case <-s.ack:
		default:
			close(s.ack)
			first = false // the first time: there is no gap
		}
	}
	s.mu.Unlock()
	if first {
		s.resumed()
	}
}

// resumed tells the handler that changes may have been missed.
func (s *Subscription) resumed() {
	s.push(Notice{Kind: NoticeResumed})
	f := s.Filter()
	for kind, on := range map[string]bool{
		NotificationToolsListChanged:     f.ToolsListChanged,
		NotificationPromptsListChanged:   f.PromptsListChanged,
		NotificationResourcesListChanged: f.ResourcesListChanged,
	} {
		if on {
			s.client.invalidate(kind, "")
			s.push(Notice{Kind: kindOf(kind), Method: kind, Gap: true})
		}
	}
	for _, uri := range f.ResourceSubscriptions {
		s.client.invalidate(NotificationResourceUpdated, uri)
		s.push(Notice{Kind: NoticeResource, Method: NotificationResourceUpdated, URI: uri, Gap: true})
	}
}

// deliver hands a change to the handler, if it is one that was asked for and acknowledged, and reports whether it was.
func (s *Subscription) deliver(v Notice) bool {
	s.mu.Lock()
	f, ok := &s.honored, s.active
	switch v.Kind {
	case NoticeTools:
		ok = ok && f.ToolsListChanged
	case NoticePrompts:
		ok = ok && f.PromptsListChanged
	case NoticeResources:
		ok = ok && f.ResourcesListChanged
	case NoticeResource:
		ok = ok && slices.ContainsFunc(f.ResourceSubscriptions, func(base string) bool { return underURI(base, v.URI) })
	default:
		v.Kind = NoticeOther
		ok = ok && (len(f.TaskIDs) > 0 || len(f.Other) > 0)
	}
	s.mu.Unlock()
	if ok {
		s.push(v)
	}
	return ok
}

func (s *Subscription) push(v Notice) {
	key := v.Method + " " + v.URI
	if v.Kind >= NoticeOther {
		key = "" // these are not the same when they look it
	}
	s.queue.push(key, func(ctx context.Context) {
		if err := s.client.contain("subscription handler", func() error { s.handler(ctx, v); return nil }); err != nil {
			s.client.log.Warn("mcp: a subscription handler failed", "server", s.client.origin, "err", err)
		}
	})
}

// intersect returns the part of want that the server honours.
func intersect(want, have SubscriptionFilter) SubscriptionFilter {
	out := SubscriptionFilter{
		ToolsListChanged:     want.ToolsListChanged && have.ToolsListChanged,
		PromptsListChanged:   want.PromptsListChanged && have.PromptsListChanged,
		ResourcesListChanged: want.ResourcesListChanged && have.ResourcesListChanged,
		Other:                have.Other,
	}
	for _, uri := range want.ResourceSubscriptions {
		if slices.Contains(have.ResourceSubscriptions, uri) {
			out.ResourceSubscriptions = append(out.ResourceSubscriptions, uri)
		}
	}
	for _, id := range want.TaskIDs {
		if slices.Contains(have.TaskIDs, id) {
			out.TaskIDs = append(out.TaskIDs, id)
		}
	}
	return out
}

// run keeps a listen stream open. failed gets the error of the first opening.
func (s *Subscription) run(ctx context.Context, failed chan<- error) {
	serving := make(chan struct{})
	go func() { // waited for below
		defer close(serving)
		s.queue.run()
	}()
	err := s.keepOpen(ctx)
	s.client.subs.remove(s)
	s.queue.stop()
	<-serving
	s.finish(err)
	failed <- err
}

func (s *Subscription) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(err, errSubscriptionClosed) {
		s.err = err
	}
	s.active = false
	close(s.done)
}

// keepOpen opens the stream again and again until ctx ends or the server refuses it for good.
func (s *Subscription) keepOpen(ctx context.Context) error {
	pause := firstReopen
	for {
		began := time.Now()
		err := s.listen(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		acked := s.wasAcked()
		if !acked || refusedForGood(err) {
			return err
		}
		if time.Since(began) >= steadyAfter {
			pause = firstReopen
		}
		s.interrupted(err)
		if err := sleep(ctx, pause-rand.N(pause/5)); err != nil {
			return err
		}
		pause = min(2*pause, lastReopen)
	}
}

func (s *Subscription) wasAcked() bool {
	select {
	case <-s.ack:
		return true
	default:
		return false
	}
}

// interrupted notes, and tells once, that the stream is not open.
func (s *Subscription) interrupted(err error) {
	s.mu.Lock()
	was := s.active
	s.active = false
	s.mu.Unlock()
	if !was {
		return
	}
	if errors.Is(err, errStreamEnded) {
		err = nil
	}
	s.client.log.Info("mcp: a subscription was interrupted", "server", s.client.origin, "err", err)
	s.push(Notice{Kind: NoticeInterrupted, Err: err})
}

// refusedForGood reports whether asking again is of no use.
func refusedForGood(err error) bool {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e.Code != CodeInternalError
	}
	var t *TransportError
	return errors.As(err, &t) && (t.Status == statusUnauthorized || t.Status == statusForbidden)
}

// listen opens one stream and returns when it has ended.
func (s *Subscription) listen(ctx context.Context) error {
	conn, err := s.client.connection(ctx)
	if err != nil {
		return err
	}
	terms := conn.agreed()
	if !terms.rules.ListenOnly {
		return &Error{Code: CodeMethodNotFound, Message: "the server now speaks " + terms.rev.String() + "; subscribe again"}
	}
	params, err := marshalJSON(&ListenParams{Notifications: s.want})
	if err != nil {
		return err
	}
	call := &outCall{req: &ClientRequest{Method: MethodListen, Params: params, Options: &RequestOptions{}}, asker: s.client.opts.Interactor}
	call.id = s.client.newID()
	if params, err = s.client.legParams(terms, call, nil); err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s.mu.Lock()
	s.id, s.ended, s.endStream = call.id, false, end
	s.mu.Unlock()
	resp, err := conn.link.RoundTrip(ctx, &Outgoing{ID: call.id, Method: MethodListen, Params: params, Revision: terms.rev})
	s.mu.Lock()
	ended := s.ended
	s.id, s.endStream = jsonrpc.ID{}, nil
	s.mu.Unlock()
	switch {
	case ended:
		return errStreamEnded
	case err != nil:
		return err
	case resp.Error != nil:
		return resp.Error
	}
	return errStreamEnded
}
