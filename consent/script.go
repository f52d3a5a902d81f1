package consent

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// scriptSets are scripts that are written together, with Latin allowed beside them (UTS 39, highly restrictive).
var scriptSets = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"},
	{"Latin", "Han", "Bopomofo"},
	{"Latin", "Han", "Hangul"},
}

// scripts reports labels outside ASCII, with mixed scripts, or made to look like Latin.
func (r *Result) scripts(h *host) {
	if h.unicode == h.name && !strings.Contains("."+h.name, ".xn--") {
		return
	}
	r.add(CodePunycode, Warning, "The name has letters outside the basic alphabet; it is shown in its encoded form (xn--).")
	for label := range strings.SplitSeq(h.unicode, ".") {
		if ascii(label) {
			continue
		}
		if mixed(label) {
			r.add(CodeMixedScripts, Danger, "The name mixes letters of different scripts, a common trick to imitate another name.")
		}
		if ascii(skeleton(label)) {
			r.add(CodeImitation, Danger, "The name is written in letters that look like Latin ones and are not.")
		}
	}
}

// mixed reports whether a label has scripts that are not written together.
func mixed(label string) bool {
	found := map[string]bool{}
	for _, c := range label {
		if s := script(c); s != "" {
			found[s] = true
		}
	}
	if len(found) < 2 {
		return false
	}
	for _, set := range scriptSets {
		rest := maps.Clone(found)
		maps.DeleteFunc(rest, func(s string, _ bool) bool { return slices.Contains(set, s) })
		if len(rest) == 0 {
			return false
		}
	}
	return true
}

// script returns the script of a character, or "" for one that belongs to all of them.
func script(c rune) string {
	if c < 0x80 {
		if unicode.IsLetter(c) {
			return "Latin"
		}
		return ""
	}
	if unicode.In(c, unicode.Common, unicode.Inherited) {
		return ""
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, c) {
			return name
		}
	}
	return "unknown"
}
