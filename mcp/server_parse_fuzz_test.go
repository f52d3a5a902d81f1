package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/yosida95/uritemplate/v3"
)

// FuzzTemplate: what a template makes of values, it matches; and it finds in a URI what the library finds, which is slow but independent.
func FuzzTemplate(f *testing.F) {
	for _, s := range [][4]string{
		{"a:{x}/{y}", "a:1/%41", "1", "%/?"}, {"a:{/x*}{?y}", "a:/1/2?y=", "a", ""}, {"a:{+x}z", "a:/b/cz", "b/c", ""}, {"a:{;x,y}", "a:;x=1;y", "", "1"},
		{"a:{x*}", "a:1,2", ",", ""}, {"a{#x,y}", "a#b,c", "é", "%"}, {"a:{x}", "a:b/c", "..", ""}, {"é{.x}", "%C3%A9.1", ".", ""}, {"{x}.{y}", "a.b", "a", "b"},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	f.Fuzz(func(t *testing.T, template, uri, x, y string) {
		if template == "" {
			return // registration refuses it
		}
		if len(template) > 60 || len(uri) > 60 || len(x)+len(y) > 60 || strings.Contains(template, ":") && strings.Contains(template, "{") &&
			strings.LastIndexByte(template, ':') > strings.IndexByte(template, '{') {
			return // prefixes are ours alone; see their own tests
		}
		m, err := newTemplateMatcher(template)
		if err != nil {
			return
		}
		lib := uritemplate.MustNew(template)
		want, got := libraryMatch(lib, uri), m.match(uri)
		if (want == nil) != (got == nil) || !reflect.DeepEqual(filled(got), filled(want)) || m.matches(uri) != (got != nil) {
			t.Fatalf("%q with %q: got %q, want %q", template, uri, got, want)
		}
		if strings.ContainsFunc(x+y, func(r rune) bool { return r < 0x20 || r >= 0x7f }) {
			return // the library encodes those wrongly
		}
		expanded, err := lib.Expand(uritemplate.Values{"x": uritemplate.String(x), "y": uritemplate.String(y)})
		if err != nil {
			return
		}
		vars := m.match(expanded)
		if vars == nil && libraryMatch(lib, expanded) != nil {
			t.Fatalf("%q made %q of %q and %q, and does not match it", template, expanded, x, y)
		}
	})
}

// FuzzTemplateValues: values arrive as they are, whatever bytes they are made of.
func FuzzTemplateValues(f *testing.F) {
	f.Add("1", "ż/?")
	f.Add("..", "\x00%41")
	f.Add("\xff", "")
	m, err := newTemplateMatcher("a:{x}/{y}{?z*}")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, x, y string) {
		enc := func(s string) string {
			var b strings.Builder
			for i := range len(s) {
				fmt.Fprintf(&b, "%%%02x", s[i])
			}
			return b.String()
		}
		vars := m.match("a:" + enc(x) + "/" + enc(y) + "?z=" + enc(y) + "&z=" + enc(x))
		if vars.Get("x") != x || vars.Get("y") != y || !reflect.DeepEqual(vars["z"], []string{y, x}) {
			t.Fatalf("%q and %q became %q", x, y, vars)
		}
	})
}

// filled drops empty elements, of which the library keeps one where there are two.
func filled(vars TemplateVars) map[string][]string {
	out := map[string][]string{}
	for name, values := range vars {
		for _, v := range values {
			if v != "" {
				out[name] = append(out[name], v)
			}
		}
	}
	return out
}

// libraryMatch is what the library makes of a URI. Its matcher lets some pass that its own expression refuses, such as "!" for {x}; the
// expression is right.
func libraryMatch(lib *uritemplate.Template, uri string) TemplateVars {
	if !lib.Regexp().MatchString(uri) {
		return nil
	}
	values := lib.Match(uri)
	if values == nil {
		return nil
	}
	vars := TemplateVars{}
	for name, v := range values {
		if v.T == uritemplate.ValueTypeString {
			vars[name] = []string{v.String()}
		} else if len(v.V) > 0 {
			vars[name] = v.List()
		}
	}
	return vars
}

// FuzzCursor: a cursor leads behind its entry, also when the entry is gone; whatever else is sent is refused or stays within the list.
func FuzzCursor(f *testing.F) {
	f.Add("MSA1IHQ0", uint8(3), uint8(1))
	f.Add("", uint8(0), uint8(0))
	f.Add("MSAtMSBh", uint8(2), uint8(2))
	f.Add("MSA5MjIzMzcyMDM2ODU0Nzc1ODA3IGE", uint8(2), uint8(2))
	f.Add(base64.RawURLEncoding.EncodeToString([]byte("2 1 x:0")), uint8(2), uint8(0)) // of another version
	f.Fuzz(func(t *testing.T, cursor string, n, at uint8) {
		list := make([]*resourceEntry, n)
		for i := range list {
			list[i] = &resourceEntry{resource: &Resource{URI: "x:" + strconv.Itoa(i)}, seq: int64(2*i + 1)}
		}
		get := func(uri string) (*resourceEntry, bool) {
			for _, e := range list {
				if e.id() == uri {
					return e, true
				}
			}
			return nil, false
		}
		if i, err := position(list, cursor, get); err == nil && (i < 0 || i > len(list)) || err != nil && err != errBadCursor {
			t.Fatalf("cursor %q leads to %d of %d, %v", cursor, i, n, err)
		}
		if raw, _ := base64.RawURLEncoding.DecodeString(cursor); !bytes.HasPrefix(raw, []byte(cursorVersion+" ")) {
			if i, err := position(list, cursor, get); err == nil {
				t.Fatalf("cursor %q, of another version, leads to %d", raw, i)
			}
		}
		if at >= n {
			return
		}
		own := encodeCursor(list[at])
		if i, err := position(list, own, get); err != nil || i != int(at)+1 {
			t.Fatalf("the cursor of entry %d of %d leads to %d, %v", at, n, i, err)
		}
		list = append(list[:at:at], list[at+1:]...)
		if i, err := position(list, own, get); err != nil || i != int(at) {
			t.Fatalf("the cursor of entry %d of %d, which is gone, leads to %d, %v", at, n, i, err)
		}
	})
}

// FuzzSameParam: a header repeats an argument exactly when it has the same text, or both are numbers of the same value that any
// implementation can hold.
func FuzzSameParam(f *testing.F) {
	for _, s := range [][2]string{
		{`"a"`, "a"}, {`"\u0061"`, "a"}, {`1`, "1.0"}, {`1e2`, "100"}, {`true`, "true"}, {`true`, "True"}, {`9007199254740993`, "9007199254740992"}, {`"1"`, "1"}, {`-0`, "0"},
		{`9007199254740993`, "9007199254740993.0"}, {`0.1`, "0.10"}, {`{}`, "{}"}, {`1`, "0x1"}, {`1`, " 1"}, {`1`, "1_0"}, {`5`, "+5"}, {`1e999`, "Inf"}, {`4503599627370497.5`, "4503599627370497.50000001"}, {`9007199254740990`, "9007199254740990.3"}, {`9007199254740993`, "9007199254740993.0"}, {`1`, "1.00000000000000000001"}, {`"A"`, "a"}, {`false`, ""},
	} {
		f.Add([]byte(s[0]), s[1])
	}
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		value := jsontext.Value(raw)
		if !value.IsValid() || len(raw) > 40 || len(text) > 40 || strings.TrimSpace(string(raw)) != string(raw) || value.Kind() == 'n' {
			return
		}
		got := sameParam(json.RawMessage(raw), text)
		switch value.Kind() {
		case '"':
			if s, err := jsontext.AppendUnquote(nil, raw); err != nil || got != (string(s) == text) {
				t.Fatalf("%s and %q: %v", raw, text, got)
			}
		case 't', 'f':
			if got != (string(raw) == text) {
				t.Fatalf("%s and %q: %v", raw, text, got)
			}
		case '0':
			checkSameNumber(t, string(raw), text, got)
		default:
			if got {
				t.Fatalf("%s is repeated by %q", raw, text)
			}
		}
	})
}

func checkSameNumber(t *testing.T, value, text string, got bool) {
	t.Helper()
	if value == text {
		if !got {
			t.Fatalf("%s is not itself", value)
		}
		return
	}
	exponent := func(s string) bool { return strings.ContainsAny(s, "eEpPxX_/") }
	if exponent(value) || exponent(text) {
		return // exact arithmetic would take for ever
	}
	if !jsontext.Value(text).IsValid() || strings.TrimSpace(text) != text {
		if got {
			t.Fatalf("%s is repeated by %q, which is no JSON", value, text)
		}
		return
	}
	a, ok1 := new(big.Rat).SetString(value)
	b, ok2 := new(big.Rat).SetString(text)
	ok2 = ok2 && jsontext.Value(text).Kind() == '0' && jsontext.Value(text).IsValid() && strings.TrimSpace(text) == text
	switch {
	case got && (!ok1 || !ok2):
		t.Fatalf("%s is repeated by %q", value, text)
	case got && a.Cmp(b) != 0:
		t.Fatalf("%s is repeated by %q, which is another number", value, text)
	case ok1 && ok2 && a.IsInt() && b.IsInt() && got != (a.Cmp(b) == 0 && a.Num().IsInt64() && a.Num().Int64() <= maxSafeInteger && a.Num().Int64() >= -maxSafeInteger):
		t.Fatalf("%s and %q: %v", value, text, got)
	}
}

// FuzzFlowState: what was read of a state reads the same after it was written again, and nothing else is taken for a state.
func FuzzFlowState(f *testing.F) {
	full := &flowState{
		Flow: "F", RoundID: "R", Round: 1, Expires: 1700000000, Changed: 3, Waits: 2, Stored: "k",
		Asked:   byKey[askedQuestion]{{"a", askedQuestion{"d", ""}}, {"b", askedQuestion{"e", "id"}}},
		Answers: byKey[rememberedReply]{{"a", rememberedReply{"d", json.RawMessage(`{"action":"accept"}`)}}},
		Once:    map[string]json.RawMessage{"s": json.RawMessage(`{"n":9007199254740993}`)},
	}
	f.Add(full.encode(nil))
	f.Add((&flowState{}).encode(nil))
	f.Add((&flowState{Flow: "\u00e9\U0001f600", Expires: math.MinInt64, Once: map[string]json.RawMessage{"": json.RawMessage("null")}}).encode(nil))
	f.Add([]byte(`{"f":"F","i":"R"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var st, again flowState
		if st.decode(raw) != nil {
			return
		}
		enc := st.encode(nil)
		if err := again.decode(enc); err != nil {
			t.Fatalf("%x became %x: %v", raw, enc, err)
		}
		if !reflect.DeepEqual(st, again) {
			t.Fatalf("%+v became %+v", st, again)
		}
		if again.decode(append(enc, 0)) == nil || again.decode(enc[:len(enc)-1]) == nil {
			t.Fatalf("%x is a state with one byte more or less, too", enc)
		}
	})
}

// TestFlowStateRoundTrip: everything that a state holds is there after the way through the client.
func TestFlowStateRoundTrip(t *testing.T) {
	st := &flowState{
		Flow: "F", RoundID: "R", Round: 7, Waits: 8, Changed: 9, Expires: 1 << 40, Stored: "state/x",
		Asked:   byKey[askedQuestion]{{"a", askedQuestion{"d", "id"}}},
		Answers: byKey[rememberedReply]{{"b", rememberedReply{"e", json.RawMessage(`{"action":"accept","content":{"n":9007199254740993}}`)}}},
		Once:    map[string]json.RawMessage{"s": json.RawMessage(`{"n":9007199254740993}`), "t": json.RawMessage(`"x"`)},
	}
	var again flowState
	if err := again.decode(st.encode(nil)); err != nil || !reflect.DeepEqual(*st, again) {
		t.Fatalf("%+v became %+v, %v", *st, again, err)
	}
}

// FuzzParseKeyRing: a ring that was read is written and read again as the same, and no text of a key shows in what is displayed.
func FuzzParseKeyRing(f *testing.F) {
	f.Add([]byte(NewKey().Text() + "\n"))
	f.Add([]byte("# a comment\n\n" + NewKey().Text() + "\r\n" + NewKey().Text()))
	f.Add([]byte("parley-key"))
	f.Fuzz(func(t *testing.T, text []byte) {
		ring, err := ParseKeyRing(text)
		if err != nil {
			return
		}
		again, err := ParseKeyRing(ring.Text())
		if err != nil || again.String() != ring.String() {
			t.Fatalf("%v, then %v, %v", ring, again, err)
		}
		for _, k := range ring.all() {
			if strings.Contains(ring.String()+k.String(), k.Text()) {
				t.Fatal("a secret is displayed")
			}
		}
	})
}
