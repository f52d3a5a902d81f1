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
	done    bool // it was completed
}

const maxOpenURLs = 10_000

func (o *openURLs) add(id string, s *Session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byID == nil {
		o.byID = make(map[string]*openURL)
	}
	if _, again := o.byID[id]; !again {
		o.order = append(o.order, id)
	}
	o.byID[id] = &openURL{session: weak.Make(s)}
	for len(o.order) > maxOpenURLs {
		delete(o.byID, o.order[0])
		o.order = o.order[1:]
	}
}

// complete marks a question as complete and returns the session to tell; nil when there is nobody.
func (o *openURLs) complete(id string) *Session {
	o.mu.Lock()
	defer o.mu.Unlock()
	u := o.byID[id]
	if u == nil || u.done {
		return nil
	}
	u.done = true
	return u.session.Value()
}

// digest names the binding in a store.
func (b *Binding) digest() string {
	sum := sha256.Sum256(b.appendAssociated(nil, nil))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
