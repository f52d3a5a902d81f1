// Package dialguard decides which addresses may be dialled for a URL that somebody else named, when they are dialled, so that no answer
// of DNS can change in between.
package dialguard

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"github.com/seed38e7925c/parley/internal/netrange"
)

// A Guard says which addresses may be dialled. Public ones always may.
type Guard struct {
	Package  string         // for errors: who asks
	Options  string         // for errors: what the options below are called there
	Loopback bool           // this computer (AllowLoopback)
	Networks []netip.Prefix // whatever they are (AllowNetworks)
	Private  bool           // private networks
}

// never hold a server that anybody means.
var never = slices.Concat(netrange.Unusable, netrange.Documentation, netrange.Metadata)

// Permits decides about one address.
func (g *Guard) Permits(a netip.Addr) error {
	if netrange.Within(a.WithZone("").Unmap(), g.Networks) {
		return nil
	}
	switch {
	case a.Is4() && a.IsLoopback(), a == netip.IPv6Loopback():
		if g.Loopback {
			return nil
		}
		return fmt.Errorf("%s: %s is this computer; set %s.AllowLoopback if that is meant", g.Package, a, g.Options)
	case a.Zone() != "", a.Is4In6(), a.IsUnspecified(), a.Is6() && netrange.Within(a, netrange.Embedding), netrange.Within(a, never):
		return fmt.Errorf("%s: %s is reserved, or hides another address; nothing is sent there", g.Package, a)
	case !g.Private && netrange.Within(a, netrange.Private):
		return fmt.Errorf("%s: %s is in a private network; name it in %s.AllowNetworks if that is meant", g.Package, a, g.Options)
	}
	return nil
}

// Control is for net.Dialer.Control.
func (g *Guard) Control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s: %q is no address: %w", g.Package, address, err)
	}
	return g.Permits(at.Addr())
}
