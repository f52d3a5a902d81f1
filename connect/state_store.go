package connect

import (
	"context"
	"errors"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

// StateStore keeps the state of calls in the store of a desk, for [mcp.AskOptions.Store]: replicas that share the store share the state.
// Values are sealed, and keys are digests. Its errors mean that the store could not be reached.
func StateStore(store Store, keys *Keys) mcp.StateStore { return &stateStore{store, keys} }

type stateStore struct {
	store Store
	keys  *Keys
}

// row makes the row of an entry.
func (s *stateStore) row(key string, value []byte, expires time.Time) (*Row, error) {
	r := &Row{Kind: rowState, ID: digest("state", key), Expires: expires}
	return r, s.keys.seal(r, value)
}

// Create implements [mcp.StateStore].
func (s *stateStore) Create(ctx context.Context, key string, value []byte, expires time.Time) ([]byte, bool, error) {
	r, err := s.row(key, value, expires)
	if err != nil {
		return nil, false, err
	}
	existing, err := s.store.Insert(ctx, r)
	if err != nil || existing == nil {
		return nil, err == nil, err
	}
	have, err := s.keys.open(existing)
	return have, false, err
}

// Set implements [mcp.StateStore].
func (s *stateStore) Set(ctx context.Context, key string, value []byte, expires time.Time) error {
	r, err := s.row(key, value, expires)
	if err != nil {
		return err
	}
	for range maxSteps {
		existing, err := s.store.Insert(ctx, r)
		if err != nil || existing == nil {
			return err
		}
		r.Version = existing.Version
		err = s.store.Update(ctx, r)
		if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return errors.New("connect: an entry of the state of a call is changed by others all the time")
}

// Get implements [mcp.StateStore].
func (s *stateStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	r, err := s.store.Get(ctx, rowState, digest("state", key))
	if errors.Is(err, ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	value, err := s.keys.open(r)
	return value, err == nil, err
}

// Delete implements [mcp.StateStore].
func (s *stateStore) Delete(ctx context.Context, key string) error {
	for range maxSteps {
		r, err := s.store.Get(ctx, rowState, digest("state", key))
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		r.Data, r.Expires = nil, time.Now().Add(-time.Hour) // also for a replica whose clock is behind
		err = s.store.Update(ctx, r)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return errors.New("connect: an entry of the state of a call is changed by others all the time")
}
