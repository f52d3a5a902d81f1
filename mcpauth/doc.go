// Package mcpauth is authorization for MCP over HTTP, on both sides.
//
// [NewResource] is the server's side: it verifies access tokens, publishes where they can be had, and tells clients which scopes they
// lack.
//
//	auth, err := mcpauth.NewResource("https://travel.example/mcp", mcpauth.JWT("https://login.example", nil), nil)
//	srv := mcp.NewServer("travel", "1.4.0", auth.Protect(nil))
//	mcp.AddTool(srv, &mcp.Tool{Name: "book", Scopes: []string{"trips.book"}}, book)
//	err = mcphttp.ListenAndServe("0.0.0.0:8080", srv, auth.HTTP(nil))
//
// [NewTransport] is the client's side: an [net/http.RoundTripper] that logs in where a server demands it. It goes into the client of
// mcphttp.Dial,
//
//	auth, err := mcpauth.NewTransport(url, nil, &mcpauth.ClientOptions{Store: store})
//	transport := mcphttp.Dial(url, &mcphttp.DialOptions{Client: &http.Client{Transport: auth}})
//
// and serves every revision that has authorization, from 2025-03-26 to 2026-07-28: it finds the authorization server of the MCP server,
// makes the client known there, has the person log in with PKCE, names the resource everywhere, renews tokens and asks for more scope when
// that is demanded. Tokens can also be had without a person: by client credentials, by an enterprise's identity provider, by the identity of
// a workload ([Grant]).
//
// What a server says is not believed. Metadata counts only if it is about this server and of the issuer that it was asked for, a code only
// if it comes from the authorization server that was asked, and nothing is sent to addresses inside somebody's network unless the host
// allows it. Credentials are kept by issuer and resource.
//
//   - client_transport.go, client_flight.go, client_obtain.go: the transport and its options; one attempt to get a token, which all share
//   - client_challenge.go: WWW-Authenticate
//   - client_discover.go, client_fetch.go, client_proxy.go: metadata, and how it is fetched
//   - client_register.go, client_document.go, client_authorize.go, client_login.go: becoming known, and logging in
//   - client_token.go, client_credential.go, client_dpop.go: tokens, their renewal, their binding to a key
//   - client_grant.go: tokens without a person
//   - client_status.go: who is logged in, and logging out
//   - client_store.go, client_filestore.go: where credentials are kept; mcpauth/keyring has the keyring of the system
//   - server_resource.go, server_cache.go: the protected resource, and the tokens that it knows
//   - server_authenticate.go, server_scopes.go: who calls, what a call needs, and what is said to who lacks it
//   - server_metadata.go: what is published, and where the endpoint is mounted
//   - server_verifier.go, server_jwt.go, server_claims.go, server_keys.go: tokens that are JWTs, and the keys of their issuers
//   - server_dpop.go: tokens that are bound to a key
package mcpauth
