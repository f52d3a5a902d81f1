package idp

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
)

// A Provider is an OpenID provider and OAuth authorization server that keeps everything in memory. It is an [http.Handler] for the
// whole origin of its issuer. Its methods may be called concurrently.
type Provider struct {
	opts Options
	base *url.URL // the issuer
	csrf *http.CrossOriginProtection
	mux  *http.ServeMux

	mu        sync.Mutex
	keys      []jose.JSONWebKey // the current one first
	users     []User
	clients   map[string]*Client // of the options and of AddClient
	others    table[*Client]     // that registered themselves
	resources []Resource
	trust     []Trust
	peers     []Peer
	auto      Auto
	lies      Lies
	faults    map[string]Fault
	counts    map[string]int

	sessions  table[*session]
	requests  table[*request]
	consents  table[[]string]
	codes     table[*code]
	refreshes table[*refresh]
	accesses  table[*access]
	seen      once // ids of assertions and proofs
	nonces    [2]string
	nonceAt   time.Time
	pairwise  []byte
}

// New makes a provider for Options.Issuer. Nothing runs in the background; there is nothing to close.
func New(o *Options) (*Provider, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.defaults()
	if err := opts.check(); err != nil {
		return nil, err
	}
	base, err := url.Parse(opts.Issuer)
	if err != nil {
		return nil, err
	}
	key, err := newKey(opts.Algorithm)
	if err != nil {
		return nil, err
	}
	p := &Provider{opts: opts, base: base, csrf: http.NewCrossOriginProtection(), keys: []jose.JSONWebKey{key}, users: slices.Clone(opts.Users),
		resources: slices.Clone(opts.Resources), auto: opts.Auto, peers: slices.Clone(opts.Peers), faults: map[string]Fault{}, clients: map[string]*Client{}, counts: map[string]int{}, seen: once{}, pairwise: []byte(newID())}
	for i := range opts.Clients {
		if err := p.AddClient(&opts.Clients[i]); err != nil {
			return nil, err
		}
	}
	for _, t := range opts.Trust {
		if err := p.AddTrust(t); err != nil {
			return nil, err
		}
	}
	p.mux = p.routes()
	return p, nil
}

// Endpoints, below the path of the issuer. They are the names that [Provider.Break] and [Provider.Count] take, with Metadata for the
// two documents.
const (
	Metadata   = "/.well-known"
	JWKS       = "/jwks"
	Authorize  = "/authorize"
	Token      = "/token"
	Register   = "/register"
	Introspect = "/introspect"
	Revoke     = "/revoke"
	UserInfo   = "/userinfo"
	EndSession = "/end-session"
	SignIn     = "/sign-in"
	ConsentTo  = "/consent"
)

func (p *Provider) routes() *http.ServeMux {
	mux := http.NewServeMux()
	open := map[string]http.HandlerFunc{JWKS: p.serveKeys, Token: p.serveToken, Register: p.serveRegister, Introspect: p.serveIntrospect, Revoke: p.serveRevoke, UserInfo: p.serveUserInfo}
	for name, h := range open {
		mux.Handle(p.base.Path+name, p.endpoint(name, crossOrigin(h)))
	}
	pages := map[string]http.HandlerFunc{Authorize: p.serveAuthorize, SignIn: p.serveSignIn, ConsentTo: p.serveConsent, EndSession: p.serveEndSession}
	for name, h := range pages {
		mux.Handle(p.base.Path+name, p.endpoint(name, h))
	}
	mux.HandleFunc("GET "+p.base.Path+"/style.css", serveStyle)
	for _, path := range p.metadataPaths() {
		mux.Handle(path, p.endpoint(Metadata, crossOrigin(http.HandlerFunc(p.serveMetadata))))
	}
	return mux
}

// metadataPaths are where clients look (RFC 8414 section 3.1, OpenID Connect Discovery section 4).
func (p *Provider) metadataPaths() []string {
	paths := []string{"/.well-known/oauth-authorization-server" + p.base.Path, "/.well-known/openid-configuration" + p.base.Path}
	if p.base.Path != "" {
		paths = append(paths, p.base.Path+"/.well-known/openid-configuration")
	}
	return paths
}

// endpoint counts the requests of an endpoint and applies its fault.
func (p *Provider) endpoint(name string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.counts[name]++
		fault := p.faults[name]
		p.mu.Unlock()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if fault != nil {
			fault(h).ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// maxBody bounds requests.
const maxBody = 64 << 10

// crossOrigin lets programs in browsers use an endpoint that takes no cookies.
func crossOrigin(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		if r.Method == http.MethodOptions {
			w.Header().Set("Access-Control-Allow-Methods", "GET, POST")
			w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, DPoP, MCP-Protocol-Version")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Access-Control-Expose-Headers", "DPoP-Nonce, WWW-Authenticate")
		h.ServeHTTP(w, r)
	})
}

// ServeHTTP serves the endpoints, the metadata and the pages.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// Issuer is the URL that names the provider.
func (p *Provider) Issuer() string { return p.opts.Issuer }

func (p *Provider) url(endpoint string) string { return p.opts.Issuer + endpoint }

// AddClient registers a client, or replaces the one with its id.
func (p *Provider) AddClient(c *Client) error {
	if c.ID == "" {
		return errors.New("idp: Client.ID is empty")
	}
	added := *c
	added.complete()
	if added.AuthMethod != AuthNone && added.Secret == "" && len(added.Keys) == 0 {
		return fmt.Errorf("idp: client %q has nothing to authenticate with by %s", c.ID, added.AuthMethod)
	}
	if !slices.Contains(p.opts.AuthMethods, added.AuthMethod) {
		return fmt.Errorf("idp: client %q authenticates by %s, which Options.AuthMethods does not name", c.ID, added.AuthMethod)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clients[c.ID] = &added
	return nil
}

// AddResource adds a resource server, or replaces the one with its URI. With the first one, others stop being taken.
func (p *Provider) AddResource(r Resource) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resources = append(slices.DeleteFunc(p.resources, func(x Resource) bool { return x.URI == r.URI }), r)
}

// AddUser adds a person, or replaces the one with that subject.
func (p *Provider) AddUser(u User) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users = append(slices.DeleteFunc(p.users, func(x User) bool { return x.Subject == u.Subject }), u)
}

// AddTrust adds an issuer whose assertions are taken, or replaces the one with that issuer.
func (p *Provider) AddTrust(t Trust) error {
	if t.Issuer == "" || t.Keys == nil {
		return errors.New("idp: Trust: Issuer and Keys are needed")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trust = append(slices.DeleteFunc(p.trust, func(x Trust) bool { return x.Issuer == t.Issuer }), t)
	return nil
}

// AddPeer adds an authorization server at which the provider vouches, or replaces the one with that issuer.
func (p *Provider) AddPeer(peer Peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peers = append(slices.DeleteFunc(p.peers, func(x Peer) bool { return x.Issuer == peer.Issuer }), peer)
}

func (p *Provider) user(subject string) *User {
	if i := slices.IndexFunc(p.users, func(u User) bool { return u.Subject == subject }); i >= 0 {
		return &p.users[i]
	}
	return nil
}

// Revoke ends every session and consent of a person and every token that was issued for them. subject is that of the User, or the id of
// a client for tokens of its own. JWTs that resource servers do not introspect stay valid until they expire.
func (p *Provider) Revoke(subject string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions.drop(func(s *session) bool { return s.subject == subject })
	p.codes.drop(func(c *code) bool { return c.grant.owner() == subject })
	p.refreshes.drop(func(r *refresh) bool { return r.grant.owner() == subject })
	p.accesses.drop(func(a *access) bool { return a.grant.owner() == subject })
	maps.DeleteFunc(p.consents.rows, func(key string, _ row[[]string]) bool { return strings.HasPrefix(key, subject+"\x00") })
}

// Count is how often an endpoint was asked, such as [Token], or how many token requests there were with a grant type, such as
// [GrantRefresh].
func (p *Provider) Count(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[what]
}

// Events returns all counts, by endpoint and by grant type, with "reuse" for refresh tokens that were presented again.
func (p *Provider) Events() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// SetAuto changes what is answered for the person.
func (p *Provider) SetAuto(a Auto) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.auto = a
}

// fail reports a fault of the provider itself.
func (p *Provider) fail(w http.ResponseWriter, err error) {
	p.opts.Logger.Error("idp: internal error", "error", err)
	writeError(w, &oauthError{http.StatusInternalServerError, "server_error", "internal error"})
}

// An oauthError is what a client is told (RFC 6749 section 5.2).
type oauthError struct {
	status int
	code   string
	text   string
}

func (e *oauthError) Error() string { return e.code + ": " + e.text }

func refuse(code, format string, args ...any) *oauthError {
	return &oauthError{http.StatusBadRequest, code, printable(fmt.Sprintf(format, args...))}
}

// printable keeps a description within what RFC 6749 allows in one.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '\\':
			return '\''
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, s)
}

func writeError(w http.ResponseWriter, e *oauthError) {
	noStore(w)
	writeJSON(w, e.status, map[string]any{"error": e.code, "error_description": e.text})
}

func noStore(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Pragma", "no-cache")
}

func writeJSON(w http.ResponseWriter, status int, doc any) {
	var b bytes.Buffer
	if err := json.MarshalWrite(&b, doc, json.Deterministic(true)); err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // nobody is left to be told
}

// single reads a form in which no parameter but the named ones may come twice (RFC 6749 section 3.2).
func single(form url.Values, several ...string) *oauthError {
	for name, values := range form {
		if len(values) > 1 && !slices.Contains(several, name) {
			return refuse("invalid_request", "parameter %q came %d times", name, len(values))
		}
	}
	return nil
}
