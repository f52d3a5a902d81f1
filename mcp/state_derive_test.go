package mcp

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"testing"
)

// The key of a message is HKDF-Expand of the root key with what the format says, although it is computed with less; and no two messages
// have the same.
func TestMessageKeyIsHKDF(t *testing.T) {
	ring := NewKeyRing()
	key := ring.all()[0]
	seen := make(map[string]bool)
	for _, b := range []*Binding{{}, {Purpose: "p", Audience: "a"}, {Purpose: "request state", Audience: string(bytes.Repeat([]byte("a"), 300))}} {
		for range 3 {
			sealed, err := ring.Seal(b, []byte("x"))
			if err != nil {
				t.Fatal(err)
			}
			head, err := base64.RawURLEncoding.DecodeString(sealed)
			if err != nil {
				t.Fatal(err)
			}
			salt := head[1+len(keyID{}) : sealHeader]
			info := appendPart(appendPart(appendPart(nil, "parley seal "+b.Purpose), b.Audience), salt)
			want, err := hkdf.Expand(sha256.New, key.secret[:], string(info), keySize)
			if err != nil {
				t.Fatal(err)
			}
			d := key.deriver()
			_, nonce, err := d.messageKey(head[:sealHeader], b)
			if err != nil || !bytes.Equal(d.key, want) || !bytes.Equal(nonce, salt[:sealNonceSize]) {
				t.Fatalf("%+v: derived %x, nonce %x, %v; want %x, %x", b, d.key, nonce, err, want, salt[:sealNonceSize])
			}
			if seen[string(d.key)] {
				t.Fatal("two messages have one key")
			}
			seen[string(d.key)] = true
			derived := d.key
			key.release(d)
			if !bytes.Equal(derived, make([]byte, keySize)) {
				t.Error("a key stays in the memory that is used again")
			}
		}
	}
}

// BenchmarkSealAlone is what sealing costs by itself: a state of usual size is sealed and opened.
func BenchmarkSealAlone(b *testing.B) {
	ring := NewKeyRing()
	bind := &Binding{Purpose: purposeState, Audience: "bench", Parts: []string{"tools/call", "approve", string(make([]byte, 32))}}
	plain := make([]byte, 100)
	b.ReportAllocs()
	for b.Loop() {
		sealed, err := ring.Seal(bind, plain)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := ring.Open(bind, sealed); err != nil {
			b.Fatal(err)
		}
	}
}
