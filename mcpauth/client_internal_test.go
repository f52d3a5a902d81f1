package mcpauth

import (
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

func TestThreat10Addresses(t *testing.T) {
	server, _ := url.Parse("https://mcp.example.com/mcp")
	f := newFetcher(server, &ClientOptions{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	for _, a := range []string{"127.0.0.1", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1", "fe80::1%eth0", "10.0.0.1", "192.168.0.1", "172.16.0.1", "100.64.0.1",
		"::ffff:10.0.0.1", "::ffff:8.8.8.8", "64:ff9b::a00:1", "2002:a00:1::", "2001:0:a00:1::", "fc00::1", "fd00:ec2::254", "224.0.0.1", "255.255.255.255", "::7f00:1"} {
		if f.permits(netip.MustParseAddr(a), false) == nil {
			t.Errorf("%s is dialled", a)
		}
	}
	for _, a := range []string{"8.8.8.8", "2606:4700::1111", "10.1.2.3"} {
		if err := f.permits(netip.MustParseAddr(a), false); err != nil {
			t.Error(err)
		}
	}
	if err := f.permits(netip.MustParseAddr("192.168.0.1"), true); err != nil {
		t.Errorf("the person's own server: %v", err)
	}
	if f.permits(netip.MustParseAddr("169.254.169.254"), true) == nil {
		t.Error("a server that turns out to be a cloud's metadata service is dialled")
	}
	local := newFetcher(server, &ClientOptions{AllowLoopback: true})
	if err := local.permits(netip.MustParseAddr("127.0.0.1"), false); err != nil {
		t.Error(err)
	}
}

func TestCaseA06MetadataPlaces(t *testing.T) {
	for issuer, want := range map[string][]string{
		"https://as.test":     {"https://as.test/.well-known/oauth-authorization-server", "https://as.test/.well-known/openid-configuration"},
		"https://as.test/":    {"https://as.test/.well-known/oauth-authorization-server", "https://as.test/.well-known/openid-configuration"},
		"https://as.test/t1/": {"https://as.test/.well-known/oauth-authorization-server/t1", "https://as.test/.well-known/openid-configuration/t1", "https://as.test/t1/.well-known/openid-configuration"},
	} {
		if got := metadataPlaces(issuer); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q", issuer, got)
		}
	}
}

func TestCaseA08Challenges(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string
		want    *Challenge
	}{
		"after another":   {[]string{`Basic realm="x", Bearer resource_metadata = "https://h/p", scope="a b"`}, &Challenge{Scheme: "bearer", ResourceMetadata: "https://h/p", Scopes: []string{"a", "b"}}},
		"two lines":       {[]string{`Basic realm="Bearer x"`, `bearer error="invalid_token"`}, &Challenge{Scheme: "bearer", Error: "invalid_token"}},
		"escapes, commas": {[]string{`Bearer error_description="say \"no\", please", error=insufficient_scope`}, &Challenge{Scheme: "bearer", Description: `say "no", please`, Error: "insufficient_scope"}},
		"twice":           {[]string{`Bearer resource_metadata="https://h/1", resource_metadata="https://h/2"`}, &Challenge{Scheme: "bearer", ResourceMetadata: "https://h/1"}},
		"trailing slash":  {[]string{`Bearer scope="a\`}, &Challenge{Scheme: "bearer", Scopes: []string{"a"}}},
		"unquoted":        {[]string{`Bearer resource_metadata=https://h/p?x=1, scope=a`}, &Challenge{Scheme: "bearer", ResourceMetadata: "https://h/p?x=1", Scopes: []string{"a"}}},
		"dpop alone":      {[]string{`DPoP error="use_dpop_nonce"`}, &Challenge{Scheme: "dpop", Error: "use_dpop_nonce"}},
		"bearer first":    {[]string{`DPoP algs="ES256", Bearer scope=""`}, &Challenge{Scheme: "bearer", Scopes: []string{}}},
		"none":            {[]string{`Negotiate abc==`, `="x`, `"`}, nil},
		"nothing":         {nil, nil},
	} {
		if got := ParseChallenge(http.Header{"Www-Authenticate": c.headers}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// FuzzParseChallenge: it never panics, ends, and takes nothing but Bearer and DPoP.
func FuzzParseChallenge(f *testing.F) {
	f.Add(`Basic realm="x", Bearer resource_metadata = "https://h/p", scope="a b"`)
	f.Add(`Bearer a="\`)
	f.Fuzz(func(t *testing.T, s string) {
		if c := ParseChallenge(http.Header{"Www-Authenticate": {s, s}}); c != nil && c.Scheme != "bearer" && c.Scheme != "dpop" {
			t.Errorf("scheme %q", c.Scheme)
		}
	})
}

func TestApplicationType(t *testing.T) {
	for u, want := range map[string]string{"http://127.0.0.1:1/c": "native", "http://localhost/c": "native", "com.example.app:/c": "native", "https://host.test/c": "web"} {
		if got := applicationType(u); got != want {
			t.Errorf("%s: %s", u, got)
		}
	}
}

func TestCaseA05SlashAfterTheHost(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"https://as.test", "https://as.test/"}: true, {"https://as.test/", "https://as.test"}: true, {"https://as.test/t1", "https://as.test/t1/"}: false,
		{"https://as.test//", "https://as.test"}: false, {"https://as.test", "https://AS.test"}: false, {"https://as.test", "https://evil.test/"}: false,
	} {
		if got := sameButSlash(pair[0], pair[1]); got != want {
			t.Errorf("%q: %v", pair, got)
		}
	}
}

// FuzzParseCallback: what is taken from a pasted text begins with the redirect URI and has the state, whatever surrounds it.
func FuzzParseCallback(f *testing.F) {
	f.Add("http://127.0.0.1:1/callback?code=c&state=s#x")
	f.Add(" http://127.0.0.1:1/callback?state=s&state=t\n")
	f.Add("http://evil.test/?http://127.0.0.1:1/callback?state=s")
	f.Fuzz(func(t *testing.T, text string) {
		r := &LoginRequest{RedirectURI: "http://127.0.0.1:1/callback", State: "s"}
		q, err := parseCallback(r, text)
		if err == nil && (q.Get("state") != "s" || !strings.HasPrefix(strings.TrimSpace(text), r.RedirectURI+"?")) {
			t.Errorf("%q gives %v", text, q)
		}
	})
}

// FuzzClaimsOf: a token never breaks the display, and an ID token of somebody else names nobody.
func FuzzClaimsOf(f *testing.F) {
	f.Add("a.eyJpc3MiOiJpIiwic3ViIjoicyIsImF1ZCI6ImMifQ.b")
	f.Add("a.eyJpc3MiOiJpIiwic3ViIjoicyIsImF1ZCI6WyJjIl19.b")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		c := claimsOf(token)
		if got := idSubject(token, "i", "c"); got != "" && (got != c.Subject || c.Issuer != "i") {
			t.Errorf("%q names %q", token, got)
		}
	})
}
