package mcpauth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	jsonv2 "github.com/go-json-experiment/json"
)

// Defaults of [JWTOptions].
const (
	DefaultClockSkew     = 30 * time.Second
	DefaultKeepVerified  = 5 * time.Minute
	DefaultKeyRefresh    = time.Hour
	DefaultKeyFetchPause = 10 * time.Second
	DefaultStaleKeys     = 24 * time.Hour
)

// JWTOptions tune [JWT]. Nil and zero values mean the defaults.
type JWTOptions struct {
	// JWKSURL is where the issuer publishes its keys. The default is the jwks_uri of the issuer's metadata (RFC 8414, or OpenID Connect
	// Discovery), which is looked for at the first token.
	JWKSURL string
	// JWKS is the issuer's JWK Set, for issuers without one to fetch. Nothing is fetched then.
	JWKS json.RawMessage

	// Algorithms are the signature algorithms that are taken, by their names in RFC 7518 and RFC 8037. The default is all asymmetric
	// ones: RS256 to RS512, PS256 to PS512, ES256 to ES512, EdDSA. Others cannot be named: a key that is published signs nothing.
	Algorithms []string
	// Types are what the typ header may be, without regard to case and to a leading "application/". The default is "at+jwt" alone, as RFC
	// 9068 demands: it keeps ID tokens and other JWTs of the issuer out. Issuers that do not follow it need "JWT" here, or "" for none.
	Types []string
	// ClockSkew is how far the issuer's clock may be from this one. The default is 30 s; negative for none.
	ClockSkew time.Duration
	// Person reports whether a person stands behind a token, where the issuer's tokens tell so in a way of their own. The default is that
	// a token is a person's if it says that somebody has logged in for it (auth_time, acr or amr, RFC 9068 section 2.2.1), and its subject
	// is another than its client. What cannot be told is no person. See [SubjectIsPerson].
	Person func(t *Token) bool
	// KeepVerified is for how long a verified token is taken without another look at its signature, until it expires at most. The default
	// is 5 min; negative for not at all.
	KeepVerified time.Duration

	// KeyRefresh is how old keys may become before they are fetched again. The default is 1 h.
	KeyRefresh time.Duration
	// KeyFetchPause is the least time between two fetches, whatever tokens come. A token with an unknown key leads to one fetch, that
	// all who need it wait for. The default is 10 s.
	KeyFetchPause time.Duration
	// StaleKeys is for how long keys are used that cannot be fetched anew. The default is 24 h.
	StaleKeys time.Duration
	// Fetch says which addresses may be fetched from.
	Fetch *FetchOptions
	// Logger gets what becomes of fetches. The default is slog.Default().
	Logger *slog.Logger
}

// jwtVerifier is JWT.
type jwtVerifier struct {
	issuer string
	opts   JWTOptions
	algs   []jose.SignatureAlgorithm
	keys   *keySet
	wrong  error

	headers sync.Map // *joseHeader by the encoded header, of tokens that were good; an issuer has few
	known   atomic.Int64
}

// maxHeaders bounds the headers that are remembered.
const maxHeaders = 256

// JWT returns a verifier for access tokens that are JWTs of one issuer (RFC 9068). It checks the signature with the keys that the issuer
// publishes, the type, the issuer as an exact string, and exp, nbf and iat. Keys are fetched at the first token and kept; a key that is
// rotated in is found by one fetch. Options that make no sense are reported by [NewResource] and by each Verify.
func JWT(issuer string, o *JWTOptions) Verifier {
	v := &jwtVerifier{issuer: issuer}
	if o != nil {
		v.opts = *o
	}
	v.wrong = v.prepare()
	return v
}

func (v *jwtVerifier) issuers() []string { return []string{v.issuer} }
func (v *jwtVerifier) takesOpaque() bool { return false }
func (v *jwtVerifier) check() error      { return v.wrong }

// prepare fills in defaults and checks the rest.
func (v *jwtVerifier) prepare() error {
	o := &v.opts
	defaultDuration(&o.ClockSkew, DefaultClockSkew)
	defaultDuration(&o.KeepVerified, DefaultKeepVerified)
	defaultDuration(&o.KeyRefresh, DefaultKeyRefresh)
	defaultDuration(&o.KeyFetchPause, DefaultKeyFetchPause)
	defaultDuration(&o.StaleKeys, DefaultStaleKeys)
	if o.Types == nil {
		o.Types = []string{"at+jwt"}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	var err error
	if v.algs, err = algorithms("JWTOptions.Algorithms", o.Algorithms); err != nil {
		return err
	}
	u, err := issuerURL("JWT", v.issuer)
	if err != nil {
		return err
	}
	if len(o.JWKS) > 0 {
		v.keys, err = fixedKeys(o.JWKS)
		return err
	}
	fetch, err := o.Fetch.fetcher(u)
	if err != nil {
		return err
	}
	if o.JWKSURL != "" {
		if err := fetch.checkURL("JWTOptions.JWKSURL", o.JWKSURL); err != nil {
			return err
		}
	}
	v.keys = &keySet{issuer: v.issuer, url: o.JWKSURL, fetch: fetch, opts: o}
	return nil
}

// defaultDuration fills in a default; negative durations mean none.
func defaultDuration(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
	*d = max(*d, 0)
}

// asymmetric are the algorithms by which a published key can check a signature.
var asymmetric = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// algorithms reads a list of algorithms; nil means all of them.
func algorithms(option string, names []string) ([]jose.SignatureAlgorithm, error) {
	if names == nil {
		return asymmetric, nil
	}
	var algs []jose.SignatureAlgorithm
	for _, n := range names {
		if !slices.Contains(asymmetric, jose.SignatureAlgorithm(n)) {
			return nil, fmt.Errorf("mcpauth: %s: %q is none of %v", option, n, asymmetric)
		}
		algs = append(algs, jose.SignatureAlgorithm(n))
	}
	if len(algs) == 0 {
		return nil, fmt.Errorf("mcpauth: %s is empty; nil means all of %v", option, asymmetric)
	}
	return algs, nil
}

// joseHeader is what counts of the protected header of a JWS.
type joseHeader struct {
	Algorithm string          `json:"alg"`
	KeyID     string          `json:"kid"`
	Type      string          `json:"typ"`
	Critical  json.RawMessage `json:"crit"`
	Plain     json.RawMessage `json:"b64"`
	JWK       json.RawMessage `json:"jwk"`
}

// readHeader reads the header of a compact JWS and checks that it is signed by one of some algorithms and demands nothing special.
func readHeader(token string, algs []jose.SignatureAlgorithm) (*joseHeader, error) {
	if strings.Count(token, ".") != 2 {
		return nil, errors.New("it is not a signed JWT")
	}
	first, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil {
		return nil, errors.New("its header is not base64url")
	}
	h := &joseHeader{}
	if err := jsonv2.Unmarshal(raw, h); err != nil {
		return nil, errors.New("its header is not a JSON object with the members that a JWT has")
	}
	switch {
	case h.Critical != nil || h.Plain != nil:
		return nil, errors.New("its header demands an extension")
	case !slices.Contains(algs, jose.SignatureAlgorithm(h.Algorithm)):
		return nil, fmt.Errorf("its algorithm %q is not one of %v", clip(h.Algorithm), algs)
	}
	return h, nil
}

// Verify implements [Verifier].
func (v *jwtVerifier) Verify(ctx context.Context, token string) (*Token, error) {
	if v.wrong != nil {
		return nil, v.wrong
	}
	h, seen, err := v.header(token)
	if err != nil {
		return nil, err
	}
	jws, err := jose.ParseSignedCompact(token, v.algs)
	if err != nil {
		return nil, &TokenError{Reason: "the token is not a signed JWT", Err: err}
	}
	payload, err := v.keys.verify(ctx, jws, h)
	if err != nil {
		return nil, err
	}
	if !seen && v.known.Add(1) <= maxHeaders {
		first, _, _ := strings.Cut(token, ".")
		v.headers.Store(strings.Clone(first), h)
	}
	return v.read(payload)
}

// header reads the header of a token, or finds it among those that were good.
func (v *jwtVerifier) header(token string) (h *joseHeader, seen bool, err error) {
	first, _, _ := strings.Cut(token, ".")
	if known, ok := v.headers.Load(first); ok {
		return known.(*joseHeader), true, nil
	}
	if h, err = readHeader(token, v.algs); err != nil {
		return nil, false, invalid("the token cannot be used: %v", err)
	}
	if !v.typed(h.Type) {
		return nil, false, invalid("the token's typ is %q; this server takes %q (JWTOptions.Types)", clip(h.Type), v.opts.Types)
	}
	return h, false, nil
}

// read checks what a token says whose signature is right.
func (v *jwtVerifier) read(payload []byte) (*Token, error) {
	c, err := readClaims(payload)
	if err != nil {
		return nil, err
	}
	if c.Issuer != v.issuer {
		return nil, invalid("the token is of another issuer: expected %q, got %q", v.issuer, clip(c.Issuer))
	}
	if c.Expiry.IsZero() {
		return nil, invalid("the token has no exp")
	}
	if err := c.checkTimes(time.Now(), v.opts.ClockSkew); err != nil {
		return nil, err
	}
	t, err := c.token(payload, v.opts.ClockSkew)
	if err != nil {
		return nil, err
	}
	if v.opts.Person != nil {
		t.Person = v.opts.Person(t)
	}
	t.KeepFor = v.opts.KeepVerified
	return t, nil
}

// typed reports whether tokens of a type are taken.
func (v *jwtVerifier) typed(typ string) bool {
	const application = "application/"
	if len(typ) > len(application) && strings.EqualFold(typ[:len(application)], application) {
		typ = typ[len(application):]
	}
	return slices.ContainsFunc(v.opts.Types, func(t string) bool { return strings.EqualFold(t, typ) })
}
