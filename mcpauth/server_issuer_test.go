package mcpauth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/seed38e7925c/parley/mcpauth"
)

// resourceURL is the resource of most tests. Nothing listens there.
const resourceURL = "https://travel.example/mcp"

// A claims is what a token is to say.
type claims = map[string]any

// A signingKey is a private key of an issuer.
type signingKey struct {
	id   string
	alg  jose.SignatureAlgorithm
	priv crypto.Signer
}

func newKey(t testing.TB, id string, alg jose.SignatureAlgorithm) *signingKey {
	t.Helper()
	k := &signingKey{id: id, alg: alg}
	var err error
	switch alg {
	case jose.ES256:
		k.priv, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jose.ES384:
		k.priv, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case jose.ES512:
		k.priv, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case jose.EdDSA:
		_, k.priv, err = ed25519.GenerateKey(rand.Reader)
	default:
		k.priv, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *signingKey) jwk() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.priv.Public(), KeyID: k.id, Algorithm: string(k.alg), Use: "sig"}
}

// sign makes a compact JWS with the headers that are given besides alg and kid; a nil one leaves kid out.
func (k *signingKey) sign(t testing.TB, header map[string]any, payload any) string {
	t.Helper()
	o := &jose.SignerOptions{ExtraHeaders: map[jose.HeaderKey]any{}}
	key := any(k.priv)
	if k.id != "" {
		key = jose.JSONWebKey{Key: k.priv, KeyID: k.id}
	}
	for name, v := range header {
		o.ExtraHeaders[jose.HeaderKey(name)] = v
	}
	return signWith(t, jose.SigningKey{Algorithm: k.alg, Key: key}, o, payload)
}

func signWith(t testing.TB, key jose.SigningKey, o *jose.SignerOptions, payload any) string {
	t.Helper()
	s, err := jose.NewSigner(key, o)
	if err != nil {
		t.Fatal(err)
	}
	raw, ok := payload.([]byte)
	if !ok {
		if raw, err = json.Marshal(payload); err != nil {
			t.Fatal(err)
		}
	}
	jws, err := s.Sign(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// An issuer is an authorization server that only publishes. It is an http.RoundTripper too, so that a bubble of synctest can hold it.
type issuer struct {
	t    testing.TB
	url  string
	key  *signingKey
	mu   sync.Mutex
	keys []jose.JSONWebKey
	gets atomic.Int64 // of the keys

	metadata func(w http.ResponseWriter, r *http.Request) // instead of the usual
	jwks     func(w http.ResponseWriter, r *http.Request)
}

// newIssuer starts an issuer on this computer.
func newIssuer(t testing.TB) *issuer {
	i := bubbleIssuer(t, newKey(t, "k1", jose.ES256))
	s := httptest.NewServer(i)
	t.Cleanup(s.Close)
	i.url = s.URL
	return i
}

// bubbleIssuer makes an issuer without a network.
func bubbleIssuer(t testing.TB, k *signingKey) *issuer {
	return &issuer{t: t, url: "https://login.example", key: k, keys: []jose.JSONWebKey{k.jwk()}}
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		if i.metadata != nil {
			i.metadata(w, r)
			return
		}
		writeJSON(w, 200, map[string]any{"issuer": i.url, "jwks_uri": i.url + "/keys", "introspection_endpoint": i.url + "/introspect"})
	case "/keys":
		i.gets.Add(1)
		if i.jwks != nil {
			i.jwks(w, r)
			return
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		writeJSON(w, 200, jose.JSONWebKeySet{Keys: i.keys})
	default:
		http.NotFound(w, r)
	}
}

// RoundTrip serves a request without a network.
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	i.ServeHTTP(w, r)
	return w.Result(), nil
}

// rotate makes the issuer sign with a new key, and publish it beside the old ones.
func (i *issuer) rotate(id string) *signingKey {
	k := newKey(i.t, id, jose.ES256)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key = k
	i.keys = append(i.keys, k.jwk())
	return k
}

// claims are those of a good token, with changes; nil takes a claim away.
func (i *issuer) claims(changes claims) claims {
	now := time.Now()
	c := claims{
		"iss": i.url, "sub": "alice", "client_id": "app", "aud": resourceURL, "scope": "trips.read trips.book", "jti": "1",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "auth_time": now.Unix(),
	}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// token is a good token, with changes.
func (i *issuer) token(changes claims) string {
	i.t.Helper()
	return i.key.sign(i.t, map[string]any{"typ": "at+jwt"}, i.claims(changes))
}

// quiet drops what is logged.
var quiet = slog.New(slog.DiscardHandler)

func newResource(t testing.TB, i *issuer, o *mcpauth.ResourceOptions) *mcpauth.Resource {
	t.Helper()
	return resourceWith(t, mcpauth.JWT(i.url, &mcpauth.JWTOptions{Logger: quiet}), o)
}

func resourceWith(t testing.TB, v mcpauth.Verifier, o *mcpauth.ResourceOptions) *mcpauth.Resource {
	t.Helper()
	if o == nil {
		o = &mcpauth.ResourceOptions{}
	}
	if o.Logger == nil {
		o.Logger = quiet
	}
	r, err := mcpauth.NewResource(resourceURL, v, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bearing is a request with a token.
func bearing(token string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, resourceURL, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// described names a case by number where a name would be long.
func described(n int, what string) string { return fmt.Sprintf("%02d %s", n, what) }
