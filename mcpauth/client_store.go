package mcpauth

import (
	"context"
	"sync"
)

// A Store keeps credentials of clients between uses. Keys are made of issuers, resources and server URLs and hold no secret; values are
// JSON with secrets in it. Implementations are safe for concurrent use.
type Store interface {
	// Load returns the value of a key, nil if there is none.
	Load(ctx context.Context, key string) ([]byte, error)
	// Update replaces a value by what change makes of it; nil deletes it. From reading to writing no one else may update the key, in this
	// process or another that shares the store; change may ask the network and take as long as ctx allows. An error of change is
	// returned, and nothing is changed.
	Update(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error
}

// A Lister is a [Store] that can say what it has, for [Logins].
type Lister interface {
	// Keys returns the keys that have a value, in any order.
	Keys(ctx context.Context) ([]string, error)
}

// NewMemoryStore returns a [Store] that forgets everything when the process ends.
func NewMemoryStore() Store {
	return &memoryStore{values: map[string]*memoryValue{}}
}

type memoryStore struct {
	mu     sync.Mutex
	values map[string]*memoryValue
}

type memoryValue struct {
	turn chan struct{} // holds one element while nobody updates
	mu   sync.Mutex
	data []byte
}

func (s *memoryStore) value(key string) *memoryValue {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.values[key]
	if v == nil {
		v = &memoryValue{turn: make(chan struct{}, 1)}
		v.turn <- struct{}{}
		s.values[key] = v
	}
	return v
}

func (v *memoryValue) get() []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.data
}

// Load implements [Store].
func (s *memoryStore) Load(_ context.Context, key string) ([]byte, error) {
	return s.value(key).get(), nil
}

// Update implements [Store].
func (s *memoryStore) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	v := s.value(key)
	select {
	case <-v.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { v.turn <- struct{}{} }()
	data, err := change(v.get())
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.data = data
	return nil
}

// Keys implements [Lister].
func (s *memoryStore) Keys(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key, v := range s.values {
		if v.get() != nil {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
