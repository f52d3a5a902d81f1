package mcp

import (
	"bytes"
	"encoding/json"
	"net/url"
	"testing"
)

// The members of an object keep their bytes and their order when others are set beside them.
func FuzzWithMembers(f *testing.F) {
	for _, s := range []string{`{}`, ``, `{"a":1}`, `{"_meta":{"x":[1, 2]},"b" : 1.0e5}`, `{"\u0061":"\ud83d\ude00"}`, `[1]`, `{"a":1,"a":2}`, `{"a":1}x`, `{"a"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		out, err := withMembers(raw, member{"_meta", json.RawMessage(`{"k":1}`)}, member{"gone", nil})
		if !bytes.Equal(raw, before) {
			t.Fatalf("%q was written to", before)
		}
		had, herr := membersOf(raw)
		if (err == nil) != (herr == nil) {
			t.Fatalf("%q: %v and %v", raw, err, herr)
		}
		if err != nil {
			return
		}
		have, err := membersOf(out)
		if err != nil {
			t.Fatalf("%q became %q: %v", raw, out, err)
		}
		var want []member
		for _, m := range had {
			if m.name != "_meta" && m.name != "gone" {
				want = append(want, m)
			}
		}
		want = append(want, member{"_meta", json.RawMessage(`{"k":1}`)})
		if len(have) != len(want) {
			t.Fatalf("%q became %q", raw, out)
		}
		for i, m := range want {
			if have[i].name != m.name || !bytes.Equal(have[i].value, m.value) {
				t.Fatalf("%q became %q at %q", raw, out, m.name)
			}
		}
	})
}

// Whatever is let through is an absolute web address with a host and without a user.
func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"https://a.test/x?y#z", "http://localhost:1", "HTTP://a", "https:a", "//a", "javascript:alert(1)", "https://u@a", "https://a\t", "http://[::1]/", "https://%41"} {
		f.Add(s)
	}
	c := &Client{opts: &ClientOptions{}}
	f.Fuzz(func(t *testing.T, raw string) {
		if c.checkURL(raw) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
			t.Errorf("%q was let through", raw)
		}
		if u.Scheme == "http" && !isLoopback(u.Hostname()) {
			t.Errorf("%q was let through without TLS", raw)
		}
	})
}

// A header repeats what the argument says, as text.
func FuzzHeaderText(f *testing.F) {
	for _, s := range []string{`"a"`, `1`, `-0`, `1e2`, `1.5`, `9007199254740993`, `true`, `null`, `{}`, `1e999`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		text, ok, err := headerText(bytes.TrimSpace(raw))
		if err != nil || !ok || text == "" {
			return
		}
		var n int64
		if json.Unmarshal([]byte(text), &n) == nil && (n > maxSafeInteger || n < -maxSafeInteger) && raw[0] != '"' {
			t.Errorf("%q is repeated as %s", raw, text)
		}
	})
}
