// Package idp is a small OpenID provider and OAuth 2.1 authorization server for tests and demonstrations of MCP servers and hosts. It
// is not for production: the people are invented, and everything is in memory.
//
//	func TestLogin(t *testing.T) {
//		p := idp.Start(t, &idp.Options{Auto: idp.Auto{SignIn: "alice", Consent: idp.Approve}})
//		// p.Issuer() goes into authorization_servers of the server under test
//	}
//
// It speaks what MCP authorization needs: metadata of RFC 8414 and of OpenID Connect, PKCE with S256 only, resource indicators (RFC 8707)
// with access tokens bound to them (RFC 9068), iss in every answer (RFC 9207), dynamic registration (RFC 7591) and client ID metadata
// documents, refresh tokens that rotate and are revoked as a family when one is used twice, private_key_jwt, DPoP with nonces (RFC 9449),
// introspection (RFC 7662), revocation (RFC 7009), client credentials, identity assertions of an enterprise from both sides (ID-JAG) and
// workload assertions (RFC 7523), ID tokens, user info and signing out.
//
// A person sees a page to sign in and a page to agree, for each client, without script. A test lets [Options].Auto answer instead, puts a
// session into a cookie jar with [Provider.SignIn], or makes a token out of nothing with [Provider.Mint].
//
// The provider is strict, so that a client's mistakes show: redirect URIs match exactly, codes and assertions serve once, parameters come
// once. And it lies and breaks on demand, so that a client's defences show: [Provider.Lie], [Provider.Break], [Provider.Rotate],
// [Provider.DropKeys], [Provider.Revoke].
//
//   - options.go: what it is made from
//   - provider.go, listen.go, metadata.go: the handler, its server, what it announces
//   - client.go, register.go: who clients are and how they prove it
//   - authorize.go, session.go, page.go: asking the person
//   - token.go, issue.go, assertion.go, dpop.go, keys.go: tokens
//   - inspect.go: introspection, revocation, user info
//   - lies.go: what it does wrong on demand
//   - table.go: bounded memory
package idp
