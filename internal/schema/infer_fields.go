package schema

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// field is a struct field as JSON sees it, promoted ones included.
type field struct {
	name     string
	tagged   bool
	index    []int
	typ      reflect.Type
	tag      reflect.StructTag
	optional bool
	asString bool
}

// structFields lists the members of a struct in the order in which they are encoded, and the type of the embedded map or raw value
// that takes all other members. Promotion follows the rules of Go and of encoding/json/v2: the shallowest field wins, then the
// one with a name in its tag; otherwise none does.
func structFields(t reflect.Type) (fields []field, fallback *reflect.Type, err error) {
	var all []field
	type level struct {
		typ      reflect.Type
		index    []int
		optional bool
	}
	seen := map[reflect.Type]bool{t: true}
	for queue := []level{{typ: t}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for i := range at.typ.NumField() {
			sf := at.typ.Field(i)
			f, embedded, skip, err := parseField(sf)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", sf.Name, err)
			}
			if skip {
				continue
			}
			f.index = append(slices.Clone(at.index), i)
			f.optional = f.optional || at.optional
			if !embedded {
				all = append(all, f)
				continue
			}
			inner := f.typ
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() != reflect.Struct || rawType(inner) {
				fallback = cmp.Or(fallback, &inner)
				continue
			}
			if !seen[inner] {
				seen[inner] = true
				queue = append(queue, level{inner, f.index, at.optional || f.typ.Kind() == reflect.Pointer})
			}
		}
	}
	return dominant(all), fallback, nil
}

// dominant picks one field of each name.
func dominant(all []field) []field {
	sort.Stable(byRank(all))
	var out []field
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].name == all[0].name {
			n++
		}
		if n == 1 || len(all[0].index) != len(all[1].index) || all[0].tagged != all[1].tagged {
			out = append(out, all[0])
		}
		all = all[n:]
	}
	sort.Sort(byIndex(out))
	return out
}

// byRank and byIndex are orders of fields. They are sorted by way of an interface: one of the generic functions would add 20 KB to every
// program.
type (
	byRank  []field // by name, and those of one name by who wins
	byIndex []field // as they stand in the struct
)

func (b byRank) Len() int      { return len(b) }
func (b byRank) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b byRank) Less(i, j int) bool {
	x, y := &b[i], &b[j]
	return cmp.Or(strings.Compare(x.name, y.name), cmp.Compare(len(x.index), len(y.index)), compareBool(y.tagged, x.tagged)) < 0
}

func (b byIndex) Len() int           { return len(b) }
func (b byIndex) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b byIndex) Less(i, j int) bool { return slices.Compare(b[i].index, b[j].index) < 0 }

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// parseField reads a field's json tag.
func parseField(sf reflect.StructField) (f field, embedded, skip bool, err error) {
	tag := sf.Tag.Get("json")
	if tag == "-" || !sf.IsExported() && !sf.Anonymous {
		return f, false, true, nil
	}
	f = field{name: sf.Name, typ: sf.Type, tag: sf.Tag}
	name, options, _ := strings.Cut(tag, ",")
	if strings.HasPrefix(name, "'") {
		return f, false, false, errors.New("quoted names in json tags are not supported")
	}
	if name != "" {
		f.name, f.tagged = name, true
	}
	for option := range strings.SplitSeq(options, ",") {
		key, _, _ := strings.Cut(option, ":")
		switch key {
		case "omitempty", "omitzero":
			f.optional = true
		case "string":
			f.asString = true
		case "embed":
			embedded = true
		case "case":
			if option != "case:strict" {
				return f, false, false, errors.New("names are matched exactly; remove the json option " + option)
			}
		case "format":
			return f, false, false, errors.New("the json option format is not supported")
		}
	}
	if sf.Anonymous && !f.tagged {
		embedded = true
	}
	return f, embedded, false, nil
}
