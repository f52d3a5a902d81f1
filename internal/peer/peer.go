// Package peer tells callers apart, so that one of them cannot take what is there for all.
package peer

import (
	"net/netip"
	"strconv"
)

// Named is the key of a verified caller.
func Named(issuer, subject, client string) string {
	return "p" + strconv.Itoa(len(issuer)) + ":" + strconv.Itoa(len(subject)) + ":" + issuer + subject + client
}

// At is the key of whoever calls from a network address, with or without a port: an IPv4 address, or a /64 network of IPv6, which is what
// one subscriber has. It is empty for what is no such address and for loopback addresses: those are of programs on this machine, and of a
// proxy here that speaks for everybody.
func At(remote string) string {
	addr, err := netip.ParseAddr(remote)
	if err != nil {
		ap, err := netip.ParseAddrPort(remote)
		if err != nil {
			return ""
		}
		addr = ap.Addr()
	}
	if addr = addr.Unmap(); addr.IsLoopback() {
		return ""
	}
	if addr.Is4() {
		return "a" + addr.String()
	}
	network, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return ""
	}
	return "a" + network.Addr().String()
}

// Share is what one caller may have of most when nothing else is said: a quarter, but not so little that it would be in the way.
func Share(most int) int {
	const least = 64
	return min(max(most/4, least), most)
}

// Counts counts what callers have. Its zero value is empty. It is not safe for concurrent use.
type Counts struct{ n map[string]int }

// Full reports whether a caller has as much as it may. Nobody knows how much the callers with an empty key have.
func (c *Counts) Full(key string, most int) bool { return key != "" && c.n[key] >= most }

// Add counts one more.
func (c *Counts) Add(key string) {
	if key == "" {
		return
	}
	if c.n == nil {
		c.n = make(map[string]int)
	}
	c.n[key]++
}

// Remove counts one less.
func (c *Counts) Remove(key string) {
	if n := c.n[key]; n > 1 {
		c.n[key] = n - 1
		return
	}
	delete(c.n, key)
}
