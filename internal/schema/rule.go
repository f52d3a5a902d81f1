package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the JSON type that a Rule asks for.
type Kind uint8

const (
	Any     Kind = iota // any JSON value
	String              // a string
	Integer             // a number without fraction
	Number              // a number
	Boolean             // true or false
	Array               // an array of Elem
	Object              // an object with Members
)

// Rule says what one value must look like. It is the compiled form that a Typed value and package form share.
// Rules are immutable after Prepare and safe for concurrent use.
type Rule struct {
	Kind        Kind
	Title       string
	Description string
	Header      string // x-mcp-header
	Secret      bool   // the value is never shown in a problem
	Nullable    bool   // null is a value of its own
	RefuseNull  bool   // of an optional member: null does not count as absent

	Options              []Option // allowed values; nil allows all
	MinLength, MaxLength *int     // in code points
	Pattern              string   // RE2
	Format               string
	ContentEncoding      string
	Minimum, Maximum     string // JSON numbers; "" is no bound
	Elem                 *Rule
	MinItems, MaxItems   *int
	Members              *Members

	bits         int // size of the Go number; 0 is no limit
	unsigned     bool
	trusted      bool // the Go type cannot violate the rule
	plainOnly    bool // no constraint beside the kind
	fastInt      bool // lo and hi say everything about integers of up to 18 digits
	lo, hi       int64
	min, max     *decimal
	low, high    *decimal // range of the Go type
	pattern      *regexp.Regexp
	check        func(string) bool
	prepared     bool
	optionTitles bool
}

// Option is an allowed value: the text of a string, or a number as JSON, and the label that people see.
type Option struct {
	Value, Title string
	number       decimal
}

// Members are the members of an object.
type Members struct {
	List  []Member
	Extra *Rule // of members that are not listed; nil refuses them
	Names *Rule // of the names of extra members

	index map[string]int
	typ   string // name of the Go type
}

// Member is a member of an object.
type Member struct {
	Name     string
	Rule     *Rule
	Required bool
	Default  json.RawMessage // value of an absent optional member; nil is none

	pointer bool // may be encoded as null although null is no value of it
}

// indexFrom is the number of members from which names are found by a map.
const indexFrom = 9

func (m *Members) prepare() {
	if len(m.List) < indexFrom {
		return
	}
	m.index = make(map[string]int, len(m.List))
	for i := range m.List {
		m.index[m.List[i].Name] = i
	}
}

// find returns the index of a member, or -1. Members usually come in order: next is tried first.
func (m *Members) find(name []byte, next int) int {
	if next < len(m.List) && m.List[next].Name == string(name) {
		return next
	}
	if m.index != nil {
		if i, ok := m.index[string(name)]; ok {
			return i
		}
		return -1
	}
	for i := range m.List {
		if m.List[i].Name == string(name) {
			return i
		}
	}
	return -1
}

// Prepare checks a rule for contradictions and compiles what can be compiled. It is not recursive.
func (r *Rule) Prepare() error {
	if r.prepared {
		return nil
	}
	if r.Members != nil {
		r.Members.prepare()
	}
	for _, f := range []func() error{r.prepareText, r.prepareBounds, r.prepareOptions} {
		if err := f(); err != nil {
			return err
		}
	}
	r.plainOnly = r.Options == nil && r.MinLength == nil && r.MaxLength == nil && r.pattern == nil && r.check == nil
	r.prepareFastInt()
	r.prepared = true
	return nil
}

// maxPattern bounds regular expressions; see also checkPattern.
const maxPattern = 2000

func (r *Rule) prepareText() (err error) {
	if r.Pattern != "" {
		if r.pattern, err = compilePattern(r.Pattern, maxPattern); err != nil {
			return err
		}
	}
	r.check = formats[r.Format]
	if r.MinLength != nil && r.MaxLength != nil && *r.MinLength > *r.MaxLength {
		return fmt.Errorf("minLength %d is greater than maxLength %d", *r.MinLength, *r.MaxLength)
	}
	if r.MinItems != nil && r.MaxItems != nil && *r.MinItems > *r.MaxItems {
		return fmt.Errorf("minItems %d is greater than maxItems %d", *r.MinItems, *r.MaxItems)
	}
	return nil
}

func (r *Rule) prepareBounds() (err error) {
	if r.min, err = parseBound("minimum", r.Minimum); err != nil {
		return err
	}
	if r.max, err = parseBound("maximum", r.Maximum); err != nil {
		return err
	}
	if r.min != nil && r.max != nil && r.min.cmp(*r.max) > 0 {
		return fmt.Errorf("minimum %s is greater than maximum %s", r.Minimum, r.Maximum)
	}
	return nil
}

func parseBound(keyword, s string) (*decimal, error) {
	if s == "" {
		return nil, nil
	}
	d, ok := parseDecimal(s)
	if !ok {
		return nil, fmt.Errorf("%s %q is not a number", keyword, s)
	}
	return &d, nil
}

func (r *Rule) prepareOptions() error {
	for i := range r.Options {
		o := &r.Options[i]
		r.optionTitles = r.optionTitles || o.Title != ""
		if r.Kind == String {
			continue
		}
		var ok bool
		if o.number, ok = parseDecimal(o.Value); !ok || r.Kind == Integer && !o.number.integer() {
			return fmt.Errorf("enum value %q is not %s", o.Value, r.Kind.article())
		}
	}
	return nil
}

func (r *Rule) prepareFastInt() {
	if r.Kind != Integer || r.Options != nil {
		return
	}
	r.lo, r.hi = -1<<63, 1<<63-1
	for _, d := range []*decimal{r.min, r.low} {
		if !atLeast(&r.lo, d) {
			return
		}
	}
	for _, d := range []*decimal{r.max, r.high} {
		if !atMost(&r.hi, d) {
			return
		}
	}
	r.fastInt = true
}

// atLeast raises *lo to d, and reports whether that can be said in an int64.
func atLeast(lo *int64, d *decimal) bool {
	if d == nil {
		return true
	}
	n, ok := d.int64()
	*lo = max(*lo, n)
	return ok
}

func atMost(hi *int64, d *decimal) bool {
	if d == nil {
		return true
	}
	n, ok := d.int64()
	if !ok {
		return !d.neg && d.integer() // beyond int64: no integer of 18 digits exceeds it
	}
	*hi = min(*hi, n)
	return ok
}

func (d decimal) int64() (int64, bool) {
	s, ok := d.plain()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// article names a kind in a sentence.
func (k Kind) article() string {
	switch k {
	case String:
		return "a string"
	case Integer:
		return "an integer"
	case Number:
		return "a number"
	case Boolean:
		return "true or false"
	case Array:
		return "an array"
	case Object:
		return "an object"
	}
	return "a value"
}

// expect says what a rule accepts, in a few words.
func (r *Rule) expect() string {
	if len(r.Options) > 0 {
		return r.oneOf()
	}
	if r.Kind == String && r.check != nil {
		return "a string that is " + formatNames[r.Format]
	}
	if r.Kind == Array && r.Elem != nil && r.Elem.Kind != Any {
		return "an array, each item " + r.Elem.expectBrief()
	}
	return r.Kind.article()
}

func (r *Rule) expectBrief() string {
	if r.Kind == Array {
		return r.Kind.article()
	}
	return r.expect()
}

// oneOf lists the allowed values, of many only the first.
func (r *Rule) oneOf() string {
	const most = 20
	var b strings.Builder
	b.WriteString("one of ")
	for i, o := range r.Options {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == most {
			fmt.Fprintf(&b, "… (%d in all)", len(r.Options))
			break
		}
		if r.Kind == String {
			b.WriteString(strconv.Quote(shorten(o.Value, 60)))
		} else {
			b.WriteString(o.Value)
		}
	}
	return b.String()
}

// nearest returns the listed name that an unknown one was probably meant to be, or "".
func (m *Members) nearest(name string) string {
	const longest = 64
	if len(name) > longest {
		return ""
	}
	squashed := squash(name)
	best, bestDistance := "", 1+max(min(2, utf8.RuneCountInString(name)/2), utf8.RuneCountInString(name)/3)
	for i := range m.List {
		known := m.List[i].Name
		if len(known) > longest {
			continue
		}
		if squash(known) == squashed {
			return known
		}
		if d := distance(known, name); d < bestDistance {
			best, bestDistance = known, d
		}
	}
	return best
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

// squash drops what people confuse in names: case, dashes and underscores.
func squash(s string) string { return strings.ToLower(separators.Replace(s)) }

// distance is the Levenshtein distance of two short strings.
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	row := make([]int, len(rb)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range ra {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range rb {
			cost := diagonal
			if x != y {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(rb)]
}
