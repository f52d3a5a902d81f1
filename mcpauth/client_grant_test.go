package mcpauth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/seed38e7925c/parley/mcpauth"
)

func TestClientAuthentication(t *testing.T) {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	for name, c := range map[string]struct {
		reg     mcpauth.Registration
		methods []string
		check   func(h http.Header, f url.Values) bool
	}{
		"basic": {mcpauth.Registration{ClientSecret: "p:w %"}, nil, func(h http.Header, f url.Values) bool {
			pair, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(h.Get("Authorization"), "Basic "))
			return string(pair) == "a%3Ab:p%3Aw+%25" && !f.Has("client_secret") && !f.Has("client_id")
		}},
		"post": {mcpauth.Registration{ClientSecret: "pw"}, []string{"client_secret_post"}, func(h http.Header, f url.Values) bool {
			return h.Get("Authorization") == "" && f.Get("client_id") == "a:b" && f.Get("client_secret") == "pw"
		}},
		"jwt": {mcpauth.Registration{PrivateKey: key, KeyID: "k1"}, []string{"private_key_jwt"}, func(_ http.Header, f url.Values) bool {
			tok, err := jwt.ParseSigned(f.Get("client_assertion"), []jose.SignatureAlgorithm{jose.ES256})
			var claims jwt.Claims
			return err == nil && tok.Claims(key.Public(), &claims) == nil && claims.Subject == "a:b" && claims.Issuer == "a:b" && claims.ID != "" &&
				claims.ValidateWithLeeway(jwt.Expected{Time: time.Now()}, time.Second) == nil && !f.Has("client_id") && tok.Headers[0].KeyID == "k1"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.meta = func() map[string]any {
				m := w.usualMeta()
				m["token_endpoint_auth_methods_supported"] = c.methods
				return m
			}
			c.reg.Issuer, c.reg.ClientID = w.as.URL, "a:b"
			w.mustPost(w.transport(&mcpauth.ClientOptions{Grant: mcpauth.ClientCredentials(), Registrations: []*mcpauth.Registration{&c.reg}}))
			if !c.check(w.headers[0], w.forms[0]) || w.forms[0].Get("resource") != w.url() || w.forms[0].Get("grant_type") != "client_credentials" {
				t.Errorf("headers %v, form %v", w.headers[0], w.forms[0])
			}
			if w.asked("AS /authorize")+w.asked("AS /register") != 0 {
				t.Error("a person was asked, or the client registered")
			}
		})
	}
}

func TestClientCannotAuthenticate(t *testing.T) {
	w := newWorld(t)
	w.meta = func() map[string]any {
		m := w.usualMeta()
		m["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt"}
		return m
	}
	w.mustRefuse(w.transport(&mcpauth.ClientOptions{Grant: mcpauth.ClientCredentials(), Registrations: []*mcpauth.Registration{{Issuer: w.as.URL, ClientID: "c", ClientSecret: "s"}}}),
		"private_key_jwt")
}

// A secret is for its issuer only.
func TestThreat08SecretOfAnotherIssuer(t *testing.T) {
	w := newWorld(t)
	w.mustRefuse(w.transport(&mcpauth.ClientOptions{Grant: mcpauth.ClientCredentials(), Registrations: []*mcpauth.Registration{{Issuer: "https://as.test", ClientID: "c", ClientSecret: "s"}}}),
		"names no client")
	w.mustRefuse(w.transport(&mcpauth.ClientOptions{Grant: mcpauth.ClientCredentials(), Registered: func(context.Context, string) (*mcpauth.Registration, error) {
		return &mcpauth.Registration{Issuer: "https://as.test", ClientID: "c", ClientSecret: "s"}, nil
	}}), "expected a registration")
	w.mustRefuse(w.transport(&mcpauth.ClientOptions{Registered: func(context.Context, string) (*mcpauth.Registration, error) {
		return nil, errors.New("the vault is shut")
	}}), "vault is shut")
}

func TestClientMetadataDocument(t *testing.T) {
	const id = "https://host.test/client.json"
	w := newWorld(t)
	w.meta = func() map[string]any {
		m := w.usualMeta()
		m["client_id_metadata_document_supported"] = true
		return m
	}
	w.expires = 1e-9
	tr := w.transport(&mcpauth.ClientOptions{ClientMetadataURL: id})
	w.mustPost(tr)
	w.mustPost(tr) // renewed
	if w.asked("AS /register") != 0 || w.authURL.Get("client_id") != id || w.forms[0].Get("client_id") != id || w.forms[1].Get("client_id") != id {
		t.Errorf("forms %v", w.forms)
	}
}

func TestPreregisteredRefresh(t *testing.T) {
	w := newWorld(t)
	w.expires = 1e-9
	tr := w.transport(&mcpauth.ClientOptions{Registrations: []*mcpauth.Registration{{Issuer: w.as.URL, ClientID: "c", ClientSecret: "s"}}})
	w.mustPost(tr)
	w.mustPost(tr)
	if w.forms[1].Get("grant_type") != "refresh_token" || w.headers[1].Get("Authorization") == "" || w.asked("AS /register") != 0 {
		t.Errorf("form %v", w.forms[1])
	}
}

func TestWorkloadIdentity(t *testing.T) {
	w := newWorld(t)
	w.prm = func() (int, any) {
		return 200, map[string]any{"resource": w.url(), "authorization_servers": []string{w.as.URL}, "scopes_supported": []string{"s"}}
	}
	w.mustPost(w.transport(&mcpauth.ClientOptions{Grant: mcpauth.JWTBearer(func(_ context.Context, r *mcpauth.GrantRequest) (string, error) {
		return "jwt-for " + r.Issuer, nil
	})}))
	if f := w.forms[0]; f.Get("assertion") != "jwt-for "+w.as.URL || f.Get("scope") != "s" || !strings.HasSuffix(f.Get("grant_type"), "jwt-bearer") {
		t.Errorf("form %v", f)
	}
	w2 := newWorld(t)
	w2.mustRefuse(w2.transport(&mcpauth.ClientOptions{Grant: mcpauth.JWTBearer(func(context.Context, *mcpauth.GrantRequest) (string, error) {
		return "", errors.New("no identity here")
	})}), "no identity here")
}

func TestEnterpriseManaged(t *testing.T) {
	w, idp := newWorld(t), newWorld(t)
	issued := "urn:ietf:params:oauth:token-type:id-jag"
	idp.answer = func(url.Values) (int, string) {
		return 200, `{"access_token":"the-id-jag","token_type":"N_A","issued_token_type":"` + issued + `"}`
	}
	e := &mcpauth.Enterprise{TokenEndpoint: idp.as.URL + "/token", Client: &mcpauth.Registration{Issuer: idp.as.URL, ClientID: "sso", ClientSecret: "s"},
		SubjectToken: func(context.Context) (string, string, error) { return "the-id-token", "", nil }}
	o := &mcpauth.ClientOptions{Grant: mcpauth.EnterpriseManaged(e), Registrations: []*mcpauth.Registration{{Issuer: w.as.URL, ClientID: "c", ClientSecret: "s2"}}}
	w.mustPost(w.transport(o))
	x, f := idp.forms[0], w.forms[0]
	if x.Get("audience") != w.as.URL || x.Get("resource") != w.url() || x.Get("subject_token") != "the-id-token" || x.Get("requested_token_type") != issued {
		t.Errorf("exchange %v", x)
	}
	if f.Get("assertion") != "the-id-jag" || f.Has("subject_token") {
		t.Errorf("token request %v", f)
	}
	issued = "urn:ietf:params:oauth:token-type:access_token"
	w2 := newWorld(t)
	o.Registrations = nil
	w2.mustRefuse(w2.transport(o), "instead of an identity assertion")
	w2.mustRefuse(w2.transport(&mcpauth.ClientOptions{Grant: mcpauth.EnterpriseManaged(nil)}), "Enterprise")
}

func TestDPoP(t *testing.T) {
	w := newWorld(t)
	nonce := "n1"
	seen := map[string]bool{}
	check := func(h http.Header, withToken string) bool {
		tok, err := jwt.ParseSigned(h.Get("DPoP"), []jose.SignatureAlgorithm{jose.ES256})
		if err != nil {
			return false
		}
		var claims map[string]any
		jwk := tok.Headers[0].JSONWebKey
		if jwk == nil || !jwk.IsPublic() || tok.Claims(jwk.Key, &claims) != nil || seen[claims["jti"].(string)] {
			t.Errorf("proof %v", tok.Headers)
			return false
		}
		seen[claims["jti"].(string)] = true
		return claims["nonce"] == nonce && (claims["ath"] != nil) == (withToken != "") && !strings.Contains(claims["htu"].(string), "?")
	}
	w.rs.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" || r.Header.Get("Authorization") == "" {
			w.serveRS(rw, r)
			return
		}
		rw.Header().Set("DPoP-Nonce", nonce)
		if !strings.HasPrefix(r.Header.Get("Authorization"), "DPoP ") || !check(r.Header, "x") {
			rw.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
			rw.WriteHeader(401)
		}
	})
	asNonce := false
	w.as.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			w.serveAS(rw, r)
			return
		}
		rw.Header().Set("DPoP-Nonce", nonce)
		rw.Header().Set("Content-Type", "application/json")
		if !check(r.Header, "") {
			asNonce = true
			rw.WriteHeader(400)
			_, _ = rw.Write([]byte(`{"error":"use_dpop_nonce"}`))
			return
		}
		_, _ = rw.Write([]byte(`{"access_token":"bound","token_type":"DPoP","expires_in":"3600"}`))
	})
	store := mcpauth.NewMemoryStore()
	tr := w.transport(&mcpauth.ClientOptions{DPoP: true, Store: store})
	if status, err := post(tr, w.url()+"?x=1"); err != nil || status != 200 || !asNonce {
		t.Fatalf("status %d, error %v", status, err)
	}
	nonce = "n2"
	w.mustPost(tr)
	w.mustPost(w.transport(&mcpauth.ClientOptions{DPoP: true, Store: store})) // the key is kept with the token
	w.mustRefuseStatus(w.transport(nil))
}

// mustRefuseStatus demands that a client without DPoP does not use a bound token.
func (w *world) mustRefuseStatus(tr http.RoundTripper) {
	w.t.Helper()
	if _, err := post(tr, w.url()); err == nil {
		w.t.Error("no error")
	}
}
