//go:build !mcp_modern_only

package mcphttp

import (
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/internal/peer"
	"github.com/seed38e7925c/parley/mcp"
)

// A session is a session of the handshake era over HTTP: what the core keeps of it, and its streams. It has no goroutine.
type session struct {
	owner     *sessions
	id        string
	tag       string // begins the event ids; unlike the id it is no secret
	core      *mcp.Session
	principal *mcp.Principal
	peer      string // under which it is counted
	primes    bool   // streams begin with an event that has only an id
	use       use

	// pumping is held by the request that carries the GET stream.
	pumping sync.Mutex

	mu        sync.Mutex // guards what follows, and the events of the tracks
	tracks    trackList
	getTrack  *track
	lastTrack uint64
	archive   archive // of tracks that have ended
	kept      int     // bytes of events
	over      bool
}

// use is how a session is used. Its lock is taken after that of the table.
type use struct {
	mu       sync.Mutex
	active   int       // HTTP requests in progress, streams included
	running  int       // JSON-RPC requests being served, which may outlive their HTTP requests
	lastUsed time.Time // when the last of them ended
	returned bool      // the client has come back after initialize
}

// begin counts n JSON-RPC requests; it reports false when that would be too many in progress.
func (u *use) begin(n, limit int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running+n > limit {
		return false
	}
	u.running += n
	return true
}

// done ends n JSON-RPC requests.
func (u *use) done(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running -= n
	if u.active == 0 { // otherwise release follows
		u.lastUsed = time.Now()
	}
}

// enter counts an HTTP request.
func (u *use) enter() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.active++
	u.returned = true
}

// release ends an HTTP request.
func (u *use) release() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.active--
	u.lastUsed = time.Now()
}

// closeCore ends what the core keeps of a session.
func (h *Handler) closeCore(core *mcp.Session) {
	if err := core.Close(); err != nil {
		h.opts.Logger.Debug("mcphttp: closing a session", "error", err)
	}
}

// resumable reports whether the session's streams carry event ids.
func (s *session) resumable() bool { return s.owner.opts().ReplayBytes > 0 }

// end closes the session: streams end, and running calls are cancelled.
func (s *session) end() {
	s.mu.Lock()
	s.over = true
	var tracks []*track
	for t := s.tracks.first; t != nil; t = t.next {
		tracks = append(tracks, t)
		s.dropLocked(t, len(t.events))
	}
	for s.archive.len() > 0 {
		s.dropArchivedLocked()
	}
	s.mu.Unlock()
	for _, t := range tracks { // first, so that no client sees what becomes of a cancelled call
		t.end()
	}
	s.owner.h.closeCore(s.core)
}

// sessions is the table of live sessions. Idle ones are swept by one timer, which runs only while there are any.
type sessions struct {
	h    *Handler
	base time.Time    // when the table was made
	kept atomic.Int64 // bytes kept for replay, in all sessions

	mu     sync.RWMutex
	byID   map[string]*session
	byPeer peer.Counts
	timer  *time.Timer // nil while the table is empty
	closed bool
	swept  time.Time
	ending sync.WaitGroup // sessions being ended by the sweep
}

func newSessions(h *Handler) *sessions {
	return &sessions{h: h, base: time.Now(), byID: make(map[string]*session)}
}

func (t *sessions) opts() *SessionOptions { return t.h.opts.Sessions }

// A lack of room for another session.
type lack uint8

const (
	lackNone lack = iota
	lackAll       // there is none for anybody
	lackPeer      // this caller has its share
)

// peerOf is the key under which a caller's sessions are counted.
func peerOf(p *mcp.Principal, remote string) string {
	if p != nil {
		return peer.Named(p.Issuer, p.Subject, p.ClientID)
	}
	return peer.At(remote)
}

// full reports whether there is no room for another session of a caller, after a look at which ones are over.
func (t *sessions) full(key string) lack {
	t.mu.Lock()
	full := t.fullLocked(key)
	tell := full == lackNone || t.closed || time.Since(t.swept) < time.Second
	t.mu.Unlock()
	if tell {
		return full
	}
	t.sweep()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fullLocked(key)
}

func (t *sessions) fullLocked(key string) lack {
	switch {
	case t.closed, len(t.byID) >= t.opts().MaxSessions:
		return lackAll
	case t.byPeer.Full(key, t.opts().MaxSessionsPerPeer):
		return lackPeer
	}
	return lackNone
}

// add makes a session for an established core session, unless there is no room any more.
func (t *sessions) add(core *mcp.Session, p *mcp.Principal, key string) (*session, lack) {
	s := &session{owner: t, id: rand.Text(), tag: rand.Text()[:8], core: core, principal: p, peer: key, use: use{lastUsed: time.Now()}}
	s.primes = s.resumable() && core.Revision().Rules().HTTP.Priming
	t.mu.Lock()
	defer t.mu.Unlock()
	if full := t.fullLocked(key); full != lackNone {
		return nil, full
	}
	t.byID[s.id] = s
	t.byPeer.Add(key)
	t.armLocked()
	return s, lackNone
}

// dropLocked takes a session out of the table.
func (t *sessions) dropLocked(s *session) {
	if t.byID[s.id] == s {
		delete(t.byID, s.id)
		t.byPeer.Remove(s.peer)
	}
}

// acquire finds a session for its owner and marks it as in use until its use is released.
func (t *sessions) acquire(id string, p *mcp.Principal) *session {
	t.mu.RLock()
	defer t.mu.RUnlock() // until it is in use, so that it is not swept
	s := t.byID[id]
	if s == nil || !s.principal.Same(p) || s.core.Closed() {
		return nil
	}
	s.use.enter()
	return s
}

// remove takes a session out of the table; the caller ends it.
func (t *sessions) remove(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropLocked(s)
}

// armLocked starts the sweeping timer.
func (t *sessions) armLocked() {
	if t.timer != nil || len(t.byID) == 0 || t.closed {
		return
	}
	t.timer = time.AfterFunc(t.interval(), func() {
		t.mu.Lock()
		t.timer = nil
		t.mu.Unlock()
		t.sweep()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.armLocked()
	})
}

// interval is how often the table is looked through.
func (t *sessions) interval() time.Duration {
	o := t.opts()
	return max(min(o.IdleTimeout, o.ReplayFor, unusedSessionExpiry)/4, time.Second)
}

// sweep ends the sessions that are over and forgets streams that were kept long enough.
func (t *sessions) sweep() {
	now := time.Now()
	var over, live []*session
	t.mu.Lock()
	t.swept = now
	for _, s := range t.byID {
		if !t.overLocked(s, now) {
			live = append(live, s)
			continue
		}
		t.dropLocked(s)
		over = append(over, s)
	}
	t.ending.Add(1)
	t.mu.Unlock()
	defer t.ending.Done()
	for _, s := range over {
		s.end()
	}
	for _, s := range live {
		s.forgetOld(now.Add(-t.opts().ReplayFor))
	}
}

// overLocked reports whether a session has expired. A call that runs on without its client is use, unless it is the client that it
// waits for.
func (t *sessions) overLocked(s *session, now time.Time) bool {
	if s.core.Closed() {
		return true
	}
	u := &s.use
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.active > 0 || u.running > 0 && !s.core.Waiting() {
		return false
	}
	idle := now.Sub(u.lastUsed)
	return idle >= t.opts().IdleTimeout || !u.returned && idle >= unusedSessionExpiry
}

// close ends all sessions; none can be added afterwards.
func (t *sessions) close() {
	t.mu.Lock()
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	all := t.byID
	t.byID, t.byPeer = make(map[string]*session), peer.Counts{}
	t.mu.Unlock()
	for _, s := range all {
		s.end()
	}
	t.ending.Wait()
}
