package mcphttp

import (
	"math/rand/v2"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
)

// A watch finds out what takes longer than a fixed time. All that it holds has the same time, so what came first is due first, and one
// timer serves all. What ends sooner, which is nearly everything, costs two short locks and touches no timer; those of a connection
// (its deadlines) cost twenty times as much.
type watch struct {
	wait  time.Duration // nothing is watched unless it is above zero
	base  time.Time     // dues count from here
	parts [watchParts]watchPart
}

// watchParts keeps processors out of each other's way.
const watchParts = 16

type watchPart struct {
	mu          sync.Mutex
	first, last *watched
	timer       *time.Timer
	armed       bool // the timer will ring
	_           [24]byte
}

// watched is something that a watch holds.
type watched struct {
	part       *watchPart // its holder's own; nil before the first time
	due        time.Duration
	prev, next *watched
	s          *sink
	what       doing
	in         bool
}

// doing says what a sink may take too long for.
type doing uint8

const (
	reading doing = iota
	writing
	pausing
)

func newWatch(wait time.Duration) *watch { return &watch{wait: wait, base: time.Now()} }

// begin has x watched until end. Who began it calls end, also when it is overdue.
func (w *watch) begin(x *watched, s *sink, what doing) {
	if w.wait <= 0 {
		return
	}
	x.s, x.what = s, what
	if x.part == nil {
		x.part = &w.parts[rand.Uint32()%watchParts]
	}
	p := x.part
	p.mu.Lock()
	defer p.mu.Unlock()
	x.due = time.Since(w.base) + w.wait
	p.add(x)
	if p.armed {
		return
	}
	p.armed = true
	if p.timer == nil {
		p.timer = time.AfterFunc(w.wait, func() { w.ring(p) })
		return
	}
	p.timer.Reset(w.wait)
}

// end stops watching x, and reports whether it became overdue. When it returns nothing is done about that any more.
func (w *watch) end(x *watched) (overdue bool) {
	p := x.part
	if p == nil {
		return false
	}
	x.part = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	overdue = !x.in
	p.remove(x)
	return overdue
}

// ring tells what is overdue.
func (w *watch) ring(p *watchPart) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Since(w.base)
	for x := p.first; x != nil && x.due <= now; x = p.first {
		p.remove(x)
		x.s.overdue(x.what)
	}
	if p.armed = p.first != nil; p.armed {
		p.timer.Reset(p.first.due - now)
	}
}

// add appends x, or moves it to the end.
func (p *watchPart) add(x *watched) {
	p.remove(x)
	if x.prev = p.last; x.prev == nil {
		p.first = x
	} else {
		x.prev.next = x
	}
	p.last, x.in = x, true
}

func (p *watchPart) remove(x *watched) {
	if !x.in {
		return
	}
	if x.prev == nil {
		p.first = x.next
	} else {
		x.prev.next = x.next
	}
	if x.next == nil {
		p.last = x.prev
	} else {
		x.next.prev = x.prev
	}
	x.prev, x.next, x.in = nil, nil, false
}

// past is a deadline that ends at once what waits for it.
var past = time.Unix(1, 0)

// overdue is called by the watch, with the sink's response still lent to the handler. It must not wait for anything. Where a deadline
// cannot be set (tests, some middleware) there is no bound.
func (s *sink) overdue(what doing) {
	switch what {
	case reading:
		_ = http.NewResponseController(s.w).SetReadDeadline(past) // see above
	case writing:
		_ = http.NewResponseController(s.w).SetWriteDeadline(past) // see above
	case pausing:
		s.h.startPinger(s)
	}
}

// plainType is the type of the responses of net/http's own HTTP/1 server, once one was seen.
var plainType atomic.Pointer[reflect.Type]

// isPlain reports whether w is a response of net/http's own HTTP/1 server, with no middleware around it.
func isPlain(w http.ResponseWriter) bool {
	t := reflect.TypeOf(w)
	if known := plainType.Load(); known != nil {
		return *known == t
	}
	if t.Kind() != reflect.Pointer || t.Elem().PkgPath() != "net/http" || t.Elem().Name() != "response" {
		return false
	}
	plainType.Store(&t)
	return true
}
