package schema

import (
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// formats are the values of "format" that are checked.
var formats = map[string]func(string) bool{
	"date":      isDate,
	"date-time": isDateTime,
	"time":      isTime,
	"email":     isEmail,
	"uri":       isURI,
	"uuid":      isUUID,
	"hostname":  isHostname,
	"ipv4":      isIPv4,
	"ipv6":      isIPv6,
}

// formatNames say what the formats are, with an example.
var formatNames = map[string]string{
	"date":      "a date like 2026-07-28",
	"date-time": "a date and time with zone like 2026-07-28T09:30:00Z",
	"time":      "a time with zone like 09:30:00Z",
	"email":     "an e-mail address like ann@example.com",
	"uri":       "an absolute URI like https://example.com/",
	"uuid":      "a UUID like 123e4567-e89b-12d3-a456-426614174000",
	"hostname":  "a host name like www.example.com",
	"ipv4":      "an IPv4 address like 192.0.2.1",
	"ipv6":      "an IPv6 address like 2001:db8::1",
}

// CheckFormat reports whether s has the format. Formats that are not checked accept everything; known tells which they are.
func CheckFormat(format, s string) (ok, known bool) {
	f := formats[format]
	if f == nil {
		return true, false
	}
	return f(s), true
}

// FormatName says what a checked format is, with an example: "a date like 2026-07-28". It is "" for other formats.
func FormatName(format string) string { return formatNames[format] }

func isDate(s string) bool {
	_, err := time.Parse("2006-01-02", s)
	return err == nil && len(s) == len("2006-01-02")
}

// isDateTime checks RFC 3339; seconds of 60 (leap seconds) are refused because Go's time cannot hold them.
func isDateTime(s string) bool {
	if _, err := time.Parse(time.RFC3339, s); err != nil || s[len("2006-01-02T15")] != ':' || strings.Contains(s, ",") {
		return false // package time takes hours of one digit and a comma before fractions
	}
	zone := s[max(0, len(s)-len("+23:59")):]
	return strings.HasSuffix(s, "Z") || zone[1:3] < "24" && zone[4:] < "60"
}

func isTime(s string) bool { return isDateTime("2000-01-01T" + s) }

// isEmail checks the form local@domain with an unquoted local part (RFC 5321), not whether the mailbox exists.
func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > 64 || len(s) > 254 || !utf8.ValidString(s) {
		return false
	}
	local, domain := s[:at], s[at+1:]
	for part := range strings.SplitSeq(local, ".") {
		if part == "" || strings.ContainsFunc(part, notAtext) {
			return false
		}
	}
	if literal, ok := strings.CutPrefix(domain, "["); ok {
		literal, ok = strings.CutSuffix(literal, "]")
		v6, is6 := strings.CutPrefix(literal, "IPv6:")
		return ok && (is6 && isIPv6(v6) || isIPv4(literal))
	}
	return isHost(domain)
}

// notAtext reports whether r cannot be in an unquoted local part; RFC 6531 allows everything beyond ASCII.
func notAtext(r rune) bool {
	switch {
	case r >= utf8.RuneSelf, 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", r)
}

func isHostname(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) && isHost(s)
}

// isHost checks host names, letters beyond ASCII included.
func isHost(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || strings.ContainsFunc(label, notHostRune) {
			return false
		}
	}
	return true
}

func notHostRune(r rune) bool {
	return !(r >= utf8.RuneSelf || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
}

func isURI(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"<>\\^`{|}", r) }) {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && len(s) > len(u.Scheme)+1
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && !isHex(s[i]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func isIPv4(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}
