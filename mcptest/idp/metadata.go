package idp

import (
	"net/http"
	"slices"
)

// GrantProfileIDJAG in authorization_grant_profiles_supported announces enterprise-managed authorization.
const GrantProfileIDJAG = "urn:ietf:params:oauth:grant-profile:id-jag"

// metadata is one document for RFC 8414 and OpenID Connect Discovery.
func (p *Provider) metadata() map[string]any {
	methods := p.opts.AuthMethods
	secret := slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return m == AuthNone })
	doc := map[string]any{
		"issuer":                                                   p.opts.Issuer,
		"authorization_endpoint":                                   p.url(Authorize),
		"token_endpoint":                                           p.url(Token),
		"jwks_uri":                                                 p.url(JWKS),
		"introspection_endpoint":                                   p.url(Introspect),
		"revocation_endpoint":                                      p.url(Revoke),
		"userinfo_endpoint":                                        p.url(UserInfo),
		"end_session_endpoint":                                     p.url(EndSession),
		"response_types_supported":                                 []string{"code"},
		"response_modes_supported":                                 []string{"query"},
		"grant_types_supported":                                    p.grants(),
		"code_challenge_methods_supported":                         []string{"S256"},
		"token_endpoint_auth_methods_supported":                    methods,
		"token_endpoint_auth_signing_alg_values_supported":         algorithms,
		"introspection_endpoint_auth_methods_supported":            secret,
		"introspection_endpoint_auth_signing_alg_values_supported": algorithms,
		"revocation_endpoint_auth_methods_supported":               methods,
		"revocation_endpoint_auth_signing_alg_values_supported":    algorithms,
		"dpop_signing_alg_values_supported":                        algorithms,
		"authorization_response_iss_parameter_supported":           true,
		"scopes_supported":                                         p.scopes(),
		"subject_types_supported":                                  []string{map[bool]string{false: "public", true: "pairwise"}[p.opts.Pairwise]},
		"id_token_signing_alg_values_supported":                    []string{p.opts.Algorithm},
		"claims_supported":                                         []string{"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "acr", "amr", "at_hash", "name", "email", "email_verified"},
		"prompt_values_supported":                                  []string{"none", "login", "consent", "select_account"},
		"acr_values_supported":                                     []string{acrClick, acrPassword},
		"claims_parameter_supported":                               false,
		"request_parameter_supported":                              false,
		"request_uri_parameter_supported":                          false,
		"client_id_metadata_document_supported":                    p.opts.ClientDocuments != nil,
	}
	if !p.opts.NoRegistration {
		doc["registration_endpoint"] = p.url(Register)
	}
	if p.takesIdentityAssertions() {
		doc["authorization_grant_profiles_supported"] = []string{GrantProfileIDJAG}
	}
	if len(p.resources) > 0 {
		var uris []string
		for _, r := range p.resources {
			uris = append(uris, r.URI)
		}
		doc["protected_resources"] = uris
	}
	return doc
}

func (p *Provider) takesIdentityAssertions() bool {
	return slices.ContainsFunc(p.trust, func(t Trust) bool { return len(t.Workloads) == 0 })
}

func (p *Provider) grants() []string {
	out := []string{GrantCode, GrantClientCredentials}
	if !p.opts.NoRefreshTokens {
		out = append(out, GrantRefresh)
	}
	if len(p.trust) > 0 {
		out = append(out, GrantJWTBearer)
	}
	if len(p.peers) > 0 {
		out = append(out, GrantTokenExchange)
	}
	return out
}

const (
	scopeOpenID  = "openid"
	scopeOffline = "offline_access"
)

// scopes are those that exist. Callers hold the lock.
func (p *Provider) scopes() []string {
	out := []string{scopeOpenID, "profile", "email"}
	if p.opts.OfflineAccess {
		out = append(out, scopeOffline)
	}
	for _, s := range append(slices.Clone(p.opts.Scopes), p.resourceScopes(nil)...) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// resourceScopes are the scopes of some resources, or of all.
func (p *Provider) resourceScopes(uris []string) []string {
	var out []string
	for _, r := range p.resources {
		if uris == nil || slices.Contains(uris, r.URI) {
			out = append(out, r.Scopes...)
		}
	}
	return out
}

// known checks the scopes that a client asks for.
func (p *Provider) known(scopes []string) *oauthError {
	if len(p.opts.Scopes) == 0 && len(p.resourceScopes(nil)) == 0 {
		return nil
	}
	all := p.scopes()
	for _, s := range scopes {
		if !slices.Contains(all, s) {
			return refuse("invalid_scope", "there is no scope %q here", s)
		}
	}
	return nil
}

func (p *Provider) serveMetadata(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "GET only", http.StatusMethodNotAllowed)
		return
	}
	p.mu.Lock()
	doc := lied(p.lies.Metadata, p.metadata())
	p.mu.Unlock()
	writeJSON(w, http.StatusOK, doc)
}
