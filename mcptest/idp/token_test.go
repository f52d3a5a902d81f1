package idp_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcptest/idp"
)

// codeFor gets a code for the public client "app" by the front channel.
func codeFor(t *testing.T, p *idp.Server, changes ...string) url.Values {
	t.Helper()
	q := newBrowser(t).open(asking(p, "app", callback, changes...))
	if q.Get("code") == "" {
		t.Fatalf("no code: %v", q)
	}
	return url.Values{"grant_type": {idp.GrantCode}, "code": q["code"], "redirect_uri": {callback}, "client_id": {"app"}, "code_verifier": {verifier}}
}

// Every wrong way to redeem a code is refused, and the right way works once.
func TestRedeeming(t *testing.T) {
	now := time.Now()
	p := idp.Start(t, &idp.Options{Auto: auto, Clients: []idp.Client{app, {ID: "other", RedirectURIs: []string{callback}}}, Now: func() time.Time { return now }})
	for name, c := range map[string]struct {
		field, value, want string
	}{
		"no verifier":          {"code_verifier", "", "invalid_grant"},
		"wrong verifier":       {"code_verifier", verifier + "x", "invalid_grant"},
		"another redirect":     {"redirect_uri", "http://127.0.0.1:1/callback", "invalid_grant"},
		"no redirect":          {"redirect_uri", "", "invalid_grant"},
		"another client":       {"client_id", "other", "invalid_grant"},
		"an unknown client":    {"client_id", "ghost", "invalid_client"},
		"no client":            {"client_id", "", "invalid_client"},
		"a secret":             {"client_secret", "x", "invalid_client"},
		"another resource":     {"resource", "https://else.example", "invalid_target"},
		"another code":         {"code", "guess", "invalid_grant"},
		"another grant":        {"grant_type", "password", "unsupported_grant_type"},
		"a grant not its own":  {"grant_type", idp.GrantClientCredentials, "unauthorized_client"},
		"no grant type at all": {"grant_type", "", "unsupported_grant_type"},
	} {
		form := codeFor(t, p, "resource", resource)
		form.Set(c.field, c.value)
		status, d := post(t, p.Issuer()+idp.Token, form)
		refused(t, name, c.want, status, d)
	}
	form := codeFor(t, p)
	form.Add("code", "twice")
	status, d := post(t, p.Issuer()+idp.Token, form)
	refused(t, "a parameter twice", "invalid_request", status, d)
	status, d = post(t, p.Issuer()+idp.Token+"?x=y", codeFor(t, p))
	refused(t, "parameters in the URL", "invalid_request", status, d)
	form = codeFor(t, p)
	now = now.Add(61 * time.Second)
	status, d = post(t, p.Issuer()+idp.Token, form)
	refused(t, "an old code", "invalid_grant", status, d)
}

// A code that is presented twice takes along what was issued for it.
func TestThreat04CodeReplay(t *testing.T) {
	p := idp.Start(t, &idp.Options{Auto: auto, Clients: []idp.Client{app}})
	form := codeFor(t, p)
	status, d := post(t, p.Issuer()+idp.Token, form)
	if status != 200 || d["refresh_token"] == nil {
		t.Fatalf("status %d, %v", status, d)
	}
	access := d["access_token"].(string)
	if _, _, err := p.Check(access, p.Issuer()); err != nil {
		t.Error(err)
	}
	status, again := post(t, p.Issuer()+idp.Token, form)
	refused(t, "the second time", "invalid_grant", status, again)
	if _, _, err := p.Check(access, p.Issuer()); err == nil {
		t.Error("the token that was issued for it is still valid")
	}
	status, again = post(t, p.Issuer()+idp.Token, url.Values{"grant_type": {idp.GrantRefresh}, "refresh_token": {d["refresh_token"].(string)}, "client_id": {"app"}})
	refused(t, "its refresh token", "invalid_grant", status, again)
	if p.Count("reuse") != 1 || p.Events()[idp.GrantCode] != 2 {
		t.Errorf("events %v", p.Events())
	}
}

// Access tokens are for the resource that was named, and say so (RFC 8707, RFC 9068).
func TestAccessTokens(t *testing.T) {
	p := idp.Start(t, &idp.Options{Auto: auto, Users: []idp.User{{Subject: "alice", Claims: doc{"oid": "o-1", "tid": "t-1", "sub": "forged"}}}, Clients: []idp.Client{app}})
	_, d := post(t, p.Issuer()+idp.Token, codeFor(t, p, "resource", resource, "scope", "tools"))
	c := claims(t, d["access_token"])
	for name, want := range map[string]any{"iss": p.Issuer(), "sub": "alice", "aud": resource, "client_id": "app", "scope": "tools", "oid": "o-1", "tid": "t-1"} {
		if c[name] != want {
			t.Errorf("%s: expected %v, got %v", name, want, c[name])
		}
	}
	if c["jti"] == "" || c["exp"].(float64)-c["iat"].(float64) != 300 || d["id_token"] != nil || d["scope"] != "tools" {
		t.Errorf("%v, %v", c, d)
	}
	refreshed := func(form url.Values) (int, doc) {
		form.Set("grant_type", idp.GrantRefresh)
		form.Set("client_id", "app")
		form.Set("refresh_token", d["refresh_token"].(string))
		return post(t, p.Issuer()+idp.Token, form)
	}
	status, bad := refreshed(url.Values{"scope": {"tools admin"}})
	refused(t, "more scope by a renewal", "invalid_scope", status, bad)
	status, bad = refreshed(url.Values{"resource": {"https://else.example"}})
	refused(t, "another resource by a renewal", "invalid_target", status, bad)
	if status, d = refreshed(url.Values{"resource": {resource}}); status != 200 || claims(t, d["access_token"])["aud"] != resource {
		t.Errorf("status %d, %v", status, d)
	}
	_, d = post(t, p.Issuer()+idp.Token, codeFor(t, p, "resource", resource, "scope", "openid"))
	if aud, _ := claims(t, d["access_token"])["aud"].([]any); len(aud) != 2 || aud[0] != resource || aud[1] != p.Issuer() {
		t.Errorf("with openid: %v", aud)
	}
}

// With pairwise subjects a person is another one for each client; the claims of the user stay.
func TestPairwiseSubjects(t *testing.T) {
	p := idp.Start(t, &idp.Options{Auto: auto, Pairwise: true, Users: []idp.User{{Subject: "alice", Claims: doc{"oid": "o-1"}}},
		Clients: []idp.Client{app, {ID: "web1", RedirectURIs: []string{"https://web.example/1"}}, {ID: "web2", RedirectURIs: []string{"https://web.example/2"}}}})
	sub := func(client, redirect string) any {
		q := newBrowser(t).open(asking(p, client, redirect, "scope", "openid"))
		_, d := post(t, p.Issuer()+idp.Token, url.Values{"grant_type": {idp.GrantCode}, "code": q["code"], "redirect_uri": {redirect}, "client_id": {client}, "code_verifier": {verifier}})
		a, i := claims(t, d["access_token"]), claims(t, d["id_token"])
		if a["sub"] != i["sub"] || a["sub"] == "alice" || i["oid"] != "o-1" || a["oid"] != "o-1" {
			t.Errorf("access token %v, ID token %v", a, i)
		}
		return a["sub"]
	}
	one, two, three := sub("app", callback), sub("web1", "https://web.example/1"), sub("web2", "https://web.example/2")
	if one == two || two != three || one != sub("app", callback) {
		t.Errorf("subjects %v, %v, %v", one, two, three)
	}
}

// Clients authenticate in the way they are registered for, with what is theirs, once.
func TestClientAuthentication(t *testing.T) {
	keys, foreign := newSigner(t), newSigner(t)
	p := idp.Start(t, &idp.Options{Clients: []idp.Client{{ID: "svc", Secret: "sécret: %"}, app, {ID: "jwt", Keys: []jwk{keys.public()}}}})
	try := func(form url.Values, header ...string) (int, doc) {
		t.Helper()
		form.Set("grant_type", idp.GrantClientCredentials)
		form.Set("resource", resource)
		return post(t, p.Issuer()+idp.Token, form, header...)
	}
	basic := func(id, secret string) []string {
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
		return []string{"Authorization", r.Header.Get("Authorization")}
	}
	good := doc{"iss": "jwt", "sub": "jwt", "aud": p.Issuer(), "exp": unix(time.Minute), "iat": unix(0), "jti": "1"}
	assert := func(s *signer, changes doc) url.Values {
		return url.Values{"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {s.sign("JWT", false, with(good, changes))}}
	}
	for name, c := range map[string]struct {
		form   url.Values
		header []string
	}{
		"basic":       {url.Values{}, basic("svc", "sécret: %")},
		"post":        {url.Values{"client_id": {"svc"}, "client_secret": {"sécret: %"}}, nil},
		"private key": {assert(keys, nil), nil},
	} {
		status, d := try(c.form, c.header...)
		if status != 200 {
			t.Errorf("%s: status %d, %v", name, status, d)
			continue
		}
		if got := claims(t, d["access_token"]); got["sub"] != got["client_id"] || d["refresh_token"] != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, c := range map[string]struct {
		form   url.Values
		header []string
		want   string
	}{
		"wrong secret":         {url.Values{}, basic("svc", "guess"), "invalid_client"},
		"no secret":            {url.Values{"client_id": {"svc"}}, nil, "invalid_client"},
		"two ways":             {url.Values{"client_id": {"svc"}, "client_secret": {"sécret: %"}}, basic("svc", "sécret: %"), "invalid_request"},
		"public":               {url.Values{"client_id": {"app"}}, nil, "unauthorized_client"},
		"id only":              {url.Values{"client_id": {"jwt"}}, nil, "invalid_client"},
		"the same assertion":   {assert(keys, nil), nil, "invalid_client"},
		"no jti":               {assert(keys, doc{"jti": nil}), nil, "invalid_client"},
		"no exp":               {assert(keys, doc{"jti": "2", "exp": nil}), nil, "invalid_client"},
		"expired":              {assert(keys, doc{"jti": "3", "exp": unix(-time.Minute)}), nil, "invalid_client"},
		"lasts for ever":       {assert(keys, doc{"jti": "4", "exp": unix(24 * time.Hour)}), nil, "invalid_client"},
		"not yet":              {assert(keys, doc{"jti": "5", "nbf": unix(2 * time.Minute)}), nil, "invalid_client"},
		"for another server":   {assert(keys, doc{"jti": "6", "aud": "https://else.example"}), nil, "invalid_client"},
		"for several servers":  {assert(keys, doc{"jti": "7", "aud": []string{p.Issuer(), "https://else.example"}}), nil, "invalid_client"},
		"for the endpoint":     {assert(keys, doc{"jti": "8", "aud": p.Issuer() + idp.Token}), nil, "invalid_client"},
		"another's key":        {assert(foreign, doc{"jti": "9"}), nil, "invalid_client"},
		"issuer and subject":   {assert(keys, doc{"jti": "10", "iss": "svc"}), nil, "invalid_client"},
		"a client with secret": {assert(keys, doc{"jti": "11", "iss": "svc", "sub": "svc"}), nil, "invalid_client"},
		"no such client":       {assert(keys, doc{"jti": "12", "iss": "ghost", "sub": "ghost"}), nil, "invalid_client"},
		"no JWT":               {url.Values{"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {"eyJhbGciOiJub25lIn0.e30."}}, nil, "invalid_client"},
	} {
		status, d := try(c.form, c.header...)
		refused(t, name, c.want, status, d)
	}
	status, d := try(url.Values{"client_id": {"svc"}, "client_secret": {"sécret: %"}, "scope": {"openid"}})
	refused(t, "openid without a person", "invalid_scope", status, d)
}

// What the options say of refresh tokens is so.
func TestRefreshOptions(t *testing.T) {
	for name, c := range map[string]struct {
		o     idp.Options
		scope string
		want  bool
	}{
		"default":         {idp.Options{}, "", true},
		"none":            {idp.Options{NoRefreshTokens: true}, "", false},
		"not asked for":   {idp.Options{OfflineAccess: true}, "openid", false},
		"offline, please": {idp.Options{OfflineAccess: true}, "offline_access", true},
	} {
		c.o.Auto, c.o.Clients = auto, []idp.Client{app}
		p := idp.Start(t, &c.o)
		_, d := post(t, p.Issuer()+idp.Token, codeFor(t, p, "scope", c.scope))
		if got := d["refresh_token"] != nil; got != c.want {
			t.Errorf("%s: refresh token %v", name, got)
		}
	}
	now := time.Now()
	p := idp.Start(t, &idp.Options{Auto: auto, Clients: []idp.Client{app}, RefreshTokenTTL: time.Hour, Now: func() time.Time { return now }})
	_, d := post(t, p.Issuer()+idp.Token, codeFor(t, p))
	now = now.Add(2 * time.Hour)
	status, d := post(t, p.Issuer()+idp.Token, url.Values{"grant_type": {idp.GrantRefresh}, "client_id": {"app"}, "refresh_token": {d["refresh_token"].(string)}})
	refused(t, "an old refresh token", "invalid_grant", status, d)
}
