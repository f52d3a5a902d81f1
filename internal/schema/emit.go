package schema

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// emitter writes rules as JSON Schema 2020-12.
type emitter struct {
	root  *Members
	uses  map[*Members]int    // how often a struct is met, 2 if it contains itself
	names map[*Members]string // names under $defs
	taken map[string]bool
	defs  []*Members // in order of first use
	all   bool       // put every struct that is met twice under $defs
	far   int        // keywords other than properties between the root and what is being written
	lost  string     // a header that was left out because its member has no fixed place
}

// maxInline is the size of a schema from which structs that occur repeatedly are written once, under $defs.
const maxInline = 64 << 10

// writeSchema also returns why the header annotations of the schema are not valid, if they are not.
func writeSchema(root *Rule) (out []byte, headers, err error) {
	e := &emitter{}
	out, err = e.document(root)
	if err != nil || len(out) > maxInline {
		again := &emitter{all: true}
		if smaller, err2 := again.document(root); err2 == nil && (err != nil || len(smaller) < len(out)) {
			out, e, err = smaller, again, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if e.lost != "" {
		headers = fmt.Errorf("the tag header %q is on a member of a list, a map or a recursive type, so that its argument has no fixed place", e.lost)
	} else {
		_, headers = Headers(out)
	}
	return out, headers, nil
}

func (e *emitter) document(root *Rule) ([]byte, error) {
	e.uses, e.names, e.taken = map[*Members]int{}, map[*Members]string{}, map[string]bool{}
	e.root = root.Members
	e.count(root, map[*Members]bool{})
	dst, err := e.rule(nil, root, true)
	if err != nil || len(e.names) == 0 {
		return dst, err
	}
	e.far++
	dst = append(dst[:len(dst)-1], `,"$defs":{`...)
	for i := 0; i < len(e.defs); i++ { // grows while it is written
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, e.names[e.defs[i]])
		dst = append(dst, ':')
		if dst, err = e.rule(dst, &Rule{Kind: Object, Members: e.defs[i]}, true); err != nil {
			return nil, err
		}
	}
	return append(dst, "}}"...), nil
}

// count finds the structs that contain themselves, and those that occur more than once.
func (e *emitter) count(r *Rule, inside map[*Members]bool) {
	if r == nil {
		return
	}
	if r.Kind == Array {
		e.count(r.Elem, inside)
		return
	}
	m := r.Members
	if m == nil {
		return
	}
	if inside[m] {
		e.uses[m] = recursive
		return
	}
	if e.uses[m] > 0 {
		e.uses[m] = max(e.uses[m], repeated)
		return
	}
	e.uses[m] = 1
	inside[m] = true
	for i := range m.List {
		e.count(m.List[i].Rule, inside)
	}
	e.count(m.Extra, inside)
	delete(inside, m)
}

const (
	repeated  = 2
	recursive = 3
)

// reference returns the $ref of a struct that is not written in place, or "".
func (e *emitter) reference(m *Members) string {
	uses := e.uses[m]
	if m == nil || uses < repeated || uses == repeated && (!e.all || m.typ == "") {
		return ""
	}
	if m == e.root {
		return "#"
	}
	name, ok := e.names[m]
	if !ok {
		name = e.newName(m.typ)
		e.names[m] = name
		e.defs = append(e.defs, m)
	}
	return "#/$defs/" + name
}

// newName makes a name for $defs that needs no escaping anywhere.
func (e *emitter) newName(typ string) string {
	base := strings.Map(func(r rune) rune {
		if r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, typ)
	if base == "" {
		base = "Object"
	}
	name := base
	for n := 2; e.taken[name]; n++ {
		name = base + strconv.Itoa(n)
	}
	e.taken[name] = true
	return name
}

func appendString(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		return append(dst, `""`...)
	}
	return out
}

// keyword starts a member of the schema object that is being written.
func keyword(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, `":`...)
}

func textKeyword(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendString(keyword(dst, name), value)
}

func sizeKeyword(dst []byte, name string, n *int) []byte {
	if n == nil {
		return dst
	}
	return strconv.AppendInt(keyword(dst, name), int64(*n), 10)
}

// maxSchema bounds what is written for one type.
const maxSchema = 16 << 20

// rule writes one schema. In place means that a struct is written out even where it has a name under $defs.
func (e *emitter) rule(dst []byte, r *Rule, inPlace bool) ([]byte, error) {
	if len(dst) > maxSchema {
		return nil, fmt.Errorf("the schema is larger than %d bytes", maxSchema)
	}
	if !inPlace {
		if ref := e.reference(r.Members); ref != "" {
			return e.refSchema(dst, r, ref), nil
		}
	}
	if r.Kind == Any && r.Title == "" && r.Description == "" {
		return append(dst, "true"...), nil
	}
	dst = append(dst, '{')
	dst = typeKeyword(dst, r)
	dst = e.annotations(dst, r)
	dst = textKeywords(dst, r)
	if r.Kind == Array {
		var err error
		e.far++
		if dst, err = e.rule(keyword(dst, "items"), r.Elem, false); err != nil {
			return nil, err
		}
		e.far--
		dst = sizeKeyword(dst, "minItems", r.MinItems)
		dst = sizeKeyword(dst, "maxItems", r.MaxItems)
	}
	if r.Members != nil {
		var err error
		if dst, err = e.members(dst, r.Members, inPlace); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func (e *emitter) refSchema(dst []byte, r *Rule, ref string) []byte {
	dst = append(dst, '{')
	if r.Nullable {
		dst = append(dst, `"anyOf":[{"$ref":`...)
		dst = append(appendString(dst, ref), `},{"type":"null"}]`...)
	} else {
		dst = appendString(append(dst, `"$ref":`...), ref)
	}
	dst = e.annotations(dst, r)
	return append(dst, '}')
}

func typeKeyword(dst []byte, r *Rule) []byte {
	name := ""
	switch r.Kind {
	case Any:
		return dst
	case String:
		name = "string"
	case Integer:
		name = "integer"
	case Number:
		name = "number"
	case Boolean:
		name = "boolean"
	case Array:
		name = "array"
	case Object:
		name = "object"
	}
	dst = keyword(dst, "type")
	if r.Nullable {
		return append(append(append(dst, `["`...), name...), `","null"]`...)
	}
	return append(append(append(dst, '"'), name...), '"')
}

func (e *emitter) annotations(dst []byte, r *Rule) []byte {
	dst = textKeyword(dst, "title", r.Title)
	dst = textKeyword(dst, "description", description(r))
	if e.far > 0 {
		e.lost = cmp.Or(e.lost, r.Header)
		return dst
	}
	return textKeyword(dst, "x-mcp-header", r.Header)
}

// description adds the labels of an enumeration, which JSON Schema has no other place for.
func description(r *Rule) string {
	values := r
	for values.Kind == Array && values.Elem != nil {
		values = values.Elem
	}
	if !values.optionTitles {
		return r.Description
	}
	var b strings.Builder
	b.WriteString(r.Description)
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteByte('(')
	for i, o := range values.Options {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(o.Value)
		if o.Title != "" {
			b.WriteString(": " + o.Title)
		}
	}
	b.WriteByte(')')
	return b.String()
}

func textKeywords(dst []byte, r *Rule) []byte {
	if r.Options != nil {
		dst = append(keyword(dst, "enum"), '[')
		for i, o := range r.Options {
			if i > 0 {
				dst = append(dst, ',')
			}
			if r.Kind == String {
				dst = appendString(dst, o.Value)
			} else {
				dst = append(dst, o.Value...)
			}
		}
		if r.Nullable {
			dst = append(dst, ",null"...)
		}
		dst = append(dst, ']')
	}
	dst = textKeyword(dst, "contentEncoding", r.ContentEncoding)
	dst = textKeyword(dst, "format", r.Format)
	dst = textKeyword(dst, "pattern", r.Pattern)
	dst = sizeKeyword(dst, "minLength", r.MinLength)
	dst = sizeKeyword(dst, "maxLength", r.MaxLength)
	if r.Minimum != "" {
		dst = append(keyword(dst, "minimum"), r.Minimum...)
	}
	if r.Maximum != "" {
		dst = append(keyword(dst, "maximum"), r.Maximum...)
	}
	return dst
}

func (e *emitter) members(dst []byte, m *Members, inPlace bool) ([]byte, error) {
	var err error
	if m.Extra == nil || len(m.List) > 0 || inPlace && m == e.root {
		dst = append(keyword(dst, "properties"), '{')
		for i := range m.List {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, m.List[i].Name), ':')
			if dst, err = e.member(dst, &m.List[i]); err != nil {
				return nil, err
			}
		}
		dst = append(dst, '}')
	}
	dst = required(dst, m)
	if m.Names != nil && m.Names.Pattern != "" {
		dst = append(appendString(append(keyword(dst, "propertyNames"), `{"pattern":`...), m.Names.Pattern), '}')
	}
	if m.Extra == nil {
		return append(keyword(dst, "additionalProperties"), "false"...), nil
	}
	if m.Extra.Kind == Any {
		return dst, nil
	}
	e.far++
	dst, err = e.rule(keyword(dst, "additionalProperties"), m.Extra, false)
	e.far--
	return dst, err
}

// member writes a member's schema with its default.
func (e *emitter) member(dst []byte, m *Member) ([]byte, error) {
	dst, err := e.rule(dst, m.Rule, false)
	if err != nil || m.Default == nil {
		return dst, err
	}
	if rest, ok := strings.CutSuffix(string(dst[max(0, len(dst)-4):]), "true"); ok && rest == "" {
		dst = append(dst[:len(dst)-4], "{}"...)
	}
	dst = append(keyword(dst[:len(dst)-1], "default"), m.Default...)
	return append(dst, '}'), nil
}

func required(dst []byte, m *Members) []byte {
	first := true
	for i := range m.List {
		if !m.List[i].Required {
			continue
		}
		if first {
			dst = append(keyword(dst, "required"), '[')
			first = false
		} else {
			dst = append(dst, ',')
		}
		dst = appendString(dst, m.List[i].Name)
	}
	if !first {
		dst = append(dst, ']')
	}
	return dst
}

// inputSchema is the schema as a tool's input.
func inputSchema(root *Rule, schema []byte) []byte {
	switch {
	case root.Kind == Any:
		return []byte(`{"type":"object","properties":{}}`)
	case root.Kind == Object && !root.Nullable:
		return schema
	}
	return nil
}
