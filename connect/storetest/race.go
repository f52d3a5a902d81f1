package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/connect"
)

// crowd is how many do the same at once.
const crowd = 16

// together runs fn crowd times at once, taking turns between the two stores, and collects what it returns.
func together[T any](a, b connect.Store, fn func(s connect.Store, i int) T) []T {
	results := make([]T, crowd)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range crowd {
		s := a
		if i%2 == 1 {
			s = b
		}
		wg.Go(func() {
			<-start
			results[i] = fn(s, i)
		})
	}
	close(start)
	wg.Wait()
	return results
}

type inserted struct {
	existing *connect.Row
	err      error
}

// oneAdded checks that one insert added and all others saw its row.
func oneAdded(t *testing.T, results []inserted) {
	t.Helper()
	added := 0
	seen := map[string]bool{}
	for _, r := range results {
		switch {
		case r.err != nil:
			t.Fatal(r.err)
		case r.existing == nil:
			added++
		default:
			seen[r.existing.ID+" "+string(r.existing.Data)] = true
		}
	}
	if added != 1 || len(seen) != 1 {
		t.Fatalf("%d inserts added, and the others saw %v", added, seen)
	}
}

func oneInsertWins(t *testing.T, a, b connect.Store) {
	oneAdded(t, together(a, b, func(s connect.Store, i int) inserted {
		existing, err := s.Insert(within(t), &connect.Row{Kind: "k", ID: "1", Data: []byte(strconv.Itoa(i))})
		return inserted{existing, err}
	}))
}

func oneKeyWins(t *testing.T, a, b connect.Store) {
	oneAdded(t, together(a, b, func(s connect.Store, i int) inserted {
		existing, err := s.Insert(within(t), &connect.Row{Kind: "k", ID: strconv.Itoa(i), Key: "key"})
		return inserted{existing, err}
	}))
}

// expiredKeyIsTaken: the lease of somebody who died is had by one.
func expiredKeyIsTaken(t *testing.T, a, b connect.Store) {
	add(t, a, &connect.Row{Kind: "k", ID: "dead", Key: "key", Expires: past()})
	oneAdded(t, together(a, b, func(s connect.Store, i int) inserted {
		existing, err := s.Insert(within(t), &connect.Row{Kind: "k", ID: strconv.Itoa(i), Key: "key", Expires: future()})
		return inserted{existing, err}
	}))
}

func oneUpdateWins(t *testing.T, a, b connect.Store) {
	r := add(t, a, &connect.Row{Kind: "k", ID: "1", Status: "approved"})
	won := 0
	for _, err := range together(a, b, func(s connect.Store, i int) error {
		mine := *r
		mine.Status = "running"
		return s.Update(within(t), &mine)
	}) {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, connect.ErrConflict):
			t.Fatal(err)
		}
	}
	if got, err := b.Get(within(t), "k", "1"); won != 1 || err != nil || got.Version != 2 || got.Status != "running" {
		t.Fatalf("%d updates of one version succeeded; %+v, %v", won, got, err)
	}
}

// nothingIsLost counts to crowd in one row, each step by reading, adding one, and writing over what was read.
func nothingIsLost(t *testing.T, a, b connect.Store) {
	add(t, a, &connect.Row{Kind: "k", ID: "1", Data: []byte("0")})
	for _, err := range together(a, b, func(s connect.Store, _ int) error {
		for {
			r, err := s.Get(within(t), "k", "1")
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(string(r.Data))
			if err != nil {
				return err
			}
			r.Data = []byte(strconv.Itoa(n + 1))
			if err := s.Update(within(t), r); !errors.Is(err, connect.ErrConflict) {
				return err
			}
		}
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if r, err := b.Get(within(t), "k", "1"); err != nil || string(r.Data) != strconv.Itoa(crowd) || r.Version != crowd+1 {
		t.Fatalf("counted to %s in %d versions, %v", r.Data, r.Version, err)
	}
}

func pruneLeavesLive(t *testing.T, a, b connect.Store) {
	for i := range crowd {
		add(t, a, &connect.Row{Kind: "k", ID: fmt.Sprint("dead", i), Expires: past()})
	}
	type pruned struct {
		n   int
		err error
	}
	total := 0
	for _, p := range together(a, b, func(s connect.Store, i int) pruned {
		if i%4 == 0 {
			n, err := s.Prune(within(t), 3)
			return pruned{n, err}
		}
		_, err := s.Insert(within(t), &connect.Row{Kind: "k", ID: fmt.Sprint("live", i), Expires: future()})
		return pruned{0, err}
	}) {
		if p.err != nil {
			t.Fatal(p.err)
		}
		total += p.n
	}
	rest, err := b.Prune(within(t), 0)
	if err != nil || total+rest != crowd {
		t.Fatalf("pruned %d and %d of %d, %v", total, rest, crowd, err)
	}
	if rows, err := b.Find(within(t), &connect.Query{}); err != nil || len(rows) != crowd-crowd/4 {
		t.Fatalf("%d live rows, %v", len(rows), err)
	}
}
