package form_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/form"
)

// An untouched optional boolean is absent, not false; a default that was shown is sent.
func TestCaseF03(t *testing.T) {
	t.Parallel()
	f := parse(t, `{"type":"object","properties":{"public":{"type":"boolean"},"n":{"type":"integer"}},"required":[]}`)
	if got := string(f.Defaults()); got != "{}" {
		t.Errorf("defaults: %s", got)
	}
	for i := range f.Fields {
		if raw, err := f.Fields[i].ParseText(""); raw != nil || err != nil {
			t.Errorf("%s: %s %v", f.Fields[i].Name, raw, err)
		}
	}
	got, err := f.Normalize([]byte(`{"public":null}`))
	if err != nil || string(got) != "{}" {
		t.Errorf("got %s %v", got, err)
	}
	f = parse(t, `{"type":"object","properties":{"public":{"type":"boolean","default":false}}}`)
	if got := string(f.Defaults()); got != `{"public":false}` {
		t.Errorf("defaults: %s", got)
	}
}

// The right field with the wrong JSON type is an error, never coerced.
func TestCaseF05(t *testing.T) {
	t.Parallel()
	f := parse(t, `{"type":"object","properties":{"ok":{"type":"boolean"},"age":{"type":"integer"},"tags":{"type":"array","items":{"enum":["a"]}}}}`)
	err := f.Check([]byte(`{"ok":"true","age":"42","tags":"a"}`))
	const want = `3 problems:
/ok must be true or false; found the string "true"
/age must be an integer; found the string "42"
/tags must be an array, each item one of "a"; found the string "a"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// Acceptance without what was required is a failure; nothing is invented, not even from a default.
func TestCaseF07(t *testing.T) {
	t.Parallel()
	f := parse(t, `{"type":"object","properties":{"approved":{"type":"boolean","default":true}},"required":["approved"]}`)
	for _, content := range []string{"", "null", " null", "{}", `{"approved":null}`, `{"Approved":true}`, `[]`, `{"approved":true,"approved":false}`, `{`} {
		raw := json.RawMessage(content)
		if content == "" {
			raw = nil
		}
		if err := f.Check(raw); err == nil {
			t.Errorf("%q was accepted", content)
		}
		if got, err := f.Normalize(raw); err == nil {
			t.Errorf("%q was accepted as %s", content, got)
		}
	}
}

// A form without fields is a confirmation: content may be absent or empty.
func TestCaseF08(t *testing.T) {
	t.Parallel()
	f := parse(t, `{"type":"object","properties":{}}`)
	for _, content := range []json.RawMessage{nil, []byte("{}"), []byte("null")} {
		if err := f.Check(content); err != nil {
			t.Errorf("%s: %v", content, err)
		}
	}
	type confirm struct{}
	if out, err := mustOf[confirm](t).Schema(form.Dialect{}); err != nil || string(out) != `{"type":"object","properties":{}}` {
		t.Errorf("got %s %v", out, err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	f := mustOf[seat](t)
	for content, want := range map[string]string{
		`{"name":"Ann","age":1}`: "",
		`{"name":"Ann","age":1.0,"class":"first","meals":["veg","fish"],"quiet":false}`: "",
		`{"name":"日本","age":150,"price":0.5,"mail":"a@b.c","plate":"ZH-1"}`:             "",
		`{"name":"A","age":1}`:                                                                 "/name must have at least 2 characters; found 1",
		`{"name":"Ann","age":151}`:                                                             "/age must be at most 150; found the number 151",
		`{"name":"Ann","age":1.5}`:                                                             "/age must be an integer; found the number 1.5",
		`{"name":"Ann","age":1,"price":0.4}`:                                                   "/price must be at least 0.5",
		`{"name":"Ann","age":1,"mail":"ann"}`:                                                  "/mail must be a string that is an e-mail address",
		`{"name":"Ann","age":1,"plate":"zh-1"}`:                                                "/plate must match the pattern",
		`{"name":"Ann","age":1,"class":"First class"}`:                                         `/class must be one of "first", "second"`,
		`{"name":"Ann","age":1,"meals":[]}`:                                                    "/meals must have at least 1 item; found 0",
		`{"name":"Ann","age":1,"meals":["veg","fish","meat"]}`:                                 "/meals must have at most 2 items",
		`{"name":"Ann","age":1,"day":"today"}`:                                                 "/day must be a string that is a date and time",
		`{"name":"Ann","age":1,"klass":"first"}`:                                               `/klass is unknown; did you mean "class"?`,
		`{"name":"Ann","age":99999999999999999999999999}`:                                      "/age must be at most 150",
		`{"name":"` + strings.Repeat("x", form.MaxBytes) + `"}`:                                "at most 1048576 are allowed",
		`{"name":"Ann","age":1,"class":` + strings.Repeat("[", 300) + strings.Repeat("]", 300): "not valid JSON",
	} {
		err := f.Check([]byte(content))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %v, want %s", content, err, want)
		}
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	f := mustOf[seat](t)
	got, err := f.Normalize([]byte(` { "x":1, "age": 41.0 , "y":[{}], "name" : "Ann", "price":null, "z":0 } `))
	const want = `{"age":41,"name":"Ann","class":"second","meals":["veg"]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s %v", got, err)
	}
	again, err := f.Normalize(got)
	if err != nil || string(again) != want {
		t.Errorf("again: %s %v", again, err)
	}
}
