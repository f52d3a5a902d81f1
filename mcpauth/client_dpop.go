package mcpauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// maxNonces bounds how many origins' nonces are remembered.
const maxNonces = 16

// A dpopKey signs proofs of possession (RFC 9449).
type dpopKey struct {
	signer jose.Signer
	pkcs8  []byte
}

func newDPoPKey() (*dpopKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return dpopKeyOf(der)
}

func dpopKeyOf(der []byte) (*dpopKey, error) {
	k, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	key, ok := k.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("mcpauth: the stored DPoP key is of another kind")
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, (&jose.SignerOptions{EmbedJWK: true}).WithType("dpop+jwt"))
	if err != nil {
		return nil, err
	}
	return &dpopKey{signer: signer, pkcs8: der}, nil
}

// keyOf returns the key that a credential is bound to; nil if it is bound to none.
func (t *Transport) keyOf(c *credential) (*dpopKey, error) {
	if len(c.Key) == 0 {
		return nil, nil
	}
	if k := t.dpop.Load(); k != nil && string(k.pkcs8) == string(c.Key) {
		return k, nil
	}
	k, err := dpopKeyOf(c.Key)
	if err != nil {
		return nil, err
	}
	t.dpop.Store(k)
	return k, nil
}

// loginKey returns the key for a new login; nil without DPoP.
func (t *Transport) loginKey() (*dpopKey, error) {
	if !t.opts.DPoP {
		return nil, nil
	}
	if k := t.dpop.Load(); k != nil {
		return k, nil
	}
	k, err := newDPoPKey()
	if err != nil {
		return nil, err
	}
	t.dpop.Store(k)
	return k, nil
}

// proof is a DPoP proof for one request, with the hash of the access token if there is one.
func (t *Transport) proof(k *dpopKey, method, rawURL, accessToken string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", err
	}
	claims := map[string]any{"jti": newID(), "htm": method, "iat": t.now().Unix()}
	if n, ok := t.nonces.Load(origin(u)); ok {
		claims["nonce"] = n
	}
	u.RawQuery, u.Fragment = "", ""
	claims["htu"] = u.String()
	if accessToken != "" {
		sum := sha256.Sum256([]byte(accessToken))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return jwt.Signed(k.signer).Claims(claims).Serialize()
}

// noteNonce remembers the nonce that a server wants in the next proof.
func (t *Transport) noteNonce(rawURL string, h http.Header) {
	n := h.Get("DPoP-Nonce")
	u, err := url.Parse(rawURL)
	if n == "" || err != nil || !t.opts.DPoP {
		return
	}
	if _, known := t.nonces.Swap(origin(u), n); !known && t.nonceCount.Add(1) > maxNonces {
		t.nonces.Clear()
		t.nonceCount.Store(0)
	}
}
