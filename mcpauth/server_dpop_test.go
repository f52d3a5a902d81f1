package mcpauth_test

import (
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/seed38e7925c/parley/mcpauth"
)

// A holder has a key, and a token that is bound to it.
type holder struct {
	t     testing.TB
	key   *signingKey
	token string
	n     int
}

func newHolder(t testing.TB, i *issuer, alg jose.SignatureAlgorithm) *holder {
	h := &holder{t: t, key: newKey(t, "", alg)}
	h.token = i.token(claims{"cnf": claims{"jkt": h.thumbprint()}})
	return h
}

func (h *holder) thumbprint() string {
	jwk := h.key.jwk()
	sum, err := jwk.Thumbprint(crypto.SHA256)
	if err != nil {
		h.t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// proof is a good proof for a POST with the token, with changes; header likewise.
func (h *holder) proof(changes claims, header map[string]any) string {
	h.t.Helper()
	h.n++
	sum := sha256.Sum256([]byte(h.token))
	c := claims{"jti": fmt.Sprint("p", h.n), "htm": "POST", "htu": resourceURL, "iat": time.Now().Unix(), "ath": base64.RawURLEncoding.EncodeToString(sum[:])}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	o := &jose.SignerOptions{EmbedJWK: true, ExtraHeaders: map[jose.HeaderKey]any{"typ": "dpop+jwt"}}
	for name, v := range header {
		o.ExtraHeaders[jose.HeaderKey(name)] = v
	}
	return signWith(h.t, jose.SigningKey{Algorithm: h.key.alg, Key: h.key.priv}, o, c)
}

// sending is a request with a token and proofs.
func sending(scheme, token string, proofs ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, resourceURL, nil)
	r.Header.Set("Authorization", scheme+" "+token)
	for _, p := range proofs {
		r.Header.Add("DPoP", p)
	}
	return r
}

func TestProofsOfPossession(t *testing.T) {
	i := newIssuer(t)
	for _, alg := range []jose.SignatureAlgorithm{jose.ES256, jose.RS256, jose.PS256, jose.EdDSA} {
		h := newHolder(t, i, alg)
		r := newResource(t, i, nil)
		for _, changes := range []claims{nil, {"htu": "HTTPS://TRAVEL.example:443/mcp"}, {"htu": resourceURL + "?a=b#c"}, {"htu": resourceURL + "/"}, {"extra": 1}} {
			p, err := r.Authenticate(sending("DPoP", h.token, h.proof(changes, nil)))
			if err != nil || p.Subject != "alice" {
				t.Errorf("%s: %v: %+v, %v", alg, changes, p, err)
			}
		}
	}
}

// TestThreat12StolenBoundToken uses a bound token without its key, and proofs that were made for something else.
func TestThreat12StolenBoundToken(t *testing.T) {
	i := newIssuer(t)
	h := newHolder(t, i, jose.ES256)
	thief := &holder{t: t, key: newKey(t, "", jose.ES256), token: h.token}
	now := time.Now()
	bearer := i.token(nil)
	private := (&jose.JSONWebKey{Key: h.key.priv})
	secret := (&jose.JSONWebKey{Key: []byte("0123456789abcdef0123456789abcdef")})
	for n, c := range []struct {
		name string
		req  *http.Request
		code string
		says string
	}{
		{"as a bearer token", sending("Bearer", h.token), "invalid_token", "bound to a key"},
		{"as a bearer token, with a proof", sending("Bearer", h.token, h.proof(nil, nil)), "invalid_token", "bound to a key"},
		{"a bearer token by DPoP", sending("DPoP", bearer, h.proof(nil, nil)), "invalid_token", "not bound"},
		{"no proof", sending("DPoP", h.token), "invalid_dpop_proof", "missing"},
		{"two proofs", sending("DPoP", h.token, h.proof(nil, nil), h.proof(nil, nil)), "invalid_dpop_proof", "more than one"},
		{"the thief's key", sending("DPoP", h.token, thief.proof(nil, nil)), "invalid_dpop_proof", "another key"},
		{"another method", sending("DPoP", h.token, h.proof(claims{"htm": "GET"}, nil)), "invalid_dpop_proof", "another method"},
		{"another server", sending("DPoP", h.token, h.proof(claims{"htu": "https://other.example/mcp"}, nil)), "invalid_dpop_proof", "another URL"},
		{"another path", sending("DPoP", h.token, h.proof(claims{"htu": resourceURL + "/x"}, nil)), "invalid_dpop_proof", "another URL"},
		{"another token", sending("DPoP", h.token, h.proof(claims{"ath": "x"}, nil)), "invalid_dpop_proof", "ath"},
		{"no token", sending("DPoP", h.token, h.proof(claims{"ath": nil}, nil)), "invalid_dpop_proof", "ath"},
		{"old", sending("DPoP", h.token, h.proof(claims{"iat": now.Add(-2 * time.Minute).Unix()}, nil)), "invalid_dpop_proof", "not of now"},
		{"of the future", sending("DPoP", h.token, h.proof(claims{"iat": now.Add(time.Minute).Unix()}, nil)), "invalid_dpop_proof", "not of now"},
		{"of no time", sending("DPoP", h.token, h.proof(claims{"iat": nil}, nil)), "invalid_dpop_proof", "not of now"},
		{"without an id", sending("DPoP", h.token, h.proof(claims{"jti": nil}, nil)), "invalid_dpop_proof", "jti"},
		{"of another type", sending("DPoP", h.token, h.proof(nil, map[string]any{"typ": "at+jwt"})), "invalid_dpop_proof", "typ"},
		{"the token itself", sending("DPoP", h.token, h.token), "invalid_dpop_proof", "typ"},
		{"with a private key", sending("DPoP", h.token, withKey(t, h, private)), "invalid_dpop_proof", "public key"},
		{"with a secret", sending("DPoP", h.token, withKey(t, h, secret)), "invalid_dpop_proof", "public key"},
		{"without a key", sending("DPoP", h.token, h.key.sign(t, map[string]any{"typ": "dpop+jwt"}, claims{})), "invalid_dpop_proof", "public key"},
		{"no JWT", sending("DPoP", h.token, "x"), "invalid_dpop_proof", "signed JWT"},
		{"unsigned", sending("DPoP", h.token, unsignedProof(h.proof(nil, nil))), "invalid_dpop_proof", "algorithm"},
		{"bent", sending("DPoP", h.token, bent(h.proof(nil, nil))), "invalid_dpop_proof", "signature"},
		{"huge", sending("DPoP", h.token, strings.Repeat("x", 9000)), "invalid_dpop_proof", "longer"},
	} {
		t.Run(described(n, c.name), func(t *testing.T) {
			e := refused(t, newResource(t, i, nil), c.req)
			ch := challenged(e)
			if e.Status != 401 || ch == nil || ch.Scheme != "dpop" || ch.Error != c.code || !strings.Contains(e.Message, c.says) {
				t.Errorf("%d %+v %s", e.Status, ch, e.Message)
			}
			if !strings.Contains(e.Challenges[0], `algs="`) {
				t.Errorf("%s names no algorithms", e.Challenges[0])
			}
		})
	}
}

// withKey is a proof with a jwk that should not be in one.
func withKey(t *testing.T, h *holder, k *jose.JSONWebKey) string {
	t.Helper()
	raw, err := k.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(h.proof(nil, nil), ".")
	parts[0] = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","typ":"dpop+jwt","jwk":` + string(raw) + `}`))
	return strings.Join(parts, ".")
}

func unsignedProof(proof string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"dpop+jwt"}`)) + "." + strings.Split(proof, ".")[1] + "."
}

// bent is a proof with another payload.
func bent(proof string) string {
	parts := strings.Split(proof, ".")
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(`{"jti":"1"}`))
	return strings.Join(parts, ".")
}

// TestThreat04ReplayedProof uses each proof twice, at once and as late as it counts.
func TestThreat04ReplayedProof(t *testing.T) {
	k := newKey(t, "k1", jose.ES256)
	synctest.Test(t, func(t *testing.T) {
		i := bubbleIssuer(t, k)
		r := bubbleResource(t, i)
		h := newHolder(t, i, jose.ES256)
		for n := range 40 {
			proof := h.proof(claims{"iat": time.Now().Add(25 * time.Second).Unix()}, nil) // counts for the longest time
			if _, err := r.Authenticate(sending("DPoP", h.token, proof)); err != nil {
				t.Fatal(err)
			}
			for _, wait := range []time.Duration{0, 10 * time.Second, 74*time.Second + time.Duration(n)*100*time.Millisecond} {
				time.Sleep(wait)
				if e := refused(t, r, sending("DPoP", h.token, proof)); e.Status != 401 {
					t.Errorf("%d", e.Status)
				}
			}
			if _, err := r.Authenticate(sending("DPoP", h.token, h.proof(nil, nil))); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestProofsAreBounded(t *testing.T) {
	k := newKey(t, "k1", jose.ES256)
	synctest.Test(t, func(t *testing.T) {
		i := bubbleIssuer(t, k)
		r := resourceWith(t, mcpauth.JWT(i.url, &mcpauth.JWTOptions{Logger: quiet, Fetch: &mcpauth.FetchOptions{RoundTripper: i}}),
			&mcpauth.ResourceOptions{DPoP: &mcpauth.DPoPOptions{MaxProofs: 5}})
		h := newHolder(t, i, jose.ES256)
		for range 5 {
			if _, err := r.Authenticate(sending("DPoP", h.token, h.proof(nil, nil))); err != nil {
				t.Fatal(err)
			}
		}
		if e := refused(t, r, sending("DPoP", h.token, h.proof(nil, nil))); e.Status != 503 || e.Header.Get("Retry-After") == "" {
			t.Errorf("%d", e.Status)
		}
		time.Sleep(3 * time.Minute)
		if _, err := r.Authenticate(sending("DPoP", h.token, h.proof(nil, nil))); err != nil {
			t.Error(err)
		}
	})
}

// TestThreat36OneKeyFillsTheRoom: a client that sends proof upon proof uses up its own share, and no other's.
func TestThreat36OneKeyFillsTheRoom(t *testing.T) {
	k := newKey(t, "k1", jose.ES256)
	synctest.Test(t, func(t *testing.T) {
		i := bubbleIssuer(t, k)
		r := resourceWith(t, mcpauth.JWT(i.url, &mcpauth.JWTOptions{Logger: quiet, Fetch: &mcpauth.FetchOptions{RoundTripper: i}}),
			&mcpauth.ResourceOptions{DPoP: &mcpauth.DPoPOptions{MaxProofs: 400}})
		greedy, other := newHolder(t, i, jose.ES256), newHolder(t, i, jose.ES256)
		for n := range 100 {
			if _, err := r.Authenticate(sending("DPoP", greedy.token, greedy.proof(nil, nil))); err != nil {
				t.Fatalf("proof %d: %v", n, err)
			}
		}
		if e := refused(t, r, sending("DPoP", greedy.token, greedy.proof(nil, nil))); e.Status != 503 {
			t.Errorf("beyond its share: status %d", e.Status)
		}
		if _, err := r.Authenticate(sending("DPoP", other.token, other.proof(nil, nil))); err != nil {
			t.Errorf("another client: %v", err)
		}
	})
}

func TestProofsWithNonces(t *testing.T) {
	k := newKey(t, "k1", jose.ES256)
	synctest.Test(t, func(t *testing.T) {
		i := bubbleIssuer(t, k)
		key := []byte("a key that all the replicas have")
		replica := func() *mcpauth.Resource {
			return resourceWith(t, mcpauth.JWT(i.url, &mcpauth.JWTOptions{Logger: quiet, Fetch: &mcpauth.FetchOptions{RoundTripper: i}}),
				&mcpauth.ResourceOptions{DPoP: &mcpauth.DPoPOptions{Nonce: true, NonceKey: key}})
		}
		r, other := replica(), replica()
		h := newHolder(t, i, jose.ES256)
		want := func(nonce any) string {
			t.Helper()
			e := refused(t, r, sending("DPoP", h.token, h.proof(claims{"nonce": nonce}, nil)))
			if ch := challenged(e); e.Status != 401 || ch.Error != "use_dpop_nonce" || e.Header.Get("DPoP-Nonce") == "" {
				t.Fatalf("%v: %d %+v %v", nonce, e.Status, ch, e.Header)
			}
			return e.Header.Get("DPoP-Nonce")
		}
		nonce := want(nil)
		want("")
		want("x")
		want(nonce[:len(nonce)-2] + "xx")
		for _, at := range []*mcpauth.Resource{r, other} {
			if _, err := at.Authenticate(sending("DPoP", h.token, h.proof(claims{"nonce": nonce}, nil))); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(5 * time.Minute)
		if _, err := r.Authenticate(sending("DPoP", h.token, h.proof(claims{"nonce": nonce}, nil))); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Minute)
		want(nonce)
	})
}

func TestDPoPRequired(t *testing.T) {
	i := newIssuer(t)
	r := newResource(t, i, &mcpauth.ResourceOptions{DPoP: &mcpauth.DPoPOptions{Required: true, Algorithms: []string{"ES256"}}})
	for name, req := range map[string]*http.Request{"nothing": bearing(""), "a bearer token": bearing(i.token(nil))} {
		e := refused(t, r, req)
		if e.Status != 401 || len(e.Challenges) != 1 || !strings.HasPrefix(e.Challenges[0], "DPoP ") || !strings.Contains(e.Challenges[0], `algs="ES256"`) ||
			challenged(e).ResourceMetadata == "" {
			t.Errorf("%s: %d %v", name, e.Status, e.Challenges)
		}
	}
	w := httptest.NewRecorder()
	r.MetadataHandler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	for _, want := range []string{`"dpop_bound_access_tokens_required":true`, `"dpop_signing_alg_values_supported":["ES256"]`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s lacks %s", w.Body, want)
		}
	}
	h := newHolder(t, i, jose.ES256)
	if _, err := r.Authenticate(sending("DPoP", h.token, h.proof(nil, nil))); err != nil {
		t.Error(err)
	}
	strange := newHolder(t, i, jose.EdDSA)
	if e := refused(t, r, sending("DPoP", strange.token, strange.proof(nil, nil))); challenged(e).Error != "invalid_dpop_proof" {
		t.Errorf("%v", e.Challenges)
	}
}
