package mcp

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A StateStore keeps what must not travel through a client, or must not happen twice. It is optional. With one,
//
//   - the state of a round is used up when it is redeemed: a retry that was lost on the way back is answered again from the stored
//     result, and any other use of the state is refused;
//   - what [Once] guards runs at most once, even when a state is replayed;
//   - state beyond the cap of [AskOptions.MaxState] is kept here and the client carries a reference;
//   - a URL question to a 2025-11-25 client without a channel back is recognised when the call is made again.
//
// Replicas of a server share a store. Values are sealed or contain results of calls; a store protects them like any user data. All
// methods may be called concurrently. An entry may vanish only after it expired.
type StateStore interface {
	// Create stores value under key, until expires, unless there is an entry under key that has not expired: then it changes nothing
	// and returns the value that is there, and false. Of concurrent calls with one key exactly one creates.
	Create(ctx context.Context, key string, value []byte, expires time.Time) (existing []byte, created bool, err error)
	// Set stores value under key, until expires, whatever was there.
	Set(ctx context.Context, key string, value []byte, expires time.Time) error
	// Get returns the value under key; found is false where there is none or it expired.
	Get(ctx context.Context, key string) (value []byte, found bool, err error)
	// Delete removes the entry under key, if any.
	Delete(ctx context.Context, key string) error
}

// errStoreFull is returned by a [MemoryStore] that has reached its bound.
var errStoreFull = errors.New("mcp: the state store is full")

// A MemoryStore is a [StateStore] in the memory of this process, bounded. It is for a server of one process: others do not see its
// entries, and a restart forgets them.
type MemoryStore struct {
	maxBytes int64

	mu      sync.Mutex
	entries map[string]*memoryEntry
	expiry  memoryHeap
	bytes   int64
}

// memoryOverhead is what an entry is counted for beside its key and value.
const memoryOverhead = 128

type memoryEntry struct {
	key     string
	value   []byte
	expires time.Time
	index   int
}

func (e *memoryEntry) size() int64 { return int64(len(e.key)+len(e.value)) + memoryOverhead }

// NewMemoryStore makes an empty store that holds at most maxBytes of keys and values; 0 means 64 MiB. When it is full and nothing has
// expired, Create and Set fail: entries are never dropped before their time, since that would let a used state be used again.
func NewMemoryStore(maxBytes int64) *MemoryStore {
	if maxBytes <= 0 {
		maxBytes = 64 << 20
	}
	return &MemoryStore{maxBytes: maxBytes, entries: make(map[string]*memoryEntry)}
}

// Create implements [StateStore].
func (s *MemoryStore) Create(_ context.Context, key string, value []byte, expires time.Time) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.live(key); e != nil {
		return append([]byte(nil), e.value...), false, nil
	}
	if err := s.put(key, value, expires); err != nil {
		return nil, false, err
	}
	return nil, true, nil
}

// Set implements [StateStore].
func (s *MemoryStore) Set(_ context.Context, key string, value []byte, expires time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(key, value, expires)
}

// Get implements [StateStore].
func (s *MemoryStore) Get(_ context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.live(key)
	if e == nil {
		return nil, false, nil
	}
	return append([]byte(nil), e.value...), true, nil
}

// Delete implements [StateStore].
func (s *MemoryStore) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[key]; e != nil {
		s.drop(e)
	}
	return nil
}

// Len returns the number of entries, expired ones that were not yet removed included.
func (s *MemoryStore) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

func (s *MemoryStore) live(key string) *memoryEntry {
	s.expire()
	return s.entries[key]
}

func (s *MemoryStore) put(key string, value []byte, expires time.Time) error {
	s.expire()
	fresh := &memoryEntry{key: key, value: append([]byte(nil), value...), expires: expires}
	old := s.entries[key]
	need := fresh.size()
	if old != nil {
		need -= old.size()
	}
	if s.bytes+need > s.maxBytes {
		return fmt.Errorf("%w: %d of %d bytes in use; raise the bound given to NewMemoryStore", errStoreFull, s.bytes, s.maxBytes)
	}
	if old != nil {
		s.drop(old)
	}
	s.entries[key] = fresh
	s.bytes += fresh.size()
	heap.Push(&s.expiry, fresh)
	return nil
}

func (s *MemoryStore) drop(e *memoryEntry) {
	delete(s.entries, e.key)
	s.bytes -= e.size()
	heap.Remove(&s.expiry, e.index)
}

// expire removes what is over. Every operation does so; no goroutine is needed.
func (s *MemoryStore) expire() {
	now := time.Now()
	for len(s.expiry) > 0 && !s.expiry[0].expires.After(now) {
		s.drop(s.expiry[0])
	}
}

// memoryHeap orders entries by their expiry, the soonest first.
type memoryHeap []*memoryEntry

func (h memoryHeap) Len() int           { return len(h) }
func (h memoryHeap) Less(i, j int) bool { return h[i].expires.Before(h[j].expires) }
func (h memoryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements [heap.Interface].
func (h *memoryHeap) Push(x any) {
	e := x.(*memoryEntry)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop implements [heap.Interface].
func (h *memoryHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
