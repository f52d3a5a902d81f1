package form_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/internal/schema"
)

// requested makes the schema of a form with the single field f, and a second one that is optional. The numbers choose the keywords.
func requested(kind, low, high uint8, required bool) string {
	bounds := func(least, most string) string {
		s := ""
		if low%4 != 3 {
			s += fmt.Sprintf(`,%q:%d`, least, low%8)
		}
		if high%4 != 3 {
			s += fmt.Sprintf(`,%q:%d`, most, low%8+high%8)
		}
		return s
	}
	field := [...]string{
		`{"type":"string"` + bounds("minLength", "maxLength") + `}`,
		`{"type":"string","pattern":"^a?[0-9]*$"}`,
		`{"type":"integer"` + bounds("minimum", "maximum") + `}`,
		`{"type":"number"` + bounds("minimum", "maximum") + `}`,
		`{"type":"boolean"}`,
		`{"type":"string","enum":["a","b","c d"],"enumNames":["A","B","C, D"]}`,
		`{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"},{"const":"c d","title":"C, D"}]}`,
		`{"type":"array","items":{"type":"string","enum":["a","b","c d"]}` + bounds("minItems", "maxItems") + `}`,
		`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"},{"const":"c d","title":"C, D"}]}` + bounds("minItems", "maxItems") + `}`,
	}[kind%9]
	names := ""
	if required {
		names = `,"required":["f"]`
	}
	return `{"type":"object","properties":{"f":` + field + `,"g":{"type":"boolean"}}` + names + `,"additionalProperties":false}`
}

// labels checks that a label means the option that it stands beside, however many may be chosen.
func labels(t *testing.T, fd form.Field) {
	t.Helper()
	fd.MinItems, fd.MaxItems = nil, nil
	for i, o := range fd.Options {
		if o.Title == "" {
			continue
		}
		label := []string{"A", "B", "C, D"}[i]
		if got, err := fd.ParseText(label); err != nil || !bytes.Contains(got, []byte(`"`+o.Value+`"`)) {
			t.Fatalf("%q of %+v means %s: %v", label, fd, got, err)
		}
	}
}

// FuzzFormOracle: an answer fits a form exactly when a library for JSON Schema says that it fits the schema which the form was read
// from; and a label means the option that it stands beside.
func FuzzFormOracle(f *testing.F) {
	for kind := range uint8(9) {
		for _, answer := range []string{
			`{}`, `{"f":"a"}`, `{"f":"a12"}`, `{"f":"c d"}`, `{"f":3}`, `{"f":3.5}`, `{"f":-1}`, `{"f":true,"g":false}`, `{"f":[]}`, `{"f":["a","b"],"g":true}`, `{"g":1}`, `{"f":"abcdefghijklmnop"}`,
			`{"f":15}`, `{"f":["c d"],"h":1}`,
		} {
			f.Add(kind, uint8(1), uint8(2), kind%2 == 0, answer)
			f.Add(kind, uint8(4), uint8(8), kind%2 == 1, answer)
		}
	}
	f.Fuzz(func(t *testing.T, kind, low, high uint8, required bool, answer string) {
		raw := json.RawMessage(requested(kind, low, high, required))
		fm, err := form.Parse(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		labels(t, fm.Fields[0])
		// A null says that there is no answer, and an option is not chosen twice; neither is so in the schema. A number is read as the
		// library's floating point reads it.
		if strings.Contains(answer, "null") || strings.Count(answer, "a") > 1 || strings.Count(answer, "b") > 1 || strings.Count(answer, "c d") > 1 || strings.ContainsAny(answer, "eE\\") || len(answer) > 60 {
			return
		}
		oracle, err := schema.Compile(raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		own, theirs := fm.Check([]byte(answer)), oracle.Validate([]byte(answer))
		if (own == nil) != (theirs == nil) {
			t.Fatalf("%s for %s: %v, and by the library %v", answer, raw, own, theirs)
		}
	})
}
