// Package netrange names ranges of IP addresses that are special to whoever opens or fetches what a stranger named. What is done about
// them is the caller's business.
package netrange

import "net/netip"

// The ranges. They must not be modified.
var (
	// Embedding are IPv6 ranges whose addresses carry an IPv4 address: mapped, compatible, translated, 6to4, Teredo.
	Embedding = Parse("::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")
	// Private are ranges in use on somebody's own network.
	Private = Parse("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "fc00::/7", "fec0::/10")
	// Unusable are ranges where no server can be: this network, link-local, protocol assignments, multicast, reserved.
	Unusable = Parse("0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "224.0.0.0/4", "240.0.0.0/4", "fe80::/10", "ff00::/8", "100::/64")
	// Documentation are ranges for examples.
	Documentation = Parse("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")
	// Metadata are metadata services of clouds outside the link-local ranges.
	Metadata = Parse("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128")
)

// Parse makes a list of ranges; it panics if one is none.
func Parse(list ...string) []netip.Prefix {
	var ps []netip.Prefix
	for _, s := range list {
		ps = append(ps, netip.MustParsePrefix(s))
	}
	return ps
}

// Within reports whether an address is in one of the ranges.
func Within(a netip.Addr, ps []netip.Prefix) bool {
	for _, p := range ps {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
