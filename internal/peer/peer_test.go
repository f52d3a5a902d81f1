package peer_test

import (
	"testing"

	"github.com/seed38e7925c/parley/internal/peer"
)

func TestAt(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:1234": "a192.0.2.7", "192.0.2.7": "a192.0.2.7", "[::ffff:192.0.2.7]:80": "a192.0.2.7",
		"[2001:db8:1:2:3:4:5:6]:443": "a2001:db8:1:2::", "2001:db8:1:2::1": "a2001:db8:1:2::", "[fe80::1%eth0]:1": "afe80::",
		"127.0.0.1:80": "", "127.9.9.9:80": "", "[::1]:80": "", "[::ffff:127.0.0.1]:1": "", "@": "", "": "", "localhost:1": "", "192.0.2.7:x": "",
	} {
		if got := peer.At(remote); got != want {
			t.Errorf("%q is %q, want %q", remote, got, want)
		}
	}
}

func TestNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range [][3]string{{"a", "b", "c"}, {"ab", "", "c"}, {"", "ab", "c"}, {"a", "bc", ""}, {"", "", ""}, {"1:1:a", "b", "c"}} {
		key := peer.Named(p[0], p[1], p[2])
		if seen[key] || key == "" {
			t.Errorf("%q is somebody else's", key)
		}
		seen[key] = true
	}
}

func TestShare(t *testing.T) {
	for most, want := range map[int]int{10_000: 2500, 256: 64, 100: 64, 10: 10, 1: 1} {
		if got := peer.Share(most); got != want {
			t.Errorf("of %d: %d, want %d", most, got, want)
		}
	}
}

func TestCounts(t *testing.T) {
	var c peer.Counts
	c.Remove("nobody")
	c.Add("")
	if c.Full("", 0) || c.Full("a", 1) {
		t.Error("full when empty")
	}
	c.Add("a")
	c.Add("a")
	if !c.Full("a", 2) || c.Full("b", 1) || c.Full("a", 3) {
		t.Error("wrong count")
	}
	c.Remove("a")
	if c.Full("a", 2) {
		t.Error("full after one has gone")
	}
	c.Remove("")
}
