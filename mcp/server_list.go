package mcp

import (
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// listPage serves one page of a list. Pages are kept as encoded bytes per revision until something changes; where it depends on the
// caller what it sees, for each set of entries that somebody saw.
func listPage[E listed](s *Server, c *Call, r *registry[E], member string, kind Kind) (any, error) {
	list := r.snapshot()
	start := 0
	if raw := c.exchange.params.member(paramCursor); len(raw) > 0 && raw[0] != 'n' {
		cursor, state := stringOf(raw)
		if state != era.Valid {
			return nil, invalidParams("params.cursor must be a string")
		}
		get := func(id string) (E, bool) { // a cursor can be made up: it must not find what is hidden
			e, ok := r.get(id)
			return e, ok && s.visible(c, kind, id)
		}
		var err error
		if start, err = position(list, cursor, get); err != nil {
			return nil, err
		}
	}
	size := s.options.PageSize
	key, keep := pageKey{rev: c.rev, start: start}, start%size == 0
	var shown *selection
	if f := s.options.Visible; f != nil {
		shown, keep = selectEntries(list, start, size, c.rev, func(e E) bool { return f(c, kind, e.id()) }), true
		key.view = shown.key()
	}
	if keep {
		if p := r.cached(key); p != nil {
			c.encoded = p.result
			return json.RawMessage(p.result), nil
		}
	}
	if shown == nil {
		shown = selectEntries(list, start, size, c.rev, func(E) bool { return true })
	}
	raw := encodePage(s, c, member, list, shown)
	if keep {
		r.keep(key, list, &page{result: raw})
	}
	c.encoded = raw
	return raw, nil
}

// selection says which entries of a list are on one page.
type selection struct {
	start int    // index in the list
	bits  []byte // from start on
	last  int    // index in the list
	more  bool
}

// key is different for different selections that begin at the same place; it is never empty.
func (s *selection) key() string {
	if s.more {
		return string(append(s.bits, 1))
	}
	return string(append(s.bits, 0))
}

// has reports whether the i-th entry after the start is on the page.
func (s *selection) has(i int) bool { return s.bits[i/8]&(1<<(i%8)) != 0 }

// selectEntries selects the entries of one page.
func selectEntries[E listed](list []E, start, size int, rev Revision, visible func(E) bool) *selection {
	s := &selection{start: start, bits: make([]byte, 0, min(size, len(list)-start)/8+2), last: start - 1}
	n := 0
	for i, e := range list[start:] {
		if !visible(e) || e.item(rev) == nil {
			continue
		}
		if n == size {
			s.more = true
			break
		}
		for len(s.bits) <= i/8 {
			s.bits = append(s.bits, 0)
		}
		s.bits[i/8] |= 1 << (i % 8)
		s.last = start + i
		n++
	}
	return s
}

// encodePage puts a list result together, stamps included.
func encodePage[E listed](s *Server, c *Call, member string, list []E, shown *selection) json.RawMessage {
	rules := c.rev.Rules()
	n := len(s.stamp.complete) + len(s.stamp.hints) + len(member) + 256
	for i, e := range list[shown.start : shown.last+1] {
		if shown.has(i) {
			n += len(e.item(c.rev)) + 1
		}
	}
	dst := append(make([]byte, 0, n), '{', '"')
	dst = append(dst, member...)
	dst = append(dst, `":[`...)
	first := true
	for i, e := range list[shown.start : shown.last+1] {
		if !shown.has(i) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, e.item(c.rev)...)
	}
	dst = append(dst, ']')
	if shown.more {
		dst = append(dst, `,"nextCursor":`...)
		dst = appendText(dst, encodeCursor(list[shown.last]))
	}
	if rules.CacheHints {
		dst = append(append(dst, ','), s.stamp.hints...)
	}
	if rules.ResultType {
		dst = append(append(dst, ','), s.stamp.complete...)
	}
	return jsonrpc.Clean(append(dst, '}'))
}

// tells reports whether the caller may hear that the resource has changed: a subscription may be to what lies above it, and older than
// the resource or its being hidden.
func (s *Server) tells(c *Call, uri string) (told bool) {
	defer func() {
		if v := recover(); v != nil { // nothing else would catch it on the stream of a session
			s.log.Error("mcp: ServerOptions.Visible panicked", "error", fmt.Sprint(v), "stack", string(debug.Stack()))
			told = false
		}
	}()
	if _, ok := s.resources.get(uri); ok {
		return s.visible(c, KindResource, uri)
	}
	matched := false
	for _, e := range s.templates.snapshot() {
		if !e.match.matches(uri) {
			continue
		}
		if s.visible(c, KindResourceTemplate, e.id()) {
			return true
		}
		matched = true
	}
	return !matched
}

// visible reports whether the caller may know of something.
func (s *Server) visible(c *Call, kind Kind, name string) bool {
	return s.options.Visible == nil || s.options.Visible(c, kind, name)
}
