package canon_test

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/canon"
)

func TestAppend(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{}`, `{}`},
		{` [ ] `, `[]`},
		{`{"b":1,"a":{"d":[1,2],"c":null}}`, `{"a":{"c":null,"d":[1,2]},"b":1}`},
		{`{"a":1,"b":2}`, `{"a":1,"b":2}`},
		{`{"\u0062":1,"a":"\u0041\/"}`, `{"a":"A/","b":1}`},
		{`{"z":1,"é":2,"a":3}`, `{"a":3,"z":1,"é":2}`},
		{`true`, `true`}, {`false`, `false`}, {`null`, `null`}, {`"x\n"`, `"x\n"`},
		{`[1.0,10e-1,1E0,0.1e1,100e-2]`, `[1,1,1,1,1]`},
		{`[0,-0,0.0,-0.000e5,0e99999999999999999999]`, `[0,0,0,0,0]`},
		{`9007199254740993`, `9007199254740993`},
		{`9007199254740992`, `9007199254740992`},
		{`1e2`, `100`}, {`1.5e3`, `1500`}, {`0.50`, `5e-1`}, {`-1.25`, `-125e-2`},
		{`1e21`, `1e21`}, {`1000000000000000000000`, `1e21`}, {`1e20`, `100000000000000000000`},
		{`123456789012345678901234567890`, `12345678901234567890123456789e1`},
		{`123456789012345678901234567891`, `123456789012345678901234567891`},
		{`1e+0000000000000000000000000007`, `10000000`},
		{`1e999999999999999999999`, `1e999999999999999999999`},
	} {
		got, err := canon.Append([]byte("x"), []byte(tc.in))
		if err != nil || string(got) != "x"+tc.want {
			t.Errorf("Append(%s) = %s, %v; want x%s", tc.in, got, err, tc.want)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	for _, in := range []string{
		``, `{`, `[1,]`, `{"a":1,"a":2}`, `1 2`, `{"a":}`, "\"\xff\"", `"\ud800"`, `01`, `nul`, `{"a":1}}`, `[`, `["a"`, `{"a"`, `{1:2}`, `[1 2]`,
	} {
		if got, err := canon.Append([]byte("x"), []byte(in)); err == nil || string(got) != "x" {
			t.Errorf("Append(%s) = %s, %v; want an error and dst untouched", in, got, err)
		}
	}
	deep := strings.Repeat("[", 1002) + strings.Repeat("]", 1002)
	if _, err := canon.Digest([]byte(deep)); !errors.Is(err, canon.ErrDepth) {
		t.Errorf("1002 levels: %v, want ErrDepth", err)
	}
}

func TestDigestTellsValuesApart(t *testing.T) {
	values := []string{
		`9007199254740992`, `9007199254740993`, `1`, `"1"`, `[1]`, `{"1":1}`, `true`, `"true"`, `null`, `{}`, `[]`, `""`, `-1`, `1e1`, `1e-1`,
		`[[1],2]`, `[[1,2]]`, `{"a":{"b":1}}`, `{"a":1,"b":1}`, `{"a":null}`, `1e999999999999999999999`, `1e9999999999999999999999`,
	}
	seen := map[[32]byte]string{}
	for _, v := range values {
		d, err := canon.Digest([]byte(v))
		if err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		if other, dup := seen[d]; dup {
			t.Errorf("%s and %s have the same digest", v, other)
		}
		seen[d] = v
	}
}

// FuzzNumber checks against exact rational arithmetic: the canonical forms of two numbers are equal exactly when the numbers are.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1", "1.0", "-0", "9007199254740993", "9007199254740992", "1e3", "0.001", "12e-1", "1e21", "1E+2", "-1", "-12.50", "-9007199254740993"} {
		f.Add(s, "1")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !isNumber(a) || !isNumber(b) || len(a) > 60 || len(b) > 60 {
			t.Skip()
		}
		x, okX := rat(a)
		y, okY := rat(b)
		if !okX || !okY {
			t.Skip()
		}
		ca, cb := string(canon.AppendNumber(nil, []byte(a))), string(canon.AppendNumber(nil, []byte(b)))
		if (ca == cb) != (x.Cmp(y) == 0) {
			t.Fatalf("%s → %s, %s → %s, but compare %d", a, ca, b, cb, x.Cmp(y))
		}
		if !isNumber(ca) {
			t.Fatalf("%s → %s, which is not a JSON number", a, ca)
		}
		if z, _ := rat(ca); z.Cmp(x) != 0 {
			t.Fatalf("%s → %s changes the value", a, ca)
		}
	})
}

// rat reads a number exactly; exponents beyond 300 are left out so that the arithmetic stays small.
func rat(s string) (*big.Rat, bool) {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		digits := strings.TrimLeft(strings.TrimLeft(s[i+1:], "+-"), "0")
		if len(digits) > 2 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(s)
}

func isNumber(s string) bool {
	v := jsontext.Value(s)
	return v.IsValid() && v.Kind() == '0' && strings.TrimSpace(s) == s
}

// TestTextIsQuotedOnce: a string is the same whether it came with escapes or without.
func TestTextIsQuotedOnce(t *testing.T) {
	for r := rune(0x20); r < 0x3000; r++ {
		if r == '"' || r == '\\' {
			continue
		}
		plain, err := canon.Append(nil, []byte(`{"`+string(r)+`":"`+string(r)+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		escape := fmt.Sprintf(`\u%04x`, r)
		escaped, err := canon.Append(nil, []byte(`{"`+escape+`":"`+escape+`"}`))
		if err != nil || string(plain) != string(escaped) {
			t.Fatalf("%q is %s, escaped %s, %v", r, plain, escaped, err)
		}
	}
}

// FuzzAppend checks that the form is stable, is valid JSON, and does not depend on how the text was laid out.
func FuzzAppend(f *testing.F) {
	for _, s := range []string{`{"b":[1,2.50,{"x":null}],"a":"é"}`, `[]`, `"\u0000"`, `-0.0`, `{"a":{"a":{"a":{}}}}`, `{"":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := canon.Append(nil, in)
		if err != nil {
			return
		}
		if !jsontext.Value(out).IsValid() {
			t.Fatalf("%s → %s is not JSON", in, out)
		}
		again, err := canon.Append(nil, out)
		if err != nil || string(again) != string(out) {
			t.Fatalf("%s → %s → %s, %v", in, out, again, err)
		}
		spread := jsontext.Value(append([]byte(nil), in...))
		if err := spread.Indent(); err == nil {
			if other, err := canon.Append(nil, spread); err != nil || string(other) != string(out) {
				t.Fatalf("layout matters: %s and %s (%v)", out, other, err)
			}
		}
	})
}
