package form

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/seed38e7925c/parley/internal/schema"
)

var forms sync.Map // of reflect.Type to func() (*Form, error)

// Of makes the form of a flat struct: one field a member, in the order of the struct, described by the struct tags of the table below.
// The result is made once for each type and shared.
//
//	string, time.Time, text types    String (time.Time: format date-time); with enum: Choice
//	int…, uint…                      Integer
//	float32, float64                 Number
//	bool                             Boolean
//	[]string with enum               MultiChoice
//
//	json        name and options; omitempty, omitzero, pointers and defaults make a field optional
//	title       label
//	jsonschema  description
//	enum        a,b or a=Label A,b=Label B
//	default, minimum, maximum, minLength, maxLength, minItems, maxItems, pattern, format, secret
//
// Everything else (structs, maps, other lists, any) is refused with an error that names the field, because no revision lets a form
// have it.
func Of[T any]() (*Form, error) {
	t := reflect.TypeFor[T]()
	made, ok := forms.Load(t)
	if !ok {
		made, _ = forms.LoadOrStore(t, sync.OnceValues(func() (*Form, error) { return of(schema.For[T]().Rule()) }))
	}
	f, err := made.(func() (*Form, error))()
	if err != nil {
		return nil, fmt.Errorf("no form for %s: %w", t, err)
	}
	return f, nil
}

func of(r *schema.Rule, err error) (*Form, error) {
	if err != nil {
		return nil, err
	}
	if r.Kind != schema.Object || r.Members.Extra != nil {
		return nil, fmt.Errorf("a form is a struct with one field for each question")
	}
	f := &Form{Fields: make([]Field, 0, len(r.Members.List))}
	for _, m := range r.Members.List {
		fd, err := fieldOf(m)
		if err != nil {
			return nil, fieldError(m.Name, "%w", err)
		}
		f.Fields = append(f.Fields, fd)
	}
	if err := f.prepare(); err != nil {
		return nil, err
	}
	return f, nil
}

func fieldOf(m schema.Member) (Field, error) {
	r := m.Rule
	fd := Field{
		Name: m.Name, Title: r.Title, Description: r.Description, Required: m.Required, Default: m.Default, Secret: r.Secret,
		Minimum: Decimal(r.Minimum), Maximum: Decimal(r.Maximum),
	}
	values := r
	switch r.Kind {
	case schema.String:
		if r.ContentEncoding != "" {
			return fd, fmt.Errorf("forms have no fields for bytes")
		}
		fd.Format, fd.Pattern, fd.MinLength, fd.MaxLength = r.Format, r.Pattern, r.MinLength, r.MaxLength
		if r.Options != nil {
			fd.Kind = Choice
		}
	case schema.Integer, schema.Number:
		fd.Kind = Integer
		if r.Kind == schema.Number {
			fd.Kind = Number
		}
		if r.Options != nil {
			return fd, fmt.Errorf("forms can only offer strings to choose from; make the field a string type with the tag enum")
		}
	case schema.Boolean:
		fd.Kind = Boolean
	case schema.Array:
		values = r.Elem
		if values.Kind != schema.String || values.Options == nil {
			return fd, fmt.Errorf("forms have no lists but of options; give the field the type []string and the tag enum")
		}
		fd.Kind, fd.MinItems, fd.MaxItems = MultiChoice, r.MinItems, r.MaxItems
	case schema.Object:
		return fd, fmt.Errorf("forms are flat; move the nested members up, or ask for them in a second form")
	default:
		return fd, fmt.Errorf("forms need to know the type of an answer; use a string, number, bool or a list of options")
	}
	for _, o := range values.Options {
		fd.Options = append(fd.Options, Option{Value: o.Value, Title: o.Title})
	}
	if fd.Kind == Choice {
		fd.Format, fd.Pattern, fd.MinLength, fd.MaxLength = "", "", nil, nil
	}
	return fd, nil
}
