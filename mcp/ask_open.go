package mcp

import (
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"weak"
)

// openURLs are the URL questions that were asked of handshake-era sessions, to tell of their completion. The newest are kept: a client
// copes without being told.
type openURLs struct {
	mu    sync.Mutex
	byID  map[string]*openURL
	order []string // oldest first
}

// openURL is one of them.
type openURL struct {
	session weak.Pointer[Session]
	draft   bool          // asked in the User Interaction draft: only who tracks it is told
	done    chan struct{} // closed when it is complete
}

const maxOpenURLs = 10_000

func (o *openURLs) add(id string, s *Session, draft bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byID == nil {
		o.byID = make(map[string]*openURL)
	}
	if _, again := o.byID[id]; !again {
		o.order = append(o.order, id)
	}
	o.byID[id] = &openURL{session: weak.Make(s), draft: draft, done: make(chan struct{})}
	for len(o.order) > maxOpenURLs {
		delete(o.byID, o.order[0])
		o.order = o.order[1:]
	}
}

// complete marks a question as complete and returns it; nil when there is nobody to tell.
func (o *openURLs) complete(id string) *openURL {
	o.mu.Lock()
	defer o.mu.Unlock()
	u := o.byID[id]
	if u == nil {
		return nil
	}
	select {
	case <-u.done:
		return nil
	default:
	}
	close(u.done)
	return u
}

// find returns a question that was asked of the session.
func (o *openURLs) find(id string, s *Session) *openURL {
	o.mu.Lock()
	defer o.mu.Unlock()
	u := o.byID[id]
	if u == nil || s == nil || u.session.Value() != s {
		return nil
	}
	return u
}

// digest names the binding in a store.
func (b *Binding) digest() string {
	sum := sha256.Sum256(b.associatedData(nil))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
