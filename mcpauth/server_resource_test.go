package mcpauth_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
)

// refused returns how a request was refused, or fails.
func refused(t *testing.T, r *mcpauth.Resource, req *http.Request) *mcphttp.AuthError {
	t.Helper()
	p, err := r.Authenticate(req)
	var e *mcphttp.AuthError
	if !errors.As(err, &e) {
		t.Fatalf("principal %+v, error %v; want a refusal", p, err)
	}
	return e
}

// challenged returns what a refusal asks for.
func challenged(e *mcphttp.AuthError) *mcpauth.Challenge {
	return mcpauth.ParseChallenge(http.Header{"Www-Authenticate": e.Challenges})
}

func TestGoodTokens(t *testing.T) {
	i := newIssuer(t)
	for n, c := range []struct {
		name    string
		changes claims
		want    mcp.Principal
	}{
		{"as by RFC 9068", nil, mcp.Principal{Subject: "alice", ClientID: "app", Scopes: []string{"trips.read", "trips.book"}, Person: true}},
		{"several audiences", claims{"aud": []string{"https://other.example", resourceURL}}, mcp.Principal{Subject: "alice", ClientID: "app", Scopes: []string{"trips.read", "trips.book"}, Person: true}},
		{"audience with a slash", claims{"aud": resourceURL + "/"}, mcp.Principal{Subject: "alice", ClientID: "app", Scopes: []string{"trips.read", "trips.book"}, Person: true}},
		{"audience in upper case, with its port", claims{"aud": "HTTPS://Travel.EXAMPLE:443/mcp"}, mcp.Principal{Subject: "alice", ClientID: "app", Scopes: []string{"trips.read", "trips.book"}, Person: true}},
		{"azp and scp", claims{"client_id": nil, "azp": "party", "scope": nil, "scp": []string{"a", "b c"}}, mcp.Principal{Subject: "alice", ClientID: "party", Scopes: []string{"a", "b", "c"}, Person: true}},
		{"times with fractions", claims{"iat": float64(time.Now().Unix()) + 0.5, "nbf": float64(time.Now().Unix()) - 0.5}, mcp.Principal{Subject: "alice", ClientID: "app", Scopes: []string{"trips.read", "trips.book"}, Person: true}},
		{"a client's own", claims{"sub": "app", "auth_time": nil, "scope": nil}, mcp.Principal{Subject: "app", ClientID: "app"}},
	} {
		t.Run(described(n, c.name), func(t *testing.T) {
			r := newResource(t, i, nil)
			p, err := r.Authenticate(bearing(i.token(c.changes)))
			if err != nil {
				t.Fatal(err)
			}
			if p.Issuer != i.url || p.Subject != c.want.Subject || p.ClientID != c.want.ClientID || !slices.Equal(p.Scopes, c.want.Scopes) || p.Person != c.want.Person {
				t.Errorf("%+v, want %+v", p, c.want)
			}
			if left := time.Until(p.Expiry); left < time.Hour || left > time.Hour+mcpauth.DefaultClockSkew {
				t.Errorf("expires in %v", left)
			}
		})
	}
}

func TestEveryAlgorithm(t *testing.T) {
	for _, alg := range []jose.SignatureAlgorithm{jose.RS256, jose.RS512, jose.PS256, jose.PS384, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA} {
		i := newIssuer(t)
		i.key = newKey(t, "k", alg)
		i.keys = []jose.JSONWebKey{i.key.jwk()}
		if _, err := newResource(t, i, nil).Authenticate(bearing(i.token(nil))); err != nil {
			t.Errorf("%s: %v", alg, err)
		}
	}
}

// TestThreat12ForgedAndForeignTokens sends tokens that somebody has made, bent, kept, or was given for something else.
func TestThreat12ForgedAndForeignTokens(t *testing.T) {
	i := newIssuer(t)
	rsaKey := newKey(t, "r1", jose.RS256)
	i.keys = append(i.keys, rsaKey.jwk())
	stranger := newKey(t, "k1", jose.ES256)
	at := map[string]any{"typ": "at+jwt"}
	now := time.Now()
	plain := func(header, payload any) string {
		h, _ := json.Marshal(header)
		p, _ := json.Marshal(payload)
		return base64.RawURLEncoding.EncodeToString(h) + "." + base64.RawURLEncoding.EncodeToString(p) + "."
	}
	hmacWith := func(secret []byte) string {
		return signWith(t, jose.SigningKey{Algorithm: jose.HS256, Key: jose.JSONWebKey{Key: secret, KeyID: "r1"}},
			(&jose.SignerOptions{}).WithType("at+jwt"), i.claims(nil))
	}
	public, _ := json.Marshal(rsaKey.jwk())
	good := i.token(nil)
	parts := strings.Split(good, ".")
	for n, c := range []struct{ name, token, says string }{
		{"for another server", i.token(claims{"aud": "https://other.example/mcp"}), "another resource"},
		{"for a part of this server", i.token(claims{"aud": resourceURL + "/admin"}), "another resource"},
		{"for the origin", i.token(claims{"aud": "https://travel.example"}), "another resource"},
		{"for another path by dots", i.token(claims{"aud": "https://travel.example/x/../mcp"}), "another resource"},
		{"for a query", i.token(claims{"aud": resourceURL + "?x"}), "another resource"},
		{"for nobody", i.token(claims{"aud": nil}), "another resource"},
		{"for an empty list", i.token(claims{"aud": []string{}}), "another resource"},
		{"unsigned", plain(map[string]string{"alg": "none", "typ": "at+jwt", "kid": "k1"}, i.claims(nil)), "algorithm"},
		{"unsigned, in other letters", plain(map[string]string{"alg": "nOnE", "typ": "at+jwt"}, i.claims(nil)), "algorithm"},
		{"signature cut off", parts[0] + "." + parts[1] + ".", "signature is wrong"},
		{"signed with the public key as a secret", hmacWith(public), "algorithm"},
		{"a key of another kind named", (&signingKey{id: "r1", alg: jose.ES256, priv: i.key.priv}).sign(t, at, i.claims(nil)), "does not publish"},
		{"of a stranger, under a known key's name", stranger.sign(t, at, i.claims(nil)), "signature is wrong"},
		{"of a stranger, without a key's name", (&signingKey{alg: jose.ES256, priv: stranger.priv}).sign(t, at, i.claims(nil)), "signature is wrong"},
		{"of a stranger, with its key along", stranger.sign(t, map[string]any{"typ": "at+jwt", "jwk": stranger.jwk()}, i.claims(nil)), "signature is wrong"},
		{"claims exchanged", parts[0] + "." + strings.Split(i.token(claims{"sub": "bob"}), ".")[1] + "." + parts[2], "signature is wrong"},
		{"expired", i.token(claims{"exp": now.Add(-time.Minute).Unix()}), "expired"},
		{"without an end", i.token(claims{"exp": nil}), "no exp"},
		{"an end in milliseconds", i.token(claims{"exp": now.Add(-time.Hour).UnixMilli()}), "cannot be read"},
		{"an end that is text", i.token(claims{"exp": "4102444800"}), "cannot be read"},
		{"not valid yet", i.token(claims{"nbf": now.Add(time.Minute).Unix()}), "not valid yet"},
		{"issued in the future", i.token(claims{"iat": now.Add(time.Minute).Unix()}), "in the future"},
		{"of another issuer", i.token(claims{"iss": "https://evil.example"}), "another issuer"},
		{"of the issuer with a slash", i.token(claims{"iss": i.url + "/"}), "another issuer"},
		{"of no issuer", i.token(claims{"iss": nil}), "another issuer"},
		{"of nobody", i.token(claims{"sub": nil, "client_id": nil}), "neither a subject nor a client"},
		{"an ID token", i.key.sign(t, map[string]any{"typ": "JWT"}, i.claims(nil)), "typ"},
		{"a token of no type", i.key.sign(t, nil, i.claims(nil)), "typ"},
		{"a proof", i.key.sign(t, map[string]any{"typ": "dpop+jwt"}, i.claims(nil)), "typ"},
		{"with an extension that must be known", i.key.sign(t, map[string]any{"typ": "at+jwt", "crit": []string{"b64"}, "b64": true}, i.claims(nil)), "extension"},
		{"bound in an unknown way", i.token(claims{"cnf": claims{"osc": "x"}}), "cannot check"},
		{"bound to a certificate", i.token(claims{"cnf": claims{"x5t#S256": "x"}}), "certificate"},
		{"a claim twice", i.key.sign(t, at, []byte(`{"iss":"`+i.url+`","iss":"`+i.url+`","aud":"`+resourceURL+`"}`)), "cannot be read"},
		{"claims that are no object", i.key.sign(t, at, []byte(`[]`)), "cannot be read"},
		{"a word", "abc", "signed JWT"},
		{"four parts", "a.b.c.d", "signed JWT"},
		{"five parts", "a.b.c.d.e", "signed JWT"},
		{"a huge one", strings.Repeat("a", 17<<10), "longer than"},
	} {
		t.Run(described(n, c.name), func(t *testing.T) {
			r := newResource(t, i, nil)
			if _, err := r.Authenticate(bearing(good)); err != nil {
				t.Fatalf("the good one: %v", err)
			}
			e := refused(t, r, bearing(c.token))
			ch := challenged(e)
			if e.Status != 401 || ch == nil || ch.Error != "invalid_token" || ch.ResourceMetadata != "https://travel.example/.well-known/oauth-protected-resource/mcp" {
				t.Errorf("status %d, %+v", e.Status, ch)
			}
			if !strings.Contains(e.Message, c.says) {
				t.Errorf("%q does not say %q", e.Message, c.says)
			}
			again := refused(t, r, bearing(c.token))
			if again.Status != 401 {
				t.Errorf("at the second try: %d", again.Status)
			}
		})
	}
}

func TestAuthorizationHeader(t *testing.T) {
	i := newIssuer(t)
	r := newResource(t, i, &mcpauth.ResourceOptions{Scopes: []string{"trips.read"}})
	good := i.token(nil)
	for _, c := range []struct {
		name   string
		header []string
		query  string
		status int // 0: taken
		code   string
	}{
		{"none", nil, "", 401, ""},
		{"usual", []string{"Bearer " + good}, "", 0, ""},
		{"lower case", []string{"bearer " + good}, "", 0, ""},
		{"more spaces", []string{"BEARER   " + good}, "", 0, ""},
		{"another scheme", []string{"Basic YWxpY2U6c2VjcmV0"}, "", 401, ""},
		{"nothing", []string{""}, "", 401, ""},
		{"scheme alone", []string{"Bearer"}, "", 400, "invalid_request"},
		{"two words", []string{"Bearer " + good + " x"}, "", 400, "invalid_request"},
		{"two headers", []string{"Bearer " + good, "Bearer " + good}, "", 400, "invalid_request"},
		{"two in one header", []string{"Bearer " + good + ", Bearer " + good}, "", 400, "invalid_request"},
		{"a tab", []string{"Bearer\t" + good}, "", 401, ""},
		{"in quotes", []string{`Bearer "` + good + `"`}, "", 400, "invalid_request"},
		{"not ASCII", []string{"Bearer é"}, "", 400, "invalid_request"},
		{"in the query", nil, "access_token=" + good, 400, "invalid_request"},
		{"in the query, name escaped", nil, "access%5Ftoken=" + good, 401, ""},
		{"in both", []string{"Bearer " + good}, "access_token=" + good, 400, "invalid_request"},
		{"another parameter", []string{"Bearer " + good}, "my_access_tokens=1", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := httptest.NewRequest("POST", resourceURL+"?"+c.query, nil)
			req.Header["Authorization"] = c.header
			if c.status == 0 {
				if _, err := r.Authenticate(req); err != nil {
					t.Error(err)
				}
				return
			}
			e := refused(t, r, req)
			ch := challenged(e)
			if e.Status != c.status || ch == nil || ch.Scheme != "bearer" || ch.Error != c.code || !slices.Equal(ch.Scopes, []string{"trips.read"}) {
				t.Errorf("status %d, %+v", e.Status, ch)
			}
			if strings.Contains(strings.Join(e.Challenges, "")+e.Error(), good) {
				t.Error("the token is repeated")
			}
		})
	}
}

func TestScopesOfEveryRequest(t *testing.T) {
	i := newIssuer(t)
	r := newResource(t, i, &mcpauth.ResourceOptions{
		Scopes:  []string{"trips.read", "mail.send"},
		Implies: map[string][]string{"admin": {"trips", "mail"}, "trips": {"trips.read"}, "mail": {"mail.read", "mail.send", "admin"}},
	})
	for _, c := range []struct {
		scope string
		ok    bool
	}{
		{"trips.read mail.send", true}, {"admin", true}, {"mail trips.read", true}, {"mail.send trips", true}, {"trips mail.send x", true},
		{"trips.read", false}, {"", false}, {"trips", false}, {"mail.read trips.read", false}, {"TRIPS.READ MAIL.SEND", false},
	} {
		req := bearing(i.token(claims{"scope": c.scope}))
		if c.ok {
			p, err := r.Authenticate(req)
			if err != nil || !p.HasScope("trips.read") || !p.HasScope("mail.send") {
				t.Errorf("%q: %+v, %v", c.scope, p, err)
			}
			continue
		}
		e := refused(t, r, req)
		ch := challenged(e)
		if e.Status != 403 || ch.Error != "insufficient_scope" || !slices.Equal(ch.Scopes, []string{"mail.send", "trips.read"}) || ch.ResourceMetadata == "" {
			t.Errorf("%q: %d, %+v", c.scope, e.Status, ch)
		}
	}
}

func TestResourceOptions(t *testing.T) {
	v := mcpauth.JWT("https://login.example", nil)
	jwks := json.RawMessage(`{"keys":[]}`)
	for n, c := range []struct {
		url  string
		v    mcpauth.Verifier
		o    *mcpauth.ResourceOptions
		says string
	}{
		{"travel.example/mcp", v, nil, "no host"},
		{"http://travel.example/mcp", v, nil, "https://"},
		{"ftp://travel.example/mcp", v, &mcpauth.ResourceOptions{AllowHTTP: true}, "https://"},
		{"https://travel.example/mcp?x=1", v, nil, "query"},
		{"https://travel.example/mcp#x", v, nil, "fragment"},
		{"https://a@travel.example/mcp", v, nil, "user"},
		{resourceURL, nil, nil, "verifier is nil"},
		{resourceURL, mcpauth.VerifierFunc(nil), nil, "AuthorizationServers"},
		{resourceURL, v, &mcpauth.ResourceOptions{AuthorizationServers: []string{"login"}}, "no URL"},
		{resourceURL, v, &mcpauth.ResourceOptions{Scopes: []string{"a b"}}, "no scope"},
		{resourceURL, v, &mcpauth.ResourceOptions{Implies: map[string][]string{"a": {`"`}}}, "no scope"},
		{resourceURL, v, &mcpauth.ResourceOptions{Scopes: []string{"a"}, Anonymous: true}, "exclude"},
		{resourceURL, v, &mcpauth.ResourceOptions{MaxTokens: -1}, "negative"},
		{resourceURL, v, &mcpauth.ResourceOptions{DPoP: &mcpauth.DPoPOptions{Algorithms: []string{"HS256"}}}, "HS256"},
		{resourceURL, v, &mcpauth.ResourceOptions{DPoP: &mcpauth.DPoPOptions{Nonce: true, NonceKey: []byte("short")}}, "32 bytes"},
		{resourceURL, mcpauth.JWT("login.example", nil), nil, "issuer"},
		{resourceURL, mcpauth.JWT("http://login.example", nil), nil, "https://"},
		{resourceURL, mcpauth.JWT("https://login.example", &mcpauth.JWTOptions{Algorithms: []string{"none"}}), nil, "none"},
		{resourceURL, mcpauth.JWT("https://login.example", &mcpauth.JWTOptions{Algorithms: []string{}}), nil, "empty"},
		{resourceURL, mcpauth.JWT("https://login.example", &mcpauth.JWTOptions{JWKS: jwks}), nil, "no key"},
		{resourceURL, mcpauth.JWT("https://login.example", &mcpauth.JWTOptions{JWKSURL: "http://login.example/keys"}), nil, "JWKSURL"},
		{resourceURL, mcpauth.AnyOf(), nil, "no verifier"},
		{resourceURL, mcpauth.AnyOf(v, v), nil, "two verifiers"},
		{resourceURL, mcpauth.AnyOf(v, nil), nil, "nil"},
		{resourceURL, mcpauth.AnyOf(v, mcpauth.VerifierFunc(nil), mcpauth.VerifierFunc(nil)), nil, "more than one"},
	} {
		_, err := mcpauth.NewResource(c.url, c.v, c.o)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d: %v does not say %q", n, err, c.says)
		}
	}
	for in, want := range map[string]string{
		"https://Travel.Example:443/mcp/": resourceURL, "https://travel.example/": "https://travel.example", "http://localhost:80/MCP": "http://localhost/MCP",
	} {
		r, err := mcpauth.NewResource(in, v, nil)
		if err != nil || r.URL() != want {
			t.Errorf("%s: %v, %v", in, r, err)
		}
	}
}
