package terminal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/form"
)

// shownOptions is how many options are listed at once.
const shownOptions = 30

// markers returns what options are called in a list: numbers, unless a label or value reads like one that stands at another place, which
// would make "2" mean two things; then letters, or numbers with a sign in front.
func markers(options []form.Option) func(i int) string {
	taken := make(map[string]int, 2*len(options))
	for i := range options {
		for _, s := range []string{options[i].Value, optionLabel(&options[i])} {
			taken[strings.ToLower(strings.TrimSpace(s))] = i
		}
	}
	schemes := []func(int) string{
		func(i int) string { return strconv.Itoa(i + 1) },
		func(i int) string { return string(rune('a' + i)) },
		func(i int) string { return "#" + strconv.Itoa(i+1) },
		func(i int) string { return "=" + strconv.Itoa(i+1) + "=" },
	}
	for k, scheme := range schemes {
		if k == 1 && len(options) > 26 {
			continue
		}
		free := true
		for i := range options {
			if at, found := taken[scheme(i)]; found && at != i {
				free = false
				break
			}
		}
		if free || k == len(schemes)-1 {
			return scheme
		}
	}
	return schemes[0]
}

// label and optionLabel are what a field and an option are called, on one line and safe to display.
func label(fd *form.Field) string { return consent.Line(cmp.Or(fd.Title, fd.Name), 0) }

func optionLabel(o *form.Option) string { return consent.Line(cmp.Or(o.Title, o.Value), 0) }

// listOptions writes the options whose index is in which, nil for all.
func (p *person) listOptions(fd *form.Field, which []int) string {
	mark := markers(fd.Options)
	if which == nil {
		which = make([]int, len(fd.Options))
		for i := range which {
			which[i] = i
		}
	}
	var b strings.Builder
	for n, i := range which {
		if n == shownOptions {
			b.WriteString(p.indented("   ", fmt.Sprintf("… and %d more: type a part of the label to see which", len(which)-n)))
			break
		}
		b.WriteString(p.indented(fmt.Sprintf("   %3s  ", mark(i)), optionLabel(&fd.Options[i])))
	}
	return b.String()
}

// parse reads what the person typed for a field. matches are options that it could have meant.
func parse(fd *form.Field, text string) (value json.RawMessage, matches []int, err error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }) {
		return nil, nil, fmt.Errorf("that has characters which cannot be seen; please type it again (Esc and Enter alone leads to the menu)")
	}
	switch fd.Kind {
	case form.Choice:
		i, err := choose(fd, text)
		if err != nil {
			return nil, similar(fd, text), err
		}
		raw, err := jsonv2.Marshal(fd.Options[i].Value)
		return json.RawMessage(raw), nil, err
	case form.MultiChoice:
		return parseSome(fd, text)
	}
	value, err = fd.ParseText(text)
	return value, nil, err
}

// choose finds the option that a text means: the one with that mark on the screen before all else.
func choose(fd *form.Field, text string) (int, error) {
	text = strings.TrimSpace(text)
	mark := markers(fd.Options)
	for i := range fd.Options {
		if strings.EqualFold(mark(i), text) {
			return i, nil
		}
	}
	found := -1
	for i, o := range fd.Options {
		if o.Value == text {
			return i, nil
		}
		if strings.EqualFold(o.Value, text) || strings.EqualFold(optionLabel(&o), text) {
			if found >= 0 {
				return 0, fmt.Errorf("that means more than one of the options; please type %s or another mark", mark(found))
			}
			found = i
		}
	}
	if found < 0 {
		return 0, fmt.Errorf("that is none of the options: type %s, or a label", marksOf(fd, mark))
	}
	return found, nil
}

// marksOf says which marks there are.
func marksOf(fd *form.Field, mark func(int) string) string {
	switch n := len(fd.Options); n {
	case 1:
		return mark(0)
	case 2:
		return mark(0) + " or " + mark(1)
	default:
		return mark(0) + " to " + mark(n-1)
	}
}

func parseSome(fd *form.Field, text string) (json.RawMessage, []int, error) {
	values := []string{}
	parts := strings.Split(text, ",")
	if i, err := choose(fd, text); err == nil { // a label with a comma in it
		parts = nil
		values = append(values, fd.Options[i].Value)
	}
	seen := map[int]bool{}
	for _, part := range parts {
		if strings.TrimSpace(part) == "" {
			continue
		}
		i, err := choose(fd, part)
		if err != nil {
			return nil, similar(fd, part), fmt.Errorf("%q: %w", consent.Line(strings.TrimSpace(part), 40), err)
		}
		if !seen[i] {
			seen[i] = true
			values = append(values, fd.Options[i].Value)
		}
	}
	raw, err := jsonv2.Marshal(values)
	if err != nil {
		return nil, nil, err
	}
	one, err := form.New(form.Field{Name: fd.Name, Title: label(fd), Kind: fd.Kind, Options: fd.Options, MinItems: fd.MinItems, MaxItems: fd.MaxItems})
	if err != nil {
		return nil, nil, err
	}
	answer, err := jsonv2.Marshal(map[string]json.RawMessage{fd.Name: json.RawMessage(raw)})
	if err != nil {
		return nil, nil, err
	}
	return json.RawMessage(raw), nil, one.Check(answer)
}

// similar returns the options whose label or value contains the text.
func similar(fd *form.Field, text string) []int {
	text = strings.ToLower(strings.TrimSpace(text))
	var out []int
	for i, o := range fd.Options {
		if text != "" && (strings.Contains(strings.ToLower(optionLabel(&o)), text) || strings.Contains(strings.ToLower(o.Value), text)) {
			out = append(out, i)
		}
	}
	return out
}

// show writes a value of a field for people.
func show(fd *form.Field, value json.RawMessage) string {
	named := func(v string) string {
		for _, o := range fd.Options {
			if o.Value == v {
				return optionLabel(&o)
			}
		}
		return v
	}
	var s string
	var many []string
	switch {
	case fd.Kind == form.Boolean && string(value) == "true":
		return "yes"
	case fd.Kind == form.Boolean && string(value) == "false":
		return "no"
	case fd.Kind == form.MultiChoice && jsonv2.Unmarshal(value, &many) == nil:
		for i := range many {
			many[i] = named(many[i])
		}
		if len(many) == 0 {
			return "none"
		}
		return consent.Line(strings.Join(many, ", "), 1000)
	case jsonv2.Unmarshal(value, &s) == nil:
		return consent.Line(named(s), 1000)
	}
	return consent.Line(string(value), 1000)
}

// hint says in words what a field takes.
func hint(fd *form.Field) string {
	var h string
	switch fd.Kind {
	case form.Integer, form.Number:
		h = "a number"
		if fd.Kind == form.Integer {
			h = "a whole number"
		}
		h += between(string(fd.Minimum), string(fd.Maximum), "")
	case form.Boolean:
		h = "yes or no"
	case form.Choice:
		h = "one of these: type its mark or its label"
	case form.MultiChoice:
		h = "any of these: marks or labels, with commas between them" + between(count(fd.MinItems), count(fd.MaxItems), " of them")
	default:
		h = map[string]string{"email": "an e-mail address", "uri": "a web address", "date": "a date, like 2026-01-31",
			"date-time": "a date and time, like 2026-01-31T18:30:00Z"}[fd.Format]
		if h == "" {
			h = "text"
		}
		h += between(count(fd.MinLength), count(fd.MaxLength), " characters")
		if fd.Pattern != "" {
			h += ", of the form " + consent.Line(fd.Pattern, 100)
		}
	}
	return h
}

func count(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func between(low, high, unit string) string {
	if low == "0" && unit != "" {
		low = ""
	}
	switch {
	case low == "" && high == "":
		return ""
	case high == "":
		return ", at least " + low + unit
	case low == "":
		return ", at most " + high + unit
	}
	return ", " + low + " to " + high + unit
}
