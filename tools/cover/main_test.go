package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const profile = "mode: set\nm/a/x.go:1.1,2.2 8 0\nm/a/x.go:1.1,2.2 8 1\nm/a/x.go:3.1,4.2 2 0\nm/b/y.go:1.1,2.2 1 1\n"
	var out strings.Builder
	low, err := report(&out, profile, 85)
	if err != nil || low != 1 {
		t.Fatalf("low %d, err %v", low, err)
	}
	if want := "  80.0 %  m/a  <-- low\n 100.0 %  m/b\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if _, err := report(&out, "junk\n", 85); err == nil {
		t.Error("junk was taken for a profile")
	}
}
