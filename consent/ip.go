package consent

import (
	"net/netip"
	"strings"
)

// numeric reports whether a browser takes the name for an IPv4 address: its last label is a number.
func numeric(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

func prefixes(list ...string) []netip.Prefix {
	var ps []netip.Prefix
	for _, s := range list {
		ps = append(ps, netip.MustParsePrefix(s))
	}
	return ps
}

var (
	// embedding are IPv6 ranges whose addresses carry an IPv4 address: mapped, compatible, translated, 6to4, Teredo.
	embedding = prefixes("::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")
	// private are ranges in use on somebody's own network.
	private = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "fc00::/7", "fec0::/10")
	// forbidden are ranges where no page can be: this network, link-local, protocol assignments, multicast, reserved.
	forbidden = prefixes("0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "224.0.0.0/4", "240.0.0.0/4", "fe80::/10", "ff00::/8",
		"100::/64")
	// metadataIPs are metadata services outside the link-local ranges.
	metadataIPs = prefixes("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128")
)

func within(a netip.Addr, ps []netip.Prefix) bool {
	for _, p := range ps {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// address returns the host for an IP address, or nil when it is none in plain form.
func (r *Result) address(text string) *host {
	a, err := netip.ParseAddr(text)
	if err != nil {
		r.refuse(CodeDisguisedIP, "The host is an IP address in disguise.")
		return nil
	}
	if a.Zone() != "" {
		r.refuse(CodeZone, "The address is that of a device on one network (an IPv6 address with a zone).")
		return nil
	}
	h := &host{name: a.String(), ip: true, v6: a.Is6(), loopback: a.IsLoopback() && !a.Is4In6()}
	h.domain, h.unicode = h.name, h.name
	switch {
	case h.loopback:
	case a.Is4In6() || a.Is6() && a != netip.IPv6Unspecified() && within(a, embedding):
		r.refuse(CodeDisguisedIP, "The host is an IPv4 address hidden in an IPv6 address.")
	case a.IsUnspecified() || within(a, forbidden) || within(a, metadataIPs):
		r.refuse(CodeForbiddenIP, "%s is reserved for the network itself or a cloud's metadata service.", h.name)
	case within(a, private):
		r.add(CodePrivate, Warning, "%s is an address on a private network.", h.name)
	default:
		r.add(CodeIP, Warning, "The host is an IP address; nothing says whose it is.")
	}
	return h
}
