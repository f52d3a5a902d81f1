package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// metadataRevision is what discovery requests say they are for; servers of 2025-03-26 may look at it.
const metadataRevision = "2026-07-28"

// resourceMetadata is what is used of a protected resource metadata document (RFC 9728 section 2).
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// Metadata is what is used of an authorization server's metadata (RFC 8414 section 2, OpenID Connect Discovery). Its issuer has been
// compared with the issuer that it was fetched for.
type Metadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	Scopes                []string `json:"scopes_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	ClientIDDocuments     bool     `json:"client_id_metadata_document_supported"`
	IssInResponses        bool     `json:"authorization_response_iss_parameter_supported"`
	GrantProfiles         []string `json:"authorization_grant_profiles_supported"`
}

// A Discovery is what a protected server's metadata demands. It has been checked.
type Discovery struct {
	Resource string    // what tokens are asked for, as the metadata spells it
	Scopes   []string  // scopes_supported of the resource metadata; nil if it names none
	Servers  []string  // authorization_servers of the resource metadata
	Metadata *Metadata // of the one that is used
	Legacy   bool      // there is no resource metadata: the server is taken for one of 2025-03-26
}

// Discover finds out what the server demands, without a login. ch is what it said in a refusal; it may be nil. The steps go to Logger.
func (t *Transport) Discover(ctx context.Context, ch *Challenge) (*Discovery, error) {
	return t.discover(ctx, ch)
}

// discover finds the authorization server of the MCP server, see section "Authorization" of the specification.
func (t *Transport) discover(ctx context.Context, ch *Challenge) (*Discovery, error) {
	prm, at, err := t.resource(ctx, ch)
	if err != nil {
		return nil, err
	}
	if prm == nil {
		return t.discoverLegacy(ctx)
	}
	if err := t.checkResource(prm.Resource, at); err != nil {
		return nil, err
	}
	issuer, err := t.chooseIssuer(ctx, prm, at)
	if err != nil {
		return nil, err
	}
	meta, err := t.metadata(ctx, issuer)
	if err != nil {
		return nil, err
	}
	if meta == nil {
		return nil, fmt.Errorf("mcpauth: the authorization server %q, which %s names, publishes no metadata (tried %s)", issuer, at, strings.Join(metadataPlaces(issuer), ", "))
	}
	return &Discovery{Resource: prm.Resource, Scopes: prm.Scopes, Servers: prm.Servers, Metadata: meta}, nil
}

// resource finds the protected resource metadata, and where it was. Without an error nil means that there is none anywhere.
func (t *Transport) resource(ctx context.Context, ch *Challenge) (*resourceMetadata, string, error) {
	var places []string
	if ch != nil && ch.ResourceMetadata != "" {
		if err := t.fetch.checkURL("resource_metadata of the challenge", ch.ResourceMetadata); err != nil {
			return nil, "", err
		}
		places = append(places, ch.ResourceMetadata)
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	if p := strings.TrimSuffix(t.server.EscapedPath(), "/"); p != "" {
		places = append(places, origin(t.server)+wellKnown+p)
	}
	places = append(places, origin(t.server)+wellKnown)
	var failed error
	for _, at := range slices.Compact(places) {
		var prm resourceMetadata
		err := t.fetch.document(ctx, at, &prm)
		t.step("protected resource metadata", at, err)
		switch {
		case err == nil && prm.Resource != "":
			return &prm, at, nil
		case err != nil && !errors.Is(err, errNoDocument):
			failed = errors.Join(failed, err)
		}
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
	}
	// A place that failed may well hold the document: without it, a server must not be taken for one of an older revision.
	return nil, "", failed
}

// checkResource demands that the metadata is about this server: its URL, or a parent of it.
func (t *Transport) checkResource(resource, at string) error {
	u, err := url.Parse(resource)
	if err == nil && u.Fragment == "" && (u.RawQuery == "" || u.RawQuery == t.server.RawQuery) && sameOrigin(u, t.server) {
		parent := strings.TrimSuffix(u.EscapedPath(), "/")
		path := strings.TrimSuffix(t.server.EscapedPath(), "/")
		if path == parent || strings.HasPrefix(path, parent+"/") {
			return nil
		}
	}
	return mismatch(at+" is about another resource (it may be the server's URL or a parent of that)", t.resourceURL(), resource,
		"ask whoever runs the server to correct it, or use the URL that it names")
}

// resourceURL is the canonical URL of the server.
func (t *Transport) resourceURL() string {
	u := *t.server
	u.Scheme, u.Host, u.Fragment = strings.ToLower(u.Scheme), strings.ToLower(u.Host), ""
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String()
}

// chooseIssuer takes the first authorization server that the client is registered with beforehand, or else the first.
func (t *Transport) chooseIssuer(ctx context.Context, prm *resourceMetadata, at string) (string, error) {
	if len(prm.Servers) == 0 {
		return "", fmt.Errorf("mcpauth: %s names no authorization server", at)
	}
	issuer := prm.Servers[0]
	for _, s := range prm.Servers {
		r, err := t.preregistered(ctx, s)
		if err != nil {
			return "", err
		}
		if r != nil {
			issuer = s
			break
		}
	}
	return issuer, t.fetch.checkURL("issuer", issuer)
}

// metadataPlaces are the well-known places of an issuer's metadata, in order.
func metadataPlaces(issuer string) []string {
	const oauth, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	base, path := origin(u), strings.TrimSuffix(u.EscapedPath(), "/")
	if path == "" {
		return []string{base + oauth, base + openid}
	}
	return []string{base + oauth + path, base + openid + path, base + path + openid}
}

// metadata fetches and checks an issuer's metadata; nil means that it publishes none.
func (t *Transport) metadata(ctx context.Context, issuer string) (*Metadata, error) {
	var failed error
	for _, at := range metadataPlaces(issuer) {
		var m Metadata
		err := t.fetch.document(ctx, at, &m)
		t.step("authorization server metadata", at, err)
		switch {
		case err == nil && m.Issuer == "" && m.TokenEndpoint == "":
			continue
		case err == nil:
			return &m, t.checkMetadata(&m, issuer, at)
		case !errors.Is(err, errNoDocument):
			failed = errors.Join(failed, err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return nil, failed
}

// checkMetadata refuses metadata of somebody else, and endpoints that no secret may be sent to.
func (t *Transport) checkMetadata(m *Metadata, issuer, at string) error {
	if m.Issuer != issuer && !(t.opts.AllowIssuerSlash && sameButSlash(m.Issuer, issuer)) {
		next := "nothing is sent to it; ask whoever runs it to correct it"
		if sameButSlash(m.Issuer, issuer) {
			next = "only the slash differs: if you know this server, allow that (ClientOptions.AllowIssuerSlash)"
		}
		return mismatch(at+" is the metadata of another issuer (the strings must be equal)", issuer, m.Issuer, next)
	}
	if err := t.fetch.checkURL("token_endpoint in "+at, m.TokenEndpoint); err != nil {
		return err
	}
	for name, u := range map[string]string{"authorization_endpoint": m.AuthorizationEndpoint, "registration_endpoint": m.RegistrationEndpoint} {
		if u == "" {
			continue
		}
		if err := t.fetch.checkURL(name+" in "+at, u); err != nil {
			return err
		}
	}
	return nil
}

// sameButSlash reports whether two issuers without a path differ by the slash after the host at most.
func sameButSlash(a, b string) bool {
	a, b = strings.TrimSuffix(a, "/"), strings.TrimSuffix(b, "/")
	return a == b && strings.Count(a, "/") == 2
}

// discoverLegacy is discovery as of 2025-03-26: the server's origin is the authorization server, with metadata or with default paths.
func (t *Transport) discoverLegacy(ctx context.Context) (*Discovery, error) {
	issuer := origin(t.server)
	if err := t.fetch.checkURL("server", issuer); err != nil {
		return nil, err
	}
	var m Metadata
	at := metadataPlaces(issuer)[0]
	err := t.fetch.document(ctx, at, &m)
	t.step("authorization server metadata (2025-03-26)", at, err)
	switch {
	case err == nil && m.TokenEndpoint != "":
		// The issuer was made from the server's URL here, so both ways to write it are the same.
		if m.Issuer == issuer+"/" {
			issuer = m.Issuer
		}
		err = t.checkMetadata(&m, issuer, at)
	case err == nil || errors.Is(err, errNoDocument):
		m = Metadata{Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register",
			ChallengeMethods: []string{"S256"}}
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return &Discovery{Resource: t.resourceURL(), Metadata: &m, Legacy: true}, nil
}

// step tells the log about one step of discovery.
func (t *Transport) step(what, at string, err error) {
	if err != nil {
		t.log.Debug("mcpauth: no "+what, "url", at, "err", err)
		return
	}
	t.log.Debug("mcpauth: found "+what, "url", at)
}
