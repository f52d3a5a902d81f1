package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Wrapped text fits, and loses nothing but spaces.
func FuzzWrap(f *testing.F) {
	f.Add("Where would you like to sit?", 10)
	f.Add("a\n\n  漢字漢字 xxxxxxxxxxxxxxxxxxxx\n", 8)
	f.Fuzz(func(t *testing.T, text string, room int) {
		if room < 2 || room > 500 || !utf8.ValidString(text) {
			return
		}
		lines := wrap(text, room)
		for _, l := range lines {
			if width(l) > room || strings.Contains(l, "\n") {
				t.Errorf("%q in %d columns: %q", text, room, l)
			}
		}
		bare := func(s string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(s) }
		if got := bare(strings.Join(lines, "")); got != bare(text) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
