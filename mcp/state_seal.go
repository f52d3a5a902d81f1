package mcp

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Sealed text is base64url, without padding, of
//
//	version (1 byte) | key id (8) | salt (32) | AES-256-GCM ciphertext and tag
//
// The key of each message comes from HKDF-Expand with SHA-256 (RFC 5869; the root key is uniformly random, so there is nothing to
// extract) with an info that names purpose, audience and the salt, which is random: no two messages share a key, so that nonces
// cannot collide however many are sealed; the nonce is the beginning of the salt. The associated data are the version, the key id,
// the salt and everything of the Binding, each with its length in front.
const (
	sealVersion   = 1
	sealSaltSize  = 32
	sealNonceSize = 12
	sealHeader    = 1 + len(keyID{}) + sealSaltSize
)

// Errors of [KeyRing.Open]. They are for the log: towards a client, all of them are one.
var (
	errSealForm    = errors.New("not sealed text")
	errSealKey     = errors.New("sealed with a key that is not on the ring")
	errSealContent = errors.New("altered, or sealed for another use")
)

// A Binding is what sealed text is bound to. It opens only under exactly the binding it was sealed under.
type Binding struct {
	Purpose   string     // what the text is for, such as "request state"; parts different uses of one ring
	Audience  string     // which server it is for; parts servers that share a ring by mistake
	Principal *Principal // whom it was given to; nil is the anonymous caller, who is nobody else
	Parts     []string   // anything more
}

// Seal encrypts plain and returns it as text that only this ring opens, and only under the same binding. It is safe for any number
// of messages. The text is about 4/3 of the length of plain and 76 characters longer; it shows the length of plain, the id of the key
// and nothing else.
func (r *KeyRing) Seal(b *Binding, plain []byte) (string, error) {
	keys := r.all()
	if len(keys) == 0 {
		return "", errors.New("mcp: this key ring has no keys; make rings with NewKeyRing, KeyRingOf or ParseKeyRing")
	}
	head := make([]byte, sealHeader, sealHeader+len(plain)+16)
	head[0] = sealVersion
	copy(head[1:], keys[0].id[:])
	_, _ = rand.Read(head[1+len(keyID{}):]) // crypto/rand.Read never fails: it ends the program rather than return weak bytes
	aead, nonce, err := messageKey(&keys[0], head, b)
	if err != nil {
		return "", err
	}
	sealed := aead.Seal(head, nonce, plain, b.associatedData(head))
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Open returns what was sealed. It fails, without saying what it found, when the text was altered, was sealed under another binding,
// or by a ring that shares no key with this one.
func (r *KeyRing) Open(b *Binding, sealed string) ([]byte, error) {
	if strings.ContainsAny(sealed, "\r\n") { // the decoder would skip them
		return nil, fmt.Errorf("mcp: opening: %w", errSealForm)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || len(raw) < sealHeader || raw[0] != sealVersion {
		return nil, fmt.Errorf("mcp: opening: %w", errSealForm)
	}
	head, body := raw[:sealHeader:sealHeader], raw[sealHeader:]
	key := r.find(keyID(head[1 : 1+len(keyID{})]))
	if key == nil {
		return nil, fmt.Errorf("mcp: opening: %w", errSealKey)
	}
	aead, nonce, err := messageKey(key, head, b)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nonce, body, b.associatedData(head))
	if err != nil {
		return nil, fmt.Errorf("mcp: opening: %w", errSealContent)
	}
	return plain, nil
}

func (r *KeyRing) find(id keyID) *Key {
	keys := r.all()
	for i := range keys {
		if keys[i].id == id {
			return &keys[i]
		}
	}
	return nil
}

// messageKey derives the key and the nonce of the one message that begins with head.
func messageKey(k *Key, head []byte, b *Binding) (cipher.AEAD, []byte, error) {
	salt := head[1+len(keyID{}):]
	info := appendPart(appendPart(make([]byte, 0, 192), "parley seal "+b.Purpose), b.Audience)
	info = appendPart(info, string(salt))
	derived, err := hkdf.Expand(sha256.New, k.secret[:], string(info), keySize)
	if err != nil {
		return nil, nil, fmt.Errorf("mcp: deriving a key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, nil, fmt.Errorf("mcp: deriving a key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, nil, fmt.Errorf("mcp: deriving a key: %w", err)
	}
	return aead, salt[:sealNonceSize], nil
}

// associatedData lists what a message is bound to. Every part has its length in front, so that no two lists look alike.
func (b *Binding) associatedData(head []byte) []byte {
	ad := append(binary.BigEndian.AppendUint64(make([]byte, 0, 256), uint64(len(head))), head...)
	ad = appendPart(appendPart(ad, b.Purpose), b.Audience)
	if b.Principal == nil {
		ad = append(ad, 'a') // anonymous
	} else {
		ad = append(ad, 'p')
		ad = appendPart(appendPart(appendPart(ad, b.Principal.Issuer), b.Principal.Subject), b.Principal.ClientID)
	}
	for _, part := range b.Parts {
		ad = appendPart(ad, part)
	}
	return ad
}

func appendPart(dst []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(len(s))), s...)
}
