package idp_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcptest/idp"
)

// Resource servers, and nobody else, are told about tokens for them, and about no others.
func TestIntrospection(t *testing.T) {
	for _, opaque := range []bool{false, true} {
		now := time.Now()
		p := idp.Start(t, &idp.Options{Auto: auto, OpaqueTokens: opaque, Now: func() time.Time { return now }, Clients: []idp.Client{app, {ID: "rs", Secret: "r", ResourceServer: resource},
			{ID: "rs2", Secret: "r", ResourceServer: "https://else.example"}, {ID: "plain", Secret: "p"}}})
		status, d := post(t, p.Issuer()+idp.Token, codeFor(t, p, "resource", resource, "scope", "tools"))
		if status != 200 {
			t.Fatal(d)
		}
		token := d["access_token"].(string)
		ask := func(id, secret, token string) (int, doc) {
			t.Helper()
			return post(t, p.Issuer()+idp.Introspect, url.Values{"token": {token}, "client_id": {id}, "client_secret": {secret}})
		}
		if _, got := ask("rs", "r", token); got["active"] != true || got["sub"] != "alice" || got["client_id"] != "app" || got["scope"] != "tools" || got["aud"] != resource || got["username"] != "Alice" || got["iss"] != p.Issuer() {
			t.Errorf("opaque %v: %v", opaque, got)
		}
		for _, c := range [][]string{{"rs2", "r", token}, {"rs", "r", "guess"}, {"rs", "r", ""}, {"rs", "r", d["refresh_token"].(string)}} {
			if _, got := ask(c[0], c[1], c[2]); got["active"] != false || len(got) != 1 {
				t.Errorf("opaque %v: %s was told %v", opaque, c[0], got)
			}
		}
		status, got := ask("plain", "p", token)
		refused(t, "no resource server", "invalid_client", status, got)
		status, got = ask("app", "", token)
		refused(t, "a public client", "invalid_client", status, got)
		revoke := func(id, secret, token string) {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Issuer()+idp.Revoke, reader(url.Values{"token": {token}, "client_id": {id}, "client_secret": {secret}}))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if status, _ := send(t, req); status != 200 {
				t.Errorf("revocation: status %d", status)
			}
		}
		active := func() bool { _, got := ask("rs", "r", token); return got["active"] == true }
		if revoke("plain", "p", token); !active() {
			t.Error("another client revoked the token")
		}
		if revoke("app", "", token); active() {
			t.Error("the token is not revoked")
		}
		_, d = post(t, p.Issuer()+idp.Token, codeFor(t, p, "resource", resource))
		token = d["access_token"].(string)
		if revoke("app", "", d["refresh_token"].(string)); active() {
			t.Error("the refresh token did not take its family along")
		}
		_, d = post(t, p.Issuer()+idp.Token, codeFor(t, p, "resource", resource))
		token = d["access_token"].(string)
		if now = now.Add(6 * time.Minute); active() {
			t.Error("the token does not expire")
		}
	}
}

// User info is for tokens of a person with scope openid that are for the provider.
func TestUserInfo(t *testing.T) {
	p := idp.Start(t, nil)
	mint := func(o *idp.Ticket) string {
		tok, err := p.Mint(o)
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	for name, c := range map[string]struct {
		authorization string
		status        int
	}{
		"right":           {"Bearer " + mint(&idp.Ticket{Subject: "alice", ClientID: "a", Scopes: []string{"openid", "email"}}), 200},
		"no scope":        {"Bearer " + mint(&idp.Ticket{Subject: "alice", ClientID: "a"}), 403},
		"client's own":    {"Bearer " + mint(&idp.Ticket{ClientID: "a", Scopes: []string{"openid"}}), 403},
		"for another":     {"Bearer " + mint(&idp.Ticket{Subject: "alice", ClientID: "a", Resource: resource}), 401},
		"bound to a key":  {"Bearer " + mint(&idp.Ticket{Subject: "alice", ClientID: "a", Scopes: []string{"openid"}, JKT: "k"}), 401},
		"changed":         {"Bearer " + mint(&idp.Ticket{Subject: "alice", ClientID: "a", Edit: func(c map[string]any) { c["iss"] = "https://evil.test" }}), 401},
		"another scheme":  {"Basic " + mint(&idp.Ticket{Subject: "alice", ClientID: "a", Scopes: []string{"openid"}}), 401},
		"none":            {"", 401},
		"of another sort": {"Bearer eyJhbGciOiJub25lIn0.e30.", 401},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Issuer()+idp.UserInfo, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", c.authorization)
		status, d := send(t, req)
		if status != c.status || (status == 200) != (d["email"] == "alice@example.com") {
			t.Errorf("%s: status %d, %v", name, status, d)
		}
	}
}
