package vault

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// What can be wrong with something sealed.
var (
	// ErrUnknownKey says that the ring lacks the key.
	ErrUnknownKey = errors.New("the key that it was sealed with is not in the key ring")
	// ErrTampered says that it is not what was sealed, or was sealed for another place.
	ErrTampered = errors.New("it is not what was sealed there: changed, cut, or moved from another row")
)

// overhead is what Tink puts before a ciphertext: a byte of version and the id of the key.
const (
	tinkVersion = 1
	overhead    = 5
)

// checkEvery is how often a ring looks whether its file has changed.
const checkEvery = time.Second

// A Ring is a set of keys. Its methods may be called concurrently.
type Ring struct {
	file *file // nil for a ring that somebody else keeps

	mu      sync.Mutex
	keys    *keys
	checked time.Time // when the file was looked at
}

// keys are a ring at one time.
type keys struct {
	aead    tink.AEAD
	handle  *keyset.Handle
	primary uint32
	known   []uint32 // enabled keys
	stamp   stamp    // of the file that they are from
}

// FromHandle makes a ring of a keyset that the caller keeps. Its primary key must be one for AEAD whose output carries the key's id
// (Tink's default, a template without "NoPrefix").
func FromHandle(h *keyset.Handle) (*Ring, error) {
	if h == nil {
		return nil, errors.New("the keyset is nil")
	}
	k, err := keysOf(h)
	if err != nil {
		return nil, err
	}
	return &Ring{keys: k}, nil
}

func keysOf(h *keyset.Handle) (*keys, error) {
	primitive, err := aead.New(h)
	if err != nil {
		return nil, fmt.Errorf("the keyset cannot seal: %w", err)
	}
	info := h.KeysetInfo()
	k := &keys{aead: primitive, handle: h, primary: info.GetPrimaryKeyId()}
	for _, key := range info.GetKeyInfo() {
		if key.GetKeyId() == k.primary && key.GetOutputPrefixType() != tinkpb.OutputPrefixType_TINK {
			return nil, errors.New("the keyset's primary key has no id in its output: use a key template with Tink's prefix")
		}
		if key.GetStatus() == tinkpb.KeyStatusType_ENABLED {
			k.known = append(k.known, key.GetKeyId())
		}
	}
	return k, nil
}

// Seal encrypts plain so that it opens only with the same names, in the same order.
func (r *Ring) Seal(plain []byte, names ...string) ([]byte, error) {
	k, err := r.current()
	if err != nil {
		return nil, err
	}
	return k.aead.Encrypt(plain, associated(names))
}

// Open decrypts what Seal made. ErrUnknownKey and ErrTampered tell why it does not.
func (r *Ring) Open(sealed []byte, names ...string) ([]byte, error) {
	id, ok := keyID(sealed)
	if !ok {
		return nil, ErrTampered
	}
	k, err := r.current()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(k.known, id) {
		if k, err = r.reload(); err != nil { // another process may have rotated
			return nil, err
		}
		if !slices.Contains(k.known, id) {
			return nil, fmt.Errorf("%w (key %08x)", ErrUnknownKey, id)
		}
	}
	plain, err := k.aead.Decrypt(sealed, associated(names))
	if err != nil {
		return nil, ErrTampered
	}
	return plain, nil
}

// Fresh reports whether something is sealed with the primary key.
func (r *Ring) Fresh(sealed []byte) (bool, error) {
	k, err := r.current()
	if err != nil {
		return false, err
	}
	id, ok := keyID(sealed)
	return ok && id == k.primary, nil
}

// KeyID is the key that something was sealed with, if it was.
func KeyID(sealed []byte) (id uint32, ok bool) { return keyID(sealed) }

func keyID(sealed []byte) (uint32, bool) {
	if len(sealed) <= overhead || sealed[0] != tinkVersion {
		return 0, false
	}
	return binary.BigEndian.Uint32(sealed[1:overhead]), true
}

// associated encodes names so that different lists never have the same encoding: their number, and each with its length.
func associated(names []string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(names)))
	for _, n := range names {
		b = binary.BigEndian.AppendUint64(b, uint64(len(n)))
		b = append(b, n...)
	}
	return b
}

// current is the ring as it is in the file now, or was less than a second ago.
func (r *Ring) current() (*keys, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil || time.Since(r.checked) < checkEvery {
		return r.keys, nil
	}
	return r.look()
}

// reload is the ring as it is in the file now.
func (r *Ring) reload() (*keys, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return r.keys, nil
	}
	return r.look()
}

// look reads the file anew if it has changed. r is locked.
func (r *Ring) look() (*keys, error) {
	s, err := r.file.stamp()
	if err != nil {
		return nil, err
	}
	if s != r.keys.stamp {
		k, err := r.file.read()
		if err != nil {
			return nil, err
		}
		r.keys = k
	}
	r.checked = time.Now()
	return r.keys, nil
}

// A Key is what may be told of a key.
type Key struct {
	ID      uint32
	Primary bool // the one that seals
	Enabled bool // opens
}

// Keys lists the keys of the ring.
func (r *Ring) Keys() ([]Key, error) {
	k, err := r.reload()
	if err != nil {
		return nil, err
	}
	var all []Key
	for _, info := range k.handle.KeysetInfo().GetKeyInfo() {
		all = append(all, Key{ID: info.GetKeyId(), Primary: info.GetKeyId() == k.primary, Enabled: info.GetStatus() == tinkpb.KeyStatusType_ENABLED})
	}
	return all, nil
}
