package mcp

import (
	"encoding/json"

	"github.com/seed38e7925c/parley/internal/era"
)

// listPage serves one page of a list. Pages are kept as encoded bytes per revision until something changes; lists that depend on who
// asks are put together from encoded entries each time.
func listPage[E listed](s *Server, c *Call, r *registry[E], member string, kind Kind) (any, error) {
	list := r.snapshot()
	start := 0
	if raw := c.exchange.params.members[paramCursor]; len(raw) > 0 && raw[0] != 'n' {
		cursor, state := stringOf(raw)
		if state != era.Valid {
			return nil, invalidParams("params.cursor must be a string")
		}
		var err error
		if start, err = position(list, cursor, r.get); err != nil {
			return nil, err
		}
	}
	var visible func(E) bool
	if f := s.options.Visible; f != nil {
		visible = func(e E) bool { return f(c, kind, e.id()) }
	}
	size := s.options.PageSize
	key := pageKey{rev: c.rev, start: start}
	keep := visible == nil && start%size == 0
	if keep {
		if p := r.cached(key); p != nil {
			c.encoded = p.result
			return json.RawMessage(p.result), nil
		}
	}
	items, last, more := cut(list, start, size, c.rev, visible)
	raw := s.encodePage(c, member, items, last, more)
	if keep {
		r.keep(key, list, &page{result: raw})
	}
	c.encoded = raw
	return json.RawMessage(raw), nil
}

// cut returns the encoded entries of one page and, if more follow, the cursor that continues after it.
func cut[E listed](list []E, start, size int, rev Revision, visible func(E) bool) (items [][]byte, cursor string, more bool) {
	for i := start; i < len(list); i++ {
		if visible != nil && !visible(list[i]) {
			continue
		}
		enc := list[i].item(rev)
		if enc == nil {
			continue
		}
		if len(items) == size {
			return items, cursor, true
		}
		items = append(items, enc)
		if len(items) == size {
			cursor = encodeCursor(list[i])
		}
	}
	return items, "", false
}

// encodePage puts a list result together, stamps included.
func (s *Server) encodePage(c *Call, member string, items [][]byte, cursor string, more bool) []byte {
	rules := c.rev.Rules()
	n := len(s.stamp.complete) + len(s.stamp.hints) + len(member) + len(cursor) + 64
	for _, item := range items {
		n += len(item) + 1
	}
	dst := append(make([]byte, 0, n), '{', '"')
	dst = append(dst, member...)
	dst = append(dst, `":[`...)
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, item...)
	}
	dst = append(dst, ']')
	if more {
		dst = append(dst, `,"nextCursor":`...)
		dst = appendText(dst, cursor)
	}
	if rules.CacheHints {
		dst = append(append(dst, ','), s.stamp.hints...)
	}
	if rules.ResultType {
		dst = append(append(dst, ','), s.stamp.complete...)
	}
	return append(dst, '}')
}

// visible reports whether the caller may know of something.
func (s *Server) visible(c *Call, kind Kind, name string) bool {
	return s.options.Visible == nil || s.options.Visible(c, kind, name)
}
