package schema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// builder reads a schema into the library's form. It reads each keyword itself, rather than leaving that to the library, because
// the library's decoder matches keywords without case and rounds the numbers of enum and const.
type builder struct {
	limits Limits
	draft7 bool
	paths  map[string]*jsonschema.Schema // by JSON Pointer from the root
	order  []*jsonschema.Schema
	info   map[*jsonschema.Schema]*info
}

// info is what is known of a schema beside the library's form.
type info struct {
	at       string               // JSON Pointer from the root
	refs     []*jsonschema.Schema // what $ref and $dynamicRef may lead to
	patterns int                  // instructions of its regular expressions
	list     []property           // properties in document order, for applying defaults
	required map[string]bool
}

type property struct {
	name   string
	schema *jsonschema.Schema
}

func newBuilder(l Limits) *builder {
	return &builder{limits: l, paths: map[string]*jsonschema.Schema{}, info: map[*jsonschema.Schema]*info{}}
}

// at is the JSON Pointer of a schema.
func (b *builder) at(s *jsonschema.Schema) string { return b.info[s].at }

const (
	dialect202012 = "https://json-schema.org/draft/2020-12/schema"
	dialect7      = "http://json-schema.org/draft-07/schema#"
)

// document reads the root.
func (b *builder) document(v *Value) (*jsonschema.Schema, error) {
	canonical, err := dialect(v)
	if err != nil {
		return nil, err
	}
	b.draft7 = canonical == dialect7
	root, err := b.schema(v, "")
	if err != nil {
		return nil, err
	}
	root.Schema = canonical
	return root, nil
}

// dialect maps $schema to what the library knows.
func dialect(v *Value) (string, error) {
	s := v.Get("$schema")
	if s == nil {
		return dialect202012, nil
	}
	if s.Kind != '"' {
		return "", fmt.Errorf("$schema is %s; it must be a string", kindOf(s.Raw))
	}
	name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(s.Text, "https://"), "http://"), "#")
	switch name {
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema":
		return dialect202012, nil
	case "json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema":
		return dialect7, nil
	}
	return "", fmt.Errorf("%w; $schema is %q", ErrDialect, shorten(s.Text, 100))
}

// wrong is an error at a place in the schema.
func wrong(at, format string, args ...any) error {
	if at == "" {
		at = "the root"
	}
	return fmt.Errorf("schema at %s: %w", at, fmt.Errorf(format, args...))
}

func (b *builder) schema(v *Value, at string) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{}
	if len(b.order) >= b.limits.Subschemas {
		return nil, fmt.Errorf("%w: more than %d subschemas", ErrExpensive, b.limits.Subschemas)
	}
	b.order = append(b.order, s)
	b.paths[at], b.info[s] = s, &info{at: at}
	switch v.Kind {
	case 't':
		return s, nil
	case 'f':
		s.Not = &jsonschema.Schema{}
		b.order = append(b.order, s.Not)
		b.info[s.Not] = &info{at: at + "/not"}
		return s, nil
	case '{':
	default:
		return nil, wrong(at, "a schema is an object or a boolean, not %s", kindOf(v.Raw))
	}
	for _, m := range v.Members {
		read := keywords[m.Name]
		if read == nil {
			continue // annotations and keywords of others
		}
		if err := read(b, s, m.Value, at+"/"+pointerEscaper.Replace(m.Name)); err != nil {
			return nil, err
		}
	}
	if b.draft7 {
		return s, nil
	}
	if s.ItemsArray != nil || s.AdditionalItems != nil || v.Get("$recursiveRef") != nil {
		return nil, wrong(at, "%w: the array form of items, additionalItems and $recursiveRef are not part of 2020-12", ErrDialect)
	}
	return s, nil
}

type readKeyword func(b *builder, s *jsonschema.Schema, v *Value, at string) error

// keywords are the keywords that take part in validation. It is filled by init because schemas contain schemas.
var keywords map[string]readKeyword

func init() {
	type schema = jsonschema.Schema
	keywords = map[string]readKeyword{
		"$id":            readText(func(s *schema) *string { return &s.ID }),
		"$ref":           readText(func(s *schema) *string { return &s.Ref }),
		"$anchor":        readText(func(s *schema) *string { return &s.Anchor }),
		"$dynamicAnchor": readText(func(s *schema) *string { return &s.DynamicAnchor }),
		"$dynamicRef":    readText(func(s *schema) *string { return &s.DynamicRef }),
		"$defs":          readMap(func(s *schema) *map[string]*schema { return &s.Defs }),
		"definitions":    readMap(func(s *schema) *map[string]*schema { return &s.Definitions }),

		"type":             readType,
		"enum":             readEnum,
		"const":            readConst,
		"multipleOf":       readNumber(func(s *schema) **float64 { return &s.MultipleOf }),
		"minimum":          readNumber(func(s *schema) **float64 { return &s.Minimum }),
		"maximum":          readNumber(func(s *schema) **float64 { return &s.Maximum }),
		"exclusiveMinimum": readNumber(func(s *schema) **float64 { return &s.ExclusiveMinimum }),
		"exclusiveMaximum": readNumber(func(s *schema) **float64 { return &s.ExclusiveMaximum }),
		"minLength":        readSize(func(s *schema) **int { return &s.MinLength }),
		"maxLength":        readSize(func(s *schema) **int { return &s.MaxLength }),
		"pattern":          readPattern,
		"default":          func(_ *builder, s *schema, v *Value, _ string) error { s.Default = v.Raw; return nil },

		"prefixItems":      readList(func(s *schema) *[]*schema { return &s.PrefixItems }),
		"items":            readItems,
		"additionalItems":  readSchema(func(s *schema) **schema { return &s.AdditionalItems }),
		"contains":         readSchema(func(s *schema) **schema { return &s.Contains }),
		"unevaluatedItems": readSchema(func(s *schema) **schema { return &s.UnevaluatedItems }),
		"minItems":         readSize(func(s *schema) **int { return &s.MinItems }),
		"maxItems":         readSize(func(s *schema) **int { return &s.MaxItems }),
		"minContains":      readSize(func(s *schema) **int { return &s.MinContains }),
		"maxContains":      readSize(func(s *schema) **int { return &s.MaxContains }),
		"uniqueItems":      readUnique,

		"properties":            readProperties,
		"patternProperties":     readPatternProperties,
		"additionalProperties":  readSchema(func(s *schema) **schema { return &s.AdditionalProperties }),
		"unevaluatedProperties": readSchema(func(s *schema) **schema { return &s.UnevaluatedProperties }),
		"propertyNames":         readSchema(func(s *schema) **schema { return &s.PropertyNames }),
		"minProperties":         readSize(func(s *schema) **int { return &s.MinProperties }),
		"maxProperties":         readSize(func(s *schema) **int { return &s.MaxProperties }),
		"required":              readRequired,
		"dependentRequired":     readDependentRequired,
		"dependentSchemas":      readMap(func(s *schema) *map[string]*schema { return &s.DependentSchemas }),
		"dependencies":          readDependencies,

		"allOf": readList(func(s *schema) *[]*schema { return &s.AllOf }),
		"anyOf": readList(func(s *schema) *[]*schema { return &s.AnyOf }),
		"oneOf": readList(func(s *schema) *[]*schema { return &s.OneOf }),
		"not":   readSchema(func(s *schema) **schema { return &s.Not }),
		"if":    readSchema(func(s *schema) **schema { return &s.If }),
		"then":  readSchema(func(s *schema) **schema { return &s.Then }),
		"else":  readSchema(func(s *schema) **schema { return &s.Else }),
	}
}

func readText(field func(*jsonschema.Schema) *string) readKeyword {
	return func(_ *builder, s *jsonschema.Schema, v *Value, at string) error {
		if v.Kind != '"' {
			return wrong(at, "must be a string, not %s", kindOf(v.Raw))
		}
		*field(s) = v.Text
		return nil
	}
}

func readNumber(field func(*jsonschema.Schema) **float64) readKeyword {
	return func(_ *builder, s *jsonschema.Schema, v *Value, at string) error {
		if v.Kind != '0' {
			return wrong(at, "must be a number, not %s", kindOf(v.Raw))
		}
		f, err := strconv.ParseFloat(string(v.Raw), 64)
		if err != nil {
			return wrong(at, "the number %s is out of range", shorten(string(v.Raw), 40))
		}
		if strings.HasSuffix(at, "/multipleOf") && f <= 0 {
			return wrong(at, "must be greater than 0")
		}
		*field(s) = &f
		return nil
	}
}

// maxSize keeps sizes within what the library and 32-bit systems hold; no value has more parts.
const maxSize = 1<<31 - 1

func readSize(field func(*jsonschema.Schema) **int) readKeyword {
	return func(_ *builder, s *jsonschema.Schema, v *Value, at string) error {
		size, ok := ParseSize(v)
		if !ok {
			return wrong(at, "must be an integer of 0 or more, not %s", describe(v.Raw))
		}
		*field(s) = &size
		return nil
	}
}

// ParseSize reads a number of 0 or more without fraction; numbers larger than any size are cut.
func ParseSize(v *Value) (size int, ok bool) {
	d, ok := parseDecimal(string(v.Raw))
	if v.Kind != '0' || !ok || !d.integer() || d.sign() < 0 {
		return 0, false
	}
	n, ok := d.int64()
	if !ok || n > maxSize {
		n = maxSize
	}
	return int(n), true
}

func readSchema(field func(*jsonschema.Schema) **jsonschema.Schema) readKeyword {
	return func(b *builder, s *jsonschema.Schema, v *Value, at string) (err error) {
		*field(s), err = b.schema(v, at)
		return err
	}
}

func readList(field func(*jsonschema.Schema) *[]*jsonschema.Schema) readKeyword {
	return func(b *builder, s *jsonschema.Schema, v *Value, at string) error {
		if v.Kind != '[' {
			return wrong(at, "must be an array of schemas, not %s", kindOf(v.Raw))
		}
		list := make([]*jsonschema.Schema, len(v.Items))
		for i, item := range v.Items {
			var err error
			if list[i], err = b.schema(item, at+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
		*field(s) = list
		return nil
	}
}

func readMap(field func(*jsonschema.Schema) *map[string]*jsonschema.Schema) readKeyword {
	return func(b *builder, s *jsonschema.Schema, v *Value, at string) error {
		if v.Kind != '{' {
			return wrong(at, "must be an object of schemas, not %s", kindOf(v.Raw))
		}
		m := make(map[string]*jsonschema.Schema, len(v.Members))
		for _, member := range v.Members {
			sub, err := b.schema(member.Value, string(appendPointer([]byte(at), member.Name)))
			if err != nil {
				return err
			}
			m[member.Name] = sub
		}
		*field(s) = m
		return nil
	}
}

var typeNames = map[string]bool{
	"null": true, "boolean": true, "object": true, "array": true, "number": true, "string": true, "integer": true,
}

func readType(_ *builder, s *jsonschema.Schema, v *Value, at string) error {
	names := []*Value{v}
	if v.Kind == '[' {
		names = v.Items
	}
	for _, name := range names {
		if name.Kind != '"' || !typeNames[name.Text] {
			return wrong(at, "%s is not a type; types are null, boolean, object, array, number, string and integer", describe(name.Raw))
		}
	}
	if v.Kind == '"' {
		s.Type = v.Text
		return nil
	}
	s.Types = make([]string, len(names))
	for i, name := range names {
		s.Types[i] = name.Text
	}
	return nil
}

func readEnum(_ *builder, s *jsonschema.Schema, v *Value, at string) error {
	if v.Kind != '[' {
		return wrong(at, "must be an array, not %s", kindOf(v.Raw))
	}
	s.Enum = make([]any, len(v.Items))
	for i, item := range v.Items {
		var err error
		if s.Enum[i], err = instanceOf(item); err != nil {
			return wrong(at, "%w", err)
		}
	}
	return nil
}

func readConst(_ *builder, s *jsonschema.Schema, v *Value, at string) error {
	x, err := instanceOf(v)
	if err != nil {
		return wrong(at, "%w", err)
	}
	s.Const = &x
	return nil
}

func readPattern(b *builder, s *jsonschema.Schema, v *Value, at string) error {
	if v.Kind != '"' {
		return wrong(at, "must be a string, not %s", kindOf(v.Raw))
	}
	_, size, err := compileSized(v.Text, b.limits.PatternBytes)
	if err != nil {
		return wrong(at, "%w", err)
	}
	s.Pattern = v.Text
	b.info[s].patterns += size
	return nil
}

func readItems(b *builder, s *jsonschema.Schema, v *Value, at string) error {
	if v.Kind == '[' {
		return readList(func(s *jsonschema.Schema) *[]*jsonschema.Schema { return &s.ItemsArray })(b, s, v, at)
	}
	return readSchema(func(s *jsonschema.Schema) **jsonschema.Schema { return &s.Items })(b, s, v, at)
}

func readUnique(_ *builder, s *jsonschema.Schema, v *Value, at string) error {
	if v.Kind != 't' && v.Kind != 'f' {
		return wrong(at, "must be true or false, not %s", kindOf(v.Raw))
	}
	s.UniqueItems = v.Kind == 't'
	return nil
}

func readProperties(b *builder, s *jsonschema.Schema, v *Value, at string) error {
	if err := readMap(func(s *jsonschema.Schema) *map[string]*jsonschema.Schema { return &s.Properties })(b, s, v, at); err != nil {
		return err
	}
	for _, m := range v.Members {
		b.info[s].list = append(b.info[s].list, property{m.Name, s.Properties[m.Name]})
	}
	return nil
}

func readPatternProperties(b *builder, s *jsonschema.Schema, v *Value, at string) error {
	for _, m := range v.Members {
		_, size, err := compileSized(m.Name, b.limits.PatternBytes)
		if err != nil {
			return wrong(at, "%w", err)
		}
		b.info[s].patterns += size
	}
	return readMap(func(s *jsonschema.Schema) *map[string]*jsonschema.Schema { return &s.PatternProperties })(b, s, v, at)
}

// names reads an array of strings.
func names(v *Value, at string) ([]string, error) {
	if v.Kind != '[' {
		return nil, wrong(at, "must be an array of names, not %s", describe(v.Raw))
	}
	list := make([]string, len(v.Items))
	for i, item := range v.Items {
		if item.Kind != '"' {
			return nil, wrong(at, "must be an array of names, not of %s", describe(item.Raw))
		}
		list[i] = item.Text
	}
	return list, nil
}

func readRequired(b *builder, s *jsonschema.Schema, v *Value, at string) (err error) {
	if s.Required, err = names(v, at); err != nil {
		return err
	}
	required := make(map[string]bool, len(s.Required))
	for _, name := range s.Required {
		required[name] = true
	}
	b.info[s].required = required
	return nil
}

func readDependentRequired(_ *builder, s *jsonschema.Schema, v *Value, at string) (err error) {
	if v.Kind != '{' {
		return wrong(at, "must be an object, not %s", kindOf(v.Raw))
	}
	s.DependentRequired = make(map[string][]string, len(v.Members))
	for _, m := range v.Members {
		if s.DependentRequired[m.Name], err = names(m.Value, at); err != nil {
			return err
		}
	}
	return nil
}

func readDependencies(b *builder, s *jsonschema.Schema, v *Value, at string) (err error) {
	if v.Kind != '{' {
		return wrong(at, "must be an object, not %s", kindOf(v.Raw))
	}
	s.DependencyStrings, s.DependencySchemas = map[string][]string{}, map[string]*jsonschema.Schema{}
	for _, m := range v.Members {
		if m.Value.Kind == '[' {
			s.DependencyStrings[m.Name], err = names(m.Value, at)
		} else {
			s.DependencySchemas[m.Name], err = b.schema(m.Value, string(appendPointer([]byte(at), m.Name)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
