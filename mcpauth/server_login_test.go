package mcpauth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// TestLoginAtAProtectedServer has our client log in at our server through a provider, with what both find out by themselves: where to log
// in, which scopes a tool needs besides, and, with DPoP, the server's nonce.
func TestLoginAtAProtectedServer(t *testing.T) {
	for name, c := range map[string]struct {
		opaque, dpop bool
	}{"JWT": {}, "opaque": {opaque: true}, "JWT, bound": {dpop: true}, "opaque, bound": {opaque: true, dpop: true}} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(nil)
			url := "http://" + s.Listener.Addr().String() + "/mcp"
			p := idp.Start(t, &idp.Options{
				OpaqueTokens: c.opaque, Auto: idp.Auto{SignIn: "alice", Consent: idp.Approve},
				Clients: []idp.Client{{ID: "rs", Secret: "secret", ResourceServer: url}},
			})
			v := mcpauth.JWT(p.Issuer(), &mcpauth.JWTOptions{Logger: quiet})
			if c.opaque {
				v = mcpauth.Introspection(p.Issuer(), &mcpauth.Registration{ClientID: "rs", ClientSecret: "secret"}, &mcpauth.IntrospectionOptions{Logger: quiet})
			}
			res, err := mcpauth.NewResource(url, v, &mcpauth.ResourceOptions{
				Scopes: []string{"trips.read"}, Logger: quiet, DPoP: &mcpauth.DPoPOptions{Required: c.dpop, Nonce: c.dpop},
			})
			if err != nil {
				t.Fatal(err)
			}
			mux := http.NewServeMux()
			res.Mount(mux, mcphttp.NewHandler(protectedServer(t, res, nil), res.HTTP(&mcphttp.Options{Logger: quiet})))
			s.Config.Handler = mux
			s.Start()
			defer s.Close()

			auth, err := mcpauth.NewTransport(url, nil, &mcpauth.ClientOptions{Login: mcpauth.FollowRedirect(nil, redirectURI), DPoP: c.dpop, Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			client, err := mcp.Connect(t.Context(), mcphttp.Dial(url, &mcphttp.DialOptions{Client: &http.Client{Transport: auth}}), &mcp.ClientOptions{Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			for _, tool := range []string{"who", "book", "pay", "who"} {
				r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
				if err != nil {
					t.Fatalf("%s: %v", tool, err)
				}
				if text, ok := r.Content[0].(*mcp.TextContent); !ok || text.Text != "alice" {
					t.Errorf("%s: %+v", tool, r.Content[0])
				}
			}
			if n := p.Count(idp.Authorize); n < 3 {
				t.Errorf("%d logins; want one, and one for each step up", n)
			}
		})
	}
}
