package mcp

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/internal/peer"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// audience is everybody who is told of changes. Telling never waits for anybody: it marks, and each listener's own goroutine sends.
type audience struct {
	mu        sync.RWMutex
	listeners map[*listener]struct{}
	byPeer    peer.Counts // of listeners
	sessions  map[*Session]struct{}
	over      bool
	bell      bell
}

// A bell says when those who have something to tell are woken, all at the same time: shortly after the first change for some time,
// and from then on in intervals as long as there are changes.
type bell struct {
	mu   sync.Mutex
	set  bool
	rung time.Time
}

// settleTime is how long the first change waits for those that are made together with it.
const settleTime = time.Millisecond

// changed tells everybody that a list has changed.
func (s *Server) changed(c change) {
	if s.audience.mark(c) {
		s.ring()
	}
}

// mark notes a change for everybody whom it concerns, and reports whether there is anybody.
func (a *audience) mark(c change) (concerned bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for l := range a.listeners {
		if l.wants&c != 0 {
			l.feed.change(c)
			concerned = true
		}
	}
	for ss := range a.sessions {
		ss.change(c)
		concerned = true
	}
	return concerned
}

// ring sees to it that those who have something to tell are woken soon.
func (s *Server) ring() {
	interval := s.options.NoticeDelay
	if interval <= 0 {
		s.audience.rouse()
		return
	}
	b := &s.audience.bell
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.set {
		return
	}
	b.set = true
	time.AfterFunc(max(min(settleTime, interval), interval-time.Since(b.rung)), func() {
		b.mu.Lock()
		b.set, b.rung = false, time.Now()
		b.mu.Unlock()
		s.audience.rouse()
	})
}

// rouse wakes everybody who has something to tell.
func (a *audience) rouse() {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for l := range a.listeners {
		l.feed.rouse()
	}
	for ss := range a.sessions {
		ss.rouse()
	}
}

// ResourceUpdated tells clients that subscribed to the resource that it has changed. Who subscribed to a resource that uri lies
// below (uri continues it after a slash) is told as well. It does not wait for any client, and updates of one resource in quick
// succession are told once.
func (s *Server) ResourceUpdated(uri string) {
	if s.audience.markResource(uri) {
		s.ring()
	}
}

// markResource notes an update for everybody who subscribed to it, and reports whether there is anybody.
func (a *audience) markResource(uri string) (concerned bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for l := range a.listeners {
		if subscribed(l.resources, uri) {
			l.feed.update(uri)
			concerned = true
		}
	}
	for ss := range a.sessions {
		concerned = ss.update(uri) || concerned
	}
	return concerned
}

// subscribed reports whether a set of resources holds uri or something that it lies below.
func subscribed(set map[string]struct{}, uri string) bool {
	if len(set) == 0 {
		return false
	}
	if _, ok := set[uri]; ok {
		return true
	}
	for i := len(uri) - 1; i > 0; i-- {
		if uri[i] != '/' {
			continue
		}
		if _, ok := set[uri[:i]]; ok {
			return true
		}
		if _, ok := set[uri[:i+1]]; ok {
			return true
		}
	}
	return false
}

// addListener lets a listener in, if there is room and the server is not going away.
func (a *audience) addListener(l *listener, o *ServerOptions) *Error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over:
		return errShuttingDown
	case len(a.listeners) >= o.MaxListeners:
		return &Error{Code: CodeInternalError, Message: "too many subscriptions are open at this server; try again later"}
	case a.byPeer.Full(l.peer, o.MaxListenersPerPeer):
		return &Error{Code: CodeInternalError, Message: "you have too many subscriptions open at this server; end some of them"}
	}
	a.byPeer.Add(l.peer)
	if a.listeners == nil {
		a.listeners = make(map[*listener]struct{})
	}
	a.listeners[l] = struct{}{}
	return nil
}

// removeListener lets a listener out.
func (a *audience) removeListener(l *listener) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, found := a.listeners[l]; found {
		delete(a.listeners, l)
		a.byPeer.Remove(l.peer)
	}
}

// addSession lets a session in.
func (a *audience) addSession(ss *Session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions == nil {
		a.sessions = make(map[*Session]struct{})
	}
	a.sessions[ss] = struct{}{}
}

// removeSession lets a session out.
func (a *audience) removeSession(ss *Session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.sessions, ss)
}

// end tells every listener and session that there is nothing more to come.
func (a *audience) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	for l := range a.listeners {
		l.feed.end()
	}
	for ss := range a.sessions {
		ss.end()
	}
}

// changeNotices are the methods of list change notices.
var changeNotices = []struct {
	change change
	method string
}{
	{toolsChanged, NotificationToolsListChanged},
	{promptsChanged, NotificationPromptsListChanged},
	{resourcesChanged, NotificationResourcesListChanged},
}

// hide takes out the updates of what the caller may not know of.
func (b *batch) hide(s *Server, c *Call) {
	if s.options.Visible != nil {
		b.updated = slices.DeleteFunc(b.updated, func(uri string) bool { return !s.tells(c, uri) })
	}
}

// notices turns what a feed gave out into messages, each with params (an object with members, or nil).
func (b *batch) notices(params json.RawMessage) []*jsonrpc.Message {
	out := b.messages
	for _, n := range changeNotices {
		if b.changes&n.change == 0 {
			continue
		}
		out = append(out, &jsonrpc.Message{Method: n.method, Params: params})
	}
	for _, uri := range b.updated {
		p := appendText([]byte(`{"uri":`), uri)
		if params == nil {
			p = append(p, '}')
		} else {
			p = append(append(p, ','), params[1:]...)
		}
		out = append(out, &jsonrpc.Message{Method: NotificationResourceUpdated, Params: p})
	}
	return out
}
