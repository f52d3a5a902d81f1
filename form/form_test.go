package form_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/form"
)

type seat struct {
	Class string    `json:"class" enum:"first=First class,second=Second class" default:"second" title:"Class"`
	Quiet bool      `json:"quiet,omitempty" title:"Quiet coach"`
	Meals []string  `json:"meals,omitempty" enum:"veg=Vegetarian,fish=Fish,meat=Meat" minItems:"1" maxItems:"2" default:"veg"`
	Name  string    `json:"name" jsonschema:"as in the passport" minLength:"2" maxLength:"40"`
	Age   int       `json:"age" minimum:"0" maximum:"150"`
	Price *float64  `json:"price" minimum:"0.5"`
	Mail  string    `json:"mail,omitempty" format:"email"`
	Day   time.Time `json:"day,omitzero"`
	Plate string    `json:"plate,omitempty" pattern:"^[A-Z]{2}-[0-9]+$"`
}

func mustOf[T any](t *testing.T) *form.Form {
	t.Helper()
	f, err := form.Of[T]()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOfAndSchemaModern(t *testing.T) {
	t.Parallel()
	got, err := mustOf[seat](t).Schema(form.Modern)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{` +
		`"class":{"type":"string","title":"Class","oneOf":[{"const":"first","title":"First class"},{"const":"second","title":"Second class"}],"default":"second"},` +
		`"quiet":{"type":"boolean","title":"Quiet coach"},` +
		`"meals":{"type":"array","minItems":1,"maxItems":2,"items":{"anyOf":[{"const":"veg","title":"Vegetarian"},{"const":"fish","title":"Fish"},{"const":"meat","title":"Meat"}]},"default":["veg"]},` +
		`"name":{"type":"string","description":"as in the passport","minLength":2,"maxLength":40},` +
		`"age":{"type":"integer","minimum":0,"maximum":150},` +
		`"price":{"type":"number","minimum":0.5},` +
		`"mail":{"type":"string","format":"email"},` +
		`"day":{"type":"string","format":"date-time"},` +
		`"plate":{"type":"string","description":"(must match ^[A-Z]{2}-[0-9]+$)"}},` +
		`"required":["name","age"]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSchemaDegrades(t *testing.T) {
	t.Parallel()
	type flat struct {
		Class string `json:"class" enum:"first=First class,second=Second class" default:"second" jsonschema:"Comfort"`
		Quiet bool   `json:"quiet,omitempty" default:"true"`
		Plain string `json:"plain" enum:"a,b"`
		Plate string `json:"plate,omitempty" pattern:"^[A-Z]+$" format:"uuid"`
	}
	got, err := mustOf[flat](t).Schema(form.Dialect{})
	const want = `{"type":"object","properties":{` +
		`"class":{"type":"string","description":"Comfort (default: Second class)","enum":["first","second"],"enumNames":["First class","Second class"]},` +
		`"quiet":{"type":"boolean","default":true},` +
		`"plain":{"type":"string","enum":["a","b"]},` +
		`"plate":{"type":"string","description":"(a UUID like 123e4567-e89b-12d3-a456-426614174000; must match ^[A-Z]+$)"}},"required":["plain"]}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s %v\nwant %s", got, err, want)
	}
	if _, err := mustOf[seat](t).Schema(form.Dialect{}); !errors.Is(err, form.ErrInexpressible) || !strings.Contains(err.Error(), `"meals"`) {
		t.Errorf("got %v", err)
	}
	got, err = mustOf[flat](t).Schema(form.Dialect{Pattern: true})
	if err != nil || !strings.Contains(string(got), `"pattern":"^[A-Z]+$"`) {
		t.Errorf("got %s %v", got, err)
	}
}

func TestOfRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func() (*form.Form, error)
		want string
	}{
		"nested":  {form.Of[struct{ A struct{ B int } }], `field "A": forms are flat`},
		"map":     {form.Of[struct{ M map[string]string }], `field "M": forms are flat`},
		"list":    {form.Of[struct{ L []string }], `field "L": forms have no lists`},
		"numbers": {form.Of[struct{ L []int }], `field "L": forms have no lists`},
		"any":     {form.Of[struct{ X any }], `field "X": forms need to know`},
		"raw":     {form.Of[struct{ X json.RawMessage }], `field "X": forms need to know`},
		"bytes":   {form.Of[struct{ X []byte }], `field "X": forms have no fields for bytes`},
		"int enum": {form.Of[struct {
			N int `enum:"1,2"`
		}], `field "N": forms can only offer strings`},
		"no struct": {form.Of[string], "a form is a struct"},
		"chan":      {form.Of[struct{ C chan int }], "C: chan int (chan) has no JSON form"},
		"bad tag": {form.Of[struct {
			N int `minimum:"x"`
		}], `N: the tag minimum: "x" is not a number`},
		"default": {form.Of[struct {
			S string `enum:"a,b" default:"c"`
		}], `S: the tag default`},
		"open":       {form.Of[map[string]string], "a form is a struct"},
		"list of it": {form.Of[[]seat], "a form is a struct"},
	} {
		if _, err := c.make(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	one, two := 1, 2
	for want, fd := range map[string]form.Field{
		"needs options":                        {Name: "x", Kind: form.Choice},
		`the option "a" occurs twice`:          {Name: "x", Kind: form.MultiChoice, Options: []form.Option{{Value: "a"}, {Value: "a"}}},
		"minLength 2 is greater":               {Name: "x", MinLength: &two, MaxLength: &one},
		"minItems 2 is greater":                {Name: "x", Kind: form.MultiChoice, MinItems: &two, MaxItems: &one, Options: []form.Option{{Value: "a"}}},
		"minimum 2 is greater":                 {Name: "x", Kind: form.Number, Minimum: "2", Maximum: "1.5"},
		"the default the value must be a stri": {Name: "x", Default: json.RawMessage("1")},
		"kind 9 does not exist":                {Name: "x", Kind: 9},
		"is not an RE2 expression":             {Name: "x", Pattern: "(?=a)"},
	} {
		if _, err := form.New(fd); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := form.New(form.Field{Name: "a"}, form.Field{Name: "a"}); err == nil {
		t.Error("two fields of one name were accepted")
	}
	if _, err := form.New(make([]form.Field, form.MaxFields+1)...); err == nil {
		t.Error("too many fields were accepted")
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	got, err := form.Decode[seat]([]byte(`{"name":"Ann","age":41,"day":"2026-07-28T10:00:00Z","x":1,"price":null}`))
	want := seat{Class: "second", Meals: []string{"veg"}, Name: "Ann", Age: 41, Day: time.Date(2026, 7, 28, 10, 0, 0, 0, time.UTC)}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v %v", got, err)
	}
	if _, err := form.Decode[seat](nil); err == nil || !strings.Contains(err.Error(), "/name is required") {
		t.Errorf("got %v", err)
	}
	if _, err := form.Decode[[]seat](nil); err == nil {
		t.Error("no error for a type that is no form")
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	f := mustOf[seat](t)
	if fd := f.Field("age"); fd == nil || fd.Kind != form.Integer || fd.Kind.String() != "integer" {
		t.Errorf("got %+v", fd)
	}
	if f.Field("nothing") != nil {
		t.Error("found a field that is not there")
	}
	if got := string(f.Defaults()); got != `{"class":"second","meals":["veg"]}` {
		t.Errorf("got %s", got)
	}
	if got := form.Kind(77).String(); got != "kind 77" {
		t.Errorf("got %q", got)
	}
}
