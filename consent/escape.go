package consent

import "strings"

// escape returns the length of the terminal escape sequence that s begins with, or 0 when it begins with none. A string
// sequence (OSC, DCS, …) without an end counts only its introducer, so that it cannot hide the rest of the text.
func escape(s string) int {
	intro, body := introducer(s)
	switch intro {
	case 0:
		return 0
	case '[':
		return body + csi(s[body:])
	case ']', 'P', 'X', '^', '_':
		return body + stringLen(s[body:])
	default:
		return body
	}
}

// introducer returns the final byte of a two-byte escape, or its 7-bit equivalent for an 8-bit control (in UTF-8), and the
// length of what was read.
func introducer(s string) (byte, int) {
	switch {
	case s[0] == 0x1b && len(s) == 1:
		return 0x1b, 1
	case s[0] == 0x1b:
		n := 1
		for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f { // intermediate bytes: ESC ( B
			n++
		}
		if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7e {
			return pick(n == 1, s[n]), n + 1
		}
		return 0x1b, 1
	case c1(s) && s[1] != 0x85: // NEL is a newline
		return s[1] - 0x40, 2
	default:
		return 0, 0
	}
}

// pick returns c for a plain two-byte escape; one with intermediate bytes introduces nothing.
func pick(plain bool, c byte) byte {
	if plain {
		return c
	}
	return 0x1b
}

// csi returns the length of the parameters, intermediates and final byte of a control sequence, 0 when it is broken.
func csi(s string) int {
	n := 0
	for n < len(s) && s[n] >= 0x30 && s[n] <= 0x3f {
		n++
	}
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f {
		n++
	}
	if n < len(s) && s[n] >= 0x40 && s[n] <= 0x7e {
		return n + 1
	}
	return 0
}

// stringLen returns the length of a control string with its terminator (BEL, ESC \ or U+009C), 0 when it has none before
// another control that begins or cancels something. So no byte is looked at twice.
func stringLen(s string) int {
	for i := range len(s) {
		switch rest := s[i:]; {
		case rest[0] == '\a':
			return i + 1
		case strings.HasPrefix(rest, "\x1b\\") || strings.HasPrefix(rest, "\u009c"):
			return i + 2
		case rest[0] == 0x1b || rest[0] == 0x18 || rest[0] == 0x1a || c1(rest):
			return 0
		}
	}
	return 0
}

// c1 reports whether s begins with U+0080…U+009F, the 8-bit controls.
func c1(s string) bool { return len(s) > 1 && s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f }
