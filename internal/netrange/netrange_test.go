package netrange_test

import (
	"net/netip"
	"testing"

	"github.com/seed38e7925c/parley/internal/netrange"
)

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ranges []netip.Prefix
		in     []string
	}{
		{"embedding", netrange.Embedding, []string{"64:ff9b::a00:1", "2002:a00:1::", "2001:0:1::", "::10.0.0.1"}},
		{"private", netrange.Private, []string{"10.1.2.3", "172.31.0.1", "192.168.0.1", "100.64.0.1", "fd00::1"}},
		{"unusable", netrange.Unusable, []string{"0.1.2.3", "169.254.169.254", "224.0.0.1", "255.255.255.255", "fe80::1", "ff02::1"}},
		{"documentation", netrange.Documentation, []string{"192.0.2.1", "203.0.113.9", "2001:db8::1"}},
		{"metadata", netrange.Metadata, []string{"100.100.100.200", "168.63.129.16", "fd00:ec2::254"}},
	} {
		for _, text := range tt.in {
			if !netrange.Within(netip.MustParseAddr(text), tt.ranges) {
				t.Errorf("%s is not %s", text, tt.name)
			}
		}
		for _, text := range []string{"8.8.8.8", "2606:4700::1"} {
			if netrange.Within(netip.MustParseAddr(text), tt.ranges) {
				t.Errorf("%s is %s", text, tt.name)
			}
		}
	}
}
