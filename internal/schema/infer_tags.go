package schema

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// keyValue matches tags written for other libraries, which put keywords into the jsonschema tag.
var keyValue = regexp.MustCompile(`^((description|title|enum|default|example|minimum|maximum|minLength|maxLength|pattern|format)=|required(,|$))`)

// applyTags applies a field's tags to its rule. Rules that are not prepared yet belong to this field alone.
func applyTags(m *Member, tag reflect.StructTag) error {
	r := m.Rule
	if err := describeRule(r, tag); err != nil {
		return err
	}
	values := r // what value keywords describe: the elements of a list
	for values.Kind == Array {
		elem := *values.Elem
		elem.prepared = false
		values.Elem = &elem
		values = values.Elem
		values.Secret = r.Secret
	}
	for _, k := range tagKeywords {
		text, ok := tag.Lookup(k.name)
		if !ok {
			continue
		}
		on := values
		if k.list {
			on = r
		}
		if !k.kinds[on.Kind] {
			return fmt.Errorf("the tag %s does not apply to %s", k.name, on.Kind.article())
		}
		if err := k.set(on, text); err != nil {
			return fmt.Errorf("the tag %s: %w", k.name, err)
		}
	}
	for on := r; ; on = on.Elem {
		if err := on.Prepare(); err != nil {
			return err
		}
		if on.Kind != Array {
			break
		}
	}
	return applyDefault(m, tag)
}

func describeRule(r *Rule, tag reflect.StructTag) error {
	r.Description, r.Title, r.Header = tag.Get("jsonschema"), tag.Get("title"), tag.Get("header")
	if keyValue.MatchString(r.Description) {
		return fmt.Errorf("the tag jsonschema is the description alone; write %q as a tag of its own", r.Description)
	}
	if text, ok := tag.Lookup("secret"); ok {
		secret, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("the tag secret must be true or false, not %q", text)
		}
		r.Secret = secret
	}
	switch null := tag.Get("null"); null {
	case "":
	case "refuse":
		r.RefuseNull = true
	default:
		return fmt.Errorf("the tag null can only be refuse, not %q", null)
	}
	if _, ok := tag.Lookup("header"); ok {
		if !isToken(r.Header) {
			return fmt.Errorf("the tag header: %q cannot be part of an HTTP header name", r.Header)
		}
		if r.Kind != String && r.Kind != Integer && r.Kind != Boolean {
			return errors.New("the tag header applies to strings, integers and booleans only")
		}
	}
	return nil
}

type kinds map[Kind]bool

var (
	onText    = kinds{String: true}
	onNumbers = kinds{Integer: true, Number: true}
	onLists   = kinds{Array: true}
)

var tagKeywords = []struct {
	name  string
	list  bool // describes a list rather than its elements
	kinds kinds
	set   func(*Rule, string) error
}{
	{"enum", false, kinds{String: true, Integer: true, Number: true}, setEnum},
	{"minimum", false, onNumbers, func(r *Rule, s string) error { return tighten(&r.Minimum, s, r.low, true) }},
	{"maximum", false, onNumbers, func(r *Rule, s string) error { return tighten(&r.Maximum, s, r.high, false) }},
	{"minLength", false, onText, func(r *Rule, s string) error { return setSize(&r.MinLength, s) }},
	{"maxLength", false, onText, func(r *Rule, s string) error { return setSize(&r.MaxLength, s) }},
	{"pattern", false, onText, func(r *Rule, s string) error { r.Pattern = s; return nil }},
	{"format", false, onText, func(r *Rule, s string) error { r.Format = s; return nil }},
	{"minItems", true, onLists, func(r *Rule, s string) error { return setSize(&r.MinItems, s) }},
	{"maxItems", true, onLists, func(r *Rule, s string) error { return setSize(&r.MaxItems, s) }},
}

func setSize(dst **int, s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a number of 0 or more", s)
	}
	*dst = &n
	return nil
}

// tighten sets a bound that has to lie within the range of the Go type.
func tighten(dst *string, s string, limit *decimal, lower bool) error {
	d, ok := parseDecimal(s)
	if !ok {
		return fmt.Errorf("%q is not a number", s)
	}
	if limit != nil && (lower && d.cmp(*limit) < 0 || !lower && d.cmp(*limit) > 0) {
		return fmt.Errorf("%s is outside of the range of the Go type", s)
	}
	*dst = s
	return nil
}

// setEnum reads a,b,c or a=Label A,b=Label B; a backslash takes the meaning from the character after it.
func setEnum(r *Rule, s string) error {
	var options []Option
	for _, part := range splitEscaped(s, ',') {
		pair := splitEscaped(part, '=')
		o := Option{Value: unescape(strings.TrimSpace(pair[0]))}
		if len(pair) > 1 {
			o.Title = unescape(strings.TrimSpace(strings.Join(pair[1:], "=")))
		}
		for _, other := range options {
			if other.Value == o.Value {
				return fmt.Errorf("%q occurs twice", o.Value)
			}
		}
		options = append(options, o)
	}
	if s == "" {
		return errors.New("it lists no values")
	}
	r.Options = options
	return nil
}

func splitEscaped(s string, sep byte) []string {
	var parts []string
	start := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case sep:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// applyDefault reads the default in the notation of the kind, and checks it.
func applyDefault(m *Member, tag reflect.StructTag) error {
	text, ok := tag.Lookup("default")
	if !ok {
		return nil
	}
	raw, err := defaultJSON(m.Rule, text)
	if err != nil {
		return fmt.Errorf("the tag default: %w", err)
	}
	w := walker{src: raw}
	if err := w.check(m.Rule); err != nil {
		return fmt.Errorf("the tag default: %w", err)
	}
	m.Default = w.apply(nil)
	return nil
}

func defaultJSON(r *Rule, text string) ([]byte, error) {
	if r.Kind == String {
		return jsontext.AppendQuote(nil, text)
	}
	if r.Kind == Array && r.Elem.Kind == String && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		return quoteList(text)
	}
	raw := jsontext.Value(text)
	if err := raw.Compact(); err != nil {
		return nil, fmt.Errorf("%q is not JSON: %w", text, err)
	}
	return bytes.Clone(raw), nil
}

// quoteList reads a,b,c as an array of strings; "" is the empty array.
func quoteList(text string) ([]byte, error) {
	dst := []byte{'['}
	if text != "" {
		for i, part := range splitEscaped(text, ',') {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = jsontext.AppendQuote(dst, unescape(strings.TrimSpace(part))); err != nil {
				return nil, err
			}
		}
	}
	return append(dst, ']'), nil
}
