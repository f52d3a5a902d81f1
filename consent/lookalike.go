package consent

import (
	"net/url"
	"slices"
	"strings"

	"go.mau.fi/util/confusable"
	"golang.org/x/net/idna"
)

// skeleton returns what is left of a name when letters that look alike are made one. It is for comparison, never for
// display: it makes "rn" of "m". Case is dropped afterwards, since the skeleton of "0" is "O".
func skeleton(name string) string { return strings.ToLower(confusable.Skeleton(name)) }

// known is a host that the person trusts.
type known struct{ host, domain, unicode string }

// compare looks for imitations of the server's own domain and of trusted ones, and notes links to other sites.
func (r *Result) compare(h *host, o *Options) {
	server, hasServer := known{}, false
	if !command(o.Server) {
		server, hasServer = trusted(o.Server)
	}
	all := make([]known, 0, len(o.Trusted)+1)
	if hasServer {
		all = append(all, server)
	}
	for _, t := range o.Trusted {
		if k, ok := trusted(t); ok {
			all = append(all, k)
		}
	}
	if h.loopback {
		r.thisComputer(hasServer && !loopbackName(server.host))
		return
	}
	if h.ip || slices.ContainsFunc(all, func(k known) bool { return k.domain == h.domain }) {
		if hasServer && server.domain != h.domain {
			r.otherSite(h, server)
		}
		return
	}
	r.imitates(h, all)
	if hasServer {
		r.otherSite(h, server)
	}
}

func (r *Result) otherSite(h *host, server known) {
	r.add(CodeOtherSite, Info, "The link leads to %s; the server itself is at %s.", h.domain, server.domain)
}

func (r *Result) thisComputer(remote bool) {
	if remote {
		r.add(CodeLoopback, Danger, "The link leads to a program on this computer, though the server is elsewhere.")
		return
	}
	r.add(CodeLoopback, Info, "The link leads to a program on this computer.")
}

// imitates reports the first trusted domain that h looks like or puts in front of its own.
func (r *Result) imitates(h *host, all []known) {
	domain := registrable(h.unicode, h)
	for _, k := range all {
		if lookalike(domain, k.unicode) {
			r.add(CodeLookalike, Danger, "%s looks like %s, but is another site.", h.domain, k.domain)
			return
		}
		if strings.Contains("."+h.name, "."+k.domain+".") || strings.HasPrefix(h.name, k.domain+"-") {
			r.add(CodeTrustedPrefix, Danger, "The address begins like %s, but belongs to %s.", k.domain, h.domain)
			return
		}
	}
}

// lookalike reports whether two different domains have one skeleton, or first labels that differ and have one.
func lookalike(a, b string) bool {
	if a == b {
		return false
	}
	if skeleton(a) == skeleton(b) {
		return true
	}
	x, _, _ := strings.Cut(a, ".")
	y, _, _ := strings.Cut(b, ".")
	return x != y && skeleton(x) == skeleton(y)
}

// registrable cuts the Unicode form of a host to as many labels as its domain has.
func registrable(name string, h *host) string {
	labels := strings.Split(name, ".")
	n := strings.Count(h.domain, ".") + 1
	return strings.Join(labels[max(0, len(labels)-n):], ".")
}

// trusted reads a URL or a host that the options name.
func trusted(s string) (known, bool) {
	if s == "" {
		return known{}, false
	}
	name := s
	if strings.Contains(s, "://") {
		u, err := url.Parse(s)
		if err != nil {
			return known{}, false
		}
		name = u.Hostname()
	} else if u, err := url.Parse("https://" + s); err == nil {
		name = u.Hostname()
	}
	scratch := &Result{}
	if name == "" {
		return known{}, false
	}
	h := scratch.host(strings.TrimSuffix(name, "."))
	if h == nil {
		return known{}, false
	}
	u, err := idna.Punycode.ToUnicode(h.domain)
	if err != nil {
		u = h.domain
	}
	return known{h.name, h.domain, u}, true
}

// command reports whether a text without a scheme is a program rather than a host: "bin/travel", "travel-server".
func command(s string) bool {
	return !strings.Contains(s, "://") && (strings.Contains(s, "/") || !strings.ContainsAny(s, ".:") && !strings.EqualFold(s, "localhost"))
}

func loopbackName(name string) bool {
	h := (&Result{}).host(name)
	return h != nil && h.loopback
}
