package mcp

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
)

// keySize is the length of a root key in bytes.
const keySize = 32

// keyPrefix begins the text form of a key, so that one is recognised where it should not be: in a log, a commit, a ticket.
const keyPrefix = "parley-key-1:"

// A Key is one root key of a [KeyRing]: 256 random bits from which the key of every sealed message is derived. It prints as its id,
// never as its value; use [Key.Text] to store it.
type Key struct {
	secret [keySize]byte
	id     keyID
}

// keyID names a key on the wire. It is derived from the key, so that the two cannot be mixed up, and says nothing about it.
type keyID [8]byte

// NewKey makes a random key.
func NewKey() Key {
	var secret [keySize]byte
	_, _ = rand.Read(secret[:]) // crypto/rand.Read never fails: it ends the program rather than return weak bytes
	return keyOf(secret)
}

// KeyFromBytes makes a key of exactly 32 bytes, which must come from a cryptographic random source. Passwords are not keys.
func KeyFromBytes(secret []byte) (Key, error) {
	if len(secret) != keySize {
		return Key{}, fmt.Errorf("mcp: a key has %d bytes, not %d; make one with NewKey", keySize, len(secret))
	}
	if bytes.Count(secret, secret[:1]) == keySize {
		return Key{}, errors.New("mcp: a key of 32 equal bytes is no secret; make one with NewKey")
	}
	return keyOf([keySize]byte(secret)), nil
}

// ParseKey reads the text form of a key, as [Key.Text] writes it.
func ParseKey(text string) (Key, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), keyPrefix)
	if !ok {
		return Key{}, fmt.Errorf("mcp: a key begins with %q", keyPrefix)
	}
	secret, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return Key{}, errors.New("mcp: a key is base64url without padding after its prefix") // err would quote the key
	}
	return KeyFromBytes(secret)
}

func keyOf(secret [keySize]byte) Key {
	sum := sha256.Sum256(append([]byte("parley key id\x00"), secret[:]...))
	return Key{secret: secret, id: keyID(sum[:8])}
}

// ID returns the public name of the key, as it stands in logs.
func (k Key) ID() string { return fmt.Sprintf("%x", k.id[:]) }

// Text returns the key in its text form, one line without the line break. It is the secret itself.
func (k Key) Text() string { return keyPrefix + base64.RawURLEncoding.EncodeToString(k.secret[:]) }

// String returns the id of the key, not its value.
func (k Key) String() string { return "key " + k.ID() }

// GoString returns the id of the key, not its value.
func (k Key) GoString() string { return k.String() }

// Format prints the id of the key whatever the verb, not its value.
func (k Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) } // the printing package keeps the error

// LogValue returns the id of the key, not its value.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// SecretValue marks the key as a [Secret].
func (k Key) SecretValue() {}

// A KeyRing holds the keys that a server seals with. The first key seals; every key opens. Replicas of one server share a ring, or
// else a request that one of them began cannot be continued by another.
//
// Keys are changed in three steps, each of which may reach the replicas one by one, without a request in flight being lost:
//
//  1. old, new: everybody accepts the new key, nobody uses it yet;
//  2. new, old: everybody seals with the new key, and still accepts the old one;
//  3. new: once the longest lifetime of a state is over, the old key is dropped.
//
// A KeyRing is safe for concurrent use, and can be given other keys while it is in use ([KeyRing.Replace]).
type KeyRing struct {
	keys      atomic.Pointer[[]*ringKey]
	ephemeral bool
}

// maxKeys bounds a ring.
const maxKeys = 16

// NewKeyRing makes a ring of one random key that lives as long as the process. What it sealed cannot be opened by another replica or
// after a restart; a server that uses such a ring says so in its log.
func NewKeyRing() *KeyRing {
	r := &KeyRing{ephemeral: true}
	r.keys.Store(&[]*ringKey{newRingKey(NewKey())})
	return r
}

// KeyRingOf makes a ring of the given keys, at most 16. The first one seals, all of them open.
func KeyRingOf(keys ...Key) (*KeyRing, error) {
	r := &KeyRing{}
	if err := r.Replace(keys...); err != nil {
		return nil, err
	}
	return r, nil
}

// ParseKeyRing reads a ring from text with one key a line, the sealing key first. Empty lines and lines that begin with # are
// skipped. Errors name the line, never its content.
func ParseKeyRing(text []byte) (*KeyRing, error) {
	keys, err := parseKeys(text)
	if err != nil {
		return nil, err
	}
	return KeyRingOf(keys...)
}

// KeyRingFromFile reads a ring from a file in the form that [ParseKeyRing] reads. The file must not be accessible to other users
// where the system has such permissions. The file is read once; to rotate keys without a restart, read it again and use
// [KeyRing.ReplaceText].
func KeyRingFromFile(name string) (*KeyRing, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("mcp: reading keys: %w", err)
	}
	if info.Mode().Perm()&0o007 != 0 && !worldReadableByDesign() {
		return nil, fmt.Errorf("mcp: key file %s is open to every user of this machine (mode %v); chmod 600 it", name, info.Mode().Perm())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("mcp: reading keys: %w", err)
	}
	ring, err := ParseKeyRing(text)
	if err != nil {
		return nil, fmt.Errorf("%w (file %s)", err, name)
	}
	return ring, nil
}

// worldReadableByDesign reports whether the system reports permission bits that mean nothing.
func worldReadableByDesign() bool { return os.PathSeparator == '\\' }

// Replace gives the ring other keys, at most 16, the sealing one first. Openings under way finish with the keys they began with.
func (r *KeyRing) Replace(keys ...Key) error {
	if len(keys) == 0 {
		return errors.New("mcp: a key ring needs at least one key")
	}
	if len(keys) > maxKeys {
		return fmt.Errorf("mcp: a key ring holds at most %d keys, not %d", maxKeys, len(keys))
	}
	seen := make(map[keyID]bool, len(keys))
	for i, k := range keys {
		if k.secret == [keySize]byte{} {
			return fmt.Errorf("mcp: key %d of the ring is empty; make keys with NewKey, KeyFromBytes or ParseKey", i+1)
		}
		if seen[k.id] {
			return fmt.Errorf("mcp: key %d of the ring (%s) is there twice", i+1, k.ID())
		}
		seen[k.id] = true
	}
	own := make([]*ringKey, len(keys))
	for i, k := range keys {
		own[i] = newRingKey(k)
	}
	r.keys.Store(&own)
	return nil
}

// ReplaceText is [KeyRing.Replace] with keys in the text form that [ParseKeyRing] reads. On an error the ring keeps its keys.
func (r *KeyRing) ReplaceText(text []byte) error {
	keys, err := parseKeys(text)
	if err != nil {
		return err
	}
	return r.Replace(keys...)
}

// Text returns the ring in the form that [ParseKeyRing] reads. It contains the secrets.
func (r *KeyRing) Text() []byte {
	var out []byte
	for _, k := range r.all() {
		out = append(append(out, k.Text()...), '\n')
	}
	return out
}

// String names the keys of the ring by their ids.
func (r *KeyRing) String() string {
	ids := make([]string, 0, 2)
	for _, k := range r.all() {
		ids = append(ids, k.ID())
	}
	return "key ring [" + strings.Join(ids, " ") + "]"
}

func (r *KeyRing) all() []*ringKey {
	if keys := r.keys.Load(); keys != nil {
		return *keys
	}
	return nil
}

func parseKeys(text []byte) ([]Key, error) {
	var keys []Key
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, err := ParseKey(line)
		if err != nil {
			return nil, fmt.Errorf("%w (line %d)", err, n)
		}
		keys = append(keys, key)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("mcp: reading keys: %w", err)
	}
	return keys, nil
}
