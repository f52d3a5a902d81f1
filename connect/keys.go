package connect

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/seed38e7925c/parley/connect/internal/vault"
)

// Keys seal what a [Store] keeps, so that a copy of the store says nothing to who has no keys, and nothing in it can be changed or moved
// unnoticed: authenticated encryption, bound to kind, id and owner of the row, and for a credential and an interaction to its generation
// and its status, so that nobody approves something by writing to the store.
//
// They are a ring: one key seals, all open. [Keys.Rotate] changes the one that seals; [Vault.Reseal] seals everything under it, and
// then [Keys.Drop] removes the old one. Methods may be called concurrently.
type Keys struct {
	load func() (*vault.Ring, error)
}

// KeysFromFile keeps the keys in a file, in the clear, readable by its owner alone (mode 0600). It is created when it is missing; of
// several processes that start at once one creates it. A file that others can read is refused. Errors come from what uses the keys
// first, which is [Open].
//
// Whoever has both the file and the store has every secret: keep them in different backups. Replicas on one machine share the file and
// notice a change of it within a second; those on several machines need a copy each.
func KeysFromFile(path string) *Keys { return KeysFromFileWithKMS(path, nil) }

// KeysFromFileWithKMS keeps the keys in a file that is encrypted by a key in a key management service: envelope encryption. The KMS is
// any [tink.AEAD], as Tink's integrations make them; it is asked when the file is read and written, not for each row. A file that is
// not encrypted is refused.
func KeysFromFileWithKMS(path string, kms tink.AEAD) *Keys {
	return &Keys{sync.OnceValues(func() (*vault.Ring, error) { return vault.OpenFile(path, kms) })}
}

// KeysFromTink uses a keyset that the program has loaded itself, with Tink's key for authenticated encryption (AEAD) as the primary. It
// is rotated where it is kept; the process has to be started again, or has to open a desk anew, to know new keys.
func KeysFromTink(h *keyset.Handle) *Keys {
	return &Keys{sync.OnceValues(func() (*vault.Ring, error) { return vault.FromHandle(h) })}
}

// ring is the ring, once it is loaded. Without keys there is an error and no panic, since keys are an option.
func (k *Keys) ring() (*vault.Ring, error) {
	if k == nil || k.load == nil {
		return nil, errors.New("connect: there are no keys: use KeysFromFile, KeysFromFileWithKMS or KeysFromTink")
	}
	ring, err := k.load()
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return ring, nil
}

// names are what a row's data is bound to. They do not change in the life of a row, except that a re-bound row has another owner, and
// each update of a credential or an interaction is a new generation: version is the one that the data is stored with. Their status is
// what was decided, and their key whom and what it is about.
func (r *Row) names(version int64) []string {
	names := []string{"parley connect row 1", r.Kind, r.ID, r.Owner}
	if r.Kind == rowCredential || r.Kind == rowInteraction {
		names = append(names, r.Key, r.Status, strconv.FormatInt(version, 10))
	}
	return names
}

// seal makes plain the data of a row that is about to be inserted or updated. Credentials and interactions must be sealed for every update of them, last.
func (k *Keys) seal(r *Row, plain []byte) error {
	ring, err := k.ring()
	if err != nil {
		return err
	}
	data, err := ring.Seal(plain, r.names(r.Version+1)...)
	if err != nil {
		return fmt.Errorf("connect: sealing a row of kind %q: %w", r.Kind, err)
	}
	r.Data = data
	return nil
}

// open returns the plain data of a row as the store returned it.
func (k *Keys) open(r *Row) ([]byte, error) {
	ring, err := k.ring()
	if err != nil {
		return nil, err
	}
	plain, err := ring.Open(r.Data, r.names(r.Version)...)
	if err != nil {
		return nil, fmt.Errorf("connect: row %s of kind %q cannot be opened: %w", r.ID, r.Kind, err)
	}
	return plain, nil
}

// sealJSON makes the JSON of v the data of a row, as seal does.
func (k *Keys) sealJSON(r *Row, v any) error {
	plain, err := jsonv2.Marshal(v)
	if err != nil {
		return fmt.Errorf("connect: encoding a row of kind %q: %w", r.Kind, err)
	}
	return k.seal(r, plain)
}

// openJSON reads the data of a row into v, as open does.
func (k *Keys) openJSON(r *Row, v any) error {
	plain, err := k.open(r)
	if err != nil {
		return err
	}
	if err := jsonv2.Unmarshal(plain, v); err != nil {
		return fmt.Errorf("connect: the data of row %s of kind %q cannot be read: %w", r.ID, r.Kind, err)
	}
	return nil
}

// A KeyInfo is what may be told of a key.
type KeyInfo struct {
	ID      uint32
	Primary bool // the key that seals
}

// List returns the keys of the ring, without their material.
func (k *Keys) List() ([]KeyInfo, error) {
	ring, err := k.ring()
	if err != nil {
		return nil, err
	}
	keys, err := ring.Keys()
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	var all []KeyInfo
	for _, key := range keys {
		all = append(all, KeyInfo{ID: key.ID, Primary: key.Primary})
	}
	return all, nil
}

// Rotate adds a new key to the file and makes it the one that seals. Processes that use the same file follow within a second. Where
// machines have copies of the file, use Add, copy, and Promote.
func (k *Keys) Rotate(ctx context.Context) (id uint32, err error) {
	return change(k, func(ring *vault.Ring) (uint32, error) { return ring.Rotate(ctx) })
}

// Add adds a new key to the file that opens, and does not seal until Promote.
func (k *Keys) Add(ctx context.Context) (id uint32, err error) {
	return change(k, func(ring *vault.Ring) (uint32, error) { return ring.Add(ctx) })
}

// Promote makes a key of the file the one that seals.
func (k *Keys) Promote(ctx context.Context, id uint32) error {
	_, err := change(k, func(ring *vault.Ring) (uint32, error) { return id, ring.Promote(ctx, id) })
	return err
}

// Drop removes a key from the file. What is still sealed with it is lost: [Vault.Reseal] first, which tells whether anything is.
func (k *Keys) Drop(ctx context.Context, id uint32) error {
	_, err := change(k, func(ring *vault.Ring) (uint32, error) { return id, ring.Drop(ctx, id) })
	return err
}

func change(k *Keys, fn func(*vault.Ring) (uint32, error)) (uint32, error) {
	ring, err := k.ring()
	if err != nil {
		return 0, err
	}
	id, err := fn(ring)
	if err != nil {
		return 0, fmt.Errorf("connect: changing the keys: %w", err)
	}
	return id, nil
}
