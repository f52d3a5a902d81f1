package idp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Options configure a provider. Nil and zero values mean the defaults.
type Options struct {
	// Issuer is the URL of the provider, with or without a path and without a trailing slash. [Start] and [Listen] fill it in with the
	// address that they listen on; [New] needs it.
	Issuer string
	// Path is appended to the address by [Start] and [Listen]: an issuer with a path, such as "/tenant1".
	Path string
	// Name is the provider's name on its pages. Default "Demo sign-in".
	Name string

	// Users can sign in. Default: Alice and Bob, subjects "alice" and "bob", without passwords.
	Users []User
	// Clients are registered beforehand.
	Clients []Client
	// Resources are the resource servers that tokens are issued for (RFC 8707). Default: any http or https URI without a fragment. A
	// token's audience is what was named, and with scope openid, or with nothing named, the provider itself too, for user info.
	Resources []Resource
	// Scopes are those that exist besides the scopes of Resources and openid, profile, email. Default: if no Resource names any, every
	// scope is granted; else none.
	Scopes []string

	// AccessTokenTTL is the lifetime of access tokens, in whole seconds. The default is 5 minutes.
	AccessTokenTTL time.Duration
	// IDTokenTTL is the lifetime of ID tokens. The default is 5 minutes.
	IDTokenTTL time.Duration
	// RefreshTokenTTL is the lifetime of a refresh token; each renewal issues another one. The default is 24 hours.
	RefreshTokenTTL time.Duration
	// RefreshGrace is how long a refresh token that was renewed may be presented again, by a client that lost the answer, without being
	// taken for stolen. The default is 0: at once every token of its family is revoked.
	RefreshGrace time.Duration
	// CodeTTL is the lifetime of authorization codes. The default is 1 minute.
	CodeTTL time.Duration
	// NoRefreshTokens: none are issued.
	NoRefreshTokens bool
	// OfflineAccess: refresh tokens are issued only with scope offline_access, which is announced.
	OfflineAccess bool
	// OpaqueTokens: access tokens are random strings for introspection (RFC 7662) instead of JWTs (RFC 9068).
	OpaqueTokens bool
	// Algorithm signs tokens: "ES256", "RS256" or "EdDSA". Default "ES256".
	Algorithm string
	// Pairwise: every client sees another subject for the same person, in ID tokens, access tokens and user info. What does not change
	// goes into User.Claims.
	Pairwise bool

	// AuthMethods are how clients may authenticate. Default: all of the constants.
	AuthMethods []string
	// NoRegistration: clients cannot register themselves (RFC 7591).
	NoRegistration bool
	// ClientDocuments fetches the metadata documents of clients whose id is an https URL. It decides what may be reached; redirects are
	// not followed. Default nil: such clients are not taken.
	ClientDocuments *http.Client

	// RequireDPoP: tokens are issued only for a key that the client proves to have (RFC 9449). Without it, proofs are optional.
	RequireDPoP bool
	// DPoPNonces: proofs must have a nonce of this provider.
	DPoPNonces bool

	// Trust is whose assertions the provider takes for a grant (RFC 7523): enterprise identity providers, workload issuers.
	Trust []Trust
	// Peers are the authorization servers that this provider, being the identity provider of an enterprise, vouches at (ID-JAG).
	Peers []Peer
	// SubjectToken reads subject tokens of token exchange that are not this provider's own, such as a SAML assertion, and returns the
	// subject of a user. Default nil: only the provider's ID tokens and refresh tokens are taken.
	SubjectToken func(ctx context.Context, tokenType, token string) (subject string, err error)

	// Auto answers for the person; [Provider.SetAuto] changes it later. The zero value shows the pages.
	Auto Auto
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Logger gets what was refused and why, without secrets. Default: nothing is logged.
	Logger *slog.Logger
}

// A User can sign in. These are invented people: their passwords are in the clear.
type User struct {
	Subject  string
	Name     string // default: the subject
	Email    string
	Password string // empty: a click on the name signs in
	// Claims are added to the ID tokens, access tokens and user info of this user, such as an immutable "oid" with its "tid".
	Claims map[string]any
}

// How a client authenticates at the token endpoint.
const (
	AuthNone          = "none"
	AuthBasic         = "client_secret_basic"
	AuthPost          = "client_secret_post"
	AuthPrivateKeyJWT = "private_key_jwt"
)

// Grant types.
const (
	GrantCode              = "authorization_code"
	GrantRefresh           = "refresh_token"
	GrantClientCredentials = "client_credentials"
	GrantJWTBearer         = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	GrantTokenExchange     = "urn:ietf:params:oauth:grant-type:token-exchange"
)

// A Client is known to the provider.
type Client struct {
	ID   string
	Name string // default: the id
	// Secret and Keys are what the client authenticates with; without either it is public.
	Secret string
	Keys   []jose.JSONWebKey
	// AuthMethod is one of the constants. Default: AuthPrivateKeyJWT with Keys, AuthBasic with Secret (AuthPost is taken too), else AuthNone.
	AuthMethod string
	// RedirectURIs match exactly, but for the port of http://127.0.0.1, http://[::1] and http://localhost (RFC 8252).
	RedirectURIs []string
	// LogoutURIs are where the person may be sent after signing out.
	LogoutURIs []string
	// Grants are the grant types. Default: authorization_code and refresh_token with RedirectURIs; every other one too for clients that
	// authenticate.
	Grants []string
	// ResourceServer makes the client a resource server: it may introspect the tokens for this URI.
	ResourceServer string
	// Trusted: the person is not asked for consent. For the provider's own applications only.
	Trusted bool

	document bool // comes from a metadata document
}

// A Resource is a resource server that tokens are issued for.
type Resource struct {
	URI    string
	Name   string   // on the consent page; default: the URI
	Scopes []string // nil: those of Options.Scopes
}

// A Trust is an issuer whose assertions are taken for a grant.
type Trust struct {
	Issuer string
	// Keys returns the issuer's keys. For another provider of this package: its method Keys.
	Keys func(ctx context.Context) (*jose.JSONWebKeySet, error)
	// Subject maps the subject of an identity assertion (ID-JAG) to that of a user here. Default: the same, if there is such a user.
	Subject func(subject string) string
	// Workloads maps subjects of workload assertions to the ids of clients. With none, only identity assertions are taken.
	Workloads map[string]string
}

// A Peer is an authorization server at which the provider vouches for its people.
type Peer struct {
	Issuer    string
	Resources []string          // the MCP servers there that may be named
	Clients   map[string]string // client id here → client id there
	Scopes    []string          // those that may be asked for; nil: any
}

// Auto is what is answered for the person without a page.
type Auto struct {
	SignIn  string  // who signs in where a browser has no session; empty: the sign-in page
	Consent Consent // the answer to the consent page
}

// Consent is an answer to the consent page.
type Consent int

// Answers to the consent page.
const (
	Ask     Consent = iota // show the page
	Approve                // yes, without a page
	Decline                // no, without a page: error=access_denied
)

const defaultTTL = 5 * time.Minute

func (o *Options) defaults() {
	if o.Name == "" {
		o.Name = "Demo sign-in"
	}
	if o.Users == nil {
		o.Users = []User{{Subject: "alice", Name: "Alice", Email: "alice@example.com"}, {Subject: "bob", Name: "Bob", Email: "bob@example.com"}}
	}
	for _, d := range []struct {
		ttl *time.Duration
		def time.Duration
	}{{&o.AccessTokenTTL, defaultTTL}, {&o.IDTokenTTL, defaultTTL}, {&o.RefreshTokenTTL, 24 * time.Hour}, {&o.CodeTTL, time.Minute}} {
		if *d.ttl == 0 {
			*d.ttl = d.def
		}
	}
	if o.AuthMethods == nil {
		o.AuthMethods = []string{AuthNone, AuthBasic, AuthPost, AuthPrivateKeyJWT}
	}
	if o.Algorithm == "" {
		o.Algorithm = string(jose.ES256)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// check names the field that is wrong.
func (o *Options) check() error {
	if err := checkIssuer(o.Issuer); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range o.Users {
		s := o.Users[i].Subject
		if s == "" || seen[s] {
			return fmt.Errorf("idp: Options.Users: subject %q is empty or there twice", s)
		}
		seen[s] = true
	}
	return nil
}

func checkIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || strings.ContainsAny(issuer, "?#") || u.User != nil {
		return fmt.Errorf("idp: Options.Issuer: expected an http or https URL without a query, got %q", issuer)
	}
	if strings.HasSuffix(u.Path, "/") {
		return fmt.Errorf("idp: Options.Issuer: %q ends with a slash", issuer)
	}
	return nil
}

func (u *User) name() string {
	if u.Name == "" {
		return u.Subject
	}
	return u.Name
}
