package form_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/internal/schema"
	"github.com/seed38e7925c/parley/internal/spectest"
)

func parse(t *testing.T, s string) *form.Form {
	t.Helper()
	f, err := form.Parse([]byte(s))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return f
}

func n(i int) *int { return &i }

// One schema with every allowed kind; the model shows all of it, in order, with labels apart from values.
func TestCaseF02(t *testing.T) {
	t.Parallel()
	f := parse(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{
		"z":{"type":"string","title":"Zed","description":"d","minLength":1,"maxLength":9,"pattern":"^a","format":"email","default":"a@b.c"},
		"i":{"type":"integer","minimum":-1,"maximum":9007199254740993,"default":9007199254740993},
		"f":{"type":"number","minimum":0.1,"maximum":1e3,"default":2.5},
		"b":{"type":"boolean","default":false},
		"e":{"type":"string","enum":["x","y"],"default":"y"},
		"n":{"type":"string","enum":["x","y"],"enumNames":["Ex","Why"]},
		"o":{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}],"default":"#f00"},
		"m":{"type":"array","items":{"type":"string","enum":["x","y"]},"minItems":1,"maxItems":2,"default":["x"]},
		"t":{"type":"array","items":{"anyOf":[{"const":"x","title":"Ex"},{"const":"y","title":"Why"}]}}
	},"required":["z","m"]}`)
	xy, titled := []form.Option{{Value: "x"}, {Value: "y"}}, []form.Option{{Value: "x", Title: "Ex"}, {Value: "y", Title: "Why"}}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	want := []form.Field{
		{Name: "z", Title: "Zed", Description: "d", Required: true, MinLength: n(1), MaxLength: n(9), Pattern: "^a", Format: "email", Default: raw(`"a@b.c"`)},
		{Name: "i", Kind: form.Integer, Minimum: "-1", Maximum: "9007199254740993", Default: raw("9007199254740993")},
		{Name: "f", Kind: form.Number, Minimum: "0.1", Maximum: "1e3", Default: raw("2.5")},
		{Name: "b", Kind: form.Boolean, Default: raw("false")},
		{Name: "e", Kind: form.Choice, Options: xy, Default: raw(`"y"`)},
		{Name: "n", Kind: form.Choice, Options: titled, EnumNames: true},
		{Name: "o", Kind: form.Choice, Options: []form.Option{{Value: "#f00", Title: "Red"}, {Value: "#0f0", Title: "Green"}}, Default: raw(`"#f00"`)},
		{Name: "m", Kind: form.MultiChoice, Required: true, Options: xy, MinItems: n(1), MaxItems: n(2), Default: raw(`["x"]`)},
		{Name: "t", Kind: form.MultiChoice, Options: titled},
	}
	if !reflect.DeepEqual(f.Fields, want) {
		for i := range want {
			if !reflect.DeepEqual(f.Fields[i], want[i]) {
				t.Errorf("got  %+v\nwant %+v", f.Fields[i], want[i])
			}
		}
	}
}

// Enums that arrive by reference or in a union with null are understood; our own are written in place.
func TestCaseF01(t *testing.T) {
	t.Parallel()
	type color string
	type twice struct {
		A color `json:"a" enum:"red,blue"`
		B color `json:"b" enum:"red,blue"`
	}
	out, err := mustOf[twice](t).Schema(form.Modern)
	if err != nil || strings.Contains(string(out), "$ref") || strings.Count(string(out), `"enum":["red","blue"]`) != 2 {
		t.Errorf("got %s %v", out, err)
	}
	f := parse(t, `{"type":"object","properties":{
		"a":{"$ref":"#/$defs/Color","title":"Mine"},
		"b":{"anyOf":[{"$ref":"#/$defs/Color"},{"type":"null"}],"default":null},
		"c":{"type":["string","null"]},
		"d":{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}],"title":"D"}},
		"$defs":{"Color":{"type":"string","enum":["red","blue"],"title":"Color"}}}`)
	if got := f.Fields[0]; got.Kind != form.Choice || got.Title != "Mine" || len(got.Options) != 2 {
		t.Errorf("got %+v", got)
	}
	if got := f.Fields[1]; got.Kind != form.Choice || got.Default != nil {
		t.Errorf("got %+v", got)
	}
	if got := f.Fields[2]; got.Kind != form.String {
		t.Errorf("got %+v", got)
	}
	if got := f.Fields[3]; got.Kind != form.Integer || got.Minimum != "1" || got.Title != "D" {
		t.Errorf("got %+v", got)
	}
}

func TestCaseF22(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"type":"object","properties":{"o":{"type":"object","properties":{}}}}`:          `field "o": the form cannot be shown: it is of type object`,
		`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object"}}}}`: `field "l"`,
		`{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"}}}}`: `field "l": the form cannot be shown: a list`,
		`{"type":"object","properties":{"l":{"type":"array"}}}`:                           `field "l"`,
		`{"type":"array"}`:                  "does not describe an object",
		`[]`:                                "does not describe an object",
		`{"type":"object","properties":[]}`: "properties is not an object",
		`{"type":"object","properties":{},"required":["x"]}`:                                                       `field "x"`,
		`{"type":"object","properties":{},"required":"x"}`:                                                         "required is not a list",
		`{"type":"object","properties":{"x":{"type":["string","integer"]}}}`:                                       `field "x": the form cannot be shown: it is a union`,
		`{"type":"object","properties":{"x":{"type":"string","enum":[1]}}}`:                                        `not all strings`,
		`{"type":"object","properties":{"x":{"type":"string","enum":[]}}}`:                                         `lists no options`,
		`{"type":"object","properties":{"x":{"type":"string","enum":[null]}}}`:                                     `lists no options`,
		`{"type":"object","properties":{"x":{"type":"string","oneOf":[{"title":"t"}]}}}`:                           `not all strings`,
		`{"type":"object","properties":{"x":{"type":"integer","enum":[1]}}}`:                                       `enum on numbers`,
		`{"type":"object","properties":{"x":{"type":"boolean","const":true}}}`:                                     `const on booleans`,
		`{"type":"object","properties":{"x":{"type":"string","minLength":-1}}}`:                                    `minLength`,
		`{"type":"object","properties":{"x":{"type":"string","minLength":3,"maxLength":2}}}`:                       `greater than`,
		`{"type":"object","properties":{"x":{"type":"number","minimum":"1"}}}`:                                     `minimum is not a number`,
		`{"type":"object","properties":{"x":{"title":1,"type":"string"}}}`:                                         `title is not a string`,
		`{"type":"object","properties":{"x":{}}}`:                                                                  `it has no type`,
		`{"type":"object","properties":{"x":{"type":[]}}}`:                                                         `it has no type`,
		`{"type":"object","properties":{"x":true}}`:                                                                `not an object`,
		`{"type":"object","properties":{"x":{"$ref":"https://evil.test/x"}}}`:                                      `leads to nothing`,
		`{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/x"}}}`:             `circles`,
		`{"type":"object","properties":{"x":{"type":"string","not":{}}}}`:                                          `not has no place`,
		`{"type":"object","properties":{"x":{"type":"string"},"x":{"type":"string"}}}`:                             `duplicate`,
		`{"type":"object","properties":{"x":` + strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat("}", 40) + `}}`: `nests deeper`,
		`{"type":"object","properties":{"x":{"type":"array","items":{"type":"integer","enum":["1"]}}}}`:            `something else than strings`,
		`{"type":"object","properties":{"x":{"type":"array","minItems":"1","items":{"enum":["1"]}}}}`:              `minItems`,
		`{`: "not valid JSON",
	} {
		_, err := form.Parse([]byte(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", in, err, want)
		}
	}
	var many strings.Builder
	for i := range 500 {
		fmt.Fprintf(&many, `,"p%d":{"type":"string"}`, i)
	}
	f := parse(t, `{"type":"object","properties":{"__proto__":{"type":"string"},"":{"type":"boolean"},"a\nb":{"type":"string"}`+many.String()+`}}`)
	if len(f.Fields) != 503 || f.Fields[1].Label() != "(unnamed)" || f.Fields[2].Label() != "a b" {
		t.Errorf("got %d fields", len(f.Fields))
	}
	if _, err := form.Parse([]byte(`{"type":"object","properties":{"x":{"type":"string","description":"` + strings.Repeat("x", form.MaxBytes) + `"}}}`)); !errors.Is(err, form.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

func TestParseIsLenient(t *testing.T) {
	t.Parallel()
	f := parse(t, `{"type":"object","x-vendor":1,"properties":{
		"a":{"type":"string","default":5,"pattern":"(?=look)","examples":["x"]},
		"b":{"enum":["x","x","y"],"enumNames":["x"]},
		"c":{"type":"string","enum":["x"],"default":"nope"}}}`)
	for _, fd := range f.Fields {
		if fd.Default != nil || fd.Pattern != "" {
			t.Errorf("got %+v", fd)
		}
	}
	if got := f.Fields[1].Options; !reflect.DeepEqual(got, []form.Option{{Value: "x"}, {Value: "y"}}) {
		t.Errorf("got %+v", got)
	}
	if f := parse(t, `{}`); len(f.Fields) != 0 {
		t.Error("fields from nowhere")
	}
}

// What Schema writes is what each revision's published schema allows, and parses back to the same form.
func TestSchemaConforms(t *testing.T) {
	t.Parallel()
	dir := spectest.Dir(t)
	for revision, c := range map[string]struct {
		dialect form.Dialect
		pointer string
	}{
		"2025-06-18": {form.Dialect{}, "#/definitions/ElicitRequest/properties/params"},
		"2025-11-25": {form.Modern, "#/$defs/ElicitRequestFormParams"},
		"2026-07-28": {form.Modern, "#/$defs/ElicitRequestFormParams"},
	} {
		raw, err := os.ReadFile(filepath.Join(dir, revision, "schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		published := strings.Replace(string(raw), "{", `{"allOf":[{"$ref":"`+c.pointer+`"}],`, 1)
		compiled, err := schema.Compile([]byte(published), nil)
		if err != nil {
			t.Fatal(err)
		}
		f := mustOf[seat](t)
		if !c.dialect.MultiChoice {
			f, err = form.New(append(f.Fields[:2:2], f.Fields[3:]...)...)
			if err != nil {
				t.Fatal(err)
			}
		}
		got, err := f.Schema(c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate([]byte(`{"message":"m","requestedSchema":` + string(got) + `}`)); err != nil {
			t.Errorf("%s: %v\n%s", revision, err, got)
		}
		back := parse(t, string(got))
		if again, err := back.Schema(c.dialect); err != nil || c.dialect.OptionTitles && string(again) != string(got) {
			t.Errorf("%s: got %s %v\nwant %s", revision, again, err, got)
		}
	}
}

func TestPublishedExamples(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(spectest.Dir(t), "2026-07-28", "examples")
	found := 0
	for _, kind := range []string{"BooleanSchema", "NumberSchema", "StringSchema", "TitledMultiSelectEnumSchema", "TitledSingleSelectEnumSchema", "UntitledMultiSelectEnumSchema", "UntitledSingleSelectEnumSchema"} {
		files, err := filepath.Glob(filepath.Join(dir, kind, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found++
			f := parse(t, `{"type":"object","properties":{"x":`+string(raw)+`}}`)
			if _, err := f.Schema(form.Modern); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if found == 0 {
		t.Error("no examples were found")
	}
}

// A choice that came with enumNames is written with them again, also where newer shapes exist: old clients know no other.
func TestEnumNamesSurvive(t *testing.T) {
	t.Parallel()
	const property = `{"type":"string","enum":["x","y"],"enumNames":["Ex","Why"]}`
	f := parse(t, `{"type":"object","properties":{"n":`+property+`}}`)
	got, err := f.Schema(form.Modern)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"object","properties":{"n":` + property + `}}`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
