package load

import (
	"fmt"
	"runtime"
	"time"

	"github.com/seed38e7925c/parley/bench/internal/peer"
)

// waiting is how many callers come with a token of a new key at once.
const waiting = 1000

func authLoads() []Load {
	return []Load{
		{"auth/ES256", func(r *Run) error { return r.over("ES256") }},
		{"auth/RS256", func(r *Run) error { return r.over("RS256") }},
		{"auth/known", func(r *Run) error {
			g, err := r.guard("ES256")
			if err != nil {
				return err
			}
			return r.measure(1, func(int, int) error { return g.Known() })
		}},
		{"auth/rotation", func(r *Run) error {
			g, err := r.guard("ES256")
			if err != nil {
				return err
			}
			most := 0
			for range 3 {
				n, err := g.Rotate(waiting)
				if err != nil {
					return err
				}
				most = max(most, n)
			}
			r.result[Fetches] = float64(most)
			return nil
		}},
	}
}

func (r *Run) guard(algorithm string) (*peer.Guard, error) {
	p, ok := r.peer.(peer.Guarded)
	if !ok {
		return nil, fmt.Errorf("%s protects nothing", r.peer.Name())
	}
	return p.Guard(algorithm)
}

// over compares the verification of a token with the bare check of its signature.
func (r *Run) over(algorithm string) error {
	g, err := r.guard(algorithm)
	if err != nil {
		return err
	}
	return r.turns(50, g.Bare, g.Fresh)
}

// turns compares what something costs with its bare part. The two take turns, of so many operations each, so that neighbours on the machine
// disturb both.
func (r *Run) turns(turn int, bare, whole func() error) error {
	var less, more time.Duration
	n := 0
	for start := time.Now(); n == 0 || time.Since(start) < r.time; n += turn {
		runtime.Gosched()
		for _, side := range []struct {
			sum *time.Duration
			do  func() error
		}{{&less, bare}, {&more, whole}} {
			before := cpuTime()
			for range turn {
				if err := side.do(); err != nil {
					return err
				}
			}
			*side.sum += cpuTime() - before
		}
	}
	r.result[Bare] = float64(less) / float64(n)
	r.result[CPU] = float64(more) / float64(n)
	r.result[Over] = float64(more-less) / float64(n)
	return nil
}
