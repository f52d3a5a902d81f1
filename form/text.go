package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed38e7925c/parley/internal/schema"
)

// ParseText turns what a person typed, or a script passed, into a value of the field. Numbers may have spaces around them, booleans may be
// yes, no, true, false, on, off, y, n, 1 or 0, options may be given by value, by label (in any case) or by their number in the list,
// several options are separated by commas.
//
// An empty text is no answer: the result is nil for an optional field (leave it out of the answer), the default for a required field that
// has one, and an error otherwise. Errors are sentences for that person, and never repeat what was typed into a field that is secret.
func (fd *Field) ParseText(s string) (json.RawMessage, error) {
	s = strings.TrimRight(s, "\r\n")
	trimmed := strings.TrimSpace(s)
	if trimmed == "" {
		return fd.empty()
	}
	raw, err := fd.parseText(s, trimmed)
	if err != nil {
		return nil, err
	}
	r, err := fd.rule()
	if err != nil {
		return nil, err
	}
	if raw, err = r.Normalize(raw); err != nil {
		return nil, fd.say(err)
	}
	return raw, nil
}

func (fd *Field) empty() (json.RawMessage, error) {
	switch {
	case !fd.Required:
		return nil, nil
	case fd.Default != nil:
		return fd.Default, nil
	case fd.Kind == MultiChoice && (fd.MinItems == nil || *fd.MinItems == 0):
		return json.RawMessage("[]"), nil
	}
	return nil, fmt.Errorf("%s needs an answer", fd.Label())
}

func (fd *Field) parseText(s, trimmed string) (json.RawMessage, error) {
	switch fd.Kind {
	case Integer:
		if !isInteger(trimmed) {
			return nil, fmt.Errorf("%s must be a whole number like 42", fd.Label())
		}
		return json.RawMessage(plainNumber(trimmed)), nil
	case Number:
		number := plainNumber(trimmed)
		if _, err := strconv.ParseFloat(number, 64); err != nil || !schema.IsNumber(number) {
			return nil, fmt.Errorf("%s must be a number like 42 or 3.5", fd.Label())
		}
		return json.RawMessage(number), nil
	case Boolean:
		return fd.parseBoolean(trimmed)
	case Choice:
		o, err := fd.choose(trimmed)
		if err != nil {
			return nil, err
		}
		return appendString(nil, o.Value), nil
	case MultiChoice:
		return fd.chooseSome(trimmed)
	}
	return appendString(nil, s), nil
}

func isInteger(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "+"), "-")
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// plainNumber drops a plus and leading zeros, which JSON does not have.
func plainNumber(s string) string {
	s = strings.TrimPrefix(s, "+")
	s, negative := strings.CutPrefix(s, "-")
	for len(s) > 1 && s[0] == '0' && '0' <= s[1] && s[1] <= '9' {
		s = s[1:]
	}
	if strings.HasPrefix(s, ".") {
		s = "0" + s
	}
	if negative {
		return "-" + s
	}
	return s
}

func (fd *Field) parseBoolean(s string) (json.RawMessage, error) {
	switch strings.ToLower(s) {
	case "yes", "y", "true", "t", "on", "1":
		return json.RawMessage("true"), nil
	case "no", "n", "false", "f", "off", "0":
		return json.RawMessage("false"), nil
	}
	return nil, fmt.Errorf("%s must be yes or no", fd.Label())
}

// choose finds the option that a text means: its value, its label, its number.
func (fd *Field) choose(s string) (*Option, error) {
	if o := fd.option(s); o != nil {
		return o, nil
	}
	var found []*Option
	for i := range fd.Options {
		o := &fd.Options[i]
		if strings.EqualFold(o.Value, s) || strings.EqualFold(clean(o.text(), maxLabel), s) {
			found = append(found, o)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fmt.Errorf("%s: %q means more than one of the options; give its number or its exact value", fd.Label(), clean(s, 40))
	}
	if n, err := strconv.Atoi(s); err == nil && 1 <= n && n <= len(fd.Options) {
		return &fd.Options[n-1], nil
	}
	return nil, fmt.Errorf("%s must be one of %s", fd.Label(), fd.listOptions())
}

func (fd *Field) listOptions() string {
	const most = 12
	var labels []string
	for i, o := range fd.Options {
		if i == most {
			labels = append(labels, fmt.Sprintf("… (%d in all)", len(fd.Options)))
			break
		}
		labels = append(labels, o.Label())
	}
	return strings.Join(labels, ", ")
}

// chooseSome reads several options separated by commas. A label that contains a comma is understood when it is the only answer.
func (fd *Field) chooseSome(s string) (json.RawMessage, error) {
	if o, err := fd.choose(s); err == nil {
		return append(appendString([]byte{'['}, o.Value), ']'), nil
	}
	dst := []byte{'['}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		o, err := fd.choose(part)
		if err != nil {
			return nil, err
		}
		if seen[o.Value] {
			continue
		}
		if seen[o.Value] = true; len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, o.Value)
	}
	return append(dst, ']'), nil
}

// say turns a problem of the value into a sentence that starts with the field's label.
func (fd *Field) say(err error) error {
	var ve *ValidationError
	if !errors.As(err, &ve) || len(ve.Problems) == 0 {
		return err
	}
	message, _, _ := strings.Cut(ve.Problems[0].Message, "; found ")
	message = strings.Replace(message, "must be a string that is ", "must be ", 1) // that everything typed is a string goes without saying
	return fmt.Errorf("%s %s", fd.Label(), clean(message, maxHelp))
}
