package form_test

import (
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/form"
)

// A form does not carry links, however they are written or hidden.
func TestCaseF23Links(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Sign in at https://evil.test/login now":      "https://evil.test/login",
		"see HTTP://evil.test":                        "HTTP://evil.test",
		"ht\u200btps:\u200b//evil.test/x":             "https://evil.test/x",
		"[here](//evil.test)":                         "](//evil.test)",
		"go to www.evil.test!":                        "www.evil.test!",
		"javascript:alert(1)":                         "javascript:alert(1)",
		"write to mailto:a@b.c":                       "mailto:a@b.c",
		"vscode://open?x":                             "vscode://open?x",
		"https://a.test/" + strings.Repeat("x", 1000): "https://a.test/" + strings.Repeat("x", 105) + "…",
	} {
		if got, ok := form.FindLink(text); !ok || got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
	for _, text := range []string{"", "your e-mail address", "ratio 3:4", "the profile: yours", "e.g. example.com", "C:\\dir", "data", "12:30", "[a] (b)", "tel. number"} {
		if got, ok := form.FindLink(text); ok {
			t.Errorf("%q: found %q", text, got)
		}
	}
	f := parse(t, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","oneOf":[{"const":"x","title":"https://evil.test"}]}}}`)
	if field, link, ok := f.FindLink(); !ok || field != "b" || link != "https://evil.test" {
		t.Errorf("got %q %q", field, link)
	}
	if _, _, ok := mustOf[seat](t).FindLink(); ok {
		t.Error("found a link where there is none")
	}
}

// A form that was put together by hand is judged like one that New made.
func TestFormByHand(t *testing.T) {
	t.Parallel()
	f := &form.Form{Fields: []form.Field{{Name: "a", Kind: form.Integer, Required: true}}}
	if err := f.Check([]byte(`{"a":"1"}`)); err == nil || err.Error() != `/a must be an integer; found the string "1"` {
		t.Errorf("got %v", err)
	}
	if got, err := f.Normalize([]byte(`{"a":1.0,"b":2}`)); err != nil || string(got) != `{"a":1}` {
		t.Errorf("got %s %v", got, err)
	}
	if err := f.Fields[0].Check([]byte(`1.5`)); err == nil || err.Error() != "the value must be an integer; found the number 1.5" {
		t.Errorf("got %v", err)
	}
	bad := &form.Form{Fields: []form.Field{{Name: "a", Kind: form.Choice}}}
	if err := bad.Check(nil); err == nil {
		t.Error("a choice without options was accepted")
	}
	if _, err := bad.Normalize(nil); err == nil {
		t.Error("a choice without options was accepted")
	}
	if err := bad.Fields[0].Check([]byte("1")); err == nil {
		t.Error("a choice without options was accepted")
	}
}
