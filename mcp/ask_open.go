package mcp

import (
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"weak"
)

// openURLs are the URL questions that were asked of handshake-era sessions and not reported complete. The newest are kept: a client
// copes without the notice.
type openURLs struct {
	mu       sync.Mutex
	sessions map[string]weak.Pointer[Session]
	order    []string // oldest first
}

const maxOpenURLs = 10_000

func (o *openURLs) add(id string, s *Session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sessions == nil {
		o.sessions = make(map[string]weak.Pointer[Session])
	}
	if _, again := o.sessions[id]; !again {
		o.order = append(o.order, id)
	}
	o.sessions[id] = weak.Make(s)
	for len(o.order) > maxOpenURLs {
		delete(o.sessions, o.order[0])
		o.order = o.order[1:]
	}
}

// take returns the session that was asked, once; nil when there is none any more.
func (o *openURLs) take(id string) *Session {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, ok := o.sessions[id]
	if !ok {
		return nil
	}
	delete(o.sessions, id)
	return p.Value()
}

// digest names the binding in a store.
func (b *Binding) digest() string {
	sum := sha256.Sum256(b.associatedData(nil))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
