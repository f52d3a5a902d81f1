package mcpauth

import (
	"crypto/sha256"
	"sync"
	"time"
)

// tokenHash stands for a token in memory.
type tokenHash = [sha256.Size]byte

// hashToken hashes a token; usual ones without a copy of it on the heap.
func hashToken(token string) tokenHash {
	var buf [2 << 10]byte
	if len(token) > len(buf) {
		return sha256.Sum256([]byte(token))
	}
	return sha256.Sum256(buf[:copy(buf[:], token)])
}

// A tokenCache remembers verified tokens by their hash, a bounded number of them.
type tokenCache struct {
	most int
	mu   sync.RWMutex
	byID map[tokenHash]*verified
}

func newTokenCache(most int) *tokenCache {
	return &tokenCache{most: most, byID: make(map[tokenHash]*verified)}
}

// get returns what is known of a token; nil if that is nothing, or too old.
func (c *tokenCache) get(key tokenHash, now time.Time) *verified {
	c.mu.RLock()
	v := c.byID[key]
	c.mu.RUnlock()
	if v == nil || !now.Before(v.until) {
		return nil
	}
	return v
}

// put remembers a token. A full cache drops what is over, or else a part of what it happens to come upon.
func (c *tokenCache) put(key tokenHash, v *verified, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byID) >= c.most {
		evict(c.byID, c.most, func(v *verified) bool { return !now.Before(v.until) })
	}
	c.byID[key] = v
}

// evict makes room in a map: what is over goes, and, if that is less than a tenth, others.
func evict[K comparable, V any](m map[K]V, most int, over func(V) bool) {
	for k, v := range m {
		if over(v) {
			delete(m, k)
		}
	}
	for k := range m {
		if len(m) < most-most/10 {
			return
		}
		delete(m, k)
	}
}
