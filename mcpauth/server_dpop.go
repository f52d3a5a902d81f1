package mcpauth

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/mcphttp"
)

// Defaults of [DPoPOptions].
const (
	DefaultProofAge  = time.Minute
	DefaultMaxProofs = 500_000
)

// DPoPOptions tune how tokens are taken that are bound to a key of the client (RFC 9449). Nil and zero values mean the defaults.
type DPoPOptions struct {
	// Required refuses tokens that are not bound, and publishes that.
	Required bool
	// Algorithms are those that proofs may be signed by. The default is all asymmetric ones, as of [JWTOptions.Algorithms].
	Algorithms []string
	// MaxAge is how old a proof may be. The default is 1 min. One from the future is taken if it is not more than 30 s ahead.
	MaxAge time.Duration
	// Nonce demands that proofs carry a nonce of this server, of the last five to ten minutes, so that none can be made beforehand.
	Nonce bool
	// NonceKey makes nonces: 32 bytes or more, which replicas share. The default is a key of this process alone.
	NonceKey []byte
	// MaxProofs bounds the proofs that are remembered, so that none counts twice; while so many are, no other is taken, and the status is
	// 503. One key may have a quarter of them, or 64 if that is more. Each takes some 40 bytes, until it is too old to count anyway. The
	// default is 500,000. Replicas do not share them.
	MaxProofs int
}

// A dpopVerifier checks proofs for one resource.
type dpopVerifier struct {
	resource   string
	required   bool
	algs       []jose.SignatureAlgorithm
	algorithms string // the same, with spaces between them
	maxAge     time.Duration
	nonceKey   []byte // nil: no nonces
	seen       *proofMemory
}

// Bounds of proofs.
const (
	maxProofBytes = 8 << 10
	proofSkew     = DefaultClockSkew
	nonceSlot     = 5 * time.Minute
)

func newDPoPVerifier(resource string, o *DPoPOptions) (*dpopVerifier, error) {
	if o == nil {
		o = &DPoPOptions{}
	}
	if o.MaxAge < 0 || o.MaxProofs < 0 {
		return nil, errors.New("mcpauth: DPoPOptions.MaxAge and MaxProofs must not be negative")
	}
	d := &dpopVerifier{resource: resource, required: o.Required, maxAge: o.MaxAge}
	if d.maxAge == 0 {
		d.maxAge = DefaultProofAge
	}
	most := o.MaxProofs
	if most == 0 {
		most = DefaultMaxProofs
	}
	d.seen = &proofMemory{most: most, window: d.maxAge + proofSkew}
	var err error
	if d.algs, err = algorithms("DPoPOptions.Algorithms", o.Algorithms); err != nil {
		return nil, err
	}
	names := make([]string, len(d.algs))
	for i, a := range d.algs {
		names[i] = string(a)
	}
	d.algorithms = strings.Join(names, " ")
	if !o.Nonce {
		return d, nil
	}
	if d.nonceKey = o.NonceKey; d.nonceKey == nil {
		d.nonceKey = make([]byte, 32)
		rand.Read(d.nonceKey)
	}
	if len(d.nonceKey) < 32 {
		return nil, errors.New("mcpauth: DPoPOptions.NonceKey must have 32 bytes at least")
	}
	return d, nil
}

// checkBinding demands the proof that a bound token needs, and that bound tokens and only those come as DPoP.
func (r *Resource) checkBinding(req *http.Request, scheme, token string, v *verified) error {
	if v.cert != "" && !certifies(req.TLS, v.cert) {
		return r.invalidToken(scheme, invalid("the token is bound to a client certificate that this connection does not have"))
	}
	switch {
	case scheme == schemeBearer && v.key != "":
		return r.invalidToken(schemeDPoP, invalid("the token is bound to a key: send it by the DPoP scheme, with a proof"))
	case scheme == schemeDPoP && v.key == "":
		return r.invalidToken(schemeDPoP, invalid("the token is not bound to a key: send it by the Bearer scheme"))
	case v.key == "" && r.dpop.required:
		return r.invalidToken(schemeDPoP, invalid("only tokens that are bound to a key are taken here (RFC 9449)"))
	case v.key == "":
		return nil
	}
	err := r.dpop.check(req, token, v.key)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errWantNonce):
		e := r.refuse(http.StatusUnauthorized, challenge{scheme: schemeDPoP, code: "use_dpop_nonce", description: err.Error()}, err.Error())
		e.Header = http.Header{"Dpop-Nonce": {r.dpop.nonce(time.Now())}}
		return e
	case errors.Is(err, errProofsFull):
		r.opts.Logger.WarnContext(req.Context(), "mcpauth: as many DPoP proofs are remembered as may be; raise DPoPOptions.MaxProofs", "MaxProofs", r.dpop.seen.most)
		return &mcphttp.AuthError{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"30"}}, Message: err.Error()}
	}
	return r.refuse(http.StatusUnauthorized, challenge{scheme: schemeDPoP, code: "invalid_dpop_proof", description: err.Error()}, err.Error())
}

// certifies reports whether a client has shown the certificate of a thumbprint (RFC 8705 section 3).
func certifies(c *tls.ConnectionState, thumbprint string) bool {
	if c == nil || len(c.PeerCertificates) == 0 {
		return false
	}
	sum := sha256.Sum256(c.PeerCertificates[0].Raw)
	return base64.RawURLEncoding.EncodeToString(sum[:]) == thumbprint
}

// Errors of proofs that are not the proof's own fault. Their texts are told to the client.
var (
	errWantNonce  = errors.New("the DPoP proof must have the nonce that this answer carries")
	errProofsFull = errors.New("the server has no room for another DPoP proof; try again later")
)

// proofClaims are the claims of a DPoP proof (RFC 9449 section 4.2).
type proofClaims struct {
	ID         string      `json:"jti"`
	Method     string      `json:"htm"`
	URL        string      `json:"htu"`
	IssuedAt   numericDate `json:"iat"`
	AccessHash string      `json:"ath"`
	Nonce      string      `json:"nonce"`
}

// check checks the proof of a request (RFC 9449 section 4.3): that whoever sends it has the key of a thumbprint. The error is told to the
// client.
func (d *dpopVerifier) check(req *http.Request, token, thumbprint string) error {
	values := req.Header["Dpop"]
	switch {
	case len(values) == 0:
		return errors.New("the DPoP header is missing")
	case len(values) > 1:
		return errors.New("the request has more than one DPoP header")
	case len(values[0]) > maxProofBytes:
		return fmt.Errorf("the DPoP proof is longer than %d bytes", maxProofBytes)
	}
	c, err := d.open(values[0], thumbprint)
	if err != nil {
		return err
	}
	sum := hashToken(token)
	now := time.Now()
	switch {
	case c.ID == "":
		return errors.New("the DPoP proof has no jti")
	case c.Method != req.Method:
		return fmt.Errorf("the DPoP proof is for another method: expected %s, got %q", req.Method, clip(c.Method))
	case !d.means(c.URL):
		return fmt.Errorf("the DPoP proof is for another URL: expected %q, got %q", d.resource, clip(c.URL))
	case c.IssuedAt.IsZero(), now.Sub(c.IssuedAt.Time) > d.maxAge, c.IssuedAt.Sub(now) > proofSkew:
		return fmt.Errorf("the DPoP proof is not of now: its iat must be within %v of this server's clock, which says %d", d.maxAge, now.Unix())
	case c.AccessHash != base64.RawURLEncoding.EncodeToString(sum[:]):
		return errors.New("the DPoP proof is for another access token (ath)")
	case d.nonceKey != nil && !d.fresh(c.Nonce, now):
		return errWantNonce
	}
	return d.seen.note(thumbprint, c.ID, now)
}

// open reads a proof that is signed with the key of a thumbprint.
func (d *dpopVerifier) open(proof, thumbprint string) (*proofClaims, error) {
	h, err := readHeader(proof, d.algs)
	if err != nil {
		return nil, fmt.Errorf("the DPoP proof cannot be used: %w", err)
	}
	if !strings.EqualFold(h.Type, "dpop+jwt") {
		return nil, fmt.Errorf("the DPoP proof's typ is %q; it must be dpop+jwt", clip(h.Type))
	}
	var key jose.JSONWebKey
	if h.JWK == nil || key.UnmarshalJSON(h.JWK) != nil || !usable(&key) || !fits(&key, h.Algorithm) {
		return nil, errors.New("the DPoP proof has no public key (jwk) that fits its algorithm")
	}
	got, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, errors.New("the DPoP proof's key has no thumbprint")
	}
	if base64.RawURLEncoding.EncodeToString(got) != thumbprint {
		return nil, errors.New("the DPoP proof is signed with another key than the one that the token is bound to")
	}
	jws, err := jose.ParseSignedCompact(proof, d.algs)
	if err != nil {
		return nil, errors.New("the DPoP proof is not a signed JWT")
	}
	payload, err := jws.Verify(key.Key)
	if err != nil {
		return nil, errors.New("the DPoP proof's signature is wrong")
	}
	c := &proofClaims{}
	if err := jsonv2.Unmarshal(payload, c); err != nil {
		return nil, errors.New("the DPoP proof's claims cannot be read")
	}
	return c, nil
}

// means reports whether htu is the resource. Query and fragment do not count (RFC 9449 section 4.3).
func (d *dpopVerifier) means(htu string) bool {
	u, err := url.Parse(htu)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	return canonicalResource(u) == d.resource
}

// nonce returns the nonce of a time: which five minutes it is in, and a code that only this server can make.
func (d *dpopVerifier) nonce(at time.Time) string {
	return d.nonceOf(uint64(at.Unix() / int64(nonceSlot/time.Second)))
}

func (d *dpopVerifier) nonceOf(slot uint64) string {
	b := binary.BigEndian.AppendUint64(nil, slot)
	mac := hmac.New(sha256.New, d.nonceKey)
	mac.Write([]byte("dpop-nonce"))
	mac.Write(b)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(b)[:len(b)+16])
}

// fresh reports whether a nonce is of these five minutes or of those before.
func (d *dpopVerifier) fresh(nonce string, now time.Time) bool {
	return hmac.Equal([]byte(nonce), []byte(d.nonce(now))) || hmac.Equal([]byte(nonce), []byte(d.nonce(now.Add(-nonceSlot))))
}

// proofID stands for one proof.
type proofID [16]byte

// A proofMemory remembers proofs for as long as they would count. It keeps two generations, so that forgetting takes no search.
type proofMemory struct {
	most   int
	window time.Duration

	mu            sync.Mutex
	began         time.Time // when the younger generation began
	young, before proofs
}

// proofs are those of one generation, and how many each key has of them.
type proofs struct {
	seen  map[proofID]struct{}
	count map[proofID]int
}

func newProofs() proofs { return proofs{make(map[proofID]struct{}), make(map[proofID]int)} }

// leastShare is what one key may have however few proofs are remembered.
const leastShare = 64

// digestProof names a proof, or a key.
func digestProof(text string) proofID {
	h := sha256.Sum256([]byte(text))
	return proofID(h[:16])
}

// errReplayed refuses a proof that was used. Its text is told to the client.
var errReplayed = errors.New("the DPoP proof was used before; each request needs one of its own (jti)")

// note remembers a proof, or says that it was used.
func (m *proofMemory) note(thumbprint, id string, now time.Time) error {
	proof, key := digestProof(thumbprint+"\x00"+id), digestProof(thumbprint)
	m.mu.Lock()
	defer m.mu.Unlock()
	if since := now.Sub(m.began); since >= m.window {
		m.before = m.young
		if since >= 2*m.window {
			m.before = newProofs()
		}
		m.young, m.began = newProofs(), now
	}
	_, used := m.young.seen[proof]
	if _, too := m.before.seen[proof]; used || too {
		return errReplayed
	}
	all, own := len(m.young.seen)+len(m.before.seen), m.young.count[key]+m.before.count[key]
	if all >= m.most || own >= max(m.most/4, leastShare) {
		return errProofsFull
	}
	m.young.seen[proof] = struct{}{}
	m.young.count[key]++
	return nil
}
