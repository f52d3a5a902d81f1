package consent

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	defaultMaxLength = 8192
	longURL          = 2048
)

// Options says who asks and whom the person trusts. A nil *Options has every default.
type Options struct {
	// Server is the URL or host of the MCP server that sent the link; empty for a server without one (stdio). Look-alikes
	// of its domain are found, and links to other sites are noted. Text that is no URL or host is ignored, and so is what is
	// rather a command (see mcp.Asked.Origin): without a scheme, a path, or a word without dots other than localhost.
	Server string
	// Trusted lists further URLs or hosts that the person knows, such as identity providers and other servers in use.
	Trusted []string
	// MaxLength is the number of bytes above which a URL is refused. The default is 8192.
	MaxLength int
}

// Result is what Review found. The zero value is not refused and leads nowhere: use Review's.
type Result struct {
	// URL is safe to hand to a browser: ASCII, absolute, https (or http to this computer), no user information, the host
	// canonical, everything else percent-encoded. It is empty when the URL is refused.
	URL string
	// Display is the URL in three parts, so that the domain can be stressed.
	Display Display
	// Host is the canonical ASCII host without port; IPv6 addresses have no brackets. Empty when it could not be told.
	Host string
	// Domain is the registrable domain of Host ("example.co.uk" of "www.example.co.uk"), or Host itself for an IP address,
	// a name without dots and a public suffix.
	Domain string
	// Findings lists what was noticed, the gravest first.
	Findings []Finding
	// Refused reports that the URL must never be opened. The findings of severity Refusal say why.
	Refused bool
}

// Display is a URL to show to a person: Before + Domain + After. All of it is printable ASCII, save that a refused URL
// whose host could not be told has only After, with the text as made by Line.
type Display struct {
	Before string // scheme and subdomains: "https://www."
	Domain string // the registrable domain: "example.com"; stress this
	After  string // port, path, query, fragment: ":8443/a?b"
}

// String returns the three parts together.
func (d Display) String() string { return d.Before + d.Domain + d.After }

// Worst returns the gravest severity among the findings, zero without any.
func (r *Result) Worst() Severity {
	if len(r.Findings) == 0 {
		return 0
	}
	return r.Findings[0].Severity
}

// Has reports whether a finding has the code.
func (r *Result) Has(c Code) bool {
	for _, f := range r.Findings {
		if f.Code == c {
			return true
		}
	}
	return false
}

func (r *Result) add(c Code, s Severity, format string, args ...any) {
	f := Finding{c, s, fmt.Sprintf(format, args...)}
	i := len(r.Findings)
	for i > 0 && r.Findings[i-1].Severity < s {
		i--
	}
	r.Findings = append(r.Findings, Finding{})
	copy(r.Findings[i+1:], r.Findings[i:])
	r.Findings[i] = f
}

func (r *Result) refuse(c Code, format string, args ...any) {
	r.Refused = true
	r.add(c, Refusal, format, args...)
}

// Review looks at a URL from a server and says what a person must know before opening it. It never opens or fetches
// anything, never returns nil, and gives the same result for the same arguments. A URL that programs could read in two
// ways is refused rather than repaired.
func Review(rawURL string, o *Options) *Result {
	if o == nil {
		o = &Options{}
	}
	r := &Result{Display: Display{After: Line(rawURL, 500)}}
	if !r.plain(rawURL, o) || !r.authority(rawURL) {
		return r
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		r.refuse(CodeMalformed, "This is not a valid web address.")
		return r
	}
	r.scheme(u)
	if u.Opaque != "" || u.Hostname() == "" {
		r.refuse(CodeNoHost, "The address names no host.")
		return r
	}
	h := r.host(u.Hostname())
	if h == nil {
		return r
	}
	port := r.port(u, h)
	r.encrypted(u.Scheme, h)
	if !r.Refused {
		r.compare(h, o)
	}
	r.display(u, h, port)
	return r
}

// plain checks the text itself, before anything takes it for a URL.
func (r *Result) plain(raw string, o *Options) bool {
	limit := o.MaxLength
	if limit <= 0 {
		limit = defaultMaxLength
	}
	switch {
	case raw == "":
		r.refuse(CodeMalformed, "There is no address.")
	case len(raw) > limit:
		r.refuse(CodeTooLong, "The address has %d bytes; at most %d can be opened.", len(raw), limit)
	case !utf8.ValidString(raw):
		r.refuse(CodeCharacters, "The address is not valid text.")
	}
	if strings.HasPrefix(raw, "-") {
		r.refuse(CodeDash, "The address begins with a dash, which programs take for an option.")
	}
	if strings.ContainsRune(raw, '\\') {
		r.refuse(CodeBackslash, "The address has a backslash, which browsers read differently from other programs.")
	}
	if strings.ContainsFunc(raw, invisible) {
		r.refuse(CodeCharacters, "The address has invisible characters: control, direction, zero-width or white space.")
	}
	if len(raw) > longURL {
		r.add(CodeLong, Warning, "The address is very long (%d bytes).", len(raw))
	}
	return !r.Refused
}

// invisible reports characters that have no place in a URL and cannot be seen in one.
func invisible(c rune) bool {
	return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Zs,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func (r *Result) scheme(u *url.URL) {
	switch u.Scheme {
	case "https", "http":
	case "":
		r.refuse(CodeScheme, "The address does not say https.")
	default:
		r.refuse(CodeScheme, "The address would be opened by another program than a browser: only https is allowed.")
	}
}

// authority checks the text between the scheme and the path, which a parser would decode. It returns false when the host
// cannot be told.
func (r *Result) authority(raw string) bool {
	_, rest, _ := strings.Cut(raw, "//")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	at := strings.LastIndexByte(rest, '@')
	if at >= 0 {
		r.refuse(CodeUserinfo, "The address has a name in front of the host, so that it looks like another one.")
	}
	host := rest[at+1:]
	if !strings.Contains(host, "%") {
		return true
	}
	if strings.HasPrefix(host, "[") {
		r.refuse(CodeZone, "The address is that of a device on one network (an IPv6 address with a zone).")
	} else {
		r.refuse(CodeEncodedHost, "The host is hidden by percent-encoding.")
	}
	return false
}

// encrypted demands https, save on this computer.
func (r *Result) encrypted(scheme string, h *host) {
	if scheme == "http" && !h.loopback {
		r.refuse(CodeScheme, "The connection would not be encrypted: only https can be opened, and http on this computer.")
	}
}

// display fills URL and Display from the parts, all of them canonical by now.
func (r *Result) display(u *url.URL, h *host, port string) {
	r.Host, r.Domain = h.name, h.domain
	name, domain := h.name, h.domain
	if h.v6 {
		name, domain = "["+name+"]", "["+domain+"]"
	}
	r.Display = Display{
		Before: encode(u.Scheme, "") + "://" + strings.TrimSuffix(name, domain),
		Domain: domain,
		After:  port + rest(u),
	}
	if !r.Refused {
		r.URL = r.Display.String()
	}
}
