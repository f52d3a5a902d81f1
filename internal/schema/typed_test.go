package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/internal/schema"
)

type booking struct {
	From  string   `json:"from" jsonschema:"station of departure"`
	To    string   `json:"to" minLength:"2" maxLength:"30"`
	Class string   `json:"class" enum:"first=First class,second=Second class" default:"second" title:"Class"`
	Seats int      `json:"seats,omitempty" minimum:"1" maximum:"9" header:"Seats"`
	Tags  []string `json:"tags,omitempty" enum:"a,b" minItems:"1" maxItems:"2"`
	Mail  *string  `json:"mail" format:"email"`
}

func TestSchemaOfStruct(t *testing.T) {
	t.Parallel()
	got, err := schema.For[booking]().Schema()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{` +
		`"from":{"type":"string","description":"station of departure"},` +
		`"to":{"type":"string","minLength":2,"maxLength":30},` +
		`"class":{"type":"string","title":"Class","description":"(first: First class; second: Second class)","enum":["first","second"],"default":"second"},` +
		`"seats":{"type":"integer","x-mcp-header":"Seats","minimum":1,"maximum":9},` +
		`"tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":2},` +
		`"mail":{"type":"string","format":"email"}},` +
		`"required":["from","to"],"additionalProperties":false}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

type tree struct {
	Name  string  `json:"name"`
	Left  *tree   `json:"left,omitempty"`
	Items []*leaf `json:"items"`
}

type leaf struct {
	Up   *tree          `json:"up,omitempty"`
	More map[string]any `json:"more,omitempty"`
	Next *leaf          `json:"next,omitempty"`
}

func TestSchemaShapes(t *testing.T) {
	t.Parallel()
	type named string
	type inner struct {
		A int `json:"a"`
	}
	type embeds struct {
		inner
		*leaf
		B named `json:"b"`
	}
	for _, c := range []struct {
		name string
		get  func() (json.RawMessage, error)
		want string
	}{
		{"string", schema.For[named]().Schema, `{"type":"string"}`},
		{"any", schema.For[any]().Schema, `true`},
		{"raw", schema.For[json.RawMessage]().Schema, `true`},
		{"time", schema.For[time.Time]().Schema, `{"type":"string","format":"date-time"}`},
		{"bytes", schema.For[[]byte]().Schema, `{"type":"string","contentEncoding":"base64"}`},
		{"fixed", schema.For[[2]bool]().Schema, `{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":2}`},
		{"uint8", schema.For[uint16]().Schema, `{"type":"integer","minimum":0,"maximum":65535}`},
		{"int64", schema.For[int64]().Schema, `{"type":"integer"}`},
		{"pointers", schema.For[[]*int]().Schema, `{"type":"array","items":{"type":["integer","null"]}}`},
		{"map", schema.For[map[int]float64]().Schema, `{"type":"object","properties":{},"propertyNames":{"pattern":"^-?(0|[1-9][0-9]*)$"},"additionalProperties":{"type":"number"}}`},
		{"empty struct", schema.For[struct{}]().Schema, `{"type":"object","properties":{},"additionalProperties":false}`},
		{"map input", schema.For[map[string]any]().InputSchema, `{"type":"object","properties":{}}`},
		{"any input", schema.For[any]().InputSchema, `{"type":"object","properties":{}}`},
		{"recursive", schema.For[tree]().Schema, `{"type":"object","properties":{"name":{"type":"string"},"left":{"$ref":"#"},` +
			`"items":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/leaf"},{"type":"null"}]}}},"required":["name","items"],"additionalProperties":false,` +
			`"$defs":{"leaf":{"type":"object","properties":{"up":{"$ref":"#"},"more":{"type":"object"},"next":{"$ref":"#/$defs/leaf"}},"additionalProperties":false}}}`},
		{"embedded", schema.For[embeds]().Schema, `{"type":"object","properties":{"a":{"type":"integer"},"up":{"$ref":"#/$defs/tree"},"more":{"type":"object"},` +
			`"next":{"$ref":"#/$defs/leaf"},"b":{"type":"string"}},"required":["a","b"],"additionalProperties":false,"$defs":{` +
			`"tree":{"type":"object","properties":{"name":{"type":"string"},"left":{"$ref":"#/$defs/tree"},"items":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/leaf"},{"type":"null"}]}}},"required":["name","items"],"additionalProperties":false},` +
			`"leaf":{"type":"object","properties":{"up":{"$ref":"#/$defs/tree"},"more":{"type":"object"},"next":{"$ref":"#/$defs/leaf"}},"additionalProperties":false}}}`},
	} {
		got, err := c.get()
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\ngot  %s %v\nwant %s", c.name, got, err, c.want)
			continue
		}
		if _, err := schema.Compile(got, nil); err != nil {
			t.Errorf("%s does not compile: %v", c.name, err)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	typed := schema.For[booking]()
	var b booking
	if err := typed.Decode([]byte(`{"from":"Bern","to":"Wien","seats":2.0,"mail":null}`), &b); err != nil {
		t.Fatal(err)
	}
	if b.Class != "second" || b.Seats != 2 || b.Mail != nil {
		t.Errorf("got %+v", b)
	}
	err := typed.Decode([]byte(`{"form":"Bern","to":"W","class":"third","seats":0,"tags":["a","c",5],"mail":"x"}`), &b)
	var ve *schema.ValidationError
	if !errors.As(err, &ve) {
		t.Fatal(err)
	}
	const want = `8 problems:
/form is unknown; did you mean "from"?
/to must have at least 2 characters; found 1
/class must be one of "first", "second"; found the string "third"
/seats must be at least 1; found the number 0
/tags/1 must be one of "a", "b"; found the string "c"
/tags/2 must be one of "a", "b"; found the number 5
/tags must have at most 2 items; found 3
/mail must be a string that is an e-mail address like ann@example.com; found the string "x"`
	if !strings.HasPrefix(err.Error(), "9 problems") || !strings.Contains(err.Error(), want[len("8 problems"):]) {
		t.Errorf("got %v", err)
	}
}

func TestCompileFirst(t *testing.T) {
	t.Parallel()
	c, err := schema.Compile([]byte(`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"integer","enum":[9007199254740993]}}}},"required":["a"]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"a":{"b":9007199254740993}}`: "",
		`{"a":{"b":9007199254740992}}`: "/a/b violates enum",
		`{}`:                           "the value violates required",
		`[]`:                           "the value violates type",
	} {
		err := c.Validate([]byte(in))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}
