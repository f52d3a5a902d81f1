package schema

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// members is the state of walking one object.
type members struct {
	seen    []uint64 // bit set of members of the rule that occurred
	next    int      // index of the member that probably comes next
	kept    int      // members that stay
	keptEnd int      // end of the last one, or just after the brace
	dropped bool     // members were dropped since keptEnd
}

func (w *walker) object(r *Rule, i int) int {
	if w.depth >= MaxDepth {
		w.tooDeep()
		return malformed
	}
	w.depth++
	var bits [2]uint64
	m := members{seen: bits[:], keptEnd: i + 1}
	if n := len(r.Members.List); n > 64*len(bits) {
		m.seen = make([]uint64, n/64+1)
	}
	i = skipSpace(w.src, i+1)
	for n := 0; i < len(w.src) && w.src[i] != '}'; n++ {
		if n > 0 {
			if w.src[i] != ',' {
				return malformed
			}
			i = skipSpace(w.src, i+1)
		}
		if i = w.member(r, &m, i); i < 0 {
			return malformed
		}
		i = skipSpace(w.src, i)
	}
	if i >= len(w.src) {
		return malformed
	}
	w.depth--
	if !w.absent(r, &m, i) {
		return malformed
	}
	return i + 1
}

// member walks name and value at i.
func (w *walker) member(r *Rule, m *members, i int) int {
	start := i
	if i >= len(w.src) || w.src[i] != '"' {
		return malformed
	}
	nameEnd, escaped := scanString(w.src, i)
	if nameEnd < 0 {
		return malformed
	}
	name, scratch, ok := unquote(w.scratch, w.src[i:nameEnd], escaped)
	w.scratch = scratch
	if i = skipSpace(w.src, nameEnd); !ok || i >= len(w.src) || w.src[i] != ':' {
		return malformed
	}
	if i = skipSpace(w.src, i+1); i >= len(w.src) {
		return malformed
	}
	mark, before := len(w.path), len(w.edits)
	if w.collect {
		w.path = appendPointer(w.path, shorten(string(name), 80))
	}
	end, keep := w.memberValue(r.Members, m, name, i)
	w.path = w.path[:mark]
	if end < 0 {
		return malformed
	}
	if !keep {
		m.dropped = true
		return end
	}
	if m.dropped {
		w.closeGap(m, start, before)
	}
	m.kept++
	m.keptEnd = end
	return end
}

// closeGap removes the dropped members before the kept one at src[to], whose own edits start at index at.
func (w *walker) closeGap(m *members, to, at int) {
	var comma []byte
	if m.kept > 0 {
		comma = []byte(",")
	}
	w.edits = slices.Insert(w.edits, at, edit{m.keptEnd, to, comma})
	m.dropped = false
}

// memberValue walks the value at i of the named member. Names that occur twice are left to the decoder, or were refused before.
func (w *walker) memberValue(o *Members, m *members, name []byte, i int) (end int, keep bool) {
	k := o.find(name, m.next)
	if k < 0 {
		return w.extra(o, name, i)
	}
	m.next = k + 1
	member := &o.List[k]
	m.seen[k/64] |= 1 << (k % 64)
	if w.src[i] == 'n' && member.nullIsAbsent() {
		return w.null(m, member, k, i)
	}
	return w.value(member.Rule, i), true
}

// nullIsAbsent reports whether a null stands for an absent member.
func (m *Member) nullIsAbsent() bool {
	return !m.Required && m.Rule.Kind != Any && !m.Rule.Nullable && !m.Rule.RefuseNull
}

// null handles a null that counts as absent: the default takes its place.
func (w *walker) null(m *members, member *Member, k, i int) (end int, keep bool) {
	end = scanLiteral(w.src, i)
	if w.dropNull || w.output {
		m.seen[k/64] &^= 1 << (k % 64)
		return end, false
	}
	if member.Default != nil && end > 0 {
		w.edits = append(w.edits, edit{i, end, member.Default})
	}
	return end, true
}

// extra walks a member that is not listed.
func (w *walker) extra(o *Members, name []byte, i int) (end int, keep bool) {
	switch {
	case o.Extra != nil:
		if o.Names != nil && !o.Names.acceptsName(name) {
			return w.stop(w.bad(o.Names.nameProblem(name)), w.skip(i)), true
		}
		return w.value(o.Extra, i), true
	case w.dropUnknown:
		return w.skip(i), false
	case !w.collect:
		w.failed = true
		return malformed, true
	}
	message := "is unknown"
	if hint := o.nearest(string(name)); hint != "" {
		message += "; did you mean " + strconv.Quote(hint) + "?"
	} else if len(o.List) == 0 {
		message += "; no members are allowed here"
	}
	return w.stop(w.bad("additionalProperties", message), w.skip(i)), true
}

// acceptsName applies the rule of names: a string rule, or an integer rule for integers in their shortest form.
func (r *Rule) acceptsName(name []byte) bool {
	if r.Kind != Integer {
		return r.pattern == nil || r.pattern.Match(name)
	}
	d, ok := parseDecimal(string(name))
	if !ok || r.low != nil && d.cmp(*r.low) < 0 || r.high != nil && d.cmp(*r.high) > 0 {
		return false
	}
	plain, ok := d.plain()
	return ok && plain == string(name)
}

// nameProblem says what is wrong with a name.
func (r *Rule) nameProblem(name []byte) (keyword, message string) {
	switch {
	case r.Kind == Integer && r.pattern.Match(name):
		return "range", "has a name that must be within the range of " + r.rangeName()
	case r.Kind == Integer:
		return "propertyNames", "has a name that must be an integer"
	}
	return "propertyNames", "has a name that must match the pattern " + r.Pattern
}

// absent deals with members that did not occur; i is at the closing brace.
func (w *walker) absent(r *Rule, m *members, i int) bool {
	var fill []byte
	list := r.Members.List
	for k := range list {
		member := &list[k]
		if m.seen[k/64]&(1<<(k%64)) != 0 || !member.Required && (member.Default == nil || w.output) {
			continue
		}
		if member.Required {
			if !w.missing(member) {
				return false
			}
			continue
		}
		if m.kept > 0 || fill != nil {
			fill = append(fill, ',')
		}
		fill = appendMember(fill, member.Name, member.Default)
	}
	switch {
	case m.dropped:
		w.edits = append(w.edits, edit{m.keptEnd, i, fill})
	case fill != nil:
		w.edits = append(w.edits, edit{i, i, fill})
	}
	return true
}

func appendMember(dst []byte, name string, value []byte) []byte {
	dst, err := jsontext.AppendQuote(dst, name)
	if err != nil { // only invalid UTF-8, which was replaced
		dst = append(dst, `""`...)
	}
	return append(append(dst, ':'), value...)
}

func (w *walker) missing(member *Member) bool {
	if !w.collect {
		w.failed = true
		return false
	}
	message := "is required: " + member.Rule.expect()
	if d := member.Rule.Description; d != "" {
		message += " (" + shorten(d, 80) + ")"
	}
	mark := len(w.path)
	w.path = appendPointer(w.path, member.Name)
	goOn := w.bad("required", message)
	w.path = w.path[:mark]
	return goOn
}
