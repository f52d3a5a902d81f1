package mcp

import (
	"encoding/base64"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// listed is what a registry holds: one named thing that a list method shows.
type listed interface {
	// id names the entry within its registry and is what cursors remember.
	id() string
	// order is the place of the entry in the list; it never changes and is never given out again.
	order() *int64
	// item returns the entry as it stands in a list of the revision; nil leaves it out.
	item(rev Revision) []byte
}

// A registry keeps entries in the order of their registration. Its snapshots are immutable, so that a list, a lookup and a change
// never wait for each other for longer than a map operation takes.
type registry[E listed] struct {
	mu     sync.RWMutex
	byID   map[string]E
	list   []E // ascending by order; replaced, never changed in place, once handed out
	next   int64
	ever   atomic.Bool // something was registered at some time
	dirty  bool        // list is behind byID
	pages  map[pageKey]*page
	views  map[pageKey]*page // pages of which some callers see a part
	viewed int               // bytes in views
}

// pageKey names one page of one list. Pages that begin elsewhere than where paging from the start leads are not kept.
type pageKey struct {
	rev   Revision
	start int
	view  string // which entries are in it, where not everybody sees all of them; see selection
}

// Bounds of what is kept of lists that depend on who asks. Callers with the same rights see the same, so there are few.
const (
	maxViews     = 64
	maxViewBytes = 16 << 20
)

// A page is one encoded list result.
type page struct {
	result []byte
}

// errDuplicate refuses a name that is taken.
type errDuplicate struct{ name string }

func (e errDuplicate) Error() string {
	return fmt.Sprintf("%q is registered already; remove it first to replace it", e.name)
}

// add registers e, or says that its id is taken.
func (r *registry[E]) add(e E) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.byID[e.id()]; taken {
		return errDuplicate{e.id()}
	}
	if r.byID == nil {
		r.byID = make(map[string]E)
	}
	r.next++
	*e.order() = r.next
	r.byID[e.id()] = e
	r.ever.Store(true)
	if !r.dirty {
		r.list = append(r.list, e) // beyond the end of every snapshot handed out before
	}
	r.forgetPages()
	return nil
}

// remove takes entries out and returns how many there were.
func (r *registry[E]) remove(ids ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, id := range ids {
		if _, ok := r.byID[id]; ok {
			delete(r.byID, id)
			n++
		}
	}
	if n > 0 {
		r.dirty = true
		r.forgetPages()
	}
	return n
}

// get looks an entry up.
func (r *registry[E]) get(id string) (E, bool) {
	r.mu.RLock()
	e, ok := r.byID[id]
	r.mu.RUnlock()
	return e, ok
}

// everUsed reports whether anything was ever registered: a capability, once declared, stays.
func (r *registry[E]) everUsed() bool {
	return r.ever.Load()
}

// snapshot returns the entries in order. The slice must not be changed.
func (r *registry[E]) snapshot() []E {
	r.mu.RLock()
	if !r.dirty {
		defer r.mu.RUnlock()
		return r.list
	}
	r.mu.RUnlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dirty {
		list := make([]E, 0, len(r.byID))
		for _, e := range r.byID {
			list = append(list, e)
		}
		sort.Slice(list, func(i, j int) bool { return *list[i].order() < *list[j].order() })
		r.list, r.dirty = list, false
	}
	return r.list
}

// forgetPages drops what was encoded, because something has changed.
func (r *registry[E]) forgetPages() { r.pages, r.views, r.viewed = nil, nil, 0 }

// cached returns a page encoded earlier, if nothing has changed since.
func (r *registry[E]) cached(k pageKey) *page {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if k.view != "" {
		return r.views[k]
	}
	return r.pages[k]
}

// keep stores a page that was made from the snapshot list, unless something has changed since.
func (r *registry[E]) keep(k pageKey, list []E, p *page) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dirty || len(list) != len(r.list) || len(list) > 0 && &list[0] != &r.list[0] {
		return
	}
	if k.view != "" {
		r.keepView(k, p)
		return
	}
	if r.pages == nil {
		r.pages = make(map[pageKey]*page)
	}
	r.pages[k] = p
}

// keepView is keep for a page that not everybody sees. When there are too many, all others go.
func (r *registry[E]) keepView(k pageKey, p *page) {
	n := len(k.view) + len(p.result)
	if n > maxViewBytes {
		return
	}
	if r.views == nil || len(r.views) >= maxViews || r.viewed+n > maxViewBytes {
		r.views, r.viewed = make(map[pageKey]*page), 0
	}
	r.views[k] = p
	r.viewed += n
}

// A cursor says after which entry a list goes on. It names the entry, so that it means the same on every replica that registers the
// same things, and carries its place for the case that the entry is gone.
const cursorVersion = "1"

// encodeCursor returns the cursor that continues after e.
func encodeCursor[E listed](e E) string {
	s := cursorVersion + " " + strconv.FormatInt(*e.order(), 10) + " " + e.id()
	return base64.RawURLEncoding.EncodeToString([]byte(s))
}

// position returns the index in list at which the cursor continues.
func position[E listed](list []E, cursor string, get func(string) (E, bool)) (int, error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, errBadCursor
	}
	version, rest, _ := strings.Cut(string(raw), " ")
	place, id, ok := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(place, 10, 64)
	if version != cursorVersion || !ok || err != nil || n < 1 {
		return 0, errBadCursor
	}
	if e, ok := get(id); ok {
		n = *e.order()
	}
	return sort.Search(len(list), func(i int) bool { return *list[i].order() > n }), nil
}
