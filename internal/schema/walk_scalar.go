package schema

import (
	"strconv"
	"unicode/utf8"
)

func (w *walker) text(r *Rule, i int) int {
	end, escaped := scanString(w.src, i)
	if end < 0 || r.plainOnly {
		return end
	}
	text, scratch, ok := unquote(w.scratch, w.src[i:end], escaped)
	w.scratch = scratch
	if !ok {
		return malformed
	}
	switch {
	case r.Options != nil && !r.hasText(text):
		return w.mismatch(r, "enum", i, end)
	case r.MinLength != nil && utf8.RuneCount(text) < *r.MinLength:
		return w.length("minLength", "at least ", *r.MinLength, text, end)
	case r.MaxLength != nil && utf8.RuneCount(text) > *r.MaxLength:
		return w.length("maxLength", "at most ", *r.MaxLength, text, end)
	case r.pattern != nil && !r.pattern.Match(text):
		if !w.collect {
			w.failed = true
			return malformed
		}
		return w.stop(w.bad("pattern", "must match the pattern "+r.Pattern+"; found "+w.found(i, end)), end)
	case r.check != nil && !r.check(string(text)):
		return w.mismatch(r, "format", i, end)
	}
	return end
}

func (w *walker) length(keyword, bound string, n int, text []byte, end int) int {
	if !w.collect {
		w.failed = true
		return malformed
	}
	message := "must have " + bound + count(n, "character")
	if w.secret == 0 {
		message += "; found " + strconv.Itoa(utf8.RuneCount(text))
	}
	return w.stop(w.bad(keyword, message), end)
}

func (r *Rule) hasText(text []byte) bool {
	for i := range r.Options {
		if r.Options[i].Value == string(text) {
			return true
		}
	}
	return false
}

func (r *Rule) hasNumber(d decimal) bool {
	for i := range r.Options {
		if r.Options[i].number.cmp(d) == 0 {
			return true
		}
	}
	return false
}

func (w *walker) number(r *Rule, i int) int {
	end, _ := scanNumber(w.src, i)
	if r.fastInt {
		if n, ok := shortInt(w.src[i:end]); ok && r.lo <= n && n <= r.hi {
			return end
		}
	}
	lit := string(w.src[i:end])
	if r.Kind == Number && r.min == nil && r.max == nil && r.Options == nil {
		return w.floatRange(r, lit, i, end)
	}
	d, ok := parseDecimal(lit)
	switch {
	case !ok:
		return malformed
	case r.Kind == Integer && !d.integer():
		return w.mismatch(r, "type", i, end)
	case r.Options != nil && !r.hasNumber(d):
		return w.mismatch(r, "enum", i, end)
	}
	if keyword, want := r.outside(d); keyword != "" {
		return w.bound(keyword, want, i, end)
	}
	if r.Kind == Number {
		return w.floatRange(r, lit, i, end)
	}
	if plain, ok := d.plain(); ok && plain != lit {
		w.edits = append(w.edits, edit{i, end, []byte(plain)})
	}
	return end
}

// outside returns the keyword of the bound that d violates, if any, and what it asks for.
func (r *Rule) outside(d decimal) (keyword, want string) {
	switch {
	case r.min != nil && d.cmp(*r.min) < 0:
		return "minimum", "at least " + r.Minimum
	case r.max != nil && d.cmp(*r.max) > 0:
		return "maximum", "at most " + r.Maximum
	case r.low != nil && d.cmp(*r.low) < 0, r.high != nil && d.cmp(*r.high) > 0:
		return "range", "within the range of " + r.rangeName()
	}
	return "", ""
}

func (w *walker) bound(keyword, want string, i, end int) int {
	if !w.collect {
		w.failed = true
		return malformed
	}
	return w.stop(w.bad(keyword, "must be "+want+"; found "+w.found(i, end)), end)
}

func (r *Rule) rangeName() string {
	name := strconv.Itoa(r.bits) + "-bit integers"
	if r.unsigned {
		name = "unsigned " + name
	}
	return name
}

// floatRange refuses numbers that the Go type cannot hold at all; rounding is what floating-point types do.
func (w *walker) floatRange(r *Rule, lit string, i, end int) int {
	const short = 38 // digits that fit every type
	if len(lit) <= short && !hasExponent(lit) {
		return end
	}
	bits := 64
	if r.bits == 32 {
		bits = 32
	}
	if _, err := strconv.ParseFloat(lit, bits); err != nil {
		return w.bound("range", "within the range of "+strconv.Itoa(bits)+"-bit floating-point numbers", i, end)
	}
	return end
}

func hasExponent(lit string) bool {
	for i := range len(lit) {
		if lit[i] == 'e' || lit[i] == 'E' {
			return true
		}
	}
	return false
}

// shortInt reads an integer of at most 18 digits in its shortest form.
func shortInt(lit []byte) (n int64, ok bool) {
	digits := lit
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 18 || digits[0] == '0' && len(lit) > 1 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(lit) {
		n = -n
	}
	return n, true
}
