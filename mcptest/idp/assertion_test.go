package idp_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

const idjag = "urn:ietf:params:oauth:token-type:id-jag"

// corporate is an enterprise's identity provider and the authorization server of an MCP server that trusts it.
func corporate(t *testing.T) (corp, as *idp.Server) {
	t.Helper()
	corp = idp.Start(t, &idp.Options{Auto: auto, Clients: []idp.Client{{ID: "host", Secret: "corp-secret", RedirectURIs: []string{callback}}, {ID: "stranger", Secret: "s"}},
		SubjectToken: func(_ context.Context, kind, token string) (string, error) {
			if kind == mcpauth.TokenTypeSAML && token == "<Assertion/>" {
				return "bob", nil
			}
			return "", errors.New("no")
		}})
	as = idp.Start(t, &idp.Options{Resources: []idp.Resource{{URI: resource, Scopes: []string{"tools", "admin"}}},
		Clients: []idp.Client{{ID: "host-at-as", Secret: "as-secret"}, {ID: "other", Secret: "o"}, {ID: "public", RedirectURIs: []string{callback}, Grants: []string{idp.GrantJWTBearer}}},
		Trust:   []idp.Trust{{Issuer: corp.Issuer(), Keys: corp.Keys}}})
	corp.AddPeer(idp.Peer{Issuer: as.Issuer(), Resources: []string{resource}, Clients: map[string]string{"host": "host-at-as"}, Scopes: []string{"tools"}})
	return corp, as
}

// subjectToken signs a person in at the enterprise.
func subjectToken(t *testing.T, corp *idp.Server) (id, refresh string) {
	t.Helper()
	q := newBrowser(t).open(asking(corp, "host", callback, "scope", "openid"))
	_, d := post(t, corp.Issuer()+idp.Token, url.Values{"grant_type": {idp.GrantCode}, "code": q["code"], "redirect_uri": {callback}, "client_id": {"host"}, "client_secret": {"corp-secret"}, "code_verifier": {verifier}})
	return d["id_token"].(string), d["refresh_token"].(string)
}

// An enterprise's identity provider vouches for its person, from sign-in to access token.
func TestEnterpriseManaged(t *testing.T) {
	corp, as := corporate(t)
	id, refresh := subjectToken(t, corp)
	ask := func(changes ...string) (int, doc) {
		t.Helper()
		form := url.Values{"grant_type": {idp.GrantTokenExchange}, "requested_token_type": {idjag}, "audience": {as.Issuer()}, "resource": {resource}, "scope": {"tools"},
			"subject_token": {id}, "subject_token_type": {mcpauth.TokenTypeID}, "client_id": {"host"}, "client_secret": {"corp-secret"}}
		for i := 0; i < len(changes); i += 2 {
			form.Set(changes[i], changes[i+1])
		}
		return post(t, corp.Issuer()+idp.Token, form)
	}
	for name, c := range map[string]struct {
		changes []string
		sub     string
	}{
		"ID token":      {nil, "alice"},
		"refresh token": {[]string{"subject_token", refresh, "subject_token_type", "urn:ietf:params:oauth:token-type:refresh_token"}, "alice"},
		"SAML":          {[]string{"subject_token", "<Assertion/>", "subject_token_type", mcpauth.TokenTypeSAML}, "bob"},
	} {
		status, d := ask(c.changes...)
		if status != 200 || d["issued_token_type"] != idjag || d["token_type"] != "N_A" {
			t.Errorf("%s: status %d, %v", name, status, d)
			continue
		}
		form := url.Values{"grant_type": {idp.GrantJWTBearer}, "assertion": {d["access_token"].(string)}, "client_id": {"host-at-as"}, "client_secret": {"as-secret"}}
		status, d = post(t, as.Issuer()+idp.Token, form)
		if status != 200 || d["refresh_token"] != nil || d["scope"] != "tools" {
			t.Errorf("%s: status %d, %v", name, status, d)
			continue
		}
		if got := claims(t, d["access_token"]); got["sub"] != c.sub || got["aud"] != resource || got["client_id"] != "host-at-as" || (got["auth_time"] != nil) != (name != "SAML") {
			t.Errorf("%s: %v", name, got)
		}
		status, d = post(t, as.Issuer()+idp.Token, form)
		refused(t, name+", replayed", "invalid_grant", status, d)
	}
	access := func() string {
		q := newBrowser(t).open(asking(corp, "host", callback, "scope", "openid"))
		_, d := post(t, corp.Issuer()+idp.Token, url.Values{"grant_type": {idp.GrantCode}, "code": q["code"], "redirect_uri": {callback}, "client_id": {"host"}, "client_secret": {"corp-secret"}, "code_verifier": {verifier}})
		return d["access_token"].(string)
	}
	for name, c := range map[string]struct {
		want    string
		changes []string
	}{
		"another audience":      {"invalid_target", []string{"audience", "https://else.example"}},
		"another resource":      {"invalid_target", []string{"resource", "https://else.example"}},
		"more scope":            {"invalid_scope", []string{"scope", "tools admin"}},
		"another kind of token": {"invalid_request", []string{"requested_token_type", mcpauth.TokenTypeID}},
		"a stranger's":          {"invalid_target", []string{"client_id", "stranger", "client_secret", "s"}},
		"no secret":             {"invalid_client", []string{"client_secret", ""}},
		"an access token":       {"invalid_grant", []string{"subject_token", access()}},
		"rubbish":               {"invalid_grant", []string{"subject_token", "x.y.z"}},
		"wrong SAML":            {"invalid_grant", []string{"subject_token", "<Forged/>", "subject_token_type", mcpauth.TokenTypeSAML}},
	} {
		status, d := ask(c.changes...)
		refused(t, name, c.want, status, d)
	}
	var doc map[string]any
	if _, doc = fetchJSON(t, as.Issuer()+"/.well-known/oauth-authorization-server"); doc["authorization_grant_profiles_supported"] == nil {
		t.Error("identity assertions are not announced")
	}
}

// Every claim of an identity assertion is checked.
func TestForgedIdentityAssertions(t *testing.T) {
	keys, foreign := newSigner(t), newSigner(t)
	as := idp.Start(t, &idp.Options{Resources: []idp.Resource{{URI: resource, Scopes: []string{"tools", "admin"}}},
		Clients: []idp.Client{{ID: "host", Secret: "s"}, {ID: "public", RedirectURIs: []string{callback}, Grants: []string{idp.GrantJWTBearer}}},
		Trust: []idp.Trust{{Issuer: "https://corp.example", Keys: func(context.Context) (*jose.JSONWebKeySet, error) {
			return &jose.JSONWebKeySet{Keys: []jwk{keys.public()}}, nil
		}}, {Issuer: "https://down.example", Keys: func(context.Context) (*jose.JSONWebKeySet, error) { return nil, errors.New("down") }}}})
	good := doc{"iss": "https://corp.example", "sub": "alice", "aud": as.Issuer(), "client_id": "host", "resource": resource, "scope": "tools", "jti": "0", "exp": unix(time.Minute), "iat": unix(0)}
	present := func(assertion string, more ...string) (int, doc) {
		t.Helper()
		form := url.Values{"grant_type": {idp.GrantJWTBearer}, "assertion": {assertion}, "client_id": {"host"}, "client_secret": {"s"}}
		for i := 0; i < len(more); i += 2 {
			form.Set(more[i], more[i+1])
		}
		return post(t, as.Issuer()+idp.Token, form)
	}
	const typ = "oauth-id-jag+jwt"
	for name, c := range map[string]struct {
		want    string
		changes doc
		more    []string
	}{
		"right":                {"", nil, nil},
		"right, one resource":  {"", doc{"resource": []string{resource}}, []string{"resource", resource}},
		"replayed":             {"invalid_grant", doc{"jti": "0"}, nil},
		"another audience":     {"invalid_grant", doc{"aud": "https://else.example"}, nil},
		"several audiences":    {"invalid_grant", doc{"aud": []string{as.Issuer(), "https://else.example"}}, nil},
		"another issuer":       {"invalid_grant", doc{"iss": "https://evil.example"}, nil},
		"no keys":              {"temporarily_unavailable", doc{"iss": "https://down.example"}, nil},
		"another client's":     {"invalid_grant", doc{"client_id": "public"}, nil},
		"no client":            {"invalid_grant", doc{"client_id": nil}, nil},
		"public client":        {"invalid_client", doc{"client_id": "public"}, []string{"client_id", "public", "client_secret", ""}},
		"nobody authenticated": {"invalid_client", nil, []string{"client_id", "", "client_secret", ""}},
		"unknown resource":     {"invalid_grant", doc{"resource": "https://else.example"}, nil},
		"another resource":     {"invalid_target", nil, []string{"resource", "https://else.example"}},
		"more scope":           {"invalid_scope", nil, []string{"scope", "tools admin"}},
		"expired":              {"invalid_grant", doc{"exp": unix(-time.Minute)}, nil},
		"no expiry":            {"invalid_grant", doc{"exp": nil}, nil},
		"for an hour":          {"invalid_grant", doc{"exp": unix(time.Hour)}, nil},
		"of tomorrow":          {"invalid_grant", doc{"iat": unix(time.Hour)}, nil},
		"no iat":               {"invalid_grant", doc{"iat": nil}, nil},
		"no jti":               {"invalid_grant", doc{"jti": nil}, nil},
		"no subject":           {"invalid_grant", doc{"sub": nil}, nil},
		"unknown person":       {"invalid_grant", doc{"sub": "mallory"}, nil},
	} {
		if name == "replayed" {
			present(keys.sign(typ, false, good))
		}
		status, d := present(keys.sign(typ, false, with(with(good, doc{"jti": name}), c.changes)), c.more...)
		if c.want == "" {
			if status != 200 {
				t.Errorf("%s: status %d, %v", name, status, d)
			}
			continue
		}
		refused(t, name, c.want, status, d)
	}
	for name, assertion := range map[string]string{
		"another type":  keys.sign("JWT", false, with(good, doc{"jti": "t1"})),
		"another key":   foreign.sign(typ, false, with(good, doc{"jti": "t2"})),
		"embedded key":  foreign.sign(typ, true, with(good, doc{"jti": "t3"})),
		"no signature":  "eyJhbGciOiJub25lIiwidHlwIjoib2F1dGgtaWQtamFnK2p3dCJ9.e30.",
		"not a JWT":     "x",
		"nothing there": "",
	} {
		status, d := present(assertion)
		refused(t, name, "invalid_grant", status, d)
	}
}

// A workload's assertion gets its client a token.
func TestWorkloads(t *testing.T) {
	keys := newSigner(t)
	p := idp.Start(t, &idp.Options{Clients: []idp.Client{{ID: "batch", Secret: "s"}, {ID: "other", Secret: "o"}}, Trust: []idp.Trust{{Issuer: "https://cloud.example",
		Workloads: map[string]string{"system:batch": "batch"}, Keys: func(context.Context) (*jose.JSONWebKeySet, error) {
			return &jose.JSONWebKeySet{Keys: []jwk{keys.public()}}, nil
		}}}})
	good := doc{"iss": "https://cloud.example", "sub": "system:batch", "aud": p.Issuer(), "exp": unix(time.Minute), "jti": "1"}
	try := func(changes doc, more ...string) (int, doc) {
		form := url.Values{"grant_type": {idp.GrantJWTBearer}, "assertion": {keys.sign("JWT", false, with(good, changes))}, "resource": {resource}}
		for i := 0; i < len(more); i += 2 {
			form.Set(more[i], more[i+1])
		}
		return post(t, p.Issuer()+idp.Token, form)
	}
	status, d := try(nil)
	if status != 200 {
		t.Fatalf("status %d, %v", status, d)
	}
	if got := claims(t, d["access_token"]); got["sub"] != "batch" || got["client_id"] != "batch" || got["aud"] != resource {
		t.Errorf("%v", got)
	}
	if status, d = try(doc{"jti": "2"}, "client_id", "batch", "client_secret", "s"); status != 200 {
		t.Errorf("with its secret: status %d, %v", status, d)
	}
	status, d = try(nil)
	refused(t, "replayed", "invalid_grant", status, d)
	status, d = try(doc{"jti": "3", "sub": "system:evil"})
	refused(t, "another workload", "invalid_grant", status, d)
	status, d = try(doc{"jti": "4", "aud": "https://else.example"})
	refused(t, "another audience", "invalid_grant", status, d)
	status, d = try(doc{"jti": "5"}, "client_id", "other", "client_secret", "o")
	refused(t, "another client", "invalid_grant", status, d)
	if err := p.AddTrust(idp.Trust{Issuer: "x"}); err == nil {
		t.Error("an issuer without keys is trusted")
	}
}

func fetchJSON(t *testing.T, u string) (int, doc) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	return send(t, req)
}
