package consent

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// DefaultText is the number of characters that Text keeps when told no other.
	DefaultText = 4096
	// DefaultLine is the number of characters that Line keeps when told no other.
	DefaultLine = 200

	maxSpaces   = 8 // in a row: more could push what follows to another line of a terminal
	maxNewlines = 2 // in a row: more could push the frame off the screen
	maxMarks    = 4 // combining marks on one letter: more run over the lines around it
)

// Text makes text from a server safe to display in a terminal or a dialog, over several lines.
//
// Terminal escape sequences are removed as a whole (CSI, OSC with its hyperlinks and clipboard, DCS and the other strings,
// in 7-bit and 8-bit form), and so are all other control characters, the characters that change direction, and those
// without width. Line and paragraph separators and carriage returns become newlines, at most two in a row; tabs and
// exotic spaces become spaces, at most eight in a row; private-use and invalid characters become U+FFFD; the marks on
// one letter are limited. White space at both ends is cut. What is left keeps its meaning for a reader and has none for a
// terminal: of the general categories Cc (but newline), Cf, Zl and Zp it holds nothing.
//
// At most limit characters (code points) are kept; a longer text ends with "…". Zero or less is [DefaultText].
// Text of a text is the text.
//
// The result is plain text. It is not HTML or Markdown, and a program that renders those must escape it.
func Text(s string, limit int) string {
	if limit <= 0 {
		limit = DefaultText
	}
	return clean(s, limit, '\n')
}

// Line is [Text] for one line: newlines become spaces, and runs of white space one space. Zero or less is [DefaultLine].
func Line(s string, limit int) string {
	if limit <= 0 {
		limit = DefaultLine
	}
	return clean(s, limit, ' ')
}

func clean(s string, limit int, newline rune) string {
	c := cleaner{newline: newline}
	for i := 0; i < len(s) && c.n <= limit; {
		if n := escape(s[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == '\r' && strings.HasPrefix(s[i+1:], "\n") {
			size++
		}
		c.add(r)
		i += size
	}
	return c.cut(limit)
}

// cleaner collects runes that are safe to display. White space is held back until something follows it, so that none
// stands at the ends.
type cleaner struct {
	newline  rune
	out      strings.Builder
	n        int // runes in out
	spaces   int // held back
	newlines int // held back
	marks    int // in a row at the end of out
}

func (c *cleaner) add(r rune) {
	switch kind(r) {
	case drop:
	case space:
		c.spaces++
	case newline:
		c.newlines++
		c.spaces = 0
	case mark:
		c.marks++
		if c.marks <= maxMarks {
			c.write(r)
		}
	case replace:
		c.marks = 0
		c.write(utf8.RuneError)
	default:
		c.marks = 0
		c.write(r)
	}
}

func (c *cleaner) write(r rune) {
	if c.n > 0 {
		c.gap()
	}
	c.spaces, c.newlines = 0, 0
	c.out.WriteRune(r)
	c.n++
}

// gap writes the white space that was held back.
func (c *cleaner) gap() {
	newlines, spaces := min(c.newlines, maxNewlines), min(c.spaces, maxSpaces)
	if c.newline == ' ' {
		newlines, spaces = 0, min(c.newlines+c.spaces, 1)
	}
	for range newlines {
		c.out.WriteByte('\n')
	}
	for range spaces {
		c.out.WriteByte(' ')
	}
	c.n += newlines + spaces
}

// cut returns what was collected, within limit.
func (c *cleaner) cut(limit int) string {
	s := c.out.String()
	if c.n <= limit {
		return s
	}
	i := 0
	for range limit - 1 {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return strings.TrimRight(s[:i], " \n") + "…"
}

type class uint8

const (
	keep class = iota
	drop
	space
	newline
	mark
	replace
)

func kind(r rune) class {
	switch r {
	case ' ', '\t', '\u2800':
		return space
	case '\n', '\r', '\v', '\f', '\u0085':
		return newline
	}
	switch {
	case r > ' ' && r < 0x7f:
		return keep
	case unicode.In(r, unicode.Zl, unicode.Zp):
		return newline
	case unicode.Is(unicode.Zs, r):
		return space
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return drop
	case unicode.In(r, unicode.Co, unicode.Cs, unicode.Noncharacter_Code_Point):
		return replace
	case unicode.In(r, unicode.Mn, unicode.Me):
		return mark
	default:
		return keep
	}
}
