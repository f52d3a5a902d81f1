package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/seed38e7925c/parley/interop/internal/matrix"
)

// TestMain lets the test binary be the servers that it starts.
func TestMain(m *testing.M) {
	served, err := matrix.Role(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if served {
		return
	}
	os.Exit(m.Run())
}

// TestPeers runs every pair; those that need Node are skipped where make interop has not installed their packages.
func TestPeers(t *testing.T) {
	for _, p := range matrix.Pairs() {
		t.Run(p.Name(), func(t *testing.T) {
			if p.Needs != "" {
				t.Skip("needs " + p.Needs)
			}
			report(t, p.Run(t.Context()))
		})
	}
}

func report(t *testing.T, row *matrix.Row) {
	t.Helper()
	for name, c := range row.Cells {
		switch c.State {
		case matrix.Fail:
			t.Errorf("%s: %s", name, c.Reason)
			for _, l := range c.Tape {
				t.Log("   ", l)
			}
		case matrix.OK:
		default:
			t.Logf("%s: %s: %s", name, c.State, c.Reason)
		}
	}
}
