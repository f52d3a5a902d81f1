package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed38e7925c/parley/internal/schema"
)

// ErrUnsupported means that a requestedSchema asks for something that no revision lets a form ask.
var ErrUnsupported = errors.New("the form cannot be shown")

// maxNesting is enough for every published shape, which nests 5 deep, with room for keywords to ignore.
const maxNesting = 32

// Parse reads a requestedSchema of any revision: strings with lengths, format and pattern, integers and numbers with bounds, booleans,
// enums with and without labels (enumNames, or oneOf/anyOf of const and title), arrays of options, defaults of each.
//
// It is lenient where that cannot mislead: unknown keywords are ignored, as are patterns that RE2 does not have and defaults that the
// field itself would not accept; local references to an enum and unions with null are resolved. Whatever a form cannot show (nested
// objects, lists of free text, unions) is an [ErrUnsupported] that names the field.
func Parse(requestedSchema json.RawMessage) (*Form, error) {
	if len(requestedSchema) > MaxBytes {
		return nil, fmt.Errorf("%w: the requested schema has %d bytes; at most %d are allowed", ErrUnsupported, len(requestedSchema), MaxBytes)
	}
	root, err := schema.ParseValue(requestedSchema, maxNesting)
	if err != nil {
		return nil, fmt.Errorf("the requested schema %w", err)
	}
	if t := root.Get("type"); root.Kind != '{' || t != nil && t.Text != "object" {
		return nil, fmt.Errorf("%w: the requested schema does not describe an object", ErrUnsupported)
	}
	required, err := requiredNames(root.Get("required"))
	if err != nil {
		return nil, err
	}
	properties := root.Get("properties")
	if properties == nil {
		properties = &schema.Value{Kind: '{'}
	}
	if properties.Kind != '{' {
		return nil, fmt.Errorf("%w: properties is not an object", ErrUnsupported)
	}
	f := &Form{Fields: make([]Field, 0, len(properties.Members))}
	for _, m := range properties.Members {
		p := parser{root: root, field: Field{Name: m.Name, Required: required[m.Name]}}
		if err := p.parse(m.Value); err != nil {
			return nil, fieldError(m.Name, "%w", err)
		}
		f.Fields = append(f.Fields, p.field)
		delete(required, m.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(required)) {
		return nil, fieldError(name, "%w: it is required but not described", ErrUnsupported)
	}
	if err := f.prepare(); err != nil {
		return nil, err
	}
	return f, nil
}

func requiredNames(v *schema.Value) (map[string]bool, error) {
	names := map[string]bool{}
	if v == nil {
		return names, nil
	}
	if v.Kind != '[' {
		return nil, fmt.Errorf("%w: required is not a list of names", ErrUnsupported)
	}
	for _, item := range v.Items {
		if item.Kind != '"' {
			return nil, fmt.Errorf("%w: required is not a list of names", ErrUnsupported)
		}
		names[item.Text] = true
	}
	return names, nil
}

// parser reads one property.
type parser struct {
	root  *schema.Value
	field Field
}

func (p *parser) parse(v *schema.Value) error {
	v, err := p.resolve(v)
	if err != nil {
		return err
	}
	if err := p.texts(v); err != nil {
		return err
	}
	kind, err := typeOf(v)
	if err != nil {
		return err
	}
	read := map[string]func(*schema.Value) error{
		"string": p.text, "integer": p.number, "number": p.number, "boolean": p.boolean, "array": p.list,
	}[kind]
	if read == nil {
		return fmt.Errorf("%w: it is of type %s, and a form has only strings, numbers, booleans and lists of options", ErrUnsupported, kind)
	}
	if err := read(v); err != nil {
		return err
	}
	return p.finish(v)
}

// resolve follows local references and reduces "x or null" to x.
func (p *parser) resolve(v *schema.Value) (*schema.Value, error) {
	const most = 8
	for range most {
		if v.Kind != '{' {
			return nil, fmt.Errorf("%w: its schema is not an object", ErrUnsupported)
		}
		ref := v.Get("$ref")
		if ref == nil {
			return p.withoutNull(v)
		}
		target, err := p.lookup(ref)
		if err != nil {
			return nil, err
		}
		v = overlay(v, target)
	}
	return nil, fmt.Errorf("%w: its references lead in circles", ErrUnsupported)
}

func (p *parser) lookup(ref *schema.Value) (*schema.Value, error) {
	for _, prefix := range []string{"#/$defs/", "#/definitions/"} {
		name, ok := strings.CutPrefix(ref.Text, prefix)
		if !ok {
			continue
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if target := p.root.Get(strings.Trim(prefix, "#/")).Get(name); target != nil {
			return target, nil
		}
	}
	return nil, fmt.Errorf("%w: its reference %q leads to nothing", ErrUnsupported, clean(ref.Text, 100))
}

// overlay puts the keywords beside a $ref over those of its target.
func overlay(v, target *schema.Value) *schema.Value {
	out := &schema.Value{Kind: target.Kind, Raw: target.Raw}
	for _, m := range v.Members {
		if m.Name != "$ref" {
			out.Members = append(out.Members, m)
		}
	}
	for _, m := range target.Members {
		if out.Get(m.Name) == nil {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// withoutNull reduces a union of one schema with null to that schema.
func (p *parser) withoutNull(v *schema.Value) (*schema.Value, error) {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		union := v.Get(keyword)
		if union == nil || len(union.Items) != 2 {
			continue
		}
		for i, item := range union.Items {
			if t := item.Get("type"); t == nil || t.Text != "null" {
				continue
			}
			rest := &schema.Value{Kind: '{'}
			for _, m := range v.Members {
				if m.Name != keyword {
					rest.Members = append(rest.Members, m)
				}
			}
			other := union.Items[1-i]
			if other.Kind != '{' || other.Get(keyword) != nil && len(other.Get(keyword).Items) == 2 || other.Get("$ref") != nil {
				return p.resolveOnce(rest, other)
			}
			return overlay(rest, other), nil
		}
	}
	return v, nil
}

// resolveOnce handles a union member that is a reference itself.
func (p *parser) resolveOnce(rest, other *schema.Value) (*schema.Value, error) {
	if ref := other.Get("$ref"); ref != nil {
		target, err := p.lookup(ref)
		if err != nil {
			return nil, err
		}
		if target.Kind == '{' && target.Get("$ref") == nil {
			return overlay(rest, target), nil
		}
	}
	if other.Kind == '{' {
		return overlay(rest, other), nil
	}
	return nil, fmt.Errorf("%w: it is a union", ErrUnsupported)
}

// typeOf is the type of a property; enums may leave it out, and a union with null is no other type.
func typeOf(v *schema.Value) (string, error) {
	t := v.Get("type")
	switch {
	case t == nil && (v.Get("enum") != nil || v.Get("oneOf") != nil || v.Get("const") != nil):
		return "string", nil
	case t == nil:
		return "", fmt.Errorf("%w: it has no type", ErrUnsupported)
	case t.Kind == '"':
		return clean(t.Text, 40), nil
	}
	name := ""
	for _, item := range t.Items {
		if item.Text == "null" {
			continue
		}
		if item.Kind != '"' || name != "" {
			return "", fmt.Errorf("%w: it is a union of types", ErrUnsupported)
		}
		name = clean(item.Text, 40)
	}
	if name == "" {
		return "", fmt.Errorf("%w: it has no type", ErrUnsupported)
	}
	return name, nil
}

func (p *parser) texts(v *schema.Value) error {
	for _, k := range []struct {
		name string
		dst  *string
	}{{"title", &p.field.Title}, {"description", &p.field.Description}} {
		if t := v.Get(k.name); t != nil {
			if t.Kind != '"' {
				return fmt.Errorf("%w: its %s is not a string", ErrUnsupported, k.name)
			}
			*k.dst = t.Text
		}
	}
	return nil
}

func (p *parser) text(v *schema.Value) error {
	for _, keyword := range []string{"oneOf", "anyOf", "enum"} {
		if v.Get(keyword) != nil {
			p.field.Kind = Choice
			return p.options(v, keyword)
		}
	}
	for _, unsupported := range []string{"allOf", "not", "const"} {
		if v.Get(unsupported) != nil {
			return fmt.Errorf("%w: %s has no place in a form", ErrUnsupported, unsupported)
		}
	}
	if format := v.Get("format"); format != nil {
		p.field.Format = format.Text
	}
	if pattern := v.Get("pattern"); pattern != nil && schema.ValidPattern(pattern.Text) {
		p.field.Pattern = pattern.Text
	}
	return p.sizes(v, map[string]**int{"minLength": &p.field.MinLength, "maxLength": &p.field.MaxLength})
}

func (p *parser) sizes(v *schema.Value, fields map[string]**int) error {
	for name, dst := range fields {
		n := v.Get(name)
		if n == nil {
			continue
		}
		size, ok := schema.ParseSize(n)
		if !ok {
			return fmt.Errorf("%w: its %s is not an integer of 0 or more", ErrUnsupported, name)
		}
		*dst = &size
	}
	return nil
}

func (p *parser) number(v *schema.Value) error {
	p.field.Kind = Number
	if t, err := typeOf(v); err == nil && t == "integer" {
		p.field.Kind = Integer
	}
	for _, unsupported := range []string{"enum", "oneOf", "anyOf", "allOf", "not", "const", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if v.Get(unsupported) != nil {
			return fmt.Errorf("%w: %s on numbers has no place in a form", ErrUnsupported, unsupported)
		}
	}
	for _, k := range []struct {
		name string
		dst  *Decimal
	}{{"minimum", &p.field.Minimum}, {"maximum", &p.field.Maximum}} {
		if n := v.Get(k.name); n != nil {
			if n.Kind != '0' {
				return fmt.Errorf("%w: its %s is not a number", ErrUnsupported, k.name)
			}
			*k.dst = Decimal(n.Raw)
		}
	}
	return nil
}

func (p *parser) boolean(v *schema.Value) error {
	p.field.Kind = Boolean
	for _, unsupported := range []string{"enum", "oneOf", "anyOf", "allOf", "not", "const"} {
		if v.Get(unsupported) != nil {
			return fmt.Errorf("%w: %s on booleans has no place in a form", ErrUnsupported, unsupported)
		}
	}
	return nil
}

func (p *parser) list(v *schema.Value) error {
	p.field.Kind = MultiChoice
	items := v.Get("items")
	if items == nil || items.Kind != '{' {
		return fmt.Errorf("%w: a list in a form needs options to choose from", ErrUnsupported)
	}
	items, err := p.resolve(items)
	if err != nil {
		return err
	}
	if t := items.Get("type"); t != nil && t.Text != "string" {
		return fmt.Errorf("%w: it is a list of something else than strings", ErrUnsupported)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "enum"} {
		if items.Get(keyword) != nil {
			if err := p.options(items, keyword); err != nil {
				return err
			}
			return p.sizes(v, map[string]**int{"minItems": &p.field.MinItems, "maxItems": &p.field.MaxItems})
		}
	}
	return fmt.Errorf("%w: a list in a form needs options to choose from", ErrUnsupported)
}

// options reads enum (with enumNames), or alternatives of const and title. Repetitions are dropped.
func (p *parser) options(v *schema.Value, keyword string) error {
	list, names := v.Get(keyword), v.Get("enumNames")
	p.field.EnumNames = names != nil && keyword == "enum" && p.field.Kind == Choice
	if list.Kind != '[' || len(list.Items) == 0 {
		return fmt.Errorf("%w: its %s lists no options", ErrUnsupported, keyword)
	}
	if len(list.Items) > MaxOptions {
		return fmt.Errorf("%w: it has %d options; at most %d are allowed", ErrUnsupported, len(list.Items), MaxOptions)
	}
	seen := make(map[string]bool, len(list.Items))
	for i, item := range list.Items {
		o, skip, err := optionOf(item, keyword)
		if err != nil {
			return err
		}
		if skip || seen[o.Value] {
			continue
		}
		if keyword == "enum" && names != nil && i < len(names.Items) {
			o.Title = names.Items[i].Text
		}
		if o.Title == o.Value {
			o.Title = ""
		}
		seen[o.Value] = true
		p.field.Options = append(p.field.Options, o)
	}
	if len(p.field.Options) == 0 {
		return fmt.Errorf("%w: its %s lists no options", ErrUnsupported, keyword)
	}
	return nil
}

// optionOf reads an item of enum, or an alternative of const and title. A null in an enum says "or null", and is skipped.
func optionOf(item *schema.Value, keyword string) (o Option, skip bool, err error) {
	value := item
	if keyword != "enum" {
		value = item.Get("const")
		if t := item.Get("title"); t != nil {
			o.Title = t.Text
		}
	} else if item.Kind == 'n' {
		return o, true, nil
	}
	if value == nil || value.Kind != '"' {
		return o, false, fmt.Errorf("%w: its options are not all strings", ErrUnsupported)
	}
	o.Value = value.Text
	return o, false, nil
}

// finish takes the default over if the field would accept it as an answer.
func (p *parser) finish(v *schema.Value) error {
	r, err := p.field.rule()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	d := v.Get("default")
	if d == nil || d.Kind == 'n' {
		return nil
	}
	if r.Check(d.Raw) == nil {
		p.field.Default = d.Raw
	}
	return nil
}
