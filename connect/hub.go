package connect

import (
	"hash/maphash"
	"sync"
)

// A hub knows who in this process waits for which interaction.
type hub struct {
	mu   sync.Mutex
	byID map[string][]*waiter
}

// A waiter waits for one interaction.
type waiter struct {
	id   string
	woke chan struct{} // holds one: the interaction may have changed since it was looked at last
	call func()        // called, if not nil, instead; it must return at once
}

func newHub() *hub { return &hub{byID: make(map[string][]*waiter)} }

// add begins to wait. What happens from then on is not missed.
func (h *hub) add(id string, call func()) *waiter {
	w := &waiter{id: id, call: call}
	if call == nil {
		w.woke = make(chan struct{}, 1)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.byID[id] = append(h.byID[id], w)
	return w
}

// remove ends a wait.
func (h *hub) remove(w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.byID[w.id]
	for i, other := range all {
		if other == w {
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
			break
		}
	}
	if len(all) == 0 {
		delete(h.byID, w.id)
		return
	}
	h.byID[w.id] = all
}

// wake wakes whoever waits for an interaction.
func (h *hub) wake(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.byID[id] {
		w.wake()
	}
}

// wakeAll wakes everybody: something may have been missed.
func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, all := range h.byID {
		for _, w := range all {
			w.wake()
		}
	}
}

func (w *waiter) wake() {
	if w.call != nil {
		w.call()
		return
	}
	select {
	case w.woke <- struct{}{}:
	default:
	}
}

// stripes are locks for keys, a fixed number of them.
type stripes [64]sync.Mutex

var stripeSeed = maphash.MakeSeed()

// lock locks a key and returns what unlocks it.
func (s *stripes) lock(key string) (unlock func()) {
	m := &s[maphash.String(stripeSeed, key)%uint64(len(s))]
	m.Lock()
	return m.Unlock
}
