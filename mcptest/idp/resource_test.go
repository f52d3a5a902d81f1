package idp_test

import (
	"net/http"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// Our own resource server takes the provider's tokens for it, reads them as JWTs or asks about them, and tells people from clients.
func TestOwnResourceServer(t *testing.T) {
	for _, opaque := range []bool{false, true} {
		p := idp.Start(t, &idp.Options{Auto: auto, OpaqueTokens: opaque, Path: "/t", DPoPNonces: true,
			Clients: []idp.Client{app, {ID: "alice", Secret: "s"}, {ID: "rs", Secret: "r", ResourceServer: resource}}})
		verifier := mcpauth.JWT(p.Issuer(), nil)
		if opaque {
			verifier = mcpauth.Introspection(p.Issuer(), &mcpauth.Registration{Issuer: p.Issuer(), ClientID: "rs", ClientSecret: "r"}, nil)
		}
		rs, err := mcpauth.NewResource(resource, verifier, nil)
		if err != nil {
			t.Fatal(err)
		}
		verify := func(token any) (*mcp.Principal, error) { return rs.Verify(t.Context(), token.(string)) }

		_, d := post(t, p.Issuer()+idp.Token, codeFor(t, p, "resource", resource, "scope", "tools openid"))
		who, err := verify(d["access_token"])
		if err != nil || who.Subject != "alice" || who.ClientID != "app" || who.Issuer != p.Issuer() || !who.Person || !who.HasScope("tools") {
			t.Errorf("opaque %v: %+v, error %v", opaque, who, err)
		}
		if _, err := verify(d["id_token"]); err == nil {
			t.Errorf("opaque %v: an ID token is taken", opaque)
		}
		_, d = post(t, p.Issuer()+idp.Token, codeFor(t, p, "resource", resource+"2"))
		if _, err := verify(d["access_token"]); err == nil {
			t.Errorf("opaque %v: a token for another resource is taken", opaque)
		}
		_, d = post(t, p.Issuer()+idp.Token, map[string][]string{"grant_type": {idp.GrantClientCredentials}, "resource": {resource}, "client_id": {"alice"}, "client_secret": {"s"}})
		if who, err := verify(d["access_token"]); err != nil || who.Person || who.Subject != "alice" {
			t.Errorf("opaque %v: a client's own token: %+v, error %v", opaque, who, err)
		}
		if opaque {
			continue
		}
		p.DropKeys()
		fresh, err := mcpauth.NewResource(resource, mcpauth.JWT(p.Issuer(), nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fresh.Verify(t.Context(), d["access_token"].(string)); err == nil {
			t.Error("a token of a withdrawn key is taken")
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
