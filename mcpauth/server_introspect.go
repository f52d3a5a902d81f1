package mcpauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// Defaults of [IntrospectionOptions].
const (
	DefaultKeepActive       = 30 * time.Second
	DefaultKeepInactive     = 5 * time.Second
	DefaultMaxIntrospecting = 64
	DefaultMaxInactive      = 10_000
)

// IntrospectionOptions tune [Introspection]. Nil and zero values mean the defaults.
type IntrospectionOptions struct {
	// Endpoint is where tokens are asked about. The default is the introspection_endpoint of the issuer's metadata, which is looked for
	// at the first token.
	Endpoint string
	// AudienceImplied takes answers that name no audience: only for endpoints that call a token active only if it was issued for who
	// asks (RFC 7662 section 4). An audience that is named must be the resource's all the same.
	AudienceImplied bool
	// ClockSkew is how far the issuer's clock may be from this one. The default is 30 s; negative for none.
	ClockSkew time.Duration
	// Person is as in [JWTOptions].
	Person func(t *Token) bool
	// KeepActive is for how long an active token is taken without asking again, until it expires at most. The default is 30 s, which is
	// also the most; negative for not at all.
	KeepActive time.Duration
	// KeepInactive is for how long a token that is not active is refused without asking again. The default is 5 s; negative for not at
	// all.
	KeepInactive time.Duration
	// MaxInactive bounds the tokens that are known not to be active. The default is 10,000.
	MaxInactive int
	// MaxIntrospecting bounds the questions at a time; others wait. The default is 64.
	MaxIntrospecting int
	// Fetch says which addresses may be asked.
	Fetch *FetchOptions
	// Logger gets what becomes of the search for the endpoint. The default is slog.Default().
	Logger *slog.Logger
}

// introspector is Introspection.
type introspector struct {
	issuer string
	client *Registration
	opts   IntrospectionOptions
	fetch  *fetcher
	wrong  error

	place  atomic.Pointer[introspectionPlace]
	search chan struct{} // holds one element: who has it searches
	tried  time.Time     // when the last search failed; under search
	failed error
	asking chan struct{} // one element for each question under way

	mu       sync.Mutex
	running  map[tokenHash]*inquiry
	inactive map[tokenHash]time.Time // until when
}

// introspectionPlace is where to ask, and how to say who asks.
type introspectionPlace struct {
	endpoint string
	client   Registration
}

// An inquiry is a question under way, that some wait for.
type inquiry struct {
	done  chan struct{}
	token *Token
	err   error
}

// Introspection returns a verifier that asks the issuer about each token (RFC 7662), whatever the token looks like. Client is what this
// server is known as there: its AuthMethod may be [AuthBasic], [AuthPost] or [AuthPrivateKeyJWT], or empty for what the metadata permits.
// Many uses of one token at once lead to one question.
//
// An answer must name the resource as the token's audience; one that names no audience at all is refused unless AudienceImplied is set.
// Options that make no sense are reported by [NewResource] and by each Verify.
func Introspection(issuer string, client *Registration, o *IntrospectionOptions) Verifier {
	v := &introspector{issuer: issuer, client: client, running: map[tokenHash]*inquiry{}, inactive: map[tokenHash]time.Time{}, search: make(chan struct{}, 1)}
	if o != nil {
		v.opts = *o
	}
	v.wrong = v.prepare()
	return v
}

func (v *introspector) issuers() []string { return []string{v.issuer} }
func (v *introspector) takesOpaque() bool { return true }
func (v *introspector) check() error      { return v.wrong }

// prepare fills in defaults and checks the rest.
func (v *introspector) prepare() error {
	o := &v.opts
	defaultDuration(&o.ClockSkew, DefaultClockSkew)
	defaultDuration(&o.KeepActive, DefaultKeepActive)
	defaultDuration(&o.KeepInactive, DefaultKeepInactive)
	if o.MaxInactive == 0 {
		o.MaxInactive = DefaultMaxInactive
	}
	if o.MaxIntrospecting == 0 {
		o.MaxIntrospecting = DefaultMaxIntrospecting
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case o.KeepActive > DefaultKeepActive:
		return fmt.Errorf("mcpauth: IntrospectionOptions.KeepActive is %v; the most is %v", o.KeepActive, DefaultKeepActive)
	case o.MaxInactive < 0 || o.MaxIntrospecting < 0:
		return errors.New("mcpauth: IntrospectionOptions.MaxInactive and MaxIntrospecting must not be negative")
	case v.client == nil || v.client.ClientID == "":
		return errors.New("mcpauth: Introspection: the client is missing; an endpoint tells nothing to who does not say who it is (RFC 7662 section 2.1)")
	}
	v.asking = make(chan struct{}, o.MaxIntrospecting)
	u, err := issuerURL("Introspection", v.issuer)
	if err != nil {
		return err
	}
	if v.fetch, err = o.Fetch.fetcher(u); err != nil {
		return err
	}
	if o.Endpoint == "" {
		return nil
	}
	return v.found(o.Endpoint, nil)
}

// found notes where to ask.
func (v *introspector) found(endpoint string, methods []string) error {
	if err := v.fetch.checkURL("introspection_endpoint", endpoint); err != nil {
		return err
	}
	p := &introspectionPlace{endpoint: endpoint, client: *v.client}
	if p.client.AuthMethod == "" {
		method, err := p.client.authMethod(methods)
		if err != nil {
			return err
		}
		p.client.AuthMethod = method
	}
	v.place.Store(p)
	return nil
}

// Verify implements [Verifier].
func (v *introspector) Verify(ctx context.Context, token string) (*Token, error) {
	if v.wrong != nil {
		return nil, v.wrong
	}
	key := hashToken(token)
	q, own, err := v.inquire(key)
	switch {
	case err != nil:
		return nil, err
	case own:
		v.run(ctx, key, q, token)
		return q.token, q.err
	}
	select {
	case <-q.done:
		return q.token, q.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// errInactive refuses a token that the issuer does not vouch for.
var errInactive = invalid("the token is not active")

// inquire returns the question about a token that is under way, or one for the caller to run.
func (v *introspector) inquire(key tokenHash) (q *inquiry, own bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if until, ok := v.inactive[key]; ok {
		if time.Now().Before(until) {
			return nil, false, errInactive
		}
		delete(v.inactive, key)
	}
	if q := v.running[key]; q != nil {
		return q, false, nil
	}
	q = &inquiry{done: make(chan struct{}), err: errors.New("mcpauth: the introspection panicked")}
	v.running[key] = q
	return q, true, nil
}

// run asks. Others wait for it, so the end of the caller's request does not end it.
func (v *introspector) run(ctx context.Context, key tokenHash, q *inquiry, token string) {
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.running, key)
		if now := time.Now(); errors.Is(q.err, errInactive) && v.opts.KeepInactive > 0 {
			if len(v.inactive) >= v.opts.MaxInactive {
				evict(v.inactive, v.opts.MaxInactive, func(until time.Time) bool { return !now.Before(until) })
			}
			v.inactive[key] = now.Add(v.opts.KeepInactive)
		}
		close(q.done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), v.fetch.timeout)
	defer cancel()
	select {
	case v.asking <- struct{}{}:
		defer func() { <-v.asking }()
		q.token, q.err = v.ask(ctx, token)
	case <-ctx.Done():
		q.err = errors.New("mcpauth: too many tokens are being introspected (IntrospectionOptions.MaxIntrospecting)")
	}
}

// ask asks the endpoint about a token.
func (v *introspector) ask(ctx context.Context, token string) (*Token, error) {
	p, err := v.where(ctx)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	if err := p.client.identify(header, form, &tokenCall{issuer: v.issuer}, time.Now()); err != nil {
		return nil, err
	}
	resp, err := v.fetch.post(ctx, p.endpoint, header, form.Encode())
	if err != nil {
		return nil, fmt.Errorf("mcpauth: introspection at %s: %w", p.endpoint, err)
	}
	if resp.status != http.StatusOK {
		return nil, fmt.Errorf("mcpauth: introspection at %s: status %d; is the client %q allowed to introspect?", p.endpoint, resp.status, p.client.ClientID)
	}
	return v.read(resp.body)
}

// introspected is an introspection response (RFC 7662 section 2.2), with what some servers tell besides: what kind of token it is.
type introspected struct {
	Active    bool            `json:"active"`
	TokenType json.RawMessage `json:"token_type"`
	TokenUse  json.RawMessage `json:"token_use"`
	Kind      json.RawMessage `json:"typ"`
}

// read reads an answer.
func (v *introspector) read(body []byte) (*Token, error) {
	var head introspected
	if err := jsonv2.Unmarshal(body, &head); err != nil {
		return nil, fmt.Errorf("mcpauth: the answer of the introspection endpoint of %s cannot be read: %w", v.issuer, err)
	}
	if !head.Active {
		return nil, errInactive
	}
	if head.refresh() {
		return nil, invalid("the token is a refresh token")
	}
	c, err := readClaims(body)
	if err != nil {
		return nil, err
	}
	if c.Issuer == "" {
		c.Issuer = v.issuer
	}
	if c.Issuer != v.issuer {
		return nil, invalid("the token is of another issuer: expected %q, got %q", v.issuer, clip(c.Issuer))
	}
	if err := c.checkTimes(time.Now(), v.opts.ClockSkew); err != nil {
		return nil, err
	}
	t, err := c.token(body, v.opts.ClockSkew)
	if err != nil {
		return nil, err
	}
	t.audienceImplied = v.opts.AudienceImplied && len(t.Audience) == 0
	if v.opts.Person != nil {
		t.Person = v.opts.Person(t)
	}
	t.KeepFor = v.opts.KeepActive
	return t, nil
}

// refresh reports whether an answer is about a refresh token, which opens no resource.
func (i *introspected) refresh() bool {
	for _, kind := range []json.RawMessage{i.TokenType, i.TokenUse, i.Kind} {
		if strings.Contains(strings.ToLower(string(kind)), "refresh") {
			return true
		}
	}
	return false
}

// where returns where to ask, searching for it if that is not known.
func (v *introspector) where(ctx context.Context) (*introspectionPlace, error) {
	if p := v.place.Load(); p != nil {
		return p, nil
	}
	select {
	case v.search <- struct{}{}:
		defer func() { <-v.search }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p := v.place.Load(); p != nil {
		return p, nil
	}
	if v.failed != nil && time.Since(v.tried) < DefaultKeyFetchPause {
		return nil, v.failed
	}
	m, err := issuerDocument(ctx, v.fetch, v.issuer)
	if err == nil {
		err = v.found(m.IntrospectionEndpoint, m.IntrospectionAuthMethods)
	}
	if v.failed, v.tried = err, time.Now(); err != nil {
		v.opts.Logger.WarnContext(ctx, "mcpauth: the introspection endpoint of an issuer could not be found", "issuer", v.issuer, "err", err)
		return nil, err
	}
	return v.place.Load(), nil
}
