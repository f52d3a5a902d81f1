package idp

import (
	"crypto"
	"encoding/base64"
	"net/http"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	maxProofAge = 5 * time.Minute // of a DPoP proof, either way
	nonceTTL    = 5 * time.Minute // a nonce is current so long, and taken twice as long
)

type proofClaims struct {
	ID       string           `json:"jti"`
	Method   string           `json:"htm"`
	URL      string           `json:"htu"`
	IssuedAt *jwt.NumericDate `json:"iat"`
	Nonce    string           `json:"nonce"`
}

// proof checks the DPoP proof of a request to the token endpoint (RFC 9449 section 4.3) and returns the thumbprint of its key; empty
// without a proof.
func (p *Provider) proof(w http.ResponseWriter, r *http.Request) (string, *oauthError) {
	proofs := r.Header.Values("DPoP")
	if len(proofs) == 0 {
		return "", nil
	}
	bad := func(text string) (string, *oauthError) { return "", refuse("invalid_dpop_proof", "%s", text) }
	if len(proofs) > 1 {
		return bad("more than one proof")
	}
	jkt, c, why := readProof(proofs[0])
	if why != "" {
		return bad(why)
	}
	now := p.opts.Now()
	switch {
	case c.ID == "" || c.IssuedAt == nil:
		return bad("jti and iat are needed")
	case c.Method != r.Method || !p.here(c.URL, r):
		return bad("it is for " + c.Method + " " + c.URL)
	case now.Sub(c.IssuedAt.Time()).Abs() > maxProofAge:
		return bad("iat is too far from now")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opts.DPoPNonces {
		current, previous := p.nonce(now)
		w.Header().Set("DPoP-Nonce", current)
		if c.Nonce != current && (c.Nonce != previous || previous == "") {
			return "", refuse("use_dpop_nonce", "the proof needs the nonce of the header DPoP-Nonce")
		}
	}
	if !p.seen.first(now, "dpop\x00"+jkt+"\x00"+c.ID, c.IssuedAt.Time().Add(maxProofAge)) {
		return bad("it was used before")
	}
	return jkt, nil
}

// readProof checks what a proof says about itself, or says what is wrong.
func readProof(proof string) (jkt string, c *proofClaims, why string) {
	t, err := jwt.ParseSigned(proof, algorithms)
	if err != nil || len(t.Headers) != 1 || t.Headers[0].ExtraHeaders["typ"] != "dpop+jwt" {
		return "", nil, "expected a JWT of type dpop+jwt with an asymmetric signature"
	}
	key := t.Headers[0].JSONWebKey
	if key == nil || !key.Valid() || !key.IsPublic() {
		return "", nil, "the header must hold the public key"
	}
	c = &proofClaims{}
	if err := t.Claims(key.Key, c); err != nil {
		return "", nil, "the signature is not by the key in the header"
	}
	sum, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return "", nil, "the key has no thumbprint"
	}
	return base64.RawURLEncoding.EncodeToString(sum), c, ""
}

// here reports whether a proof is for the endpoint of this request.
func (p *Provider) here(htu string, r *http.Request) bool {
	u, err := url.Parse(htu)
	return err == nil && u.RawQuery == "" && u.Fragment == "" && u.Scheme == p.base.Scheme && u.Host == p.base.Host && u.Path == r.URL.Path
}

func (p *Provider) nonce(now time.Time) (current, previous string) {
	if age := now.Sub(p.nonceAt); age >= nonceTTL {
		old := p.nonces[0]
		if age >= 2*nonceTTL {
			old = ""
		}
		p.nonces, p.nonceAt = [2]string{newID(), old}, now
	}
	return p.nonces[0], p.nonces[1]
}
