package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/bench/internal/load"
)

func TestMend(t *testing.T) {
	const before, after = "func Unmarshal() {\n", "}\n"
	got, err := mend(before + flaw + after)
	if want := before + repair + after; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, src := range []string{"", before + after, before + flaw + flaw + after, before + " " + strings.TrimSpace(flaw) + after} {
		if got, err := mend(src); err == nil || !strings.Contains(err.Error(), "mended.go") {
			t.Errorf("%q was mended to %q: %v", src, got, err)
		}
	}
}

// TestMendedPeer builds the repaired go-sdk. Its program checks the answers itself, and what it allocates shows that the repair is in it:
// it was more than half a megabyte for each call.
func TestMendedPeer(t *testing.T) {
	dir := t.TempDir()
	if err := buildMended(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, program(mended)), "-load", "handler/2026/100B", "-time", "20ms") //nolint:gosec // our own
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var m load.Metrics
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	if per := m[load.Bytes]; per < 1<<10 || per > 200<<10 {
		t.Errorf("%v bytes for each call", per)
	}
}

// The repaired go-sdk takes part where it has a target, and in a full run where the flaw matters.
func TestMendedTakesPart(t *testing.T) {
	for quick, want := range map[bool]int{true: 2, false: 18} {
		p := plan{quick: quick}
		n := 0
		for _, u := range p.units() {
			if u.has(mended) {
				n++
			}
			if !u.has(ours) {
				t.Errorf("%s is without us", u.name)
			}
		}
		if n != want {
			t.Errorf("quick %v: it takes part in %d workloads, want %d", quick, n, want)
		}
	}
}
