package idp

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net/http"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// algorithms are the signatures that are taken from others; none and the symmetric ones are not.
var algorithms = []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.RS256, jose.PS256, jose.EdDSA}

// maxKeys is how many keys are published: the current one and its predecessors.
const maxKeys = 3

func newKey(alg string) (jose.JSONWebKey, error) {
	var key crypto.Signer
	var err error
	switch jose.SignatureAlgorithm(alg) {
	case jose.ES256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jose.RS256:
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	case jose.EdDSA:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	default:
		err = fmt.Errorf("idp: Options.Algorithm: expected ES256, RS256 or EdDSA, got %q", alg)
	}
	return jose.JSONWebKey{Key: key, KeyID: rand.Text()[:12], Algorithm: alg, Use: "sig"}, err
}

// Rotate makes a new signing key. Tokens of the old one stay valid: two predecessors stay published.
func (p *Provider) Rotate() {
	key, err := newKey(p.opts.Algorithm)
	if err != nil {
		panic(err) // the algorithm was checked by New, and rand.Reader does not fail
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = append([]jose.JSONWebKey{key}, p.keys...)
	p.keys = p.keys[:min(len(p.keys), maxKeys)]
}

// DropKeys makes a new signing key and withdraws all others, as after a theft: what they signed is void.
func (p *Provider) DropKeys() {
	p.Rotate()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = p.keys[:1]
}

// Keys returns the public keys, as the JWKS endpoint does. It fits [Trust].Keys.
func (p *Provider) Keys(context.Context) (*jose.JSONWebKeySet, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := &jose.JSONWebKeySet{}
	for _, k := range p.keys {
		set.Keys = append(set.Keys, k.Public())
	}
	return set, nil
}

func (p *Provider) serveKeys(w http.ResponseWriter, r *http.Request) {
	set, err := p.Keys(r.Context())
	if err != nil {
		p.fail(w, err)
		return
	}
	w.Header().Set("Cache-Control", "max-age=60")
	writeJSON(w, http.StatusOK, set)
}

// sign makes a JWT with the current key. A lie may change its claims.
func (p *Provider) sign(typ string, claims map[string]any) (string, error) {
	key := p.keys[0]
	opts := &jose.SignerOptions{}
	opts.WithType(jose.ContentType(typ)).WithHeader("kid", key.KeyID)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key.Key}, opts)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}

// ownClaims reads a JWT of this provider; its lifetime is the caller's to check.
func (p *Provider) ownClaims(token, typ string) (map[string]any, bool) {
	set := jose.JSONWebKeySet{}
	for _, k := range p.keys {
		set.Keys = append(set.Keys, k.Public())
	}
	t, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(t.Headers) != 1 || t.Headers[0].ExtraHeaders["typ"] != typ {
		return nil, false
	}
	var claims map[string]any
	if err := t.Claims(set, &claims); err != nil || claims["iss"] != p.opts.Issuer {
		return nil, false
	}
	return claims, true
}
