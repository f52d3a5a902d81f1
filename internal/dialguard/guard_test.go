package dialguard_test

import (
	"net/netip"
	"testing"

	"github.com/seed38e7925c/parley/internal/dialguard"
)

func TestPermits(t *testing.T) {
	strict := &dialguard.Guard{Package: "p", Options: "O"}
	open := &dialguard.Guard{Loopback: true, Private: true}
	own := &dialguard.Guard{Networks: []netip.Prefix{netip.MustParsePrefix("169.254.1.0/24")}}
	for _, c := range []struct {
		addr              string
		strict, open, own bool
	}{
		{"8.8.8.8", true, true, true},
		{"2606:4700::1", true, true, true},
		{"127.0.0.1", false, true, false},
		{"::1", false, true, false},
		{"10.0.0.1", false, true, false},
		{"fd00::1", false, true, false},
		{"169.254.169.254", false, false, false},
		{"169.254.1.9", false, false, true},
		{"::ffff:127.0.0.1", false, false, false},
		{"::ffff:8.8.8.8", false, false, false},
		{"64:ff9b::7f00:1", false, false, false},
		{"fe80::1%eth0", false, false, false},
		{"0.0.0.0", false, false, false},
		{"192.0.2.1", false, false, false},
	} {
		for g, want := range map[*dialguard.Guard]bool{strict: c.strict, open: c.open, own: c.own} {
			if err := g.Permits(netip.MustParseAddr(c.addr)); (err == nil) != want {
				t.Errorf("%s with %+v: %v", c.addr, g, err)
			}
		}
	}
	for address, want := range map[string]bool{"8.8.8.8:443": true, "[::1]:443": false, "name:443": false, "": false} {
		if err := strict.Control("tcp", address, nil); (err == nil) != want {
			t.Errorf("%q: %v", address, err)
		}
	}
}
