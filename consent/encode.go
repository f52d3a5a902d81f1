package consent

import (
	"net/url"
	"strings"
)

// rest returns path, query and fragment, encoded: printable ASCII without quotes, spaces, angle brackets and the like.
func rest(u *url.URL) string {
	path := encode(u.EscapedPath(), "")
	if path == "" && (u.RawQuery != "" || u.ForceQuery || u.Fragment != "") {
		path = "/"
	}
	query := ""
	if u.RawQuery != "" || u.ForceQuery {
		query = "?" + encode(u.RawQuery, "?")
	}
	fragment := ""
	if u.Fragment != "" {
		fragment = "#" + encode(u.EscapedFragment(), "?")
	}
	return path + query + fragment
}

const hexDigits = "0123456789ABCDEF"

// encode percent-encodes every byte that may not stand in a path, or in a query when more has "?". Valid escapes are kept;
// a bare percent sign becomes %25, so that nothing down the line can take it for anything else.
func encode(s, more string) string {
	var out strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			out.WriteByte(c)
		case unreserved(c) || strings.IndexByte("/:@!$&()*+,;=", c) >= 0 || strings.IndexByte(more, c) >= 0:
			out.WriteByte(c)
		default:
			out.WriteByte('%')
			out.WriteByte(hexDigits[c>>4])
			out.WriteByte(hexDigits[c&15])
		}
	}
	return out.String()
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
