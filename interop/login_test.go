package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/seed38e7925c/parley/interop/internal/node"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// The redirect URI of all clients here. Nothing listens there: the person agrees at once, and the redirect is read and not followed.
const loginRedirect = "http://127.0.0.1:1/callback"

// provider is where everybody logs in, as Alice.
func provider(t *testing.T) *idp.Server {
	t.Helper()
	return idp.Start(t, &idp.Options{Auto: idp.Auto{SignIn: "alice", Consent: idp.Approve}, Scopes: []string{"trips"}})
}

// protected is a protected server of this project's, whose tool says who calls.
func protected(t *testing.T, p *idp.Server) string {
	t.Helper()
	mux := http.NewServeMux()
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	quiet := slog.New(slog.DiscardHandler)
	res, err := mcpauth.NewResource(ts.URL+"/mcp", mcpauth.JWT(p.Issuer(), nil), &mcpauth.ResourceOptions{Scopes: []string{"trips"}, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	srv := mcp.NewServer("parley-protected", "1", res.Protect(&mcp.ServerOptions{Logger: quiet}))
	mcp.AddTool(srv, &mcp.Tool{Name: "who"}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) { return c.Principal().Subject, nil })
	h := mcphttp.NewHandler(srv, res.HTTP(&mcphttp.Options{Logger: quiet}))
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	res.Mount(mux, h)
	return ts.URL + "/mcp"
}

// ourClient logs in at a server, asks it who calls, and does so again after the token was renewed.
func ourClient(t *testing.T, p *idp.Server, server string) {
	t.Helper()
	tr, err := mcpauth.NewTransport(server, mcphttp.DefaultTransport(), &mcpauth.ClientOptions{Login: mcpauth.FollowRedirect(nil, loginRedirect)})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	c, err := mcp.Connect(t.Context(), mcphttp.Dial(server, &mcphttp.DialOptions{Client: &http.Client{Transport: tr}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "who"})
	if err != nil || len(got.Content) != 1 || got.Content[0].(*mcp.TextContent).Text != "alice" {
		t.Errorf("%+v, %v", got, err)
	}
	st, err := tr.Status(t.Context())
	if err != nil || st.Subject != "alice" || st.Issuer != p.Issuer() {
		t.Errorf("%+v, %v", st, err)
	}
}

// A protected server of the Go SDK.
func TestLoginAtGoSDK(t *testing.T) {
	p := provider(t)
	mux := http.NewServeMux()
	ts := httptest.NewServer(mux)
	defer ts.Close()
	server := ts.URL + "/mcp"
	s := gosdk.NewServer(&gosdk.Implementation{Name: "gosdk-protected", Version: "1"}, nil)
	gosdk.AddTool(s, &gosdk.Tool{Name: "who"}, func(_ context.Context, req *gosdk.CallToolRequest, _ struct{}) (*gosdk.CallToolResult, any, error) {
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: req.Extra.TokenInfo.UserID}}}, nil, nil
	})
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		subject, scopes, err := p.Check(token, server)
		if err != nil {
			return nil, errors.Join(auth.ErrInvalidToken, err)
		}
		return &auth.TokenInfo{UserID: subject, Scopes: scopes, Expiration: time.Now().Add(time.Minute)}, nil
	}
	const metadata = "/.well-known/oauth-protected-resource/mcp"
	guard := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: ts.URL + metadata, Scopes: []string{"trips"}})
	mux.Handle("/mcp", guard(gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return s }, nil)))
	mux.Handle(metadata, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{Resource: server, AuthorizationServers: []string{p.Issuer()}, ScopesSupported: []string{"trips"}}))
	ourClient(t, p, server)
}

// A client of the Go SDK at our server.
func TestLoginByGoSDK(t *testing.T) {
	p := provider(t)
	server := protected(t, p)
	fetch := func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		q, err := follow(ctx, a.URL)
		if err != nil {
			return nil, err
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	}
	h, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Go SDK", RedirectURIs: []string{loginRedirect}, GrantTypes: []string{"authorization_code", "refresh_token"}, TokenEndpointAuthMethod: "none",
		}},
		RedirectURL: loginRedirect, AuthorizationCodeFetcher: fetch,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := gosdk.NewClient(&gosdk.Implementation{Name: "gosdk", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: server, OAuthHandler: h}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	got, err := session.CallTool(t.Context(), &gosdk.CallToolParams{Name: "who"})
	if err != nil || len(got.Content) != 1 || got.Content[0].(*gosdk.TextContent).Text != "alice" {
		t.Errorf("%+v, %v", got, err)
	}
}

// follow is the person: the authorization endpoint redirects at once.
func follow(ctx context.Context, page string) (url.Values, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		return nil, err
	}
	return to.Query(), nil
}

func needNode(t *testing.T) {
	t.Helper()
	if missing := node.Missing(); missing != "" {
		t.Skip("needs " + missing)
	}
}

// script is a process of one of our scripts.
func script(t *testing.T, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	argv, err := node.Script(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(cmd.Environ(), env...)
	return cmd
}

// A protected server of the TypeScript SDK.
func TestLoginAtTypeScript(t *testing.T) {
	needNode(t)
	p := provider(t)
	check := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := map[string]any{}
		if subject, scopes, err := p.Check(r.PostFormValue("token"), r.PostFormValue("resource")); err == nil {
			said["subject"], said["scopes"] = subject, scopes
		}
		_ = json.NewEncoder(w).Encode(said)
	}))
	defer check.Close()
	cmd := script(t, []string{"ISSUER=" + p.Issuer(), "CHECK=" + check.URL}, "login-server-v1.mjs")
	var complaints strings.Builder
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, complaints.String())
		}
	}()
	var ready struct{ Port int }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &ready) != nil {
		t.Fatalf("%v: %s", err, line)
	}
	ourClient(t, p, "http://127.0.0.1:"+strconv.Itoa(ready.Port)+"/mcp")
}

// Clients of both TypeScript SDKs at our server.
func TestLoginByTypeScript(t *testing.T) {
	needNode(t)
	for _, version := range []string{"v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			p := provider(t)
			out, err := script(t, nil, "login-client.mjs", version, protected(t, p)).CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != "who: alice" {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
