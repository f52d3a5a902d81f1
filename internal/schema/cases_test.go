package schema_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/schema"
)

// Names are matched in exact case; another case is another name.
func TestCaseJ01(t *testing.T) {
	t.Parallel()
	type args struct {
		Name string `json:"name,omitempty"`
	}
	var v args
	err := schema.For[args]().Decode([]byte(`{"name":"read_note","Name":"delete_all"}`), &v)
	if err == nil || !strings.Contains(err.Error(), `/Name is unknown; did you mean "name"?`) || v.Name != "" {
		t.Errorf("got %+v %v", v, err)
	}
}

// A name that occurs twice is refused at any depth, also where any value is accepted.
func TestCaseJ03(t *testing.T) {
	t.Parallel()
	type args struct {
		Name string          `json:"name,omitempty"`
		Any  any             `json:"any,omitempty"`
		Map  map[string]int  `json:"map,omitempty"`
		Raw  json.RawMessage `json:"raw,omitempty"`
	}
	for _, in := range []string{
		`{"name":"x","name":"y"}`, `{"any":{"a":1,"a":2}}`, `{"map":{"a":1,"a":2}}`, `{"raw":{"a":1,"a":2}}`, `{"any":[{"a":1,"\u0061":2}]}`, `{"name":"x","n\u0061me":"y"}`,
	} {
		v := args{Name: "old"}
		err := schema.For[args]().Decode([]byte(in), &v)
		if err == nil || !reflect.DeepEqual(v, args{}) {
			t.Errorf("%s was accepted: %+v", in, v)
		}
	}
}

// Integers arrive exactly or not at all.
func TestCaseJ12(t *testing.T) {
	t.Parallel()
	type args struct {
		ID    int64           `json:"id,omitempty"`
		U     uint64          `json:"u,omitempty"`
		D     int64           `json:"d" default:"9007199254740993"`
		Small int8            `json:"small,omitempty"`
		Any   any             `json:"any,omitempty"`
		Raw   json.RawMessage `json:"raw,omitempty"`
	}
	typed := schema.For[args]()
	for in, want := range map[string]args{
		`{"id":9007199254740993}`:                        {ID: 9007199254740993, D: 9007199254740993},
		`{"id":-9223372036854775808}`:                    {ID: -9223372036854775808, D: 9007199254740993},
		`{"u":18446744073709551615}`:                     {U: 18446744073709551615, D: 9007199254740993},
		`{"id":9007199254740993.0}`:                      {ID: 9007199254740993, D: 9007199254740993},
		`{"id":1e3,"d":-0}`:                              {ID: 1000},
		`{"any":9007199254740993,"d":1}`:                 {Any: int64(9007199254740993), D: 1},
		`{"any":18446744073709551615,"d":1}`:             {Any: uint64(18446744073709551615), D: 1},
		`{"any":{"x":[123456789012345678901]},"d":1}`:    {Any: map[string]any{"x": []any{json.Number("123456789012345678901")}}, D: 1},
		`{"any":[1,1.5,"a",null,true],"d":1}`:            {Any: []any{1.0, 1.5, "a", nil, true}, D: 1},
		`{"raw":{"id":9007199254740993,"d":0.10},"d":1}`: {Raw: json.RawMessage(`{"id":9007199254740993,"d":0.10}`), D: 1},
	} {
		var v args
		if err := typed.Decode([]byte(in), &v); err != nil || !reflect.DeepEqual(v, want) {
			t.Errorf("%s: got %+v %v", in, v, err)
		}
	}
	for in, want := range map[string]string{
		`{"id":9223372036854775808}`:  "/id must be within the range of 64-bit integers; found the number 9223372036854775808",
		`{"id":-9223372036854775809}`: "/id must be within the range of 64-bit integers",
		`{"u":18446744073709551616}`:  "/u must be within the range of unsigned 64-bit integers",
		`{"u":-1}`:                    "/u must be at least 0",
		`{"small":128}`:               "/small must be at most 127",
		`{"id":9007199254740993.5}`:   "/id must be an integer",
		`{"id":1e400}`:                "/id must be within the range",
		`{"id":"9007199254740993"}`:   "/id must be an integer; found the string",
		`{"any":1e400}`:               "/any was not accepted",
	} {
		var v args
		if err := typed.Decode([]byte(in), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v %v", in, v, err)
		}
	}
	s, err := typed.Schema()
	if err != nil || strings.Contains(string(s), "9223372036854775807") || !strings.Contains(string(s), `"default":9007199254740993`) {
		t.Errorf("got %s %v", s, err)
	}
}

// One annotation mistake concerns one tool: it is named, with its place and the reason.
func TestCaseH12(t *testing.T) {
	t.Parallel()
	good := `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"at":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N-1"}}},"ok":{"type":"boolean","x-mcp-header":"ok"}}}`
	got, err := schema.Headers([]byte(good))
	want := []schema.Header{{Path: []string{"region"}, Name: "Region", Type: "string"}, {Path: []string{"at", "n"}, Name: "N-1", Type: "integer"}, {Path: []string{"ok"}, Name: "ok", Type: "boolean"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v %v", got, err)
	}
	at := func(s string) string { return `{"properties":{"x":` + s + `}}` }
	for in, want := range map[string]string{
		at(`{"type":"number","x-mcp-header":"N"}`):                                                           `at "/properties/x" annotates a property whose type is not string, integer or boolean`,
		at(`{"type":["string","null"],"x-mcp-header":"N"}`):                                                  `whose type is not`,
		at(`{"x-mcp-header":"N"}`):                                                                           `whose type is not`,
		at(`{"type":"string","x-mcp-header":"Re gion"}`):                                                     `is "Re gion"; only letters`,
		at(`{"type":"string","x-mcp-header":"a:b"}`):                                                         `only letters`,
		at(`{"type":"string","x-mcp-header":"é"}`):                                                           `only letters`,
		at(`{"type":"string","x-mcp-header":"a\r\nb"}`):                                                      `only letters`,
		at(`{"type":"string","x-mcp-header":""}`):                                                            `at least one`,
		at(`{"type":"string","x-mcp-header":5}`):                                                             `is a number; it must be a string`,
		at(`{"type":"string","x-\u006dcp-header":"a b"}`):                                                    `only letters`,
		`{"x-mcp-header":"N","type":"string"}`:                                                               `annotates the whole input`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"N"},"b":{"type":"string","x-mcp-header":"n"}}}`: `repeats the name "n"`,
		at(`{"type":"array","items":{"type":"string","x-mcp-header":"N"}}`):                                  `can only be reached through keywords other than properties`,
		at(`{"items":[{"type":"string","x-mcp-header":"N"}]}`):                                               `can only be reached`,
		at(`{"allOf":[{"type":"string","x-mcp-header":"N"}]}`):                                               `can only be reached`,
		at(`{"anyOf":[{"properties":{"y":{"type":"string","x-mcp-header":"N"}}}]}`):                          `can only be reached`,
		at(`{"additionalProperties":{"type":"string","x-mcp-header":"N"}}`):                                  `can only be reached`,
		at(`{"patternProperties":{"a":{"type":"string","x-mcp-header":"N"}}}`):                               `can only be reached`,
		`{"$defs":{"a":{"type":"string","x-mcp-header":"N"}}}`:                                               `can only be reached`,
		`{"properties":{"x":{"if":{"type":"string","x-mcp-header":"N"}}}}`:                                   `can only be reached`,
		`{"allOf":[{"type":"string","x-mcp-header":"N"}]}`:                                                   `annotates the whole input`,
		`{"x-mcp-header"`: `not valid JSON`,
	} {
		if got, err := schema.Headers([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v %v, want %s", in, got, err, want)
		}
	}
	// A property that merely has that name, and examples that mention it, are no annotations.
	for _, in := range []string{`{"properties":{"x-mcp-header":{"type":"number"}}}`, `{"properties":{"a":{"enum":[{"x-mcp-header":5}],"default":{"x-mcp-header":5}}}}`, `true`, `{}`} {
		if got, err := schema.Headers([]byte(in)); err != nil || got != nil {
			t.Errorf("%s: got %+v %v", in, got, err)
		}
	}
}

// Declared dialects: draft-07 by its rules, whatever its spelling; unknown ones are reported and nothing panics.
func TestCaseK01(t *testing.T) {
	t.Parallel()
	const body = `"type":"object","properties":{"t":{"type":"array","items":[{"type":"string"},{"$ref":"#/definitions/n"}],"additionalItems":false}},"definitions":{"n":{"type":"integer"}},"dependencies":{"a":["b"],"c":{"required":["d"]}}}`
	for _, uri := range []string{"http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-06/schema#"} {
		c := compile(t, `{"$schema":"`+uri+`",`+body)
		for in, ok := range map[string]bool{
			`{"t":["a",1]}`: true, `{"t":["a","b"]}`: false, `{"t":["a",1,2]}`: false, `{"a":1}`: false, `{"a":1,"b":1}`: true, `{"c":1}`: false, `{"c":1,"d":1}`: true,
		} {
			if err := c.Validate([]byte(in)); (err == nil) != ok {
				t.Errorf("%s: %s: %v", uri, in, err)
			}
		}
	}
	// In draft-07 nothing beside $ref counts.
	if err := compile(t, `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/a","type":"string"}},"definitions":{"a":{}}}`).Validate([]byte(`{"a":1}`)); err != nil {
		t.Error(err)
	}
	for _, uri := range []string{"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#", "https://json-schema.org/draft/2019-09/schema"} {
		if err := compile(t, `{"$schema":"`+uri+`","type":"object","properties":{"a":{"type":"string"}}}`).Validate([]byte(`{"a":1}`)); err == nil {
			t.Errorf("%s: not validated", uri)
		}
	}
	for _, uri := range []string{"http://json-schema.org/draft-04/schema#", "https://example.test/unknown", ""} {
		if _, err := schema.Compile([]byte(`{"$schema":"`+uri+`",`+body), nil); !errors.Is(err, schema.ErrDialect) {
			t.Errorf("%q: got %v", uri, err)
		}
	}
}

// A compiled schema is passed on as it came.
func TestCaseK02(t *testing.T) {
	t.Parallel()
	const raw = `{ "type":"object","properties":{"b":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"string"}},"x-vendor":{"k":[1,null]},"default":9007199254740993}`
	c := compile(t, raw)
	if string(c.Raw()) != raw || !c.IsObject() {
		t.Errorf("got %s", c.Raw())
	}
	if err := c.Validate([]byte(`{"b":1}`)); err == nil || !strings.Contains(err.Error(), "/b violates type") {
		t.Errorf("got %v", err)
	}
}

// What old generators write never panics; what cannot be validated with is an error of that schema.
func TestCaseK03(t *testing.T) {
	t.Parallel()
	for in, ok := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string","required":true}}}`: false,
		`{"type":"object","properties":{"a":{"type":["string","null"]}}}`:        true,
		`{"type":"object","properties":{"a":{"type":"array","items":true}}}`:     true,
		`true`: true,
		`{"type":"object","properties":{"a":{"enum":[1,"a",null]}}}`: true,
		`{"type":"object","properties":{"required":[]}}`:             false,
		`null`: false,
		``:     false,
	} {
		if _, err := schema.Compile([]byte(in), nil); (err == nil) != ok {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestCaseK05(t *testing.T) {
	t.Parallel()
	for name, get := range map[string]func() (json.RawMessage, error){
		"struct": schema.For[struct{}]().InputSchema, "any": schema.For[any]().InputSchema, "map": schema.For[map[string]any]().InputSchema, "raw": schema.For[json.RawMessage]().InputSchema,
	} {
		got, err := get()
		if err != nil || !strings.HasPrefix(string(got), `{"type":"object","properties":{}`) {
			t.Errorf("%s: got %s %v", name, got, err)
		}
	}
	if _, err := schema.For[[]string]().InputSchema(); err == nil || !strings.Contains(err.Error(), "use a struct or a map") {
		t.Errorf("got %v", err)
	}
	if schema.For[[]string]().IsObject() || !schema.For[struct{}]().IsObject() || schema.For[any]().IsObject() {
		t.Error("IsObject is wrong")
	}
}

// Absent and null arguments are the empty object; arrays and strings are input errors.
func TestCaseK06(t *testing.T) {
	t.Parallel()
	type none struct {
		A int `json:"a,omitempty"`
	}
	type one struct {
		A int `json:"a"`
	}
	for in, ok := range map[string]bool{"": true, " ": true, "null": true, "{}": true, "[]": false, `"{}"`: false, "5": false, "nul": false, "[": false} {
		var n none
		if err := schema.For[none]().DecodeInput([]byte(in), &n); (err == nil) != ok {
			t.Errorf("none: %q: %v", in, err)
		}
		var a any
		if err := schema.For[any]().DecodeInput([]byte(in), &a); (err == nil) != ok {
			t.Errorf("any: %q: %v", in, err)
		}
		var o one
		if err := schema.For[one]().DecodeInput([]byte(in), &o); err == nil || ok && !strings.Contains(err.Error(), "/a is required: an integer") {
			t.Errorf("one: %q: %v", in, err)
		}
	}
}

// The mapping of pointers and null is as documented.
func TestCaseK07(t *testing.T) {
	t.Parallel()
	type args struct {
		P  *string           `json:"p"`
		PO *string           `json:"po,omitempty"`
		S  []string          `json:"s,omitempty"`
		M  map[string]string `json:"m,omitempty"`
		R  json.RawMessage   `json:"r,omitempty"`
		A  any               `json:"a,omitempty"`
		N  *int              `json:"n" null:"refuse"`
		Q  string            `json:"q"`
		L  []*int            `json:"l,omitempty"`
	}
	typed := schema.For[args]()
	s, err := typed.Schema()
	if err != nil || strings.Count(string(s), "null") != 1 || !strings.Contains(string(s), `"required":["q"]`) {
		t.Errorf("got %s %v", s, err)
	}
	var v args
	if err := typed.Decode([]byte(`{"p":null,"po":null,"s":null,"m":null,"r":null,"a":null,"q":"x","l":[null,1]}`), &v); err != nil || v.P != nil || string(v.R) != "null" || len(v.L) != 2 {
		t.Errorf("got %+v %v", v, err)
	}
	for in, want := range map[string]string{
		`{"q":null}`:               "/q must be a string; found null",
		`{"q":"x","n":null}`:       "/n must be an integer; found null",
		`{"q":"x","s":[null]}`:     "/s/0 must be a string; found null",
		`{"q":"x","m":{"k":null}}`: "/m/k must be a string; found null",
		`{"q":"x","p":5}`:          "/p must be a string; found the number 5",
	} {
		if err := typed.Decode([]byte(in), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", in, err)
		}
	}
}

// Encoding keeps the schema: nil slices are [], nil pointers of optional members are absent, results that Go's types allow and the schema
// does not are found.
func TestCaseK09(t *testing.T) {
	t.Parallel()
	type out struct {
		List []string           `json:"list"`
		Map  map[string]int     `json:"map"`
		P    *string            `json:"p"`
		Q    *int               `json:"q"`
		In   []struct{ X *int } `json:"in"`
		E    string             `json:"e" enum:"a,b"`
		D    int                `json:"d,omitzero" default:"7"`
	}
	typed := schema.For[out]()
	one := 1
	v := out{E: "a", In: []struct{ X *int }{{}, {&one}}}
	got, err := typed.Encode([]byte("> "), &v)
	if err != nil || string(got) != `> {"list":[],"map":{},"in":[{},{"X":1}],"e":"a"}` {
		t.Errorf("got %s %v", got, err)
	}
	got, err = typed.Encode([]byte("> "), &out{E: "c"})
	if err == nil || string(got) != "> " || !strings.Contains(err.Error(), `/e must be one of "a", "b"; found the string "c"`) {
		t.Errorf("got %s %v", got, err)
	}
	if got, err := schema.For[any]().Encode(nil, new(any)); err != nil || string(got) != "null" {
		t.Errorf("got %s %v", got, err)
	}
	var none *out
	if _, err := schema.For[*out]().Encode(nil, &none); err == nil || !strings.Contains(err.Error(), "must be an object; found null") {
		t.Errorf("got %v", err)
	}
	text := "caf\xe9"
	if got, err := schema.For[string]().Encode(nil, &text); err != nil || string(got) != "\"caf\ufffd\"" {
		t.Errorf("got %s %v", got, err)
	}
	f := func() any { return make(chan int) }()
	if _, err := schema.For[any]().Encode(nil, &f); err == nil {
		t.Error("a channel was encoded")
	}
}
