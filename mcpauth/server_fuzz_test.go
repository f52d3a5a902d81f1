package mcpauth_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/seed38e7925c/parley/mcpauth"
)

// FuzzAuthorization: of any header and query, the verifier sees exactly the one token that the header has, and a refusal is a challenge
// that can be read.
func FuzzAuthorization(f *testing.F) {
	for _, s := range []string{"Bearer abc", "bearer  a.b.c==", "DPoP x", "Basic x", "", "Bearer", "Bearer a, Bearer b", "Bearer \"a\"", "Bearer a\r\nX: y"} {
		f.Add(s, "")
		f.Add(s, "access_token=x&a=b")
	}
	var seen string
	v := mcpauth.VerifierFunc(func(_ context.Context, token string) (*mcpauth.Token, error) {
		seen = token
		return &mcpauth.Token{Issuer: "i", Subject: "s", ClientID: "c", Audience: []string{resourceURL}}, nil
	})
	res := resourceWith(f, v, &mcpauth.ResourceOptions{AuthorizationServers: []string{"https://login.example"}, Scopes: []string{"none.has.it"}})
	f.Fuzz(func(t *testing.T, header, query string) {
		seen = ""
		req := httptest.NewRequest("POST", resourceURL, nil)
		req.URL.RawQuery = query
		req.Header["Authorization"] = []string{header}
		e := refused(t, res, req)
		ch := challenged(e)
		if ch == nil || ch.ResourceMetadata != "https://travel.example/.well-known/oauth-protected-resource/mcp" || len(ch.Scopes) != 1 {
			t.Fatalf("challenge %q", e.Challenges)
		}
		for i := range len(e.Challenges[0]) {
			if c := e.Challenges[0][i]; c < ' ' || c > '~' {
				t.Fatalf("challenge %q", e.Challenges)
			}
		}
		scheme, token, _ := strings.Cut(header, " ")
		switch {
		case seen == "":
			if e.Status != 401 && e.Status != 400 {
				t.Fatalf("%d without a token", e.Status)
			}
		case seen != strings.Trim(token, " "), strings.ContainsAny(seen, " ,\"\r\n\t"), !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "DPoP"),
			strings.HasPrefix(query, "access_token="), strings.Contains(query, "&access_token="):
			t.Fatalf("%q of %q, query %q", seen, header, query)
		}
	})
}

// farAway is an end that no fuzzing reaches.
var farAway = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

// FuzzJWT: no token counts whose claims were not signed.
func FuzzJWT(f *testing.F) {
	es, rs := newKey(f, "e", jose.ES256), newKey(f, "r", jose.RS256)
	i := bubbleIssuer(f, es)
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{es.jwk(), rs.jwk()}})
	if err != nil {
		f.Fatal(err)
	}
	v := mcpauth.JWT(i.url, &mcpauth.JWTOptions{JWKS: keys, Logger: quiet})
	signed := map[string]bool{}
	for _, k := range []*signingKey{es, rs} {
		for _, changes := range []claims{{"exp": farAway}, {"exp": farAway, "sub": "bob", "aud": []string{"a", "b"}, "cnf": claims{"jkt": "x"}}} {
			payload, err := json.Marshal(i.claims(changes))
			if err != nil {
				f.Fatal(err)
			}
			signed[string(payload)] = true
			token := k.sign(f, map[string]any{"typ": "at+jwt"}, payload)
			if _, err := v.Verify(f.Context(), token); err != nil {
				f.Fatal(err)
			}
			f.Add(token)
			f.Add(unsignedProof(token))
		}
	}
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, token string) {
		got, err := v.Verify(t.Context(), token)
		if err != nil {
			return
		}
		if !signed[string(got.Claims)] || got.Issuer != i.url || got.Expiry.IsZero() {
			t.Fatalf("%+v of %q", got, token)
		}
		middle, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
		if err != nil || !bytes.Equal(middle, got.Claims) {
			t.Fatalf("claims %s of %q", got.Claims, token)
		}
	})
}

// FuzzProof: no proof counts that was not signed with the key that the token is bound to.
func FuzzProof(f *testing.F) {
	i := bubbleIssuer(f, newKey(f, "k", jose.ES256))
	h := newHolder(f, i, jose.ES256)
	v := mcpauth.VerifierFunc(func(context.Context, string) (*mcpauth.Token, error) {
		return &mcpauth.Token{Issuer: i.url, Subject: "s", Audience: []string{resourceURL}, KeyThumbprint: h.thumbprint(), KeepFor: time.Hour}, nil
	})
	res := resourceWith(f, v, &mcpauth.ResourceOptions{AuthorizationServers: []string{i.url}, DPoP: &mcpauth.DPoPOptions{MaxAge: 24 * time.Hour}})
	good := h.proof(nil, nil)
	f.Add(good)
	f.Add(unsignedProof(good))
	f.Add(bent(good))
	f.Add(h.key.sign(f, map[string]any{"typ": "dpop+jwt"}, claims{}))
	f.Fuzz(func(t *testing.T, proof string) {
		if _, err := res.Authenticate(sending("DPoP", h.token, proof)); err == nil && strings.Split(proof, ".")[1] != strings.Split(good, ".")[1] {
			t.Fatalf("%q counts", proof)
		}
	})
}
