package schema

import (
	"encoding"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// inference turns one Go type into rules.
type inference struct {
	structs map[reflect.Type]*Members // also those that are being built: types may be recursive
	rules   int
}

// maxRules bounds what is inferred from one type.
const maxRules = 100_000

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	numberType   = reflect.TypeFor[stdjson.Number]()
	jsonMethods  = []reflect.Type{
		reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.MarshalerTo](),
		reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[json.UnmarshalerFrom](),
	}
	textMethods = []reflect.Type{
		reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextAppender](), reflect.TypeFor[encoding.TextUnmarshaler](),
	}
)

func implementsAny(t reflect.Type, methods []reflect.Type) bool {
	for _, m := range methods {
		if t.Implements(m) || t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(m) {
			return true
		}
	}
	return false
}

// fieldError is an error about a type, prefixed by the path of fields that leads there.
func fieldError(path string, err error) error {
	if path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// rule infers the rule of a type; path leads to it.
func (f *inference) rule(t reflect.Type, path string) (*Rule, error) {
	r, err := f.bare(t, path)
	if err != nil {
		return nil, err
	}
	if err := r.Prepare(); err != nil {
		return nil, fieldError(path, err)
	}
	return r, nil
}

func (f *inference) bare(t reflect.Type, path string) (*Rule, error) {
	if f.rules++; f.rules > maxRules {
		return nil, fieldError(path, fmt.Errorf("the type has more than %d parts", maxRules))
	}
	switch {
	case t == timeType:
		return &Rule{Kind: String, Format: "date-time", trusted: true}, nil
	case t == durationType:
		return nil, fieldError(path, errors.New("time.Duration has no JSON form; use a string, or a number that names its unit"))
	case t == numberType:
		return nil, fieldError(path, errors.New("json.Number has no JSON form of its own; use int64, float64 or json.RawMessage"))
	case t.Kind() == reflect.Pointer:
		return f.pointer(t, path)
	case implementsAny(t, jsonMethods):
		return &Rule{Kind: Any}, nil
	case implementsAny(t, textMethods):
		return &Rule{Kind: String}, nil
	}
	switch t.Kind() {
	case reflect.Interface:
		return &Rule{Kind: Any}, nil
	case reflect.String:
		return &Rule{Kind: String}, nil
	case reflect.Bool:
		return &Rule{Kind: Boolean}, nil
	case reflect.Float32, reflect.Float64:
		return &Rule{Kind: Number, bits: t.Bits()}, nil
	case reflect.Slice, reflect.Array:
		return f.list(t, path)
	case reflect.Map:
		return f.mapping(t, path)
	case reflect.Struct:
		return f.structure(t, path)
	}
	if r := integerRule(t); r != nil {
		return r, nil
	}
	return nil, fieldError(path, fmt.Errorf("%s (%s) has no JSON form; leave the field out with the tag `json:\"-\"`", t, t.Kind()))
}

// integerRule is nil for other kinds. The schema states the range of types of up to 32 bits, and the sign.
func integerRule(t reflect.Type) *Rule {
	r := &Rule{Kind: Integer}
	var low, high string
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		r.bits = t.Bits()
		low, high = strconv.FormatInt(-1<<(r.bits-1), 10), strconv.FormatInt(1<<(r.bits-1)-1, 10)
		if r.bits <= 32 && t.Kind() != reflect.Int {
			r.Minimum, r.Maximum = low, high
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		r.bits, r.unsigned = t.Bits(), true
		low, high = "0", strconv.FormatUint(1<<r.bits-1, 10)
		r.Minimum = low
		if r.bits <= 32 && t.Kind() != reflect.Uint && t.Kind() != reflect.Uintptr {
			r.Maximum = high
		}
	default:
		return nil
	}
	lo, _ := parseDecimal(low)
	hi, _ := parseDecimal(high)
	r.low, r.high = &lo, &hi
	return r
}

func (f *inference) pointer(t reflect.Type, path string) (*Rule, error) {
	r, err := f.bare(t.Elem(), path)
	if err != nil || r.Kind == Any {
		return r, err
	}
	r.Nullable = true
	return r, nil
}

func (f *inference) list(t reflect.Type, path string) (*Rule, error) {
	if t.Elem().Kind() == reflect.Uint8 && !implementsAny(t.Elem(), append(jsonMethods, textMethods...)) {
		return &Rule{Kind: String, ContentEncoding: "base64"}, nil
	}
	elem, err := f.rule(t.Elem(), path+"[]")
	if err != nil {
		return nil, err
	}
	r := &Rule{Kind: Array, Elem: elem}
	if t.Kind() == reflect.Array {
		n := t.Len()
		r.MinItems, r.MaxItems = &n, &n
	}
	return r, nil
}

func (f *inference) mapping(t reflect.Type, path string) (*Rule, error) {
	names, err := f.names(t.Key(), path)
	if err != nil {
		return nil, err
	}
	elem, err := f.rule(t.Elem(), path+"[]")
	if err != nil {
		return nil, err
	}
	return &Rule{Kind: Object, Members: &Members{Extra: elem, Names: names}}, nil
}

// names is the rule of map keys; nil accepts every name.
func (f *inference) names(t reflect.Type, path string) (*Rule, error) {
	if implementsAny(t, jsonMethods) {
		return nil, fieldError(path, fmt.Errorf("map keys of type %s encode themselves; use a string, integer or text type", t))
	}
	if t.Kind() == reflect.String || implementsAny(t, textMethods) {
		return nil, nil
	}
	if r := integerRule(t); r != nil {
		r.Pattern = `^-?(0|[1-9][0-9]*)$`
		if r.unsigned {
			r.Pattern = `^(0|[1-9][0-9]*)$`
		}
		return r, r.Prepare()
	}
	return nil, fieldError(path, fmt.Errorf("map keys of type %s have no JSON form; use a string, integer or text type", t))
}

func (f *inference) structure(t reflect.Type, path string) (*Rule, error) {
	if m, ok := f.structs[t]; ok {
		return &Rule{Kind: Object, Members: m}, nil
	}
	m := &Members{typ: t.Name()}
	f.structs[t] = m
	// The decoder judges the type's tags, so that nothing is promised here that it does not keep.
	if err := json.Unmarshal([]byte("{}"), reflect.New(t).Interface()); err != nil {
		return nil, fieldError(path, plainTypeError(err))
	}
	fields, fallback, err := structFields(t)
	if err != nil {
		return nil, fieldError(path, err)
	}
	for _, sf := range fields {
		member, err := f.member(sf, path+"."+sf.name)
		if err != nil {
			return nil, err
		}
		m.List = append(m.List, member)
	}
	if fallback != nil {
		if m.Extra, err = f.extra(*fallback, path); err != nil {
			return nil, err
		}
	}
	m.prepare()
	return &Rule{Kind: Object, Members: m}, nil
}

// plainTypeError strips the part of a decoder's error that speaks of JSON.
func plainTypeError(err error) error {
	var se *json.SemanticError
	if errors.As(err, &se) && se.Err != nil {
		return fmt.Errorf("%s: %w", se.GoType, se.Err)
	}
	return err
}

// extra is the rule of the members that an embedded map or raw value collects.
func (f *inference) extra(t reflect.Type, path string) (*Rule, error) {
	if t.Kind() == reflect.Map {
		return f.rule(t.Elem(), path+"[]")
	}
	r := &Rule{Kind: Any}
	return r, r.Prepare()
}

func (f *inference) member(sf field, path string) (Member, error) {
	path = strings.TrimPrefix(path, ".")
	r, err := f.bare(sf.typ, path)
	if err != nil {
		return Member{}, err
	}
	optional, pointer := sf.optional, false
	if sf.typ.Kind() == reflect.Pointer {
		optional, pointer, r.Nullable = true, !sf.optional && r.Kind != Any, false
	}
	if sf.asString {
		r = &Rule{Kind: String, Pattern: stringNumber(r)}
	}
	m := Member{Name: sf.name, Rule: r, Required: !optional, pointer: pointer}
	if err := applyTags(&m, sf.tag); err != nil {
		return Member{}, fieldError(path, err)
	}
	if m.Default != nil {
		m.Required = false
	}
	return m, nil
}

// stringNumber is the pattern of a number in a string (the json option "string").
func stringNumber(r *Rule) string {
	switch {
	case r.Kind == Integer && r.unsigned:
		return `^(0|[1-9][0-9]*)$`
	case r.Kind == Integer:
		return `^-?(0|[1-9][0-9]*)$`
	}
	return `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`
}

// rawType reports whether a type holds raw JSON.
func rawType(t reflect.Type) bool { return t == reflect.TypeFor[jsontext.Value]() }
