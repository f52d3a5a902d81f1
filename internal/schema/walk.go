package schema

import (
	"bytes"
	"cmp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep a value may nest.
const MaxDepth = 256

// walker applies rules to JSON text. It runs twice at most: first to find out whether all is well, which costs little and
// allocates nothing, and only if it is not a second time to collect the problems with their paths.
//
// What has to change before the text is decoded (defaults, members to drop, integers written as 1.0) is collected as edits.
type walker struct {
	src         []byte
	dropUnknown bool // drop members that the rules do not have
	dropNull    bool // drop null members that count as absent
	output      bool // the text was encoded here: like dropNull, and defaults stay away
	collect     bool // second run
	failed      bool
	depth       int
	digits      int // longest run of digits where any value is accepted
	most        int // problems to collect
	secret      int // rules around the value that are secret
	scratch     []byte
	path        []byte
	edits       []edit
	problems    []Problem
	more        bool
}

// edit replaces src[from:to].
type edit struct {
	from, to int
	text     []byte
}

// check walks the whole text. A text that passes may still be malformed: decoding finds that out.
func (w *walker) check(r *Rule) error {
	if w.run(r) {
		return nil
	}
	if err := syntaxError(w.src); err != nil {
		return err
	}
	w.collect = true
	w.run(r)
	if len(w.problems) == 0 { // cannot be: the first run found one
		return problem("", "json", "was not understood")
	}
	return &ValidationError{Problems: w.problems, More: w.more}
}

func (w *walker) run(r *Rule) bool {
	w.edits, w.path, w.depth, w.secret, w.failed = w.edits[:0], w.path[:0], 0, 0, false
	end := w.value(r, skipSpace(w.src, 0))
	if w.failed || end < 0 {
		return false
	}
	return skipSpace(w.src, end) == len(w.src)
}

// syntaxError judges the text as JSON: syntax, UTF-8, names that occur twice.
func syntaxError(src []byte) error {
	if jsontext.Value(src).IsValid() {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(src))
	if _, err := dec.ReadValue(); err != nil {
		return decodeProblem(err, nil)
	}
	if _, err := dec.ReadToken(); err != nil && !isEOF(err) {
		return decodeProblem(err, nil)
	}
	return problem("", "json", "is followed by more text at byte "+strconv.FormatInt(dec.InputOffset(), 10))
}

// bad notes a problem of the value at the current path. It reports whether to go on.
func (w *walker) bad(keyword, message string) bool {
	w.failed = true
	if !w.collect {
		return false
	}
	if len(w.problems) >= cmp.Or(w.most, DefaultMaxProblems) {
		w.more = true
		return false
	}
	w.problems = append(w.problems, Problem{Path: string(w.path), Keyword: keyword, Message: message})
	return true
}

// mismatch notes that src[i:end] is not what the rule expects; it returns end, or malformed to stop.
func (w *walker) mismatch(r *Rule, keyword string, i, end int) int {
	if !w.collect {
		w.failed = true
		return malformed
	}
	return w.stop(w.bad(keyword, "must be "+r.expect()+"; found "+w.found(i, end)), end)
}

func (w *walker) stop(goOn bool, end int) int {
	if goOn {
		return end
	}
	return malformed
}

// found describes a value for a message, never one that is secret.
func (w *walker) found(i, end int) string {
	if w.secret > 0 {
		return kindOf(w.src[i:end])
	}
	return describe(w.src[i:end])
}

// value applies r to the value at i and returns its end.
func (w *walker) value(r *Rule, i int) int {
	if i >= len(w.src) {
		return malformed
	}
	if r.Secret {
		w.secret++
		defer func() { w.secret-- }()
	}
	c := w.src[i]
	if c == 'n' && r.Nullable {
		return scanLiteral(w.src, i)
	}
	switch r.Kind {
	case Any:
		return w.skip(i)
	case String:
		if c == '"' {
			return w.text(r, i)
		}
	case Boolean:
		if c == 't' || c == 'f' {
			return scanLiteral(w.src, i)
		}
	case Integer, Number:
		if c == '-' || '0' <= c && c <= '9' {
			return w.number(r, i)
		}
	case Array:
		if c == '[' {
			return w.array(r, i)
		}
	case Object:
		if c == '{' {
			return w.object(r, i)
		}
	}
	return w.wrongType(r, i)
}

func (w *walker) wrongType(r *Rule, i int) int {
	if !w.collect {
		w.failed = true
		return malformed
	}
	end := w.skip(i)
	if end < 0 {
		return malformed
	}
	return w.mismatch(r, "type", i, end)
}

// skip steps over any value.
func (w *walker) skip(i int) int {
	s := skimmer{depth: MaxDepth - w.depth}
	end := s.skip(w.src, i)
	w.digits = max(w.digits, s.digits)
	if s.deep {
		w.tooDeep()
	}
	return end
}

func (w *walker) tooDeep() {
	w.bad("depth", "nests deeper than "+strconv.Itoa(MaxDepth)+" levels")
}

func (w *walker) array(r *Rule, i int) int {
	if w.depth >= MaxDepth {
		w.tooDeep()
		return malformed
	}
	w.depth++
	n := 0
	i = skipSpace(w.src, i+1)
	for i < len(w.src) && w.src[i] != ']' {
		if n > 0 {
			if w.src[i] != ',' {
				return malformed
			}
			i = skipSpace(w.src, i+1)
		}
		if i = w.item(r, i, n); i < 0 {
			return malformed
		}
		n++
		i = skipSpace(w.src, i)
	}
	if i >= len(w.src) {
		return malformed
	}
	w.depth--
	return w.arraySize(r, i+1, n)
}

func (w *walker) item(r *Rule, i, n int) int {
	if !w.collect {
		return w.value(r.Elem, i)
	}
	mark := len(w.path)
	w.path = strconv.AppendInt(append(w.path, '/'), int64(n), 10)
	i = w.value(r.Elem, i)
	w.path = w.path[:mark]
	return i
}

func (w *walker) arraySize(r *Rule, end, n int) int {
	if r.MinItems != nil && n < *r.MinItems {
		return w.stop(w.bad("minItems", "must have at least "+count(*r.MinItems, "item")+"; found "+strconv.Itoa(n)), end)
	}
	if r.MaxItems != nil && n > *r.MaxItems {
		return w.stop(w.bad("maxItems", "must have at most "+count(*r.MaxItems, "item")+"; found "+strconv.Itoa(n)), end)
	}
	return end
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
