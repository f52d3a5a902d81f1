package consent

import (
	"net/netip"
	"strings"

	"github.com/seed38e7925c/parley/internal/netrange"
)

// numeric reports whether a browser takes the name for an IPv4 address: its last label is a number.
func numeric(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
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
	case a.Is4In6() || a.Is6() && a != netip.IPv6Unspecified() && netrange.Within(a, netrange.Embedding):
		r.refuse(CodeDisguisedIP, "The host is an IPv4 address hidden in an IPv6 address.")
	case a.IsUnspecified() || netrange.Within(a, netrange.Unusable) || netrange.Within(a, netrange.Metadata):
		r.refuse(CodeForbiddenIP, "%s is reserved for the network itself or a cloud's metadata service.", h.name)
	case netrange.Within(a, netrange.Private):
		r.add(CodePrivate, Warning, "%s is an address on a private network.", h.name)
	default:
		r.add(CodeIP, Warning, "The host is an IP address; nothing says whose it is.")
	}
	return h
}
