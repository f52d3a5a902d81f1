package mcpauth

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// Schemes of the Authorization header.
const (
	schemeBearer = "Bearer"
	schemeDPoP   = "DPoP"
)

// Authenticate finds out who sends a request, from its Authorization header and nothing else. It is [mcphttp.Options.Authenticate]: its
// errors are of type *[mcphttp.AuthError], with status and challenges by RFC 6750 section 3.1, RFC 9449 section 7.1 and RFC 9728 section
// 5.1:
//
//   - 401 without a valid token, 400 for a header that cannot be read and for a token in the query,
//   - 403 for a token that lacks one of [ResourceOptions.Scopes],
//   - 503 where the verifier cannot tell at the moment: a client must not throw its token away for that.
func (r *Resource) Authenticate(req *http.Request) (*mcp.Principal, error) {
	scheme, token, err := credentialOf(req)
	if err != nil {
		return nil, r.refuse(http.StatusBadRequest, challenge{code: "invalid_request", description: err.Error()}, err.Error())
	}
	if scheme == "" {
		if r.opts.Anonymous {
			return nil, nil //nolint:nilnil // nobody, who is welcome
		}
		return nil, r.noToken
	}
	v, err := r.verify(req.Context(), token)
	if err != nil {
		return nil, r.unverified(req, scheme, err)
	}
	if scheme == schemeDPoP || v.key != "" || v.cert != "" || r.dpop.required {
		if err := r.checkBinding(req, scheme, token, v); err != nil {
			return nil, err
		}
	}
	if v.lacks {
		return nil, r.insufficient(r.opts.Scopes)
	}
	return v.principal, nil
}

// unverified makes the refusal of a token that the verifier did not vouch for.
func (r *Resource) unverified(req *http.Request, scheme string, err error) *mcphttp.AuthError {
	var bad *TokenError
	if errors.As(err, &bad) {
		return r.invalidToken(scheme, bad)
	}
	if req.Context().Err() == nil {
		r.opts.Logger.WarnContext(req.Context(), "mcpauth: a token could not be verified", "err", err)
	}
	return &mcphttp.AuthError{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"10"}},
		Message: "the access token cannot be verified at the moment; try again later", Err: err}
}

// invalidToken makes the refusal of a token.
func (r *Resource) invalidToken(scheme string, bad *TokenError) *mcphttp.AuthError {
	e := r.refuse(http.StatusUnauthorized, challenge{scheme: scheme, code: "invalid_token", description: bad.Reason}, bad.Reason)
	e.Err = bad.Err
	return e
}

// Errors of the Authorization header. Their texts are told to the client.
var (
	errTwoCredentials = errors.New("the request has more than one Authorization header")
	errTokenInQuery   = errors.New("access tokens belong into the Authorization header, not into the URL")
	errMalformed      = errors.New("the Authorization header must be a scheme, one space, and one token")
)

// credentialOf reads the credential of a request: a scheme in its usual spelling, and the token; both are empty if there is none that
// concerns this package.
func credentialOf(req *http.Request) (scheme, token string, err error) {
	if q := req.URL.RawQuery; strings.Contains(q, "access_token") {
		if values, err := url.ParseQuery(q); err != nil || values.Has("access_token") {
			return "", "", errTokenInQuery
		}
	}
	values := req.Header["Authorization"]
	switch len(values) {
	case 0:
		return "", "", nil
	case 1:
		return parseAuthorization(values[0])
	}
	return "", "", errTwoCredentials
}

// parseAuthorization reads an Authorization header.
func parseAuthorization(value string) (scheme, token string, err error) {
	name, rest, _ := strings.Cut(value, " ")
	switch {
	case strings.EqualFold(name, schemeBearer):
		scheme = schemeBearer
	case strings.EqualFold(name, schemeDPoP):
		scheme = schemeDPoP
	default:
		return "", "", nil
	}
	token = strings.Trim(rest, " ")
	if !token68(token) {
		return "", "", errMalformed
	}
	return scheme, token, nil
}

// token68 reports whether s is a b64token of RFC 6750 section 2.1.
func token68(s string) bool {
	body := strings.TrimRight(s, "=")
	for i := range len(body) {
		switch c := body[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_', c == '~', c == '+', c == '/':
		default:
			return false
		}
	}
	return body != ""
}

// A challenge is what WWW-Authenticate is to say.
type challenge struct {
	scheme            string // Bearer if empty
	code, description string
	scopes            []string // instead of those that every request needs
}

// refuse makes a refusal with its challenges. Message is told to the client's developer.
func (r *Resource) refuse(status int, c challenge, message string) *mcphttp.AuthError {
	if c.scopes == nil {
		c.scopes = r.opts.Scopes
	}
	e := &mcphttp.AuthError{Status: status, Message: message}
	if c.scheme == "" {
		c.scheme = schemeBearer
	}
	if r.dpop.required {
		c.scheme = schemeDPoP
	}
	e.Challenges = []string{r.write(c.scheme, c)}
	return e
}

// write writes a challenge.
func (r *Resource) write(scheme string, c challenge) string {
	var b strings.Builder
	b.WriteString(scheme)
	b.WriteByte(' ')
	param := func(name, value string) {
		if value == "" {
			return
		}
		if b.Len() > len(scheme)+1 {
			b.WriteString(", ")
		}
		b.WriteString(name)
		b.WriteString(`="`)
		b.WriteString(quotable(value))
		b.WriteByte('"')
	}
	param("resource_metadata", r.metadataURL())
	if scheme == schemeDPoP {
		param("algs", r.dpop.algorithms)
	}
	param("scope", strings.Join(c.scopes, " "))
	param("error", c.code)
	param("error_description", c.description)
	return b.String()
}

// quotable replaces what RFC 6750 section 3 does not allow in the value of a parameter.
func quotable(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '"':
			return '\''
		case c < ' ' || c > '~' || c == '\\':
			return '?'
		}
		return c
	}, s)
}
