package idp

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A registration is client metadata (RFC 7591 section 2).
type registration struct {
	Name          string         `json:"client_name,omitzero"`
	RedirectURIs  []string       `json:"redirect_uris"`
	LogoutURIs    []string       `json:"post_logout_redirect_uris,omitzero"`
	Grants        []string       `json:"grant_types,omitzero"`
	ResponseTypes []string       `json:"response_types,omitzero"`
	AuthMethod    string         `json:"token_endpoint_auth_method,omitzero"`
	Type          string         `json:"application_type,omitzero"`
	KeySet        jsontext.Value `json:"jwks,omitzero"`
}

// maxURIs bounds the redirect URIs of one client.
const maxURIs = 20

func (m *registration) client() (*Client, *oauthError) {
	c := &Client{Name: displayable(m.Name), RedirectURIs: m.RedirectURIs, LogoutURIs: m.LogoutURIs, Grants: m.Grants, AuthMethod: m.AuthMethod}
	if len(m.RedirectURIs) == 0 || len(m.RedirectURIs) > maxURIs {
		return nil, refuse("invalid_redirect_uri", "expected 1 to %d redirect_uris, got %d", maxURIs, len(m.RedirectURIs))
	}
	for _, uri := range slices.Concat(m.RedirectURIs, m.LogoutURIs) {
		if why := badRedirect(uri, m.Type); why != "" {
			return nil, refuse("invalid_redirect_uri", "%s: %s", uri, why)
		}
	}
	if m.Grants == nil {
		c.Grants = []string{GrantCode}
	}
	if problem := m.checkTypes(c.Grants); problem != nil {
		return nil, problem
	}
	if m.AuthMethod == AuthPrivateKeyJWT {
		var set jose.JSONWebKeySet
		if err := json.Unmarshal(m.KeySet, &set); err != nil || len(set.Keys) == 0 {
			return nil, refuse("invalid_client_metadata", "%s needs the client's public keys in jwks", AuthPrivateKeyJWT)
		}
		for _, k := range set.Keys {
			if !k.Valid() || !k.IsPublic() {
				return nil, refuse("invalid_client_metadata", "jwks must hold public keys only")
			}
		}
		c.Keys = set.Keys
	}
	c.complete()
	return c, nil
}

func (m *registration) checkTypes(grants []string) *oauthError {
	for _, rt := range m.ResponseTypes {
		if rt != "code" {
			return refuse("invalid_client_metadata", "response type %q is not supported", rt)
		}
	}
	for _, g := range grants {
		if g != GrantCode && g != GrantRefresh && (g != GrantJWTBearer || m.AuthMethod != AuthPrivateKeyJWT) {
			return refuse("invalid_client_metadata", "grant type %q is not for clients that register themselves", g)
		}
	}
	return nil
}

// badRedirect says why a redirect URI is not taken; empty: it is.
func badRedirect(uri, applicationType string) string {
	u, err := url.Parse(uri)
	switch {
	case err != nil || u.Scheme == "" || u.Fragment != "" || strings.Contains(uri, "#"):
		return "expected an absolute URI without a fragment"
	case u.User != nil:
		return "user information has no place in it"
	case u.Scheme == "https" && u.Host != "":
		return ""
	case onThisComputer(u) && applicationType == "web":
		return "a web application has no loopback redirect; register as application_type native"
	case onThisComputer(u):
		return ""
	case u.Scheme == "http" || u.Scheme == "https":
		return "http is for this computer only"
	case slices.Contains([]string{"javascript", "data", "file", "blob", "about", "vbscript", "view-source", "filesystem"}, u.Scheme):
		return "that is no scheme of an application"
	case applicationType == "web":
		return "a web application has https redirects only"
	}
	return ""
}

// displayable keeps a name that a stranger chose fit for a page: short, one line, no control or direction characters.
func displayable(s string) string {
	s = strings.Join(strings.FieldsFunc(s, hidden), " ")
	if r := []rune(s); len(r) > 80 {
		s = string(r[:80]) + "…"
	}
	return s
}

// serveRegister registers a client (RFC 7591).
func (p *Provider) serveRegister(w http.ResponseWriter, r *http.Request) {
	if p.opts.NoRegistration {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		writeError(w, &oauthError{http.StatusMethodNotAllowed, "invalid_request", "POST only"})
		return
	}
	body, err := io.ReadAll(r.Body)
	var m registration
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		writeError(w, refuse("invalid_client_metadata", "expected a JSON object of client metadata, 64 KiB at most"))
		return
	}
	if m.AuthMethod == "" {
		m.AuthMethod = AuthBasic
	}
	if !slices.Contains(p.opts.AuthMethods, m.AuthMethod) {
		writeError(w, refuse("invalid_client_metadata", "token_endpoint_auth_method %q is not supported", m.AuthMethod))
		return
	}
	c, problem := m.client()
	if problem != nil {
		writeError(w, problem)
		return
	}
	c.ID = "dcr-" + newID()
	if c.Name == "" {
		c.Name = "A client without a name"
	}
	said := map[string]any{"client_id": c.ID, "client_id_issued_at": p.opts.Now().Unix(), "client_name": c.Name, "redirect_uris": c.RedirectURIs,
		"grant_types": c.Grants, "response_types": []string{"code"}, "token_endpoint_auth_method": c.AuthMethod}
	if m.Type != "" {
		said["application_type"] = m.Type
	}
	if c.AuthMethod == AuthBasic || c.AuthMethod == AuthPost {
		c.Secret = newID()
		said["client_secret"], said["client_secret_expires_at"] = c.Secret, 0
	}
	p.mu.Lock()
	p.others.put(c.ID, c, p.opts.Now().AddDate(10, 0, 0))
	p.mu.Unlock()
	noStore(w)
	writeJSON(w, http.StatusCreated, said)
}
