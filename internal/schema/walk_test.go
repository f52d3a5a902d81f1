package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/schema"
)

func TestFormats(t *testing.T) {
	t.Parallel()
	for format, c := range map[string]struct{ good, bad []string }{
		"date":      {[]string{"2026-07-28", "2024-02-29"}, []string{"", "2026-7-28", "2026-02-29", "2026-07-28T00:00:00Z", "28.07.2026", "+2026-07-28"}},
		"date-time": {[]string{"2026-07-28T09:30:00Z", "2026-07-28T09:30:00.123+02:00"}, []string{"2026-07-28", "2026-07-28 09:30:00Z", "2026-07-28T09:30:00", "2026-07-28T25:00:00Z", "2026-07-28T9:30:00Z", "2026-07-28T09:30:00,5Z", "2026-07-28T09:30:00+24:00", "2026-07-28T09:30:00+02:60", "2026-07-28t09:30:00z"}},
		"time":      {[]string{"09:30:00Z", "23:59:59-05:00"}, []string{"09:30", "24:00:00Z", "9:30:00Z"}},
		"email": {
			[]string{"ann@example.com", "a.b+c@x.y", "é@bücher.example", "a@localhost", "a@[192.0.2.1]", "a@[IPv6:::1]", "!#$%&'*+-/=?^_`{|}~@x"},
			[]string{"", "ann", "@x", "a@", "a..b@x", ".a@x", "a b@x", "a@x y", "a@-x", "a@x-", "a@x..y", "a@[300.1.1.1]", "a@[::1]", strings.Repeat("a", 65) + "@x", "a\n@x", "a@" + strings.Repeat("b", 64), "a@b@c", "<a@b>"},
		},
		"uri":      {[]string{"https://example.com/", "urn:a:b", "mailto:a@b", "http://[::1]/?q=1#f"}, []string{"", "/path", "example.com", "https://a b", "http://[::1", "x:", "https://exämple.com/", "http://a/<b>"}},
		"uuid":     {[]string{"123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"}, []string{"", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g", "123e4567-e89b-12d3-a456_426614174000"}},
		"hostname": {[]string{"example.com", "a", "1.2.3.4"}, []string{"", "-a", "a_b", "a..b", "bücher.example", strings.Repeat("a.", 130) + "a"}},
		"ipv4":     {[]string{"192.0.2.1"}, []string{"", "::1", "1.2.3", "01.2.3.4"}},
		"ipv6":     {[]string{"::1", "2001:db8::1"}, []string{"", "1.2.3.4", "fe80::1%eth0"}},
		"made-up":  {[]string{"", "anything"}, nil},
	} {
		for _, s := range c.good {
			if ok, _ := schema.CheckFormat(format, s); !ok {
				t.Errorf("%s: %q was refused", format, s)
			}
		}
		for _, s := range c.bad {
			if ok, known := schema.CheckFormat(format, s); ok || !known {
				t.Errorf("%s: %q was accepted", format, s)
			}
		}
		if _, known := schema.CheckFormat(format, ""); known != (schema.FormatName(format) != "") {
			t.Errorf("%s has no name", format)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	var v []int8
	err := schema.For[[]int8]().Decode([]byte("["+strings.Repeat(`"x",`, 100)+"1]"), &v)
	var ve *schema.ValidationError
	if !errors.As(err, &ve) || len(ve.Problems) != schema.DefaultMaxProblems || !ve.More || !strings.HasPrefix(err.Error(), "20 or more problems:\n/0 must be an integer") {
		t.Errorf("got %v", err)
	}
	type args struct {
		A string `json:"a" maxLength:"3"`
	}
	var a args
	long := strings.Repeat("é", 100_000)
	err = schema.For[args]().Decode([]byte(`{"a":5,"`+long+`":"`+long+`"}`), &a)
	if err == nil || len(err.Error()) > 1000 {
		t.Errorf("got %d bytes", len(err.Error()))
	}
	err = schema.For[args]().Decode([]byte(`{"a":["`+long+`"]}`), &a)
	if err == nil || err.Error() != "/a must be a string; found an array" {
		t.Errorf("got %v", err)
	}
	err = schema.For[bool]().Decode([]byte(`"`+long+`"`), new(bool))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("got %v", err)
	}
	err = schema.For[bool]().Decode([]byte(strings.Repeat("1", 100_000)), new(bool))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("got %v", err)
	}
}

// Malformed text is told apart from text of the wrong shape, and nothing in between is accepted.
func TestMalformed(t *testing.T) {
	t.Parallel()
	type args struct {
		A int            `json:"a,omitempty"`
		B []string       `json:"b,omitempty"`
		M map[string]int `json:"m,omitempty"`
		D string         `json:"d" default:"x"`
		Y any            `json:"y,omitempty"`
	}
	typed := schema.For[args]()
	for _, in := range []string{
		``, ` `, `{`, `}`, `{"a"`, `{"a":`, `{"a":}`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{"a":01}`, `{"a":1.}`, `{"a":+1}`, `{"a":1e}`, `{"a":.5}`, `{"a":--1}`, `{"a":1}}`, `{"a":1} x`,
		`{"b":[}`, `{"b":["x"`, `{"b":["x",]}`, `{"b":["x" "y"]}`, `{"b":[,]}`, `{"m":{"a":1`, `{"m":{"a"}}`, `{"m":{,}}`, `{"d":"x`, `{"d":"\x"}`, `{"d":"\u12"}`, "{\"d\":\"a\nb\"}", "{\"d\":\"\xff\"}", `{"d":"\ud800"}`,
		`{"a":nul}`, `{"a":n}`, `{"y":tru}`, `{"y":[}`, `{"y":{]}`, `{"y":}`, `{"y":"`, `{"y":[1,2`, "{\"a\u0000\":1}", `{"a":1.0.0}`, `{"a":1e+}`, `{"d":null`, `{"d":nulx}`, `{,"a":1}`, `{"a":1,,"d":"x"}`, `[`, `nul`,
	} {
		var v args
		err := typed.Decode([]byte(in), &v)
		var ve *schema.ValidationError
		if !errors.As(err, &ve) || len(ve.Problems) != 1 || ve.Problems[0].Keyword != "json" {
			t.Errorf("%q: got %v", in, err)
		}
		rule, rerr := typed.Rule()
		if rerr != nil {
			t.Fatal(rerr)
		}
		if rule.Check([]byte(in)) == nil {
			t.Errorf("%q passed the check", in)
		}
		if out, err := rule.Normalize([]byte(in)); err == nil {
			t.Errorf("%q was normalized to %s", in, out)
		}
		if _, err := schema.ParseValue([]byte(in), 10); err == nil {
			t.Errorf("%q was parsed", in)
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	nest := func(open, close string, n int) []byte {
		return []byte(strings.Repeat(open, n) + "1" + strings.Repeat(close, n))
	}
	var a any
	typed := schema.For[any]()
	if err := typed.Decode(nest("[", "]", schema.MaxDepth), &a); err != nil {
		t.Error(err)
	}
	for _, in := range [][]byte{nest("[", "]", schema.MaxDepth+1), nest(`{"a":`, "}", 5000)} {
		if err := typed.Decode(in, &a); err == nil || !strings.Contains(err.Error(), "nests deeper than 256 levels") {
			t.Errorf("got %v", err)
		}
	}
	var l list2
	deep := strings.Repeat(`{"l":[`, 200) + strings.Repeat(`]}`, 200)
	if err := schema.For[list2]().Decode([]byte(deep), &l); err == nil || !strings.Contains(err.Error(), "nests deeper") {
		t.Errorf("got %v", err)
	}
	var n list[int]
	deep = strings.Repeat(`{"v":1,"next":`, 300) + `{"v":1}` + strings.Repeat(`}`, 300)
	if err := schema.For[list[int]]().Decode([]byte(deep), &n); err == nil || !strings.Contains(err.Error(), "nests deeper") {
		t.Errorf("got %v", err)
	}
	if _, err := schema.ParseValue(nest("[", "]", 11), 10); err == nil || !strings.Contains(err.Error(), "nests deeper than 10") {
		t.Errorf("got %v", err)
	}
}

// More members than a machine word has bits.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	members := &schema.Members{}
	var all strings.Builder
	for i := range 300 {
		r := &schema.Rule{Kind: schema.Integer}
		if err := r.Prepare(); err != nil {
			t.Fatal(err)
		}
		members.List = append(members.List, schema.Member{Name: fmt.Sprintf("m%d", i), Rule: r, Required: true})
		fmt.Fprintf(&all, `,"m%d":%d`, i, i)
	}
	r := &schema.Rule{Kind: schema.Object, Members: members}
	if err := r.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := r.Check([]byte("{" + all.String()[1:] + "}")); err != nil {
		t.Error(err)
	}
	if err := r.Check([]byte(strings.Replace("{"+all.String()[1:]+"}", `"m299":299`, `"m298":1`, 1))); err == nil || !strings.Contains(err.Error(), "duplicate object member name") {
		t.Errorf("got %v", err)
	}
	if err := r.Check([]byte(strings.Replace("{"+all.String()[1:]+"}", `,"m299":299`, "", 1))); err == nil || err.Error() != "/m299 is required: an integer" {
		t.Errorf("got %v", err)
	}
}

func TestNumberBounds(t *testing.T) {
	t.Parallel()
	r := &schema.Rule{Kind: schema.Number, Minimum: "-0.1", Maximum: "1e3", Options: nil}
	if err := r.Prepare(); err != nil {
		t.Fatal(err)
	}
	for in, ok := range map[string]bool{
		"-0.1": true, "-0.10": true, "-1e-1": true, "-0.10000000000000000000000000001": false, "0": true, "-0": true, "1000": true, "1.0e3": true, "1000.0000000000000000000000000001": false,
		"1e-999999999999": true, "-1e-999999999999": true, "1e999999999999": false, "-1e99999999999999999999": false, "0e999999999999999999999": true, "999.9": true,
	} {
		if err := r.Check([]byte(in)); (err == nil) != ok {
			t.Errorf("%s: %v", in, err)
		}
	}
	for _, bad := range []*schema.Rule{
		{Kind: schema.Number, Minimum: "x"}, {Kind: schema.Number, Maximum: "01"}, {Kind: schema.Integer, Options: []schema.Option{{Value: "1.5"}}}, {Kind: schema.Number, Options: []schema.Option{{Value: "abc"}}},
	} {
		if err := bad.Prepare(); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
	n := &schema.Rule{Kind: schema.Number, Options: []schema.Option{{Value: "1.50"}, {Value: "1e2"}}}
	if err := n.Prepare(); err != nil {
		t.Fatal(err)
	}
	for in, ok := range map[string]bool{"1.5": true, "100": true, "1.51": false, `"1.5"`: false} {
		if err := n.Check([]byte(in)); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "one of 1.50, 1e2") {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// What peers put into names and values does not act on the terminal that shows the problem.
func TestThreat17ProblemsArePrintable(t *testing.T) {
	t.Parallel()
	err := schema.For[struct{}]().Decode([]byte(`{"\u001b[2J\u202e":1}`), &struct{}{})
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\u202e") || !strings.Contains(err.Error(), `/\x1b[2J\u202e is unknown; no members are allowed here`) {
		t.Errorf("got %q", err)
	}
	err = schema.For[bool]().Decode([]byte("\"a\u202eb\u009b\""), new(bool))
	if err == nil || strings.ContainsAny(err.Error(), "\u202e\u009b") {
		t.Errorf("got %q", err)
	}
}
