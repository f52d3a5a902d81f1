package schema_test

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/schema"
)

// FuzzEachMember: of valid JSON, the members are those that the JSON library finds; other text is stepped over without harm.
func FuzzEachMember(f *testing.F) {
	for _, s := range []string{`{}`, ` { } `, `{"a":1}`, "{\"a\" :\t[1,{\"b\":\"}\"}] , \"\\u0062\\\"\":null\n}", `[]`, `{"a":1,}`, `{"a"`, `{"a":"\"`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got []string
		ok := schema.EachMember(raw, func(name, value []byte) { got = append(got, string(name), string(value)) })
		if !jsontext.Value(raw).IsValid() {
			return
		}
		if ok != (jsontext.Value(raw).Kind() == '{') {
			t.Fatalf("%s: %v", raw, ok)
		}
		if !ok {
			return
		}
		dec := jsontext.NewDecoder(bytes.NewReader(raw))
		_, _ = dec.ReadToken() // valid
		for ; dec.PeekKind() != '}'; got = got[2:] {
			name, _ := dec.ReadToken() // valid
			text := name.String()
			value, _ := dec.ReadValue() // valid
			if len(got) < 2 || got[0] != text || got[1] != string(value) {
				t.Fatalf("%s: want %q %s, have %q", raw, text, value, got)
			}
		}
		if len(got) > 0 {
			t.Fatalf("%s: %q too many", raw, got)
		}
	})
}
