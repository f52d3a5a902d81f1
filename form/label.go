package form

import (
	"strings"
	"unicode"
)

// Longest texts that are shown of a field.
const (
	maxLabel = 120
	maxHelp  = 1000
)

// Label is the title of a field, or its name, fit for display.
func (fd *Field) Label() string {
	if label := clean(fd.Title, maxLabel); label != "" {
		return label
	}
	if label := clean(fd.Name, maxLabel); label != "" {
		return label
	}
	return "(unnamed)"
}

// Help is the description of a field, fit for display; "" is none.
func (fd *Field) Help() string { return clean(fd.Description, maxHelp) }

// Label is the title of an option, or its value, fit for display.
func (o Option) Label() string {
	if label := clean(o.text(), maxLabel); label != "" {
		return label
	}
	return "(empty)"
}

// clean makes text from elsewhere fit for display: one line, at most n code points, white space collapsed, and without control characters
// (terminal escapes, C1), format characters (bidirectional overrides, zero-width characters), variation selectors, private use and
// surrogates. Markup stays what it is: text.
func clean(s string, n int) string {
	var b strings.Builder
	space := false
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case unicode.IsSpace(r) || r == '\u2800' || r == '\u3164':
			space = b.Len() > 0
			continue
		case hidden(r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		if n--; n < 0 {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hidden reports whether r shows nothing by itself or acts on what surrounds it.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
