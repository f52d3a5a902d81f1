package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/internal/schema"
)

func compile(t *testing.T, raw string) *schema.Compiled {
	t.Helper()
	c, err := schema.Compile([]byte(raw), nil)
	if err != nil {
		t.Fatalf("%.300s: %v", raw, err)
	}
	return c
}

// within fails when f takes longer than any honest work does, on a busy machine too.
func within(t *testing.T, f func() error) error {
	t.Helper()
	start := time.Now()
	err := f()
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v", d)
	}
	return err
}

// bomb is n definitions, each of which applies the next one twice.
func bomb(n int, apply string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		fmt.Fprintf(&b, `"d%d":`+apply+",", i, next, next)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"string"}}}`, n)
	return b.String()
}

// Schemas of a few lines that would make a validator work for years are refused in time.
func TestExhaustingSchemas(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for name, c := range map[string]struct{ schema, instance string }{
		"allOf":        {bomb(60, `{"allOf":[%s,%s]}`), `"x"`},
		"anyOf":        {bomb(60, `{"anyOf":[%s,%s]}`), `1`},
		"oneOf":        {bomb(60, `{"oneOf":[%s,%s]}`), `1`},
		"if":           {bomb(60, `{"if":%s,"then":%s}`), `1`},
		"not":          {bomb(60, `{"not":%s,"if":%s}`), `1`},
		"dependent":    {bomb(60, `{"dependentSchemas":{"a":%s,"b":%s}}`), `{"a":1,"b":2}`},
		"items":        {`{"allOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`, deep},
		"contains":     {`{"items":{"$ref":"#"},"contains":{"$ref":"#"}}`, deep},
		"properties":   {`{"anyOf":[{"additionalProperties":{"$ref":"#"}},{"patternProperties":{"":{"$ref":"#"}}}]}`, strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)},
		"names":        {`{"propertyNames":{"pattern":"(a{0,50}b{0,50}){0,15}c"}}`, `{"` + strings.Repeat("ab", 500_000) + `":1}`},
		"pattern":      {`{"pattern":"(a{0,50}b{0,50}){0,15}c"}`, `"` + strings.Repeat("ab", 500_000) + `"`},
		"wide":         {`{"items":{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 400) + `{"type":"null"}]}}`, "[" + strings.Repeat("1,", 10_000) + "1]"},
		"enum":         {`{"items":{"enum":[` + strings.Repeat(`"x",`, 5000) + `"y"]}}`, "[" + strings.Repeat("1,", 10_000) + "1]"},
		"long chain":   {chain(4000), strings.Repeat("[", 200) + strings.Repeat("]", 200)},
		"dynamic bomb": {strings.ReplaceAll(strings.ReplaceAll(bomb(60, `{"allOf":[%s,%s]}`), `{"$ref":"#/$defs/d0"`, `{"$dynamicRef":"#/$defs/d0"`), "", ""), `"x"`},
	} {
		compiled, err := schema.Compile([]byte(c.schema), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var ve *schema.ValidationError
		if err := within(t, func() error { return compiled.Validate([]byte(c.instance)) }); !errors.Is(err, schema.ErrExpensive) || !errors.As(err, &ve) {
			t.Errorf("%s: got %.200v", name, err)
		}
	}
}

// chain is n schemas, each the next one by reference, and the last one the items of the first.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"items":{"$ref":"#/$defs/d0"}}}}`, n)
	return b.String()
}

// What can be seen from the schema alone is refused when it is compiled.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]error{
		`{"$ref":"#"}`: schema.ErrExpensive,
		`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#/$defs/b"}},"b":{"$ref":"#/$defs/a"}}}`:                          schema.ErrExpensive,
		`{"$dynamicRef":"#x","$defs":{"a":{"$dynamicAnchor":"x"},"b":{"$dynamicAnchor":"x","$id":"b","anyOf":[{"$dynamicRef":"#x"}]}}}`: schema.ErrExpensive,
		`{"properties":{"a":{"$ref":"https://evil.test/schema.json"}}}`:                                                                 schema.ErrReference,
		`{"$ref":"file:///etc/passwd"}`:                                                  schema.ErrReference,
		`{"$ref":"other.json#/x"}`:                                                       schema.ErrReference,
		`{"$dynamicRef":"http://127.0.0.1/x"}`:                                           schema.ErrReference,
		`{"$id":"https://a.test/x","$ref":"https://a.test/y"}`:                           schema.ErrReference,
		`{"$schema":"http://json-schema.org/draft-04/schema#"}`:                          schema.ErrDialect,
		`{"$schema":"https://example.test/unknown"}`:                                     schema.ErrDialect,
		`{"items":[{"type":"string"}]}`:                                                  schema.ErrDialect,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"#"}`: schema.ErrDialect,
		`{"allOf":[` + strings.Repeat(`{},`, 5000) + `{}]}`:                              schema.ErrExpensive,
		`{"description":"` + strings.Repeat("x", 1<<20) + `"}`:                           schema.ErrExpensive,
	} {
		if _, err := schema.Compile([]byte(in), nil); !errors.Is(err, want) {
			t.Errorf("%.200s: got %v, want %v", in, err, want)
		}
	}
	for in, want := range map[string]string{
		`5`:                                 "a schema is an object or a boolean, not a number",
		`{`:                                 "not valid JSON",
		`{"type":"object","type":"string"}`: "duplicate",
		`{"type":"Object"}`:                 `schema at /type: the string "Object" is not a type`,
		`{"type":["string",5]}`:             "is not a type",
		`{"properties":[]}`:                 "schema at /properties: must be an object of schemas",
		`{"properties":{"a/b":{"minLength":-1}}}`:                "schema at /properties/a~1b/minLength: must be an integer of 0 or more",
		`{"properties":{"x":{"type":"string","required":true}}}`: "must be an array of names, not the boolean true",
		`{"required":[1]}`:                                    "must be an array of names, not of the number 1",
		`{"pattern":"(?=x)"}`:                                 "is not an RE2 expression",
		`{"patternProperties":{"(":{}}}`:                      "is not an RE2 expression",
		`{"pattern":5}`:                                       "must be a string",
		`{"pattern":"` + strings.Repeat("a", 3000) + `"}`:     "at most 2000",
		`{"pattern":"` + strings.Repeat("a{1000}", 11) + `"}`: "instructions",
		`{"multipleOf":0}`:                                    "greater than 0",
		`{"minimum":"1"}`:                                     "must be a number",
		`{"minimum":1e999}`:                                   "out of range",
		`{"enum":5}`:                                          "must be an array",
		`{"const":1e999}`:                                     "out of range",
		`{"enum":[1e999]}`:                                    "out of range",
		`{"allOf":{}}`:                                        "must be an array of schemas",
		`{"uniqueItems":1}`:                                   "must be true or false",
		`{"$ref":5}`:                                          "must be a string",
		`{"$schema":5}`:                                       "must be a string",
		`{"$ref":"#/$defs/none"}`:                             "leads to nothing",
		`{"$ref":"#nowhere"}`:                                 "leads to nothing",
		`{"$dynamicRef":"#nowhere"}`:                          "leads to nothing",
		`{"$ref":"%zz"}`:                                      "invalid URL escape",
		`{"$id":"%zz"}`:                                       "invalid URL escape",
		`{"dependentRequired":[]}`:                            "must be an object",
		`{"dependentRequired":{"a":1}}`:                       "must be an array of names",
		`{"dependencies":[]}`:                                 "must be an object",
		`{"dependencies":{"a":1}}`:                            "a schema is an object or a boolean",
		`{"not":` + strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat("}", 200) + `}`: "nests deeper than 128",
	} {
		if _, err := schema.Compile([]byte(in), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s: got %v, want %s", in, err, want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	type pair struct{ in, want string }
	for s, cases := range map[string][]pair{
		`true`:                       {{`1`, ""}, {`nonsense`, "not valid JSON"}, {`1 2`, "followed by more text"}},
		`false`:                      {{`1`, "must not match"}},
		`{"type":"integer"}`:         {{`1`, ""}, {`1.0`, ""}, {`1e3`, ""}, {`1.5`, "violates type"}, {`9007199254740993`, ""}, {`18446744073709551615`, ""}, {`123456789012345678901234567890`, ""}, {`1e400`, "out of range"}},
		`{"const":9007199254740993}`: {{`9007199254740993`, ""}, {`9007199254740992`, "violates const"}, {`9007199254740993.0`, ""}},
		`{"enum":[18446744073709551615,1.0,"a",null,[1],{"x":2}]}`:                                     {{`18446744073709551615`, ""}, {`18446744073709551614`, "violates enum"}, {`1`, ""}, {`"a"`, ""}, {`null`, ""}, {`[1.0]`, ""}, {`{"x":2}`, ""}, {`{"x":3}`, "violates enum"}},
		`{"properties":{"a":{"items":{"minimum":2}}},"definitions":{"x":{}}}`:                          {{`{"a":[1]}`, "/a violates minimum: 1 is less than 2"}, {`{"a":[2]}`, ""}},
		`{"properties":{"a":{"$ref":"#/$defs/p"}},"$defs":{"p":{"properties":{"b":{"maxLength":1}}}}}`: {{`{"a":{"b":"xx"}}`, "/a/b violates maxLength"}},
		`{"required":["a"],"additionalProperties":false,"properties":{"a":{}}}`:                        {{`{}`, "violates required"}, {`{"a":1,"b":2}`, `unexpected additional properties`}},
		`{"uniqueItems":true}`: {{`[1,1.0]`, "violates uniqueItems"}, {`[1,"1"]`, ""}},
		`{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"required":["d"]}}}`:                                                                                          {{`{"a":1}`, "missing properties"}, {`{"a":1,"b":1}`, ""}, {`{"c":1}`, "missing"}},
		`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`:                                                                                          {{`{"a":1}`, "missing"}, {`{"c":1}`, ""}},
		`{"prefixItems":[{"type":"string"}],"items":{"type":"integer"},"contains":{"const":3},"minContains":1,"maxContains":1}`:                                                  {{`["a",3]`, ""}, {`["a",1]`, "violates contains"}},
		`{"patternProperties":{"^x":{"type":"string"}},"propertyNames":{"maxLength":2},"minProperties":1,"maxProperties":1}`:                                                     {{`{"xa":"1"}`, ""}, {`{"xa":1}`, "violates type"}, {`{"xyz":"1"}`, "violates maxLength"}, {`{}`, "minProperties"}},
		`{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`:                                                                                                      {{`{"a":1}`, ""}, {`{"b":1}`, "must not match"}},
		`{"$id":"https://a.test/root","$ref":"inner#/properties/x","$defs":{"i":{"$id":"inner","$anchor":"here","properties":{"x":{"type":"null"}}},"j":{"$ref":"inner#here"}}}`: {{`null`, ""}, {`1`, "violates type"}},
		`{"exclusiveMinimum":1,"exclusiveMaximum":3,"multipleOf":1}`:                                                                                                             {{`2`, ""}, {`1`, "exclusiveMinimum"}, {`3`, "exclusiveMaximum"}, {`2.5`, "multipleOf"}},
		`{"type":["string","null"],"minLength":2,"pattern":"^a"}`:                                                                                                                {{`null`, ""}, {`"ab"`, ""}, {`"a"`, "minLength"}, {`"ba"`, "pattern"}},
		`{"anyOf":[{"type":"string"},{"type":"object","required":["a"]}]}`:                                                                                                       {{`1`, "violates anyOf: it matches none of the alternatives: 1 has type"}, {`{}`, `missing properties: ["a"]`}, {`"x"`, ""}},
		`{"oneOf":[{"type":"string"},{"minLength":1}]}`:                                                                                                                          {{`"x"`, "violates oneOf: it matches more than one alternative"}, {`""`, ""}, {`1`, ""}},
		`{"oneOf":[{"type":"string"},{"type":"null"}]}`:                                                                                                                          {{`1`, "violates oneOf: it matches none of the alternatives"}},
		`{"format":"email","contentEncoding":"base64","Type":"string","ENUM":5}`:                                                                                                 {{`5`, ""}},
	} {
		c := compile(t, s)
		for _, p := range cases {
			err := c.Validate([]byte(p.in))
			if (err == nil) != (p.want == "") || err != nil && !strings.Contains(err.Error(), p.want) {
				t.Errorf("%s on %s: got %v, want %q", s, p.in, err, p.want)
			}
			var ve *schema.ValidationError
			if err != nil && !errors.As(err, &ve) {
				t.Errorf("%s on %s: %T", s, p.in, err)
			}
		}
	}
}

// The library's messages hold whole values; ours stay short and do not act on a terminal.
func TestValidateMessagesAreShort(t *testing.T) {
	t.Parallel()
	c := compile(t, `{"anyOf":[{"type":"object","additionalProperties":{"type":"array","items":{"type":"null"}}},{"type":"array","items":{"enum":["a"]}}]}`)
	for _, in := range []string{
		`{"` + strings.Repeat("k", 100_000) + `":["` + strings.Repeat("v", 100_000) + `"]}`, `["` + strings.Repeat("x\u001b[2J", 10_000) + `"]`,
	} {
		err := c.Validate([]byte(in))
		if err == nil || len(err.Error()) > 6000 || strings.ContainsRune(err.Error(), '\x1b') {
			t.Errorf("got %d bytes: %.300v", len(err.Error()), err)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	raw := []byte(`{"type":"array","items":{"type":"integer"}}`)
	for _, c := range []struct {
		limits   schema.Limits
		instance string
		ok       bool
	}{
		{schema.Limits{}, `[1,2,3]`, true},
		{schema.Limits{Steps: 3}, `[1,2,3]`, false},
		{schema.Limits{Steps: 4}, `[1,2,3]`, true},
		{schema.Limits{InstanceBytes: 6}, `[1,2,3]`, false},
		{schema.Limits{InstanceDepth: 1}, `[[1]]`, false},
	} {
		compiled, err := schema.Compile(raw, &c.limits)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate([]byte(c.instance)); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.limits, err)
		}
	}
	for _, l := range []schema.Limits{{SchemaBytes: 5}, {SchemaDepth: 1}, {Subschemas: 1}} {
		if _, err := schema.Compile(raw, &l); err == nil {
			t.Errorf("%+v: compiled", l)
		}
	}
	if _, err := schema.Compile([]byte(`{"pattern":"aaaa"}`), &schema.Limits{PatternBytes: 3}); err == nil {
		t.Error("a pattern that is too long compiled")
	}
}

func TestRawDefaults(t *testing.T) {
	t.Parallel()
	c := compile(t, `{"type":"object","properties":{
		"big":{"type":"integer","default":9007199254740993},
		"must":{"type":"string","default":"x"},
		"in":{"$ref":"#/$defs/in"},
		"list":{"type":"array","items":{"$ref":"#/$defs/in"}},
		"pair":{"prefixItems":[{"properties":{"p":{"default":1}}}]}},
		"required":["must"],"$defs":{"in":{"type":"object","properties":{"a":{"default":null},"b":{}}}}}`)
	for in, want := range map[string]string{
		`{"must":"m"}`: `{"must":"m","big":9007199254740993}`,
		`{"big":1}`:    `{"big":1}`,
		`{}`:           `{"big":9007199254740993}`,
		`{"big":1.0,"in":{},"list":[{},{"a":2}],"pair":[{"q":1e2}]}`: `{"big":1.0,"in":{"a":null},"list":[{"a":null},{"a":2}],"pair":[{"q":1e2,"p":1}]}`,
		`{"big":1,"in":5}`: `{"big":1,"in":5}`,
		`[]`:               `[]`,
		` {"big" : 1} `:    ` {"big" : 1} `,
	} {
		got, err := c.Defaults([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s %v, want %s", in, got, err, want)
		}
	}
	if _, err := c.Defaults([]byte(`{`)); err == nil {
		t.Error("malformed JSON got defaults")
	}
}

// Defaults cannot make a value grow beyond its limit.
func TestDefaultsAreBounded(t *testing.T) {
	t.Parallel()
	c := compile(t, `{"items":{"properties":{"a":{"default":"`+strings.Repeat("x", 500_000)+`"}}}}`)
	err := within(t, func() error {
		_, err := c.Defaults([]byte("[" + strings.Repeat("{},", 100_000) + "{}]"))
		return err
	})
	if !errors.Is(err, schema.ErrExpensive) {
		t.Errorf("got %v", err)
	}
	small, err := schema.Compile([]byte(`{"properties":{"a":{"default":1}}}`), &schema.Limits{InstanceBytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := small.Defaults([]byte(`{"bbbbbbbbbbbbbb":1}`)); !errors.Is(err, schema.ErrExpensive) {
		t.Errorf("got %v", err)
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"enum":[1,"a",null]}}}`, `{"anyOf":[{"items":{"$ref":"#"}},{"pattern":"^a"}]}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}],"dependencies":{"a":["b"],"c":{}},"$id":"x"}`, `{"$dynamicRef":"#a","$dynamicAnchor":"a"}`,
		`{"if":{},"then":false,"unevaluatedItems":false,"unevaluatedProperties":{"type":"null"},"contains":{},"uniqueItems":true}`, `true`, `{"$id":"a","$defs":{"b":{"$id":"b","$anchor":"c"}},"$ref":"b#c"}`,
	} {
		f.Add([]byte(seed), []byte(`{"a":[1,"x",{"b":null}],"c":true}`))
	}
	limits := &schema.Limits{Steps: 20_000}
	f.Fuzz(func(t *testing.T, raw, instance []byte) {
		c, err := schema.Compile(raw, limits)
		if err != nil {
			return
		}
		if string(c.Raw()) != string(raw) {
			t.Fatal("the schema changed")
		}
		for _, in := range [][]byte{instance, []byte(`{"a":[1,{"a":1}],"b":null}`), []byte(`[[],"a",1.5]`)} {
			err := c.Validate(in)
			if err != nil && strings.Contains(err.Error(), "validator failed") {
				t.Fatalf("%s on %s: %v", raw, in, err)
			}
			out, derr := c.Defaults(in)
			if derr == nil && !json.Valid(out) && json.Valid(in) {
				t.Fatalf("defaults broke %s: %s", in, out)
			}
			if derr != nil {
				continue
			}
			if again, err := c.Defaults(out); err != nil || string(again) != string(out) {
				t.Fatalf("defaults of %s are not idempotent: %s, then %s %v", in, out, again, err)
			}
		}
		if _, err := schema.Headers(raw); err != nil && err.Error() == "" {
			t.Fatal("an error without a message")
		}
	})
}
