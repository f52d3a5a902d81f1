package mcphttp

import (
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// A refusal is an HTTP answer that turns a request away before or instead of the core.
type refusal struct {
	status  int
	code    jsonrpc.Code
	message string
	header  http.Header // additional headers, nil for none
}

// refuse makes a refusal that carries no particular JSON-RPC meaning.
func refuse(status int, message string) *refusal {
	return &refusal{status: status, code: jsonrpc.CodeInvalidRequest, message: message}
}

// A guard decides from the request line and headers alone whether a request may go on: against DNS rebinding by Host and Origin,
// and against oversized headers. It is immutable.
type guard struct {
	hosts     []string // lower case, without trailing dot; with a port where the option had one
	anyHost   bool
	origins   []string // lower case scheme://host[:port]
	anyOrigin bool
	maxHeader int
}

// newGuard reads the allow-lists; the error names the option.
func newGuard(o *Options) (*guard, error) {
	g := &guard{maxHeader: o.MaxHeaderBytes}
	for _, s := range o.AllowedHosts {
		if s == "*" {
			g.anyHost = true
			continue
		}
		host := canonicalHost(s)
		if host == "" || strings.ContainsAny(s, "/@*? ") {
			return nil, optionError("AllowedHosts", s, `want a host name or host:port as in "mcp.example.com", or "*"`)
		}
		g.hosts = append(g.hosts, host)
	}
	for _, s := range o.AllowedOrigins {
		if s == "*" {
			g.anyOrigin = true
			continue
		}
		origin, ok := canonicalOrigin(s)
		if !ok {
			return nil, optionError("AllowedOrigins", s, `want scheme://host[:port] as in "https://app.example.com", or "*"`)
		}
		g.origins = append(g.origins, origin)
	}
	return g, nil
}

// check returns why r is turned away, or nil.
func (g *guard) check(r *http.Request) *refusal {
	if g.maxHeader > 0 && headerSize(r.Header) > g.maxHeader {
		return refuse(http.StatusRequestHeaderFieldsTooLarge, "the request's headers are too large (Options.MaxHeaderBytes)")
	}
	listed := g.hostListed(r.Host)
	if !listed && !g.anyHost && !loopbackHost(r.Host) {
		return refuse(http.StatusForbidden, "Host "+quoteShort(r.Host)+
			" is not allowed here: add it to mcphttp.Options.AllowedHosts if this server is meant to be reached by that name")
	}
	origins := r.Header["Origin"]
	switch {
	case len(origins) == 0:
		return nil
	case len(origins) > 1:
		return refuse(http.StatusForbidden, "more than one Origin header")
	case !g.originAllowed(origins[0], r.Host, listed):
		return refuse(http.StatusForbidden, "Origin "+quoteShort(origins[0])+
			" is not allowed here: add it to mcphttp.Options.AllowedOrigins if pages from there may use this server")
	}
	return nil
}

// hostListed reports whether host is on the allow-list by name.
func (g *guard) hostListed(host string) bool {
	if len(g.hosts) == 0 {
		return false
	}
	full := canonicalHost(host)
	return full != "" && (slices.Contains(g.hosts, full) || slices.Contains(g.hosts, stripPort(full)))
}

// originAllowed judges a present Origin: listed, a loopback page, or the very origin that the request went to, where that host was
// allowed by name.
func (g *guard) originAllowed(origin, host string, hostListed bool) bool {
	if g.anyOrigin || g.listedOrigin(origin) != "" {
		return true
	}
	u, ok := splitOrigin(origin)
	if !ok {
		return false
	}
	return loopbackHost(u.Host) || hostListed && canonicalHost(u.Host) == canonicalHost(host)
}

// listedOrigin returns origin as it may be echoed in Access-Control-Allow-Origin, empty when it is not on the allow-list.
func (g *guard) listedOrigin(origin string) string {
	if origin == "" || !g.anyOrigin && len(g.origins) == 0 {
		return ""
	}
	if g.anyOrigin {
		return origin
	}
	if c, ok := canonicalOrigin(origin); ok && slices.Contains(g.origins, c) {
		return origin
	}
	return ""
}

// loopbackHost reports whether a Host header (or the host of an origin) names this machine itself: localhost or a loopback address,
// on any port.
func loopbackHost(host string) bool {
	name := stripPort(host)
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil && ip.Zone() == "" && ip.Unmap().IsLoopback()
}

// stripPort removes :port from a Host value.
func stripPort(host string) string {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.LastIndexByte(host, ']') > i {
		return host
	}
	if strings.IndexByte(host, ':') != i && host[0] != '[' {
		return host // a bare IPv6 address
	}
	return host[:i]
}

// canonicalHost lowers the case and drops the root dot, keeping a port.
func canonicalHost(host string) string {
	host = strings.ToLower(host)
	name := stripPort(host)
	return strings.TrimSuffix(name, ".") + host[len(name):]
}

// splitOrigin parses a serialised origin; "null" and anything with a path is none.
func splitOrigin(origin string) (*url.URL, bool) {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, false
	}
	return u, true
}

// canonicalOrigin returns the form in which origins are compared; default ports are dropped as browsers do.
func canonicalOrigin(origin string) (string, bool) {
	u, ok := splitOrigin(origin)
	if !ok {
		return "", false
	}
	host := canonicalHost(u.Host)
	switch u.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return strings.ToLower(u.Scheme) + "://" + host, true
}

// headerSize is roughly what the headers took on the wire.
func headerSize(h http.Header) int {
	n := 0
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v) + 4
		}
	}
	return n
}

// quoteShort quotes a client's text for a message, cut to a readable length.
func quoteShort(s string) string {
	const limit = 80
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' && r != '…' || r == '"' {
			return '?'
		}
		return r
	}, s)
	return `"` + clean + `"`
}

// accepts says which answer forms a client takes.
type accepts uint8

const (
	acceptsJSON accepts = 1 << iota
	acceptsSSE
	acceptsBoth = acceptsJSON | acceptsSSE
)

// The media types of the protocol.
const (
	typeJSON = "application/json"
	typeSSE  = "text/event-stream"
)

// parseAccept reads Accept headers. None at all accepts everything, as HTTP has it; wildcards and q=0 count.
func parseAccept(values []string) accepts {
	if len(values) == 0 {
		return acceptsBoth
	}
	if len(values) == 1 && values[0] == typeJSON+", "+typeSSE {
		return acceptsBoth
	}
	// For each of the two types the most specific range decides.
	var rank, good [2]int
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			media, params, err := mime.ParseMediaType(item)
			if err != nil {
				continue
			}
			refused := 0
			if q := strings.TrimRight(params["q"], "0."); params["q"] != "" && q == "" {
				refused = 1
			}
			for i, want := range [2]string{typeJSON, typeSSE} {
				if n := rangeRank(media, want); n > rank[i] {
					rank[i], good[i] = n, 1-refused
				}
			}
		}
	}
	var a accepts
	if good[0] == 1 {
		a |= acceptsJSON
	}
	if good[1] == 1 {
		a |= acceptsSSE
	}
	return a
}

// rangeRank says how closely a media range names a type: 3 exactly, 2 by its family, 1 as */*, 0 not at all.
func rangeRank(media, want string) int {
	family, _, _ := strings.Cut(want, "/")
	switch media {
	case want:
		return 3
	case family + "/*":
		return 2
	case "*/*":
		return 1
	}
	return 0
}

// checkContentType wants JSON in UTF-8, not compressed.
func checkContentType(h http.Header) *refusal {
	values := h["Content-Type"]
	if len(values) != 1 || values[0] != typeJSON {
		if len(values) != 1 {
			return refuse(http.StatusUnsupportedMediaType, "Content-Type must be given once, as application/json")
		}
		media, params, err := mime.ParseMediaType(values[0])
		if err != nil || media != typeJSON {
			return refuse(http.StatusUnsupportedMediaType, "Content-Type must be application/json, not "+quoteShort(values[0]))
		}
		switch strings.ToLower(params["charset"]) {
		case "", "utf-8", "utf8", "us-ascii":
		default:
			return refuse(http.StatusUnsupportedMediaType, "the body must be UTF-8, not "+quoteShort(params["charset"]))
		}
	}
	for _, enc := range h["Content-Encoding"] {
		if !strings.EqualFold(enc, "identity") {
			return refuse(http.StatusUnsupportedMediaType, "compressed request bodies are not accepted")
		}
	}
	return nil
}
