package vault

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
)

// errNotOurs says that a ring is kept elsewhere.
var errNotOurs = errors.New("this key ring is not kept in a file: rotate it where it is kept")

// Add adds a new key that opens but does not seal yet. Where replicas have copies of the file, each gets the new one before Promote.
func (r *Ring) Add(ctx context.Context) (id uint32, err error) {
	err = r.change(ctx, func(m *keyset.Manager, _ *keys) error {
		id, err = m.Add(aead.AES256GCMKeyTemplate())
		return err
	})
	return id, err
}

// Promote makes a key the one that seals. The one that was goes on opening.
func (r *Ring) Promote(ctx context.Context, id uint32) error {
	return r.change(ctx, func(m *keyset.Manager, k *keys) error {
		if !slices.Contains(k.known, id) {
			return fmt.Errorf("%w (key %08x)", ErrUnknownKey, id)
		}
		return m.SetPrimary(id)
	})
}

// Rotate is Add and Promote in one step. Processes that use the same file seal with the new key within a second.
func (r *Ring) Rotate(ctx context.Context) (id uint32, err error) {
	err = r.change(ctx, func(m *keyset.Manager, _ *keys) error {
		if id, err = m.Add(aead.AES256GCMKeyTemplate()); err != nil {
			return err
		}
		return m.SetPrimary(id)
	})
	return id, err
}

// Drop removes a key for good: what is sealed with it opens never again. The primary key is not dropped.
func (r *Ring) Drop(ctx context.Context, id uint32) error {
	return r.change(ctx, func(m *keyset.Manager, k *keys) error {
		switch {
		case id == k.primary:
			return fmt.Errorf("key %08x is the primary key: promote another one first", id)
		case !slices.ContainsFunc(k.handle.KeysetInfo().GetKeyInfo(), func(i *tinkpb.KeysetInfo_KeyInfo) bool { return i.GetKeyId() == id }):
			return fmt.Errorf("%w (key %08x)", ErrUnknownKey, id)
		}
		return m.Delete(id)
	})
}

// change changes the file's keyset, and the ring with it.
func (r *Ring) change(ctx context.Context, fn func(*keyset.Manager, *keys) error) error {
	if r.file == nil {
		return errNotOurs
	}
	if err := r.file.locked(ctx, func() error {
		k, err := r.file.read()
		if err != nil {
			return err
		}
		m := keyset.NewManagerFromHandle(k.handle)
		if err := fn(m, k); err != nil {
			return err
		}
		h, err := m.Handle()
		if err != nil {
			return err
		}
		return r.file.write(h)
	}); err != nil {
		return err
	}
	_, err := r.reload()
	return err
}
