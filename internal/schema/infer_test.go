package schema_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/schema"
)

type refusing string

func (r *refusing) UnmarshalText(b []byte) error {
	if string(b) != "fine" {
		return errors.New("only fine is fine, not " + string(b))
	}
	*r = refusing(b)
	return nil
}

type l1 struct{ A, B l2 }
type l2 struct{ A, B l3 }
type l3 struct{ A, B l4 }
type l4 struct{ A, B l5 }
type l5 struct{ A, B l6 }
type l6 struct{ A, B l7 }
type l7 struct{ A, B l8 }
type l8 struct{ A, B l9 }
type l9 struct{ A, B l10 }
type l10 struct{ A, B, C, D, E, F, G, H *big.Int }

func TestInferenceRefuses(t *testing.T) {
	t.Parallel()
	twice := func() (json.RawMessage, error) {
		num := reflect.TypeFor[int]()
		return schema.SchemaOf(reflect.StructOf([]reflect.StructField{{Name: "A", Type: num, Tag: `json:"x"`}, {Name: "B", Type: num, Tag: `json:"x"`}}))
	}
	type hdr struct {
		H string `header:"Re gion"`
	}
	for name, c := range map[string]struct {
		get  func() (json.RawMessage, error)
		want string
	}{
		"chan":        {schema.For[struct{ X struct{ Y []chan int } }]().Schema, "X.Y[]: chan int (chan) has no JSON form"},
		"func":        {schema.For[func()]().Schema, "func() (func) has no JSON form"},
		"complex":     {schema.For[map[string]complex128]().Schema, "complex128"},
		"duration":    {schema.For[struct{ D time.Duration }]().Schema, "D: time.Duration has no JSON form"},
		"json.Number": {schema.For[struct{ N json.Number }]().Schema, "N: json.Number"},
		"bool keys":   {schema.For[map[bool]int]().Schema, "map keys of type bool"},
		"bad key":     {schema.For[map[*big.Int]int]().Schema, "map keys of type *big.Int"},
		"no fields":   {schema.For[struct{ x int }]().Schema, "no exported fields"},
		"same name":   {twice, `conflict over JSON object name "x"`},
		"case ignore": {schema.For[struct {
			A int `json:",case:ignore"`
		}]().Schema, "matched exactly"},
		"format option": {schema.For[struct {
			A []byte `json:",format:hex"`
		}]().Schema, "format"},
		"header name": {schema.For[hdr]().Schema, "cannot be part of an HTTP header name"},
		"header kind": {schema.For[struct {
			A float64 `header:"X"`
		}]().Schema, "strings, integers and booleans only"},
		"header list": {schema.For[[]struct {
			A string `header:"X"`
		}]().InputSchema, "use a struct"},
		"header inside": {schema.For[struct {
			L []struct {
				A string `header:"X"`
			}
		}]().InputSchema, `the tag header "X" is on a member of a list`},
		"header twice": {schema.For[struct {
			A string `header:"X"`
			B string `header:"x"`
		}]().InputSchema, "repeats the name"},
		"keyword tag": {schema.For[struct {
			A string `jsonschema:"description=x"`
		}]().Schema, "is the description alone"},
		"required tag": {schema.For[struct {
			A string `jsonschema:"required"`
		}]().Schema, "is the description alone"},
		"kind": {schema.For[struct {
			A bool `minLength:"1"`
		}]().Schema, "the tag minLength does not apply to true or false"},
		"list kind": {schema.For[struct {
			A string `minItems:"1"`
		}]().Schema, "the tag minItems does not apply to a string"},
		"any kind": {schema.For[struct {
			A any `enum:"x"`
		}]().Schema, "the tag enum does not apply to a value"},
		"object kind": {schema.For[struct {
			A struct{} `pattern:"x"`
		}]().Schema, "does not apply to an object"},
		"size": {schema.For[struct {
			A string `minLength:"-1"`
		}]().Schema, "is not a number of 0 or more"},
		"sizes": {schema.For[struct {
			A []int `minItems:"2" maxItems:"1"`
		}]().Schema, "minItems 2 is greater"},
		"bound": {schema.For[struct {
			A int8 `maximum:"128"`
		}]().Schema, "outside of the range"},
		"bounds": {schema.For[struct {
			A float64 `minimum:"2" maximum:"1"`
		}]().Schema, "minimum 2 is greater"},
		"no number": {schema.For[struct {
			A int `minimum:"one"`
		}]().Schema, "is not a number"},
		"enum twice": {schema.For[struct {
			A string `enum:"a,a"`
		}]().Schema, "occurs twice"},
		"enum empty": {schema.For[struct {
			A string `enum:""`
		}]().Schema, "lists no values"},
		"enum int": {schema.For[struct {
			A int `enum:"1,b"`
		}]().Schema, `enum value "b" is not an integer`},
		"pattern": {schema.For[struct {
			A string `pattern:"("`
		}]().Schema, "not an RE2 expression"},
		"secret": {schema.For[struct {
			A string `secret:"maybe"`
		}]().Schema, "must be true or false"},
		"null": {schema.For[struct {
			A *string `null:"yes"`
		}]().Schema, "can only be refuse"},
		"default enum": {schema.For[struct {
			A string `enum:"a" default:"b"`
		}]().Schema, `A: the tag default: the value must be one of "a"`},
		"default json": {schema.For[struct {
			A int `default:"x"`
		}]().Schema, "is not JSON"},
		"default range": {schema.For[struct {
			A uint8 `default:"300"`
		}]().Schema, "the tag default"},
	} {
		got, err := c.get()
		var te *schema.TypeError
		if !errors.As(err, &te) || te.Unwrap() == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %s %v, want %q", name, got, err, c.want)
		}
	}
	var v struct{ C chan int }
	typed := schema.For[struct{ C chan int }]()
	if err := typed.Decode([]byte(`{}`), &v); err == nil {
		t.Error("decoded into a type that has no schema")
	}
	if _, err := typed.Encode(nil, &v); err == nil {
		t.Error("encoded a type that has no schema")
	}
	if _, err := typed.InputSchema(); err == nil || typed.IsObject() {
		t.Error("a type without a schema is no input")
	}
	if _, ok := typed.HasSecret(); ok {
		t.Error("a type without a schema has no secrets")
	}
}

// The embedded structs of Go are flattened as the decoder does it.
func TestEmbedding(t *testing.T) {
	t.Parallel()
	type Base struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
		Both string
	}
	type Other struct {
		Both string
		X    int `json:"x"`
	}
	type Deep struct {
		*Base
		Y int `json:"y"`
	}
	type outer struct {
		Deep
		Other
		Name  []string              `json:"name"`
		Named Base                  `json:"base"`
		Rest  map[string]int        `json:",embed"`
		Skip  chan int              `json:"-"`
		Dash  int                   `json:"dash-,omitempty"`
		Addr  netip.Addr            `json:"addr,omitempty"`
		Keys  map[netip.Addr]string `json:"keys,omitempty"`
	}
	typed := schema.For[outer]()
	got, err := typed.Schema()
	const base = `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"},"Both":{"type":"string"}},"required":["id","name","Both"],"additionalProperties":false}`
	const want = `{"type":"object","properties":{"id":{"type":"integer"},"y":{"type":"integer"},"Both":{"type":"string"},"x":{"type":"integer"},"name":{"type":"array","items":{"type":"string"}},` +
		`"base":` + base + `,"dash-":{"type":"integer"},"addr":{"type":"string"},"keys":{"type":"object","additionalProperties":{"type":"string"}}},` +
		`"required":["y","Both","x","name","base"],"additionalProperties":{"type":"integer"}}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s %v\nwant %s", got, err, want)
	}
	var v outer
	err = typed.Decode([]byte(`{"id":1,"y":2,"Both":"b","x":3,"name":["n"],"base":{"id":1,"name":"n","Both":"c"},"more":7,"addr":"::1","keys":{"10.0.0.1":"k"}}`), &v)
	if err != nil || v.ID != 1 || v.Other.Both != "b" || v.Rest["more"] != 7 || v.Addr.String() != "::1" || len(v.Keys) != 1 {
		t.Errorf("got %+v %v", v, err)
	}
	type raw struct {
		A    int            `json:"a"`
		Rest jsontext.Value `json:",embed"`
	}
	var r raw
	if err := schema.For[raw]().Decode([]byte(`{"a":1,"b":[9007199254740993]}`), &r); err != nil || string(r.Rest) != `{"b":[9007199254740993]}` {
		t.Errorf("got %+v %v", r, err)
	}
}

// A type that would be written out many times is written once.
func TestLargeTypesUseDefs(t *testing.T) {
	t.Parallel()
	got, err := schema.For[l1]().Schema()
	if err != nil || len(got) > 64<<10 || !strings.Contains(string(got), `"$defs":{"l2":`) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if _, err := schema.Compile(got, nil); err != nil {
		t.Error(err)
	}
}

func TestNamesUnderDefs(t *testing.T) {
	t.Parallel()
	got, err := schema.For[struct {
		A list[int]    `json:"a"`
		B list[string] `json:"b"`
		C list2        `json:"c"`
	}]().Schema()
	if err != nil {
		t.Fatal(err)
	}
	c, err := schema.Compile(got, nil)
	if err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := c.Validate([]byte(`{"a":{"v":1,"next":{"v":2}},"b":{"v":"x"},"c":{}}`)); err != nil {
		t.Error(err)
	}
	if err := c.Validate([]byte(`{"a":{"v":1,"next":{"v":"x"}},"b":{"v":"x"},"c":{}}`)); err == nil {
		t.Error("two instances of a generic type were confused")
	}
}

type list[T any] struct {
	V    T        `json:"v"`
	Next *list[T] `json:"next,omitempty"`
}

type list2 struct {
	L []list2 `json:"l,omitempty"`
}

func TestTags(t *testing.T) {
	t.Parallel()
	type args struct {
		E string   `json:"e" enum:"a\\,b=Both\\, really,c" jsonschema:"which"`
		L []string `json:"l" enum:"x,y" default:"x,y"`
		J []string `json:"j" default:"[\"a\",\"b,c\"]"`
		N []string `json:"n" default:""`
		O struct {
			K int `json:"k"`
		} `json:"o" default:"{\"k\": 1.0}"`
		T time.Time  `json:"t" default:"2026-07-28T00:00:00Z"`
		F float64    `json:"f" minimum:"0.5" default:"2.50"`
		A any        `json:"a" default:"[1,  {}]"`
		X any        `json:"x,omitempty" title:"Anything" jsonschema:"at all"`
		I []int      `json:"i,omitempty" minimum:"1" maximum:"3"`
		G [][]string `json:"g,omitempty" minLength:"1" maxItems:"2"`
		S int        `json:"s,string,omitempty"`
		U uint       `json:"u,string,omitempty"`
		D float64    `json:"d,string,omitempty"`
		P *string    `json:"p" enum:"q"`
	}
	typed := schema.For[args]()
	got, err := typed.Schema()
	const want = `{"type":"object","properties":{"e":{"type":"string","description":"which (a,b: Both, really; c)","enum":["a,b","c"]},` +
		`"l":{"type":"array","items":{"type":"string","enum":["x","y"]},"default":["x","y"]},"j":{"type":"array","items":{"type":"string"},"default":["a","b,c"]},` +
		`"n":{"type":"array","items":{"type":"string"},"default":[]},` +
		`"o":{"type":"object","properties":{"k":{"type":"integer"}},"required":["k"],"additionalProperties":false,"default":{"k":1}},` +
		`"t":{"type":"string","format":"date-time","default":"2026-07-28T00:00:00Z"},"f":{"type":"number","minimum":0.5,"default":2.50},"a":{"default":[1,{}]},` +
		`"x":{"title":"Anything","description":"at all"},"i":{"type":"array","items":{"type":"integer","minimum":1,"maximum":3}},` +
		`"g":{"type":"array","items":{"type":"array","items":{"type":"string","minLength":1}},"maxItems":2},` +
		`"s":{"type":"string","pattern":"^-?(0|[1-9][0-9]*)$"},"u":{"type":"string","pattern":"^(0|[1-9][0-9]*)$"},"d":{"type":"string","pattern":"^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?$"},` +
		`"p":{"type":"string","enum":["q"]}},"required":["e"],"additionalProperties":false}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s %v\nwant %s", got, err, want)
	}
	var v args
	if err := typed.Decode([]byte(`{"e":"a,b","l":null,"s":"-5","d":"1e2"}`), &v); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(v.L, []string{"x", "y"}) || !reflect.DeepEqual(v.J, []string{"a", "b,c"}) || v.O.K != 1 || v.T.Year() != 2026 || v.F != 2.5 || v.S != -5 || v.D != 100 {
		t.Errorf("got %+v", v)
	}
	if err := typed.Decode([]byte(`{"e":"c","i":[0,2,4],"g":[["",5]],"u":"-1"}`), &v); err == nil || len(strings.Split(err.Error(), "\n")) != 6 {
		t.Errorf("got %v", err)
	}
}

// Values of secret members are in no message, whatever is wrong with them.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	type args struct {
		Key  string            `json:"key" secret:"true" minLength:"40" pattern:"^k" format:"uuid"`
		PIN  int               `json:"pin" secret:"true" maximum:"9"`
		In   map[string]string `json:"in" secret:"true"`
		Text refusing          `json:"text" secret:"true"`
		L    []refusing        `json:"l,omitempty" secret:"true"`
		E    string            `json:"e,omitempty" enum:"a" secret:"true"`
	}
	typed := schema.For[args]()
	if path, ok := typed.HasSecret(); !ok || path != "/key" {
		t.Errorf("got %q", path)
	}
	if path, ok := schema.For[map[string][]tree]().HasSecret(); ok {
		t.Errorf("got %q", path)
	}
	if path, ok := schema.For[map[string][]args]().HasSecret(); !ok || path != "/*/*/key" {
		t.Errorf("got %q", path)
	}
	for _, in := range []string{
		`{"key":"hunter2","pin":4711,"in":{"a":4711},"text":"hunter2","e":"hunter2"}`, `{"key":4711,"pin":"hunter2","in":"hunter2","text":4711}`,
		`{"key":"khunter2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","pin":1,"in":{},"text":"fine"}`,
	} {
		var v args
		err := typed.Decode([]byte(in), &v)
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: %v", in, err)
		}
	}
	type late struct {
		Text refusing   `json:"text" secret:"true"`
		L    []refusing `json:"l,omitempty" secret:"true"`
	}
	for _, in := range []string{`{"text":"hunter2"}`, `{"text":"fine","l":["fine","hunter2"]}`} {
		var v late
		if err := schema.For[late]().Decode([]byte(in), &v); err == nil || !strings.Contains(err.Error(), "was not accepted") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", in, err)
		}
	}
	var open struct {
		M map[string][]refusing `json:"m"`
	}
	if err := schema.For[struct {
		M map[string][]refusing `json:"m"`
	}]().Decode([]byte(`{"m":{"a/b":["x"]}}`), &open); err == nil || !strings.Contains(err.Error(), "/m/a~1b/0 was not accepted: only fine is fine, not x") {
		t.Errorf("got %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	type fresh struct {
		A []booking `json:"a"`
	}
	typed := schema.For[fresh]()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				var v fresh
				if err := typed.Decode([]byte(`{"a":[{"from":"x","to":"yy"},{"from":"x","to":"yy","seats":1.0}]}`), &v); err != nil || v.A[0].Class != "second" {
					t.Errorf("got %+v %v", v, err)
				}
				if err := typed.Decode([]byte(`{"a":[{"from":"x"}]}`), &v); err == nil {
					t.Error("a missing member was accepted")
				}
				if _, err := schema.For[fresh]().Schema(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
