package form

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/schema"
)

// Dialect says what a revision lets a requestedSchema express. The zero value is 2025-06-18.
type Dialect struct {
	Defaults     bool // "default" on every kind; booleans always have it (2025-11-25 and later)
	OptionTitles bool // labels by oneOf/anyOf of const and title, rather than by enumNames (2025-11-25 and later)
	MultiChoice  bool // arrays of options (2025-11-25 and later)
	Pattern      bool // "pattern" on strings (the prose of 2025-11-25; no published schema has it)
}

// Modern is the dialect of 2025-11-25 and 2026-07-28.
var Modern = Dialect{Defaults: true, OptionTitles: true, MultiChoice: true}

// ErrInexpressible means that a revision has no way to ask a question.
var ErrInexpressible = fmt.Errorf("the client's protocol revision cannot express the form")

// specFormats are the formats that a requestedSchema may name.
var specFormats = map[string]bool{"email": true, "uri": true, "date": true, "date-time": true}

// Schema writes the form as a requestedSchema. What the dialect cannot say in keywords is said in the description, so that people still
// learn of it: patterns, other formats, and defaults, which [Form.Normalize] applies in any case. The error names the first field that
// cannot be asked at all, and is [ErrInexpressible].
func (f *Form) Schema(d Dialect) (json.RawMessage, error) {
	dst := []byte(`{"type":"object","properties":{`)
	for i := range f.Fields {
		fd := &f.Fields[i]
		if fd.Kind == MultiChoice && !d.MultiChoice {
			return nil, fieldError(fd.Name, "%w: it has no %s", ErrInexpressible, fd.Kind)
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, fd.Name), ':')
		dst = fd.schema(dst, d)
	}
	dst = append(dst, '}')
	for i := range f.Fields {
		if !f.Fields[i].Required {
			continue
		}
		if dst[len(dst)-1] == '}' {
			dst = append(dst, `,"required":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = appendString(dst, f.Fields[i].Name)
	}
	if dst[len(dst)-1] != '}' {
		dst = append(dst, ']')
	}
	return append(dst, '}'), nil
}

func (fd *Field) schema(dst []byte, d Dialect) []byte {
	types := [...]string{"string", "integer", "number", "boolean", "string", "array"}
	dst = append(dst, `{"type":"`...)
	dst = append(append(dst, types[fd.Kind]...), '"')
	dst = member(dst, "title", fd.Title)
	dst = member(dst, "description", fd.describe(d))
	switch fd.Kind {
	case String:
		dst = size(dst, "minLength", fd.MinLength)
		dst = size(dst, "maxLength", fd.MaxLength)
		if d.Pattern {
			dst = member(dst, "pattern", fd.Pattern)
		}
		if specFormats[fd.Format] {
			dst = member(dst, "format", fd.Format)
		}
	case Integer, Number:
		dst = number(dst, "minimum", fd.Minimum)
		dst = number(dst, "maximum", fd.Maximum)
	case Choice:
		dst = fd.options(append(dst, ','), d, "oneOf")
	case MultiChoice:
		dst = size(dst, "minItems", fd.MinItems)
		dst = size(dst, "maxItems", fd.MaxItems)
		dst = append(dst, `,"items":{`...)
		if !fd.titled() {
			dst = append(dst, `"type":"string",`...)
		}
		dst = append(fd.options(dst, d, "anyOf"), '}')
	}
	if fd.Default != nil && (d.Defaults || fd.Kind == Boolean) {
		dst = append(append(dst, `,"default":`...), fd.Default...)
	}
	return append(dst, '}')
}

// titled reports whether an option has a label of its own.
func (fd *Field) titled() bool {
	for _, o := range fd.Options {
		if o.Title != "" {
			return true
		}
	}
	return false
}

// options writes the options: plain enum, titled alternatives under the keyword, or enum with enumNames.
func (fd *Field) options(dst []byte, d Dialect, alternatives string) []byte {
	if fd.titled() && d.OptionTitles && !fd.EnumNames {
		dst = append(appendString(dst, alternatives), ":["...)
		for i, o := range fd.Options {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(append(dst, `{"const":`...), o.Value)
			dst = append(appendString(append(dst, `,"title":`...), o.text()), '}')
		}
		return append(dst, ']')
	}
	dst = append(dst, `"enum":[`...)
	for i, o := range fd.Options {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, o.Value)
	}
	dst = append(dst, ']')
	if !fd.titled() {
		return dst
	}
	dst = append(dst, `,"enumNames":[`...)
	for i, o := range fd.Options {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, o.text())
	}
	return append(dst, ']')
}

// text is the label of an option as written by its author.
func (o Option) text() string {
	if o.Title == "" {
		return o.Value
	}
	return o.Title
}

// describe is the description, and what the dialect has no keyword for.
func (fd *Field) describe(d Dialect) string {
	var notes []string
	if fd.Kind == String && fd.Format != "" && !specFormats[fd.Format] {
		if name := schema.FormatName(fd.Format); name != "" {
			notes = append(notes, name)
		}
	}
	if fd.Kind == String && fd.Pattern != "" && !d.Pattern {
		notes = append(notes, "must match "+fd.Pattern)
	}
	if fd.Default != nil && !d.Defaults && fd.Kind != Boolean {
		notes = append(notes, "default: "+fd.showDefault())
	}
	if len(notes) == 0 {
		return fd.Description
	}
	return strings.TrimSpace(fd.Description + " (" + strings.Join(notes, "; ") + ")")
}

// showDefault is the default as people read it.
func (fd *Field) showDefault() string {
	if jsontext.Value(fd.Default).Kind() != '"' {
		return string(fd.Default)
	}
	text, err := jsontext.AppendUnquote(nil, []byte(fd.Default))
	if err != nil {
		return string(fd.Default)
	}
	if o := fd.option(string(text)); o != nil {
		return o.text()
	}
	return string(text)
}

func member(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return appendString(dst, value)
}

func size(dst []byte, name string, n *int) []byte {
	if n == nil {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return strconv.AppendInt(dst, int64(*n), 10)
}

func number(dst []byte, name string, n Decimal) []byte {
	if n == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return append(dst, n...)
}

// appendString appends s as a JSON string; what is not UTF-8 in it becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		return append(dst, `""`...)
	}
	return out
}
