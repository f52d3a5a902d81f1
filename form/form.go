package form

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/seed38e7925c/parley/internal/schema"
)

// Kind is what a field asks for.
type Kind uint8

// The kinds of fields.
const (
	String      Kind = iota // free text
	Integer                 // a number without fraction, of any size
	Number                  // a number
	Boolean                 // yes or no
	Choice                  // one of the options
	MultiChoice             // any number of the options, within MinItems and MaxItems
)

// String names the kind as the specification does.
func (k Kind) String() string {
	names := [...]string{"string", "integer", "number", "boolean", "single-select enum", "multi-select enum"}
	if int(k) < len(names) {
		return names[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// Form is a list of fields, in the order in which people should see them. Make one with [Of], [New] or [Parse].
type Form struct {
	Fields []Field

	rule *schema.Rule
}

// Field is one question of a form.
type Field struct {
	Name        string // of the member in the answer; any string
	Title       string // for people; "" means Name
	Description string
	Kind        Kind
	Required    bool
	Default     json.RawMessage // value to start from; nil is none
	Options     []Option        // of Choice and MultiChoice
	EnumNames   bool            // of Choice: write labels as enumNames, the shape of 2025-06-18, at every revision; Parse sets it for a form that came so
	Format      string          // of String: email, uri, date and date-time are those of the specification
	Pattern     string          // of String: RE2, not anchored

	MinLength, MaxLength *int    // of String, in Unicode code points
	Minimum, Maximum     Decimal // of Integer and Number
	MinItems, MaxItems   *int    // of MultiChoice

	Secret bool // tagged as a secret: forms must not ask for it
}

// Option is a value that can be chosen, and its label.
type Option struct {
	Value string
	Title string // "" means Value
}

// Decimal is a JSON number as text, exact at any size; "" is none.
type Decimal string

// Limits of what a form may contain, so that a server cannot swamp a person or a client.
const (
	MaxFields  = 1000    // fields of a form
	MaxOptions = 10_000  // options of all fields together
	MaxBytes   = 1 << 20 // size of a requestedSchema, and of an answer
)

// New makes a form from fields. It fails, naming the field, when a name occurs twice, a choice has no options, bounds contradict each
// other or a default is not acceptable.
func New(fields ...Field) (*Form, error) {
	f := &Form{Fields: slices.Clone(fields)}
	if err := f.prepare(); err != nil {
		return nil, err
	}
	return f, nil
}

// prepare builds the rule by which answers are judged.
func (f *Form) prepare() error {
	if len(f.Fields) > MaxFields {
		return fmt.Errorf("the form has %d fields; at most %d are allowed", len(f.Fields), MaxFields)
	}
	members := &schema.Members{List: make([]schema.Member, len(f.Fields))}
	seen, options := make(map[string]bool, len(f.Fields)), 0
	for i := range f.Fields {
		fd := &f.Fields[i]
		if seen[fd.Name] {
			return fieldError(fd.Name, "occurs twice")
		}
		seen[fd.Name] = true
		if options += len(fd.Options); options > MaxOptions {
			return fmt.Errorf("the form has more than %d options", MaxOptions)
		}
		r, err := fd.rule()
		if err != nil {
			return fieldError(fd.Name, "%w", err)
		}
		if fd.Default != nil {
			if err := r.Check(fd.Default); err != nil {
				return fieldError(fd.Name, "the default %w", err)
			}
		}
		members.List[i] = schema.Member{Name: fd.Name, Rule: r, Required: fd.Required, Default: fd.Default}
	}
	f.rule = &schema.Rule{Kind: schema.Object, Members: members}
	return f.rule.Prepare()
}

// fieldError is an error about a field.
func fieldError(name, format string, args ...any) error {
	return fmt.Errorf("field %q: %w", name, fmt.Errorf(format, args...))
}

// rule is what a single answer must satisfy.
func (fd *Field) rule() (*schema.Rule, error) {
	r := &schema.Rule{Description: fd.Description, Secret: fd.Secret}
	switch fd.Kind {
	case String:
		r.Kind, r.Format, r.Pattern, r.MinLength, r.MaxLength = schema.String, fd.Format, fd.Pattern, fd.MinLength, fd.MaxLength
	case Integer, Number:
		r.Kind, r.Minimum, r.Maximum = schema.Integer, string(fd.Minimum), string(fd.Maximum)
		if fd.Kind == Number {
			r.Kind = schema.Number
		}
	case Boolean:
		r.Kind = schema.Boolean
	case Choice, MultiChoice:
		return fd.choiceRule(r)
	default:
		return nil, fmt.Errorf("%s does not exist", fd.Kind)
	}
	return r, r.Prepare()
}

func (fd *Field) choiceRule(r *schema.Rule) (*schema.Rule, error) {
	if len(fd.Options) == 0 {
		return nil, fmt.Errorf("a %s needs options", fd.Kind)
	}
	r.Kind = schema.String
	seen := make(map[string]bool, len(fd.Options))
	for _, o := range fd.Options {
		if seen[o.Value] {
			return nil, fmt.Errorf("the option %q occurs twice", o.Value)
		}
		seen[o.Value] = true
		r.Options = append(r.Options, schema.Option{Value: o.Value, Title: o.Title})
	}
	if err := r.Prepare(); err != nil || fd.Kind == Choice {
		return r, err
	}
	list := &schema.Rule{Kind: schema.Array, Elem: r, MinItems: fd.MinItems, MaxItems: fd.MaxItems, Description: fd.Description, Secret: fd.Secret}
	return list, list.Prepare()
}

// Field returns the field with a name, or nil.
func (f *Form) Field(name string) *Field {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return &f.Fields[i]
		}
	}
	return nil
}

// option returns the option with a value, or nil.
func (fd *Field) option(value string) *Option {
	for i := range fd.Options {
		if fd.Options[i].Value == value {
			return &fd.Options[i]
		}
	}
	return nil
}
