//go:build racecanary

package racecanary

import (
	"sync"
	"testing"
)

// TestDeliberateRace writes one variable from two goroutines without order. It fails under the race detector, and only
// there.
func TestDeliberateRace(t *testing.T) {
	var n int
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 1000 {
				n++
			}
		})
	}
	wg.Wait()
	t.Log(n)
}
