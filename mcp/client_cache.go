package mcp

import (
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of [CacheOptions].
const (
	defaultCacheEntries = 1000
	defaultCacheBytes   = 16 << 20
	defaultCacheTTL     = 24 * time.Hour
)

// CacheOptions bound a [ResponseCache]. Nil and zero mean the defaults.
type CacheOptions struct {
	MaxEntries int           // default 1000
	MaxBytes   int           // of responses and keys; default 16 MiB
	MaxTTL     time.Duration // a server's longer times are cut to it; default 24 h
}

// A ResponseCache keeps results that servers allow to be kept: since 2026-07-28 those of server/discover, of the lists and of
// resources/read, for the time and the audience that the server names. What is private is kept apart by the identity of the
// credentials, and by client for links that have none or cannot name them ([AuthLink]). The least recently used go first when it is full. A result is decoded anew
// for each caller, so that nobody can change what another gets. It is safe for concurrent use and may serve several clients.
//
// See [server/utilities/caching].
//
// [server/utilities/caching]: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
type ResponseCache struct {
	opts CacheOptions

	mu      sync.Mutex
	entries map[cacheKey]*list.Element
	recent  *list.List // of *cacheEntry, the last used first
	bytes   int
	epoch   uint64 // counts invalidations
}

type cacheKey struct {
	server, revision, method, params string
	audience                         string // empty: everybody
}

type cacheEntry struct {
	key     cacheKey
	raw     json.RawMessage
	expires time.Time
}

func (e *cacheEntry) size() int { return len(e.raw) + len(e.key.params) + 100 }

// NewResponseCache makes an empty cache.
func NewResponseCache(o *CacheOptions) *ResponseCache {
	c := &ResponseCache{entries: make(map[cacheKey]*list.Element), recent: list.New()}
	if o != nil {
		c.opts = *o
	}
	setDefault(&c.opts.MaxEntries, defaultCacheEntries)
	setDefault(&c.opts.MaxBytes, defaultCacheBytes)
	setDefault(&c.opts.MaxTTL, defaultCacheTTL)
	return c
}

// get returns a fresh result for one of the keys.
func (c *ResponseCache) get(keys ...cacheKey) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range keys {
		el := c.entries[k]
		if el == nil {
			continue
		}
		e := el.Value.(*cacheEntry)
		if !time.Now().Before(e.expires) {
			c.remove(el)
			continue
		}
		c.recent.MoveToFront(el)
		return e.raw
	}
	return nil
}

// now returns a number that changes when anything is invalidated.
func (c *ResponseCache) now() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch
}

// put keeps a result, unless something was invalidated since epoch, when it was asked for.
func (c *ResponseCache) put(k cacheKey, raw json.RawMessage, ttl time.Duration, epoch uint64) {
	if ttl <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != epoch {
		return
	}
	if el := c.entries[k]; el != nil {
		c.remove(el)
	}
	e := &cacheEntry{key: k, raw: raw, expires: time.Now().Add(min(ttl, c.opts.MaxTTL))}
	if e.size() > c.opts.MaxBytes {
		return
	}
	c.entries[k] = c.recent.PushFront(e)
	c.bytes += e.size()
	for len(c.entries) > c.opts.MaxEntries || c.bytes > c.opts.MaxBytes {
		c.remove(c.recent.Back())
	}
}

func (c *ResponseCache) remove(el *list.Element) {
	e := c.recent.Remove(el).(*cacheEntry)
	delete(c.entries, e.key)
	c.bytes -= e.size()
}

// drop invalidates the results of a server that match. A nil cache has none.
func (c *ResponseCache) drop(server string, match func(k cacheKey) bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for k, el := range c.entries {
		if k.server == server && match(k) {
			c.remove(el)
		}
	}
}

func (c *ResponseCache) dropAll(server string) { c.drop(server, func(cacheKey) bool { return true }) }

// cacheServer names the server in cache keys.
func (c *Client) cacheServer() string {
	if c.origin != "" {
		return c.origin
	}
	return c.cacheSelf()
}

// clientSerial numbers the clients of this process.
var clientSerial atomic.Uint64

// cacheSelf names this client in cache keys.
func (c *Client) cacheSelf() string { return "client " + strconv.FormatUint(c.serial, 10) }

// audience names who private results are for.
func (c *Client) audience(n *connection) string {
	if l, ok := n.link.(AuthLink); ok {
		if who := l.AuthContext(); who != "" {
			return "credentials " + who
		}
	}
	return c.cacheSelf()
}

// cached is like request for methods whose results may be kept.
func (c *Client) cached(ctx context.Context, method string, params, result any, o *RequestOptions) (fresh bool, err error) {
	raw, err := objectOf(params)
	if err != nil {
		return false, fmt.Errorf("mcp: %s: params: %w", method, err)
	}
	req := &ClientRequest{Method: method, Params: raw, Options: o, trace: new(requestTrace)}
	if c.opts.Cache == nil {
		res, err := c.send(ctx, req)
		if err != nil {
			return true, err
		}
		return true, decodeResult(method, res, result)
	}
	conn, err := c.connection(ctx)
	if err != nil {
		return false, err
	}
	terms := conn.agreed()
	query, err := withMembers(raw, member{name: "_meta"})
	if err != nil {
		return false, fmt.Errorf("mcp: %s: params: %w", method, err)
	}
	public := cacheKey{server: c.cacheServer(), revision: terms.rev.String(), method: method, params: string(query)}
	private := public
	private.audience = c.audience(conn)
	if terms.rules.Cacheable(method) && !o.Fresh && o.Interactor == nil {
		if hit := c.opts.Cache.get(private, public); hit != nil {
			return false, decodeResult(method, hit, result)
		}
	}
	epoch := c.opts.Cache.now()
	res, err := c.send(ctx, req)
	if err != nil {
		return true, err
	}
	if err := decodeResult(method, res, result); err != nil {
		return true, err
	}
	if terms.rules.Cacheable(method) && req.trace.plain {
		ttl, scope := cacheHints(res)
		if scope == CachePublic {
			c.opts.Cache.put(public, res, ttl, epoch)
		} else {
			c.opts.Cache.put(private, res, ttl, epoch)
		}
	}
	return true, nil
}

// A requestTrace tells what it took to answer a request.
type requestTrace struct {
	plain bool  // one message, no questions
	cause error // what the client itself knows of why a tool failed
}

// cacheHints reads the hints of a result, whatever is wrong with them: then it is private, and not kept.
func cacheHints(raw json.RawMessage) (time.Duration, CacheScope) {
	scope := CachePrivate
	if s, _ := textOf(memberOf(raw, "cacheScope")); s == string(CachePublic) {
		scope = CachePublic
	}
	var ms int64
	if v := memberOf(raw, "ttlMs"); v == nil || unmarshalJSON(v, &ms) != nil || ms <= 0 {
		return 0, scope
	}
	return time.Duration(min(ms, int64(1<<40))) * time.Millisecond, scope
}

// invalidate drops what a change notice makes stale.
func (c *Client) invalidate(method, uri string) {
	var stale func(k cacheKey) bool
	switch method {
	case NotificationToolsListChanged:
		stale = func(k cacheKey) bool { return k.method == MethodToolsList }
	case NotificationPromptsListChanged:
		stale = func(k cacheKey) bool { return k.method == MethodPromptsList }
	case NotificationResourcesListChanged:
		stale = func(k cacheKey) bool {
			return k.method == MethodResourcesList || k.method == MethodResourcesTemplatesList
		}
	case NotificationResourceUpdated:
		stale = func(k cacheKey) bool {
			if k.method != MethodResourcesRead {
				return false
			}
			read, _ := textOf(memberOf(json.RawMessage(k.params), "uri"))
			return underURI(uri, read) || underURI(read, uri)
		}
	default:
		return
	}
	c.opts.Cache.drop(c.cacheServer(), stale)
}

// underURI reports whether uri is base or lies under it.
func underURI(base, uri string) bool {
	rest, ok := strings.CutPrefix(uri, base)
	return ok && (rest == "" || strings.HasSuffix(base, "/") || strings.ContainsRune("/?#", rune(rest[0])))
}
