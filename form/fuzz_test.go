package form_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/form"
)

// What parses can be written again in the newest dialect, and that parses to a form which writes the same.
func FuzzFormParse(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"type":"string","minLength":1,"format":"email","default":"a@b.c","pattern":"^a"}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"],"enumNames":["X"]},"b":{"type":"integer","minimum":-1,"maximum":1e2,"default":3}}}`,
		`{"type":"object","properties":{"m":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"minItems":1,"default":["x"]},"o":{"type":"boolean","default":true}}}`,
		`{"type":"object","properties":{"o":{"type":"string","oneOf":[{"const":"x","title":"X"},{"const":"y"}]},"r":{"$ref":"#/$defs/r"}},"$defs":{"r":{"anyOf":[{"type":"number"},{"type":"null"}]}}}`,
		`{"properties":{"":{"type":["null","string"]},"\u202e":{"enum":["\u001b",""]}}}`,
	} {
		f.Add([]byte(seed), "42")
	}
	f.Fuzz(func(t *testing.T, raw []byte, typed string) {
		fm, err := form.Parse(raw)
		if err != nil {
			return
		}
		out, err := fm.Schema(form.Dialect{Defaults: true, OptionTitles: true, MultiChoice: true, Pattern: true})
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		again, err := form.Parse(out)
		if err != nil {
			t.Fatalf("%s does not parse: %v", out, err)
		}
		twice, err := again.Schema(form.Dialect{Defaults: true, OptionTitles: true, MultiChoice: true, Pattern: true})
		if err != nil || string(twice) != string(out) {
			t.Fatalf("%s\n%s %v", out, twice, err)
		}
		allPreset := true
		for i := range fm.Fields {
			fd := &fm.Fields[i]
			allPreset = allPreset && (!fd.Required || fd.Default != nil)
			if strings.ContainsAny(fd.Label()+fd.Help(), "\x1b\n\u202e") {
				t.Fatalf("%q is not fit for display", fd.Label())
			}
			answer(t, fm, fd, typed)
		}
		if err := fm.Check(fm.Defaults()); (err == nil) != allPreset {
			t.Fatalf("%s: defaults %s: %v", out, fm.Defaults(), err)
		}
		fm.LooksSecret()
	})
}

// answer checks that a text that was understood is an answer that the form accepts.
func answer(t *testing.T, fm *form.Form, fd *form.Field, typed string) {
	t.Helper()
	raw, err := fd.ParseText(typed)
	if err != nil || raw == nil {
		return
	}
	one := *fd
	one.Required = true
	single, err := form.New(one)
	if err != nil {
		t.Fatal(err)
	}
	name, err := json.Marshal(fd.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := single.Check([]byte(`{` + string(name) + `:` + string(raw) + `}`)); err != nil {
		t.Fatalf("%q for %+v gave %s: %v", typed, fd, raw, err)
	}
}

// Normalizing gives what passes the check, and gives it again.
func FuzzFormAnswers(f *testing.F) {
	const everything = `{"type":"object","properties":{"s":{"type":"string","minLength":1,"maxLength":3,"default":"d"},"i":{"type":"integer","minimum":0},"n":{"type":"number","maximum":2.5},
		"b":{"type":"boolean","default":true},"c":{"type":"string","enum":["x","y"]},"m":{"type":"array","items":{"enum":["x","y"]},"maxItems":1},"e":{"type":"string","format":"date"}},"required":["i"]}`
	fm, err := form.Parse([]byte(everything))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		`{"i":1}`, `{"i":1.0,"x":{"y":[1]},"s":null,"b":false}`, ` {"x" : 1 , "i" : 0, "z":2,"y":3}`, `null`, `{"i":1e2,"m":["x"],"c":"y","e":"2026-07-28","n":2.5}`, `{"\u0069":1,"i\u0069":2}`,
		`{"i":1,"i":2}`, `{"i":-0}`, `{"z":1}`, `[]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := fm.Normalize(raw)
		if err != nil {
			if fm.Check(raw) == nil {
				t.Fatalf("%s is accepted but not normalized: %v", raw, err)
			}
			return
		}
		if err := fm.Check(out); err != nil {
			t.Fatalf("%s became %s: %v", raw, out, err)
		}
		again, err := fm.Normalize(out)
		if err != nil || string(again) != string(out) {
			t.Fatalf("%s, then %s %v", out, again, err)
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(out, &m); err != nil {
			t.Fatal(err)
		}
		for name := range m {
			if fm.Field(name) == nil {
				t.Fatalf("%s has %q, which was not asked", out, name)
			}
		}
	})
}
