package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yosida95/uritemplate/v3"
)

// A templateMatcher finds out whether a URI is an expansion of a template of RFC 6570, and of which values. It takes time in proportion
// to the length of the URI: the library's own matcher takes its square, of which clients could make use.
type templateMatcher struct {
	re   *regexp.Regexp
	vars []templateVar // one for each group of re
}

// A templateVar says how the values of a variable are read from the text that its group matched.
type templateVar struct {
	name   string
	sep    string // between values; empty when there is one
	prefix string // of each value, which without it is none
}

// maxTemplateURI is the length from which a URI matches no template.
const maxTemplateURI = 64 << 10

// maxTemplateRegexp bounds what a template may become, so that no template makes matching slow.
const maxTemplateRegexp = 16 << 10

// newTemplateMatcher compiles a template.
func newTemplateMatcher(template string) (*templateMatcher, error) {
	if _, err := uritemplate.New(template); err != nil {
		return nil, explainTemplate(template, err)
	}
	m := &templateMatcher{}
	var b strings.Builder
	b.WriteString(`\A`)
	for rest := template; rest != ""; {
		literal, more, found := strings.Cut(rest, "{")
		b.WriteString(regexp.QuoteMeta(literal))
		if !found {
			break
		}
		expression, after, _ := strings.Cut(more, "}")
		if err := m.expression(&b, expression); err != nil {
			return nil, err
		}
		rest = after
	}
	b.WriteString(`\z`)
	if b.Len() > maxTemplateRegexp {
		return nil, errors.New("the template is too long or has too many variables")
	}
	var err error
	m.re, err = regexp.Compile(b.String())
	return m, err
}

// explainTemplate says in words what is wrong with a template that the library refuses with err.
func explainTemplate(template string, err error) error {
	for rest := template; ; {
		open, end := strings.IndexByte(rest, '{'), strings.IndexByte(rest, '}')
		switch {
		case end >= 0 && (open < 0 || end < open):
			return fmt.Errorf("the } after %q closes nothing: write {name}", clip(template[:len(template)-len(rest)+end], 80))
		case open < 0:
			return fmt.Errorf("it is no URI template of RFC 6570: %w", err)
		case end < 0:
			return fmt.Errorf("%q is not closed: a } is missing", clip(rest[open:], 80))
		}
		if why := expressionProblem(rest[open+1 : end]); why != "" {
			return fmt.Errorf("in %q: %s", clip(rest[open:end+1], 80), why)
		}
		rest = rest[end+1:]
	}
}

// expressionProblem says what is wrong with what stands between braces; empty when it looks right.
func expressionProblem(text string) string {
	if text == "" {
		return "there is no variable between the braces"
	}
	if _, ok := templateOperators[text[0]]; ok {
		text = text[1:]
	} else if strings.IndexByte("=,!@|", text[0]) >= 0 {
		return fmt.Sprintf("RFC 6570 reserves the operator %q; there are + # . / ; ? and &", text[:1])
	}
	for _, spec := range strings.Split(text, ",") {
		name, _ := strings.CutSuffix(spec, "*")
		name, length, limited := strings.Cut(name, ":")
		if n, err := strconv.Atoi(length); limited && (err != nil || n < 1 || n > 9999) {
			return fmt.Sprintf("what follows the colon in %q must be a length from 1 to 9999", spec)
		}
		if name == "" {
			return "the name of a variable is missing"
		}
		for _, r := range name {
			if r > 'z' || !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.%", r) {
				return fmt.Sprintf("the name %q contains %q; it may have letters, digits, _ and . (and no -)", name, r)
			}
		}
	}
	return ""
}

// A templateOperator is a row of the table in appendix A of RFC 6570.
type templateOperator struct {
	first, sep string
	named      bool
	ifEmpty    string
	reserved   bool
}

var templateOperators = map[byte]templateOperator{
	'+': {sep: ",", reserved: true},
	'#': {first: "#", sep: ",", reserved: true},
	'.': {first: ".", sep: "."},
	'/': {first: "/", sep: "/"},
	';': {first: ";", sep: ";", named: true},
	'?': {first: "?", sep: "&", named: true, ifEmpty: "="},
	'&': {first: "&", sep: "&", named: true, ifEmpty: "="},
}

// What a character of a value is, without and with the reserved ones.
const (
	unreservedChar = `(?:[A-Za-z0-9\-._~]|%[0-9A-Fa-f]{2})`
	reservedChar   = `(?:[A-Za-z0-9\-._~!#$&-,/:;=?@\[\]]|%[0-9A-Fa-f]{2})`
)

// expression appends what matches one expression.
func (m *templateMatcher) expression(b *strings.Builder, text string) error {
	op, ok := templateOperators[text[0]]
	if ok {
		text = text[1:]
	} else {
		op = templateOperator{sep: ","}
	}
	b.WriteString("(?:" + regexp.QuoteMeta(op.first))
	for i, spec := range strings.Split(text, ",") {
		b.WriteString("(?:")
		if i > 0 {
			b.WriteString("(?:" + regexp.QuoteMeta(op.sep) + ")?")
		}
		if err := m.variable(b, &op, spec); err != nil {
			return err
		}
		b.WriteString(")?")
	}
	b.WriteString(")?")
	return nil
}

// variable appends what matches one variable.
func (m *templateMatcher) variable(b *strings.Builder, op *templateOperator, spec string) error {
	name, explode := strings.CutSuffix(spec, "*")
	char := unreservedChar
	if op.reserved {
		char = reservedChar
	}
	value := char + "*"
	bare, length, limited := strings.Cut(name, ":")
	if limited {
		n, err := strconv.Atoi(length)
		if err != nil || n > 1000 {
			return fmt.Errorf("the prefix of %s may have 1000 characters at most", bare)
		}
		value = fmt.Sprintf("%s{0,%d}", char, n)
	}
	v := templateVar{name: name}
	switch {
	case limited: // never a list
		if op.named {
			b.WriteString(regexp.QuoteMeta(bare) + "(?:=(" + value + ")|" + op.ifEmpty + ")")
		} else {
			b.WriteString("(" + value + ")")
		}
	case op.named && explode:
		v.sep, v.prefix = op.sep, name+"="
		one := regexp.QuoteMeta(name) + "(?:=" + value + "|" + op.ifEmpty + ")"
		b.WriteString("((?:" + one + "(?:" + op.sep + one + ")*)?)")
	case op.named:
		v.sep = ","
		b.WriteString(regexp.QuoteMeta(name) + "(?:=(" + value + "(?:," + value + ")*)|" + op.ifEmpty + ")")
	default:
		v.sep = ","
		if explode {
			v.sep = op.sep
		}
		sep := regexp.QuoteMeta(v.sep)
		b.WriteString("(" + value + "(?:" + sep + value + ")*?)")
		if op.reserved || v.sep == "." { // a value may hold it: all of it is one
			v.sep = ""
		}
	}
	m.vars = append(m.vars, v)
	return nil
}

// match returns the values of the variables, nil when the URI is no expansion of the template. A variable that the URI gives no value
// has none.
func (m *templateMatcher) match(uri string) TemplateVars {
	if len(uri) > maxTemplateURI {
		return nil
	}
	groups := m.re.FindStringSubmatchIndex(uri)
	if groups == nil {
		return nil
	}
	vars := make(TemplateVars, len(m.vars))
	for i := range m.vars {
		begin, end := groups[2*i+2], groups[2*i+3]
		if begin >= 0 {
			m.vars[i].read(vars, uri[begin:end])
		}
	}
	return vars
}

// matches reports whether the URI is an expansion of the template.
func (m *templateMatcher) matches(uri string) bool {
	return len(uri) <= maxTemplateURI && m.re.MatchString(uri)
}

// read adds the values in text.
func (v *templateVar) read(vars TemplateVars, text string) {
	values := []string{text}
	if v.sep != "" {
		values = strings.Split(text, v.sep)
	}
	for _, value := range values {
		if value, ok := strings.CutPrefix(value, v.prefix); ok {
			vars[v.name] = append(slices.Grow(vars[v.name], len(values)), percentDecoded(value))
		}
	}
}

// percentDecoded decodes a value; the pattern has made sure that it can be.
func percentDecoded(s string) string {
	if out, err := url.PathUnescape(s); err == nil {
		return out
	}
	return s
}
