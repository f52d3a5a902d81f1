package mcp

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"sync"
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
	sealed, err := r.appendSealed(nil, b, plain)
	return string(sealed), err
}

// appendSealed appends what Seal returns.
func (r *KeyRing) appendSealed(dst []byte, b *Binding, plain []byte) ([]byte, error) {
	keys := r.all()
	if len(keys) == 0 {
		return nil, errors.New("mcp: this key ring has no keys; make rings with NewKeyRing, KeyRingOf or ParseKeyRing")
	}
	d := keys[0].deriver()
	defer keys[0].release(d)
	head := append(d.raw[:0], sealVersion)
	head = append(head, keys[0].id[:]...)
	head = append(head, make([]byte, sealSaltSize)...)
	_, _ = rand.Read(head[len(head)-sealSaltSize:]) // crypto/rand.Read never fails: it ends the program rather than return weak bytes
	aead, nonce, err := d.messageKey(head, b)
	if err != nil {
		return nil, err
	}
	d.ad = b.appendAssociated(d.ad[:0], head)
	d.raw = aead.Seal(head, nonce, plain, d.ad)
	return base64.RawURLEncoding.AppendEncode(dst, d.raw), nil
}

// Open returns what was sealed. It fails, without saying what it found, when the text was altered, was sealed under another binding,
// or by a ring that shares no key with this one.
func (r *KeyRing) Open(b *Binding, sealed string) ([]byte, error) { return r.open(b, []byte(sealed)) }

// strictBase64 refuses bits that say nothing, so that no two texts are one message.
var strictBase64 = base64.RawURLEncoding.Strict()

// open is Open.
func (r *KeyRing) open(b *Binding, sealed []byte) ([]byte, error) {
	if bytes.ContainsAny(sealed, "\r\n") { // the decoder would skip them
		return nil, fmt.Errorf("mcp: opening: %w", errSealForm)
	}
	raw, err := strictBase64.AppendDecode(nil, sealed)
	if err != nil || len(raw) < sealHeader || raw[0] != sealVersion {
		return nil, fmt.Errorf("mcp: opening: %w", errSealForm)
	}
	head, body := raw[:sealHeader:sealHeader], raw[sealHeader:]
	key := r.find(keyID(head[1 : 1+len(keyID{})]))
	if key == nil {
		return nil, fmt.Errorf("mcp: opening: %w", errSealKey)
	}
	d := key.deriver()
	defer key.release(d)
	aead, nonce, err := d.messageKey(head, b)
	if err != nil {
		return nil, err
	}
	d.ad = b.appendAssociated(d.ad[:0], head)
	plain, err := aead.Open(body[:0], nonce, body, d.ad)
	if err != nil {
		return nil, fmt.Errorf("mcp: opening: %w", errSealContent)
	}
	return plain, nil
}

func (r *KeyRing) find(id keyID) *ringKey {
	for _, k := range r.all() {
		if k.id == id {
			return k
		}
	}
	return nil
}

// A ringKey is a key on a ring, with what deriving from it takes.
type ringKey struct {
	Key
	derivers sync.Pool // of *deriver
}

func newRingKey(k Key) *ringKey {
	r := &ringKey{Key: k}
	r.derivers.New = func() any { return &deriver{mac: hmac.New(sha256.New, k.secret[:])} }
	return r
}

// A deriver derives the keys of messages from one key, and has memory for one message.
type deriver struct {
	mac           hash.Hash // HMAC-SHA-256 under the key
	info, ad, raw []byte
	key           []byte // of the message, while it is in use
}

func (k *ringKey) deriver() *deriver { return k.derivers.Get().(*deriver) }

// release gives d back. Keys of messages do not stay in it, nor do buffers of large messages.
func (k *ringKey) release(d *deriver) {
	clear(d.key[:cap(d.key)])
	if cap(d.raw) <= maxSealBuffer {
		k.derivers.Put(d)
	}
}

// maxSealBuffer is the size beyond which a buffer is not kept.
const maxSealBuffer = 16 << 10

// messageKey derives the key and the nonce of the one message that begins with head. HKDF-Expand of as many bytes as the hash has is
// a single HMAC: T(1) = HMAC(root key, info | 0x01).
func (d *deriver) messageKey(head []byte, b *Binding) (cipher.AEAD, []byte, error) {
	salt := head[1+len(keyID{}):]
	d.info = appendPart(appendPart(d.info[:0], "parley seal "+b.Purpose), b.Audience)
	d.info = append(appendPart(d.info, salt), 1)
	d.mac.Reset()
	d.mac.Write(d.info) // a hash never fails
	d.key = d.mac.Sum(d.key[:0])
	block, err := aes.NewCipher(d.key)
	if err != nil {
		return nil, nil, fmt.Errorf("mcp: deriving a key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, nil, fmt.Errorf("mcp: deriving a key: %w", err)
	}
	return aead, salt[:sealNonceSize], nil
}

// appendAssociated lists what a message is bound to. Every part has its length in front, so that no two lists look alike.
func (b *Binding) appendAssociated(ad, head []byte) []byte {
	ad = appendPart(ad, head)
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

func appendPart[T string | []byte](dst []byte, s T) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(len(s))), s...)
}
