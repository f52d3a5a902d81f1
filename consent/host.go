package consent

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// host is the host of a URL in its canonical form.
type host struct {
	name     string // ASCII, lower case, without brackets
	domain   string // registrable
	unicode  string // name with its Punycode labels decoded: for comparison only, never shown
	ip       bool
	v6       bool
	loopback bool
}

// names turns a host into the ASCII form that a browser would look up.
var names = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.StrictDomainName(false),
	idna.VerifyDNSLength(true), idna.CheckHyphens(false), idna.CheckJoiners(true))

// metadata are names by which machines in a cloud reach the service that hands out their credentials.
var metadata = map[string]bool{
	"metadata": true, "metadata.google.internal": true, "metadata.goog": true, "instance-data": true,
	"instance-data.ec2.internal": true, "metadata.azure.internal": true, "metadata.tencentyun.com": true,
}

// local are the endings of names that exist on one network only.
var local = []string{".local", ".internal", ".intranet", ".lan", ".home", ".home.arpa", ".corp", ".private", ".localdomain"}

// host returns the canonical host, or nil when the URL must be refused because there is none.
func (r *Result) host(raw string) *host {
	if strings.Contains(raw, ":") {
		return r.address(raw)
	}
	name, err := names.ToASCII(raw)
	switch {
	case strings.HasSuffix(raw, ".") || strings.HasSuffix(name, "."):
		r.refuse(CodeTrailingDot, "The host ends with a dot, which hides whose it is.")
		return nil
	case err != nil || !hostname(name):
		r.refuse(CodeHost, "The host is not a valid name.")
		return nil
	case numeric(name) && ascii(raw):
		return r.address(name)
	case numeric(name):
		r.refuse(CodeDisguisedIP, "The host is an IP address in disguise.")
		return nil
	}
	h := &host{name: name, domain: name, unicode: name, loopback: name == "localhost" || strings.HasSuffix(name, ".localhost")}
	if u, err := idna.Punycode.ToUnicode(name); err == nil {
		h.unicode = u
	}
	if strings.ContainsFunc(h.unicode, divides) {
		r.refuse(CodeHost, "The host has a character that looks like the end of the host.")
	}
	r.named(raw, h)
	return h
}

// divides reports symbols and punctuation that look like the characters which end or divide a host.
func divides(c rune) bool {
	return c >= 0x80 && unicode.In(c, unicode.S, unicode.P) && strings.ContainsAny(skeleton(string(c)), `/\?#@:.%`)
}

// hostname reports whether name consists of labels that DNS can hold, in lower case. Underscores are taken: some have them.
func hostname(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return len(name) <= 253
}

// named fills in the domain and says what is remarkable about the name.
func (r *Result) named(raw string, h *host) {
	if metadata[h.name] {
		r.refuse(CodeMetadataHost, "The host is a cloud's metadata service.")
	}
	if !ascii(raw) && ascii(h.unicode) {
		r.add(CodeMappedHost, Danger, "The host is spelled with unusual characters; it really is %s.", h.name)
	}
	if h.loopback {
		return
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(h.name)
	switch {
	case err == nil:
		h.domain = domain
	case strings.Contains(h.name, "."):
		r.add(CodeSuffix, Warning, "%s is a name under which anybody can have a site.", h.name)
	}
	if !strings.Contains(h.name, ".") || hasSuffix(h.name, local) {
		r.add(CodePrivate, Warning, "%s is a name on a private network.", h.name)
	}
	r.scripts(h)
}

func hasSuffix(name string, endings []string) bool {
	for _, e := range endings {
		if strings.HasSuffix(name, e) {
			return true
		}
	}
	return false
}

// port returns ":8443", or "" for the scheme's own port.
func (r *Result) port(u *url.URL, h *host) string {
	text := u.Port()
	if text == "" {
		return ""
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		r.refuse(CodePort, "The port is not a number between 1 and 65535.")
		return ""
	}
	if u.Scheme == "https" && n == 443 || u.Scheme == "http" && n == 80 {
		return ""
	}
	if !h.loopback {
		r.add(CodeOddPort, Warning, "The address has an unusual port (%d).", n)
	}
	return ":" + strconv.FormatUint(n, 10)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
