package mcp

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/yosida95/uritemplate/v3"
)

// The library's matcher, which is too slow for what clients send, says what is right.
func TestTemplateMatcherAgainstLibrary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	for range 10_000 {
		var b strings.Builder
		b.WriteString("a:")
		for range 1 + rnd.IntN(2) {
			b.WriteString(pick("", "/", "x", "/x/", ".", ",", "é"))
			b.WriteString("{" + pick("", "+", "#", ".", "/", ";", "?", "&"))
			for i := range 1 + rnd.IntN(3) {
				if i > 0 {
					b.WriteString(",")
				}
				b.WriteString(pick("a", "b", "ab", "c") + pick("", "", "*"))
			}
			b.WriteString("}")
		}
		b.WriteString(pick("", "/", "z"))
		m, err := newTemplateMatcher(b.String())
		if err != nil {
			t.Fatalf("%s: %v", b.String(), err)
		}
		lib := uritemplate.MustNew(b.String())
		for range 5 {
			uri := "a:"
			for range rnd.IntN(8) {
				uri += pick("/", "x", ",", ".", ";", "a", "b", "=", "&", "?", "#", "%41", "ab=", "a=", "z", "é", "%", "a", "1")
			}
			want := TemplateVars(nil)
			if values := lib.Match(uri); values != nil {
				want = TemplateVars{}
				for name, v := range values {
					if v.T == uritemplate.ValueTypeString {
						want[name] = []string{v.String()}
					} else if len(v.V) > 0 {
						want[name] = v.List()
					}
				}
			}
			if got := m.match(uri); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s with %s: got %q, want %q (%s)", b.String(), uri, got, want, m.re)
			}
		}
	}
}
