package mcpauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	jsonv2 "github.com/go-json-experiment/json"
)

// FetchOptions bound what a verifier fetches from an authorization server, and from where: the server itself, wherever it is, and public
// addresses that its metadata names. Addresses are checked when they are dialled; proxies of the environment are not used. Nil and zero
// values mean the defaults.
type FetchOptions struct {
	// AllowLoopback permits addresses of this computer. They are permitted anyway if the issuer's URL has one.
	AllowLoopback bool
	// AllowNetworks are private networks that may be fetched from.
	AllowNetworks []netip.Prefix
	// MaxDocumentBytes bounds each answer. The default is 1 MiB.
	MaxDocumentBytes int64
	// Timeout bounds each exchange. The default is 15 s.
	Timeout time.Duration
	// TLS is used for what is dialled. The default is nil: that of crypto/tls.
	TLS *tls.Config
	// Proxy is a proxy to go through, as http://host:port or https://host:port. It is told addresses that were checked, never names.
	Proxy *url.URL
	// RoundTripper replaces all that; it must then enforce a policy about addresses itself.
	RoundTripper http.RoundTripper
}

// fetcher makes what fetches for a verifier of an issuer.
func (o *FetchOptions) fetcher(issuer *url.URL) (*fetcher, error) {
	if o == nil {
		o = &FetchOptions{}
	}
	c := &ClientOptions{AllowLoopback: o.AllowLoopback, AllowNetworks: o.AllowNetworks, MaxDocumentBytes: o.MaxDocumentBytes, FetchTimeout: o.Timeout, TLS: o.TLS,
		Proxy: o.Proxy}
	if c.MaxDocumentBytes == 0 {
		c.MaxDocumentBytes = DefaultMaxDocumentBytes
	}
	if c.FetchTimeout == 0 {
		c.FetchTimeout = DefaultFetchTimeout
	}
	if c.MaxDocumentBytes < 0 || c.FetchTimeout < 0 {
		return nil, errors.New("mcpauth: FetchOptions.MaxDocumentBytes and Timeout must not be negative")
	}
	if err := checkProxy(o.Proxy); err != nil {
		return nil, err
	}
	f := newFetcher(issuer, c)
	f.options = "FetchOptions"
	if o.RoundTripper != nil {
		f.gets.Transport, f.posts.Transport = o.RoundTripper, o.RoundTripper
	}
	return f, nil
}

// Bounds of what is kept of an issuer's keys, and of what one token may make this server try.
const (
	maxKeys    = 256
	maxTries   = 8
	minRSABits = 2048
)

// A keySet is what is known of the keys of one issuer. Verifying with a key that is known takes no lock.
type keySet struct {
	issuer string
	url    string // of the JWK Set; empty: ask the issuer's metadata
	fetch  *fetcher
	opts   *JWTOptions
	known  atomic.Pointer[issuerKeys]

	mu      sync.Mutex
	running *keyFetch // the fetch under way
	tried   time.Time // when the last one ended
	failure error     // what became of it
}

// issuerKeys is a JWK Set. It is immutable.
type issuerKeys struct {
	byID    map[string][]*jose.JSONWebKey
	all     []*jose.JSONWebKey
	fetched time.Time // zero for keys that do not change
}

// A keyFetch is a fetch that some wait for.
type keyFetch struct{ done chan struct{} }

// fixedKeys makes a set of keys that are not fetched.
func fixedKeys(jwks json.RawMessage) (*keySet, error) {
	keys, err := readKeys(jwks)
	if err != nil {
		return nil, fmt.Errorf("mcpauth: JWTOptions.JWKS: %w", err)
	}
	s := &keySet{}
	s.known.Store(keys)
	return s, nil
}

// readKeys reads a JWK Set. Keys that cannot check a signature are left out, those of unknown kinds among them (RFC 7517 section 5).
func readKeys(raw []byte) (*issuerKeys, error) {
	var doc struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := jsonv2.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("it is not a JWK Set: %w", err)
	}
	if len(doc.Keys) > maxKeys {
		return nil, fmt.Errorf("it has %d keys; more than %d are not taken", len(doc.Keys), maxKeys)
	}
	keys := &issuerKeys{byID: make(map[string][]*jose.JSONWebKey)}
	for _, one := range doc.Keys {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(one) != nil || !usable(&k) {
			continue
		}
		keys.all = append(keys.all, &k)
		keys.byID[k.KeyID] = append(keys.byID[k.KeyID], &k)
	}
	if len(keys.all) == 0 {
		return nil, errors.New("it has no key that a signature can be checked with")
	}
	return keys, nil
}

// usable reports whether a key is public and can check signatures.
func usable(k *jose.JSONWebKey) bool {
	if k.Use != "" && k.Use != "sig" {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false // a secret does not belong into what is published
}

// fits reports whether a key may have made a signature of an algorithm: its kind, its curve and what it says of itself must agree.
func fits(k *jose.JSONWebKey, alg string) bool {
	if k.Algorithm != "" && k.Algorithm != alg {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return alg[0] == 'R' || alg[0] == 'P'
	case *ecdsa.PublicKey:
		return alg == curveAlgorithm(key)
	case ed25519.PublicKey:
		return alg == string(jose.EdDSA)
	}
	return false
}

// curveAlgorithm is the algorithm that belongs to the curve of a key.
func curveAlgorithm(k *ecdsa.PublicKey) string {
	switch k.Curve {
	case elliptic.P256():
		return string(jose.ES256)
	case elliptic.P384():
		return string(jose.ES384)
	case elliptic.P521():
		return string(jose.ES512)
	}
	return ""
}

// verify checks a signature and returns what was signed.
func (s *keySet) verify(ctx context.Context, jws *jose.JSONWebSignature, h *joseHeader) ([]byte, error) {
	keys, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	payload, found := keys.try(jws, h)
	if payload != nil {
		return payload, nil
	}
	if found && h.KeyID != "" {
		return nil, invalid("the token's signature is wrong")
	}
	newer, err := s.newer(ctx, keys)
	if err != nil {
		return nil, err
	}
	if newer != nil {
		if payload, found = newer.try(jws, h); payload != nil {
			return payload, nil
		}
	}
	if found {
		return nil, invalid("the token's signature is wrong")
	}
	return nil, invalid("the token is signed with a key (kid %q, alg %s) that its issuer does not publish", clip(h.KeyID), h.Algorithm)
}

// try checks a signature with the keys that it may be of; found reports that there is one.
func (k *issuerKeys) try(jws *jose.JSONWebSignature, h *joseHeader) (payload []byte, found bool) {
	candidates := k.byID[h.KeyID]
	if h.KeyID == "" {
		candidates = k.all
	}
	tries := 0
	for _, key := range candidates {
		if !fits(key, h.Algorithm) || tries == maxTries {
			continue
		}
		found = true
		tries++
		if payload, err := jws.Verify(key.Key); err == nil {
			return payload, true
		}
	}
	return nil, found
}

// current returns keys that are not too old, fetching them if there are none.
func (s *keySet) current(ctx context.Context) (*issuerKeys, error) {
	keys := s.known.Load()
	if keys == nil {
		return s.first(ctx)
	}
	if keys.fetched.IsZero() {
		return keys, nil
	}
	age := time.Since(keys.fetched)
	if age < s.opts.KeyRefresh {
		return keys, nil
	}
	// One caller fetches; others go on with what there is, for as long as that is permitted.
	if age < s.opts.StaleKeys {
		if f := s.begin(keys); f != nil {
			s.run(ctx, f)
		}
		return s.known.Load(), nil
	}
	newer, err := s.newer(ctx, keys)
	switch {
	case err != nil:
		return nil, err
	case newer == nil:
		return nil, s.unavailable()
	}
	return newer, nil
}

// first fetches the keys of an issuer that nothing is known of yet.
func (s *keySet) first(ctx context.Context) (*issuerKeys, error) {
	keys, err := s.newer(ctx, nil)
	if err == nil && keys == nil {
		err = s.unavailable()
	}
	return keys, err
}

// unavailable says why there are no keys.
func (s *keySet) unavailable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Errorf("mcpauth: the keys of %s could not be fetched; the next attempt is at %s: %w",
		s.issuer, s.tried.Add(s.opts.KeyFetchPause).Format(time.TimeOnly), s.failure)
}

// newer returns keys that were fetched after others, waiting for a fetch if one is under way or permitted; nil if there are none. Without
// keys to go on with, a fetch that failed is an error.
func (s *keySet) newer(ctx context.Context, than *issuerKeys) (*issuerKeys, error) {
	if s.fetch == nil {
		return nil, nil //nolint:nilnil // keys that do not change
	}
	if f := s.begin(than); f != nil {
		s.run(ctx, f)
	} else if f := s.underway(); f != nil {
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if keys := s.known.Load(); keys != than {
		return keys, nil
	}
	return nil, nil //nolint:nilnil // nothing newer is no error
}

// underway returns the fetch under way, if there is one.
func (s *keySet) underway() *keyFetch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// begin returns a fetch for the caller to run; nil if one is under way, was just made, or has found something newer already.
func (s *keySet) begin(than *issuerKeys) *keyFetch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil || s.known.Load() != than || !s.tried.IsZero() && time.Since(s.tried) < s.opts.KeyFetchPause {
		return nil
	}
	s.running = &keyFetch{done: make(chan struct{})}
	return s.running
}

// run fetches the keys. Others wait for it, so the end of the caller's request does not end it.
func (s *keySet) run(ctx context.Context, f *keyFetch) {
	failure := errors.New("mcpauth: the fetch panicked")
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running, s.tried, s.failure = nil, time.Now(), failure
		close(f.done)
	}()
	keys, err := s.get(context.WithoutCancel(ctx))
	failure = err
	if err != nil {
		s.opts.Logger.WarnContext(ctx, "mcpauth: the keys of an issuer could not be fetched", "issuer", s.issuer, "err", err)
		return
	}
	s.opts.Logger.DebugContext(ctx, "mcpauth: fetched the keys of an issuer", "issuer", s.issuer, "keys", len(keys.all))
	s.known.Store(keys)
}

// get fetches the keys, and before them the metadata that says where they are.
func (s *keySet) get(ctx context.Context) (*issuerKeys, error) {
	at := s.url
	if at == "" {
		m, err := issuerDocument(ctx, s.fetch, s.issuer)
		if err != nil {
			return nil, err
		}
		at = m.JWKSURI
		if err := s.fetch.checkURL("jwks_uri in the metadata of "+s.issuer, at); err != nil {
			return nil, err
		}
	}
	var raw json.RawMessage
	if err := s.fetch.document(ctx, at, &raw); err != nil {
		return nil, fmt.Errorf("mcpauth: the keys at %s: %w", at, err)
	}
	keys, err := readKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("mcpauth: %s: %w", at, err)
	}
	keys.fetched = time.Now()
	return keys, nil
}

// issuerMetadata is what a resource server uses of an authorization server's metadata (RFC 8414 section 2).
type issuerMetadata struct {
	Issuer                   string   `json:"issuer"`
	JWKSURI                  string   `json:"jwks_uri"`
	IntrospectionEndpoint    string   `json:"introspection_endpoint"`
	IntrospectionAuthMethods []string `json:"introspection_endpoint_auth_methods_supported"`
}

// issuerURL reads the URL that names an issuer.
func issuerURL(what, issuer string) (*url.URL, error) {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("mcpauth: %s: the issuer %q must be a URL as in the metadata of the authorization server", what, issuer)
	case u.Scheme != "https" && (u.Scheme != "http" || !loopbackHost(u.Hostname())):
		return nil, fmt.Errorf("mcpauth: %s: the issuer %q must begin with https://", what, issuer)
	}
	return u, nil
}

// issuerDocument fetches the metadata of an issuer from its well-known places. It must name that issuer.
func issuerDocument(ctx context.Context, f *fetcher, issuer string) (*issuerMetadata, error) {
	var failed error
	for _, at := range metadataPlaces(issuer) {
		var m issuerMetadata
		err := f.document(ctx, at, &m)
		switch {
		case err == nil && m.Issuer == issuer:
			return &m, nil
		case err == nil:
			return nil, fmt.Errorf("mcpauth: %s is the metadata of another issuer: expected %q, got %q (the strings must be equal)", at, issuer, clip(m.Issuer))
		case !errors.Is(err, errNoDocument):
			failed = errors.Join(failed, err)
		}
	}
	if failed == nil {
		failed = errors.New("the well-known places have none")
	}
	return nil, fmt.Errorf("mcpauth: no metadata of %s: %w", issuer, failed)
}
