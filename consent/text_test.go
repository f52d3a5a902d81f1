package consent_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed38e7925c/parley/consent"
)

func TestThreat17TerminalEscapes(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "Book a seat?", "Book a seat?"},
		{"colour", "a\x1b[31;1mb\x1b[0mc", "abc"},
		{"cursor", "a\x1b[2J\x1b[Hb", "ab"},
		{"private mode", "a\x1b[?1049hb", "ab"},
		{"intermediate byte", "a\x1b[1 qb", "ab"},
		{"title, BEL", "a\x1b]0;evil\ab", "ab"},
		{"title, ST", "a\x1b]0;evil\x1b\\b", "ab"},
		{"hyperlink", "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\ here", "click here"},
		{"clipboard", "a\x1b]52;c;ZXZpbA==\ab", "ab"},
		{"DCS", "a\x1bPq#0;2;0;0;0\x1b\\b", "ab"},
		{"APC, PM, SOS", "a\x1b_x\x1b\\b\x1b^y\x1b\\c\x1bXz\x1b\\d", "abcd"},
		{"charset", "a\x1b(0b", "ab"},
		{"reset", "a\x1bcb", "ab"},
		{"8-bit CSI", "a\u009b31mb", "ab"},
		{"8-bit OSC", "a\u009d0;evil\u009cb", "ab"},
		{"8-bit OSC, BEL", "a\u009d0;evil\ab", "ab"},
		{"raw C1 byte", "a\x9b31mb", "a\ufffd31mb"},
		{"OSC without end hides nothing", "a\x1b]8;;pay 1 to Ann", "a8;;pay 1 to Ann"},
		{"OSC cancelled", "a\x1b]8;;pay\x1b[31m 1\u009d2\x18 to\aAnn", "a8;;pay 12 toAnn"},
		{"CSI without end", "a\x1b[12", "a12"},
		{"CSI broken by a control", "a\x1b[1\x1b[2Jb", "a1b"},
		{"ESC at the end", "a\x1b", "a"},
		{"two ESC", "a\x1b\x1b[31mb", "ab"},
		{"built from pieces", "a\x1b\x00[31mb", "a[31mb"},
		{"bell, backspace, delete", "a\a\b\x7fb", "ab"},
		{"carriage return overwrites", "pay 1000\rpay 1", "pay 1000\npay 1"},
		{"CRLF", "a\r\nb", "a\nb"},
		{"NEL, VT, FF", "a\u0085b\vc\fd", "a\nb\nc\nd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := consent.Text(c.in, 0); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestThreat16TextThatReadsDifferently(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"override", "a\u202egpj.exe", "agpj.exe"},
		{"isolates and marks", "a\u2066b\u2069c\u200ed\u061ce", "abcde"},
		{"zero width", "a\u200bb\u200cc\u200dd\ufeffe\u2060f", "abcdef"},
		{"soft hyphen, CGJ, fillers", "a\u00adb\u034fc\u3164d\u115fe", "abcde"},
		{"tags", "a\U000e0041\U000e0042b", "ab"},
		{"variation selectors", "a\ufe0f\U000e0100b", "ab"},
		{"separators", "a\u2028b\u2029c", "a\nb\nc"},
		{"spaces", "a\u00a0b\u3000c\u2800d\te", "a b c d e"},
		{"private use, noncharacters", "a\ue000b\ufffec\U0010ffffd", "a\ufffdb\ufffdc\ufffdd"},
		{"invalid UTF-8", "a\xc3\xffb", "a\ufffd\ufffdb"},
		{"stacked marks", "a" + strings.Repeat("\u0301", 50) + "b", "a" + strings.Repeat("\u0301", 4) + "b"},
		{"many newlines", "a\n\n\n \n\nb", "a\n\nb"},
		{"many spaces", "a" + strings.Repeat(" ", 200) + "b", "a        b"},
		{"ends", "\n \t a \n\t", "a"},
		{"other languages stay", "Grüße, 日本語, हिन्दी, العربية 🙂", "Grüße, 日本語, हिन्दी, العربية 🙂"},
		{"indentation", "a\n  b", "a\n  b"},
		{"nothing", "\u200b\x1b[0m ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := consent.Text(c.in, 0); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestLineIsOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb":                          "a b",
		"a \r\n\t b\u2028c":             "a b c",
		"ok\n\nServer: trusted.example": "ok Server: trusted.example",
		"a\x1b[31m  b":                  "a b",
		"\n":                            "",
	} {
		if got := consent.Line(in, 0); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestTruncation(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "abcd…"},
		{"日本語です", 3, "日本…"},
		{"ab  cdef", 4, "ab…"},
		{"ab\n\ncd", 4, "ab…"},
		{"ab", 1, "…"},
		{"abc   ", 3, "abc"},
		{"abc\x1b[31m\u200b", 3, "abc"},
	} {
		if got := consent.Text(c.in, c.limit); got != c.want {
			t.Errorf("%q to %d: got %q, want %q", c.in, c.limit, got, c.want)
		}
	}
	long := strings.Repeat("x", 1<<20)
	if n := utf8.RuneCountInString(consent.Text(long, 0)); n != consent.DefaultText {
		t.Errorf("Text keeps %d, want %d", n, consent.DefaultText)
	}
	if n := utf8.RuneCountInString(consent.Line(long, -1)); n != consent.DefaultLine {
		t.Errorf("Line keeps %d, want %d", n, consent.DefaultLine)
	}
}

// TestTextIsLinear cleans texts that would take hours if every escape looked for its end in all of the rest.
func TestTextIsLinear(t *testing.T) {
	for _, piece := range []string{"\x1b]", "\u009d", "\x1bP\a", "\x1b]x\x1b\\", "\x1b[", "\x1b[1;", "\x1b ", "\u0301", "\u200b", " ", "\n"} {
		if got := consent.Text(strings.Repeat(piece, 1<<20), 10); utf8.RuneCountInString(got) > 10 {
			t.Errorf("%q: %q", piece, got)
		}
	}
}
