//go:build !mcp_modern_only

package mcp

import (
	"slices"
	"sync"
	"time"
)

// Bounds of the interactions that are remembered. Beyond them the oldest are forgotten: their clients cope without being told.
const (
	maxInteractions           = 10_000 // of a server
	maxInteractionsPerSession = 64
	maxTrackers               = 4 // requests at one time that wait for one interaction
)

// interactionTable holds the pages that clients of the User Interaction draft were asked to visit, to tell of their completion. Each
// belongs to one session and one principal.
type interactionTable struct {
	mu       sync.Mutex
	byID     map[string]*interaction
	sessions map[string][]*interaction // by scope, oldest first
	order    []*interaction            // oldest first, with some that are gone already
}

// interaction is one of them.
type interaction struct {
	id, scope string
	principal *Principal
	expires   time.Time
	ended     chan struct{} // closed when it is complete, or forgotten

	// guarded by the table
	complete bool
	gone     bool
	trackers int
}

var (
	errNoInteraction = invalidParams("there is no such interaction in this session")
	errTrackedOften  = invalidParams("this interaction is being tracked already")
)

// add enters an interaction. One of the same id is replaced, unless it is the same one, still open.
func (t *interactionTable) add(i *interaction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID, t.sessions = make(map[string]*interaction), make(map[string][]*interaction)
	}
	if old := t.byID[i.id]; old != nil {
		if old.scope == i.scope && !old.complete && time.Now().Before(old.expires) {
			return
		}
		t.forget(old)
	}
	if own := t.sessions[i.scope]; len(own) >= maxInteractionsPerSession {
		t.forget(own[0])
	}
	t.byID[i.id] = i
	t.sessions[i.scope] = append(t.sessions[i.scope], i)
	t.order = append(t.order, i)
	t.trim()
}

// trim forgets what is over, and what is too much. The caller holds mu.
func (t *interactionTable) trim() {
	now := time.Now()
	for len(t.order) > 0 {
		oldest := t.order[0]
		if !oldest.gone {
			if now.Before(oldest.expires) && len(t.byID) <= maxInteractions {
				break
			}
			t.forget(oldest)
		}
		t.order = t.order[1:]
	}
	if len(t.order) > 2*maxInteractions {
		t.order = slices.DeleteFunc(t.order, func(i *interaction) bool { return i.gone })
	}
}

// forget removes an interaction; whoever tracks it is told that there is none. The caller holds mu.
func (t *interactionTable) forget(i *interaction) {
	if i.gone {
		return
	}
	i.gone = true
	if !i.complete {
		close(i.ended)
	}
	delete(t.byID, i.id)
	own := slices.DeleteFunc(t.sessions[i.scope], func(other *interaction) bool { return other == i })
	if len(own) == 0 {
		delete(t.sessions, i.scope)
		return
	}
	t.sessions[i.scope] = own
}

// remove forgets an interaction that the person did not agree to.
func (t *interactionTable) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.byID[id]; i != nil {
		t.forget(i)
	}
}

// drop forgets all interactions of a session that has ended.
func (t *interactionTable) drop(scope string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, i := range slices.Clone(t.sessions[scope]) {
		t.forget(i)
	}
}

// finish marks an interaction as complete; it reports false if there is none that is open.
func (t *interactionTable) finish(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.byID[id]
	if i == nil || i.complete || !time.Now().Before(i.expires) {
		return false
	}
	i.complete = true
	close(i.ended)
	return true
}

// completed reports whether an interaction was completed.
func (t *interactionTable) completed(i *interaction) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return i.complete
}

// track finds an interaction of the session and the principal, and counts one more who waits for it.
func (t *interactionTable) track(id, scope string, p *Principal) (*interaction, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.byID[id]
	switch {
	case i == nil, i.scope != scope, !i.principal.Same(p), !time.Now().Before(i.expires):
		return nil, errNoInteraction
	case i.trackers >= maxTrackers:
		return nil, errTrackedOften
	}
	i.trackers++
	return i, nil
}

func (t *interactionTable) untrack(i *interaction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i.trackers--
}
