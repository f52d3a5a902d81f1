package connect

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// A Person is who is asked: a tenant of the server, and the subject within the issuer that vouches for it. It is never an e-mail
// address: those change hands.
type Person struct {
	Tenant  string `json:"tenant,omitzero"` // empty where the server has no tenants
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// owner names the person in rows.
func (p Person) owner() string { return digest("owner", p.Tenant, p.Issuer, p.Subject) }

// digest names a list of texts, so that no two lists have the same name: each is preceded by its length.
func digest(parts ...string) string {
	var small [512]byte
	b := small[:0]
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// encodeText and decodeText write bytes for URLs and forms.
func encodeText(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func decodeText(s string) ([]byte, error) { return base64.RawURLEncoding.DecodeString(s) }
