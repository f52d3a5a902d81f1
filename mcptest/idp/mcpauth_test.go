package idp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// protected is a resource server that takes the tokens of a provider.
func protected(t *testing.T, p *idp.Server) string {
	t.Helper()
	var rs *httptest.Server
	rs = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/") {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"resource": rs.URL + "/mcp", "authorization_servers": []string{p.Issuer()}})
			return
		}
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		owner, _, err := p.Check(token, rs.URL+"/mcp")
		if err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+rs.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, owner)
	}))
	t.Cleanup(rs.Close)
	return rs.URL + "/mcp"
}

// call asks a resource server as a host with our own client.
func call(t *testing.T, u string, o *mcpauth.ClientOptions) (string, error) {
	t.Helper()
	if o.Login == nil {
		o.Login = mcpauth.FollowRedirect(nil, callback)
	}
	tr, err := mcpauth.NewTransport(u, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, u, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != 200 {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return string(b), err
}

// Our own client logs in in every way that both sides know.
func TestOwnClient(t *testing.T) {
	keys := newSigner(t)
	documents := httptest.NewUnstartedServer(nil)
	documents.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := documents.URL + r.URL.Path
		if r.URL.Path == "/liar.json" {
			id = documents.URL + "/client.json"
		}
		if r.URL.Path == "/moved.json" {
			http.Redirect(w, r, "/client.json", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"client_id": id, "client_name": strings.Repeat("Host", len(r.URL.RawQuery)*1000+1), "redirect_uris": []string{"http://127.0.0.1/callback"}, "grant_types": []string{"authorization_code"}, "token_endpoint_auth_method": "none"})
	})
	documents.StartTLS()
	t.Cleanup(documents.Close)
	p := idp.Start(t, &idp.Options{Auto: auto, Path: "/tenant1", ClientDocuments: documents.Client(), DPoPNonces: true, Clients: []idp.Client{{ID: "svc", Secret: "s"}, {ID: "jwt", Keys: []jwk{keys.public()}}}})
	u := protected(t, p)
	registered := func(r mcpauth.Registration) []*mcpauth.Registration {
		r.Issuer = p.Issuer()
		return []*mcpauth.Registration{&r}
	}
	for name, c := range map[string]struct {
		o     mcpauth.ClientOptions
		owner string
	}{
		"registered by itself": {mcpauth.ClientOptions{}, "alice"},
		"by its document":      {mcpauth.ClientOptions{ClientMetadataURL: documents.URL + "/client.json"}, "alice"},
		"by another document":  {mcpauth.ClientOptions{ClientMetadataURL: documents.URL + "/liar.json"}, ""},
		"by a redirect":        {mcpauth.ClientOptions{ClientMetadataURL: documents.URL + "/moved.json"}, ""},
		"by a huge document":   {mcpauth.ClientOptions{ClientMetadataURL: documents.URL + "/huge.json?12345"}, ""},
		"secret":               {mcpauth.ClientOptions{Grant: mcpauth.ClientCredentials(), Registrations: registered(mcpauth.Registration{ClientID: "svc", ClientSecret: "s"})}, "svc"},
		"wrong secret":         {mcpauth.ClientOptions{Grant: mcpauth.ClientCredentials(), Registrations: registered(mcpauth.Registration{ClientID: "svc", ClientSecret: "x"})}, ""},
		"private key":          {mcpauth.ClientOptions{Grant: mcpauth.ClientCredentials(), Registrations: registered(mcpauth.Registration{ClientID: "jwt", PrivateKey: keys.key, KeyID: "k"})}, "jwt"},
	} {
		t.Run(name, func(t *testing.T) {
			owner, err := call(t, u, &c.o)
			if owner != c.owner || (err == nil) != (c.owner != "") {
				t.Errorf("owner %q, error %v", owner, err)
			}
		})
	}
	before := p.Count(idp.GrantCode)
	if _, err := call(t, u, &mcpauth.ClientOptions{DPoP: true}); err == nil || p.Count(idp.GrantCode) < before+2 {
		t.Errorf("DPoP: %v, %d requests", err, p.Count(idp.GrantCode)-before) // the nonce was asked for; this resource server takes no bound tokens
	}
}

// Our own client is vouched for by an enterprise's identity provider.
func TestOwnClientEnterprise(t *testing.T) {
	corp, as := corporate(t)
	id, _ := subjectToken(t, corp)
	u := protected(t, as)
	as.AddResource(idp.Resource{URI: u})
	corp.AddPeer(idp.Peer{Issuer: as.Issuer(), Resources: []string{u}, Clients: map[string]string{"host": "host-at-as"}})
	grant := mcpauth.EnterpriseManaged(&mcpauth.Enterprise{TokenEndpoint: corp.Issuer() + idp.Token, Client: &mcpauth.Registration{Issuer: corp.Issuer(), ClientID: "host", ClientSecret: "corp-secret"},
		SubjectToken: func(context.Context) (string, string, error) { return id, "", nil }})
	owner, err := call(t, u, &mcpauth.ClientOptions{Grant: grant, Registrations: []*mcpauth.Registration{{Issuer: as.Issuer(), ClientID: "host-at-as", ClientSecret: "as-secret"}}})
	if err != nil || owner != "alice" {
		t.Errorf("owner %q, error %v", owner, err)
	}
}

// Each lie and each fault is seen by a client that looks: our own refuses it, and logs in again when it is over.
func TestLiesAndFaults(t *testing.T) {
	p := idp.Start(t, &idp.Options{Auto: auto})
	u := protected(t, p)
	for name, c := range map[string]struct {
		do   func()
		want string
	}{
		"another issuer": {func() { p.Lie(idp.Lies{Metadata: func(d map[string]any) { d["issuer"] = p.Issuer() + "/" }}) }, "issuer"},
		"no S256": {func() {
			p.Lie(idp.Lies{Metadata: func(d map[string]any) { delete(d, "code_challenge_methods_supported") }})
		}, "S256"},
		"wrong iss":         {func() { p.Lie(idp.Lies{Callback: func(q url.Values) { q.Set("iss", "https://evil.test") }}) }, "evil.test"},
		"no iss":            {func() { p.Lie(idp.Lies{Callback: func(q url.Values) { q.Del("iss") }}) }, "iss"},
		"foreign state":     {func() { p.Lie(idp.Lies{Callback: func(q url.Values) { q.Set("state", "x") }}) }, "state"},
		"foreign code":      {func() { p.Lie(idp.Lies{Callback: func(q url.Values) { q.Set("code", "x") }}) }, "invalid_grant"},
		"another kind":      {func() { p.Lie(idp.Lies{TokenAnswer: func(d map[string]any) { d["token_type"] = "mac" }}) }, "mac"},
		"wrong audience":    {func() { p.Lie(idp.Lies{AccessToken: func(d map[string]any) { d["iss"] = "https://evil.test" }}) }, "401"},
		"error":             {func() { p.Break(idp.Token, idp.Fail(503, "temporarily_unavailable")) }, "503"},
		"a page":            {func() { p.Break(idp.Token, idp.Fail(502, "")) }, "502"},
		"a redirect":        {func() { p.Break(idp.Token, idp.Redirect("https://evil.test/token")) }, "307"},
		"a huge answer":     {func() { p.Break(idp.Token, idp.Huge(64<<20)) }, "token endpoint"},
		"a lost answer":     {func() { p.Break(idp.Token, idp.Lost()) }, "EOF"},
		"metadata is gone":  {func() { p.Break(idp.Metadata, idp.Fail(404, "")) }, ""},
		"declined":          {func() { p.SetAuto(idp.Auto{SignIn: "alice", Consent: idp.Decline}) }, "declined"},
		"registration shut": {func() { p.Break(idp.Register, idp.Fail(403, "access_denied")) }, "access_denied"},
	} {
		t.Run(name, func(t *testing.T) {
			c.do()
			_, err := call(t, u, &mcpauth.ClientOptions{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("expected an error with %q, got %v", c.want, err)
			}
			p.Repair()
			p.SetAuto(auto)
			if owner, err := call(t, u, &mcpauth.ClientOptions{}); err != nil || owner != "alice" {
				t.Errorf("afterwards: %q, %v", owner, err)
			}
		})
	}
}

// A slow endpoint ends with its client, and leaves nothing behind.
func TestSlowFaults(t *testing.T) {
	p := idp.Start(t, nil)
	for name, f := range map[string]idp.Fault{"slow": idp.Slow(time.Hour), "drip": idp.Drip(time.Millisecond)} {
		p.Break(idp.JWKS, idp.Times(1, f))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Issuer()+idp.JWKS, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		if cancel(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if status, d := fetchJSON(t, p.Issuer()+idp.JWKS); status != 200 || d["keys"] == nil {
			t.Errorf("%s, the second time: status %d", name, status)
		}
	}
	p.Break(idp.JWKS, idp.Slow(time.Millisecond))
	if status, _ := fetchJSON(t, p.Issuer()+idp.JWKS); status != 200 {
		t.Errorf("a little slow: status %d", status)
	}
}

// Closing ends requests that would take for ever, and waits for them.
func TestCloseEndsRequests(t *testing.T) {
	p, err := idp.Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	ended := make(chan struct{})
	p.Break(idp.JWKS, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
			close(ended)
		})
	})
	failed := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Issuer()+idp.JWKS, nil)
		if err == nil {
			var resp *http.Response
			if resp, err = (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil {
				_ = resp.Body.Close()
			}
		}
		failed <- err
	}()
	<-begun
	p.Close()
	select {
	case <-ended:
	default:
		t.Error("Close did not wait")
	}
	if err := <-failed; err == nil {
		t.Error("an answer came")
	}
	p.Close()
	if _, err := idp.Listen("256.0.0.1:0", nil); err == nil {
		t.Error("an address that is none")
	}
	if _, err := idp.Listen("127.0.0.1:0", &idp.Options{Algorithm: "none"}); err == nil {
		t.Error("options that make no sense")
	}
}
