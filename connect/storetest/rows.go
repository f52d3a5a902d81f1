package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
)

// everyByte is data that no text column would take.
func everyByte() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func insertAndGet(t *testing.T, s connect.Store) {
	before := time.Now().Add(-time.Second)
	for _, r := range []*connect.Row{
		{Kind: "k", ID: "full", Owner: "o", Key: "key", Status: "open", Expires: future(), Data: everyByte()},
		{Kind: "k", ID: "bare"},
		{Kind: "k2", ID: "full", Key: "key"}, // ids and keys are of a kind
		{Kind: "k", ID: "ünï 🙂 ' \" %_ \\ \n", Owner: "'; DROP TABLE rows; --", Data: []byte(strings.Repeat("x", 1<<20))},
	} {
		add(t, s, r)
		if r.Version != 1 || r.Created.Before(before) || !r.Created.Equal(r.Updated) || r.Created.Location() != time.UTC {
			t.Fatalf("Insert set %+v", r)
		}
		got, err := s.Get(within(t), r.Kind, r.ID)
		if err != nil {
			t.Fatalf("Get(%q): %v", r.ID, err)
		}
		same(t, got, r)
		if r.Expires.IsZero() != got.Expires.IsZero() {
			t.Fatalf("Expires %v became %v", r.Expires, got.Expires)
		}
	}
	for _, miss := range [][2]string{{"k", "other"}, {"k3", "full"}, {"K", "full"}, {"k", "FULL"}, {"", ""}} {
		if r, err := s.Get(within(t), miss[0], miss[1]); !errors.Is(err, connect.ErrNotFound) {
			t.Errorf("Get(%q) = %+v, %v; want ErrNotFound", miss, r, err)
		}
	}
}

func insertKeepsWhatIs(t *testing.T, s connect.Store) {
	first := add(t, s, &connect.Row{Kind: "k", ID: "1", Key: "key", Data: []byte("first")})
	for _, r := range []*connect.Row{
		{Kind: "k", ID: "1", Data: []byte("second")},
		{Kind: "k", ID: "2", Key: "key", Data: []byte("second")},
		{Kind: "k", ID: "1", Key: "key", Data: []byte("second")},
	} {
		existing, err := s.Insert(within(t), r)
		if err != nil {
			t.Fatal(err)
		}
		same(t, existing, first)
		if r.Version != 0 {
			t.Errorf("a row that was not added has version %d", r.Version)
		}
	}
	if rows, err := s.Find(within(t), &connect.Query{}); err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
}

func updateByVersion(t *testing.T, s connect.Store) {
	r := add(t, s, &connect.Row{Kind: "k", ID: "1", Status: "a", Data: []byte("a")})
	old := *r
	r.Status, r.Data = "b", []byte("b")
	if err := s.Update(within(t), r); err != nil || r.Version != 2 || r.Updated.Before(r.Created) {
		t.Fatalf("Update: %v, %+v", err, r)
	}
	late := old
	late.Status = "late"
	if err := s.Update(within(t), &late); !errors.Is(err, connect.ErrConflict) || late.Version != 1 {
		t.Fatalf("Update of an old version: %v, version %d", err, late.Version)
	}
	ahead := *r
	ahead.Version = 3
	if err := s.Update(within(t), &ahead); !errors.Is(err, connect.ErrConflict) {
		t.Fatalf("Update of a version to come: %v", err)
	}
	if err := s.Update(within(t), &connect.Row{Kind: "k", ID: "2", Version: 1}); !errors.Is(err, connect.ErrNotFound) {
		t.Fatalf("Update of nothing: %v", err)
	}
	got, err := s.Get(within(t), "k", "1")
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, r)
}

func updateWritesFields(t *testing.T, s connect.Store) {
	r := add(t, s, &connect.Row{Kind: "k", ID: "1", Owner: "o", Key: "key", Status: "a", Data: []byte("secret")})
	created := r.Created
	r.Owner, r.Key, r.Status, r.Expires, r.Data = "o2", "key2", "b", future(), nil
	r.Created = past() // is not the caller's
	if err := s.Update(within(t), r); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(within(t), "k", "1")
	if err != nil {
		t.Fatal(err)
	}
	if got.Owner != "o2" || got.Key != "key2" || got.Status != "b" || got.Expires.IsZero() || len(got.Data) != 0 || !got.Created.Equal(created) {
		t.Fatalf("after the update: %+v", got)
	}
	r.Expires = time.Time{}
	if err := s.Update(within(t), r); err != nil {
		t.Fatal(err)
	}
	if got, err = s.Get(within(t), "k", "1"); err != nil || !got.Expires.IsZero() {
		t.Fatalf("an Expires that was taken away: %+v, %v", got, err)
	}
}

func keys(t *testing.T, s connect.Store) {
	a := add(t, s, &connect.Row{Kind: "k", ID: "a", Key: "key"})
	b := add(t, s, &connect.Row{Kind: "k", ID: "b"})
	add(t, s, &connect.Row{Kind: "k", ID: "c"}) // any number without one
	b.Key = "key"
	if err := s.Update(within(t), b); !errors.Is(err, connect.ErrConflict) || b.Version != 1 {
		t.Fatalf("Update to a key that is taken: %v, version %d", err, b.Version)
	}
	a.Key = "" // a finishing step frees it
	if err := s.Update(within(t), a); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(within(t), b); err != nil {
		t.Fatalf("Update to a key that is free again: %v", err)
	}
	existing, err := s.Insert(within(t), &connect.Row{Kind: "k", ID: "d", Key: "key"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, existing, b)
}

func expiry(t *testing.T, s connect.Store) {
	add(t, s, &connect.Row{Kind: "k", ID: "dead", Key: "key", Expires: past()})
	gone(t, s, &connect.Row{Kind: "k", ID: "dead", Version: 1})
	// What is over stands in nobody's way: neither its id nor its key.
	r := add(t, s, &connect.Row{Kind: "k", ID: "dead", Key: "key", Expires: future(), Data: []byte("new")})
	got, err := s.Get(within(t), "k", "dead")
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, r)
	r.Expires = past() // how a row is removed
	if err := s.Update(within(t), r); err != nil {
		t.Fatal(err)
	}
	gone(t, s, r)
	other := add(t, s, &connect.Row{Kind: "k", ID: "other"})
	other.Key = "key"
	if err := s.Update(within(t), other); err != nil {
		t.Fatalf("Update to the key of a row that is over: %v", err)
	}
}

func gone(t *testing.T, s connect.Store, r *connect.Row) {
	t.Helper()
	if got, err := s.Get(within(t), r.Kind, r.ID); !errors.Is(err, connect.ErrNotFound) {
		t.Errorf("Get of an expired row: %+v, %v", got, err)
	}
	if rows, err := s.Find(within(t), &connect.Query{Kind: r.Kind}); err != nil || len(rows) != 0 {
		t.Errorf("Find of an expired row: %d, %v", len(rows), err)
	}
	if err := s.Update(within(t), r); !errors.Is(err, connect.ErrNotFound) {
		t.Errorf("Update of an expired row: %v", err)
	}
}

func find(t *testing.T, s connect.Store) {
	add(t, s, &connect.Row{Kind: "k", ID: "1", Owner: "o", Key: "x", Status: "open"})
	add(t, s, &connect.Row{Kind: "k", ID: "2", Owner: "o", Status: "done"})
	add(t, s, &connect.Row{Kind: "k", ID: "3", Owner: "p", Key: "y", Status: "open"})
	add(t, s, &connect.Row{Kind: "l", ID: "4", Owner: "o", Status: "open"})
	for _, c := range []struct {
		name string
		q    connect.Query
		want string
	}{
		{"everything", connect.Query{}, "4 3 2 1"},
		{"a kind", connect.Query{Kind: "k"}, "3 2 1"},
		{"an owner", connect.Query{Owner: "o"}, "4 2 1"},
		{"a kind of an owner", connect.Query{Kind: "k", Owner: "o"}, "2 1"},
		{"a key", connect.Query{Kind: "k", Key: "y"}, "3"},
		{"a status", connect.Query{Kind: "k", Status: "open"}, "3 1"},
		{"all of it", connect.Query{Kind: "k", Owner: "o", Key: "x", Status: "open"}, "1"},
		{"nothing", connect.Query{Kind: "k", Owner: "q"}, ""},
		{"no pattern", connect.Query{Owner: "%"}, ""},
		{"a few", connect.Query{Limit: 2}, "4 3"},
	} {
		rows, err := s.Find(within(t), &c.q)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := ids(rows); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func ids(rows []*connect.Row) string {
	var all []string
	for _, r := range rows {
		all = append(all, r.ID)
	}
	return strings.Join(all, " ")
}

func findPages(t *testing.T, s connect.Store) {
	const n = 25
	for i := range n {
		add(t, s, &connect.Row{Kind: "k", ID: fmt.Sprint(i % 5), Key: ""})
		add(t, s, &connect.Row{Kind: fmt.Sprint("l", i), ID: "same"})
		if i%5 == 4 {
			// The five ids again, as new rows.
			rows, err := s.Find(within(t), &connect.Query{Kind: "k"})
			if err != nil || len(rows) != 5 {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			for _, r := range rows {
				r.Expires = past()
				if err := s.Update(within(t), r); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	seen := map[string]bool{}
	q := &connect.Query{Limit: 4}
	for range n {
		rows, err := s.Find(within(t), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if seen[r.Kind+" "+r.ID] {
				t.Fatalf("%s %s was on an earlier page", r.Kind, r.ID)
			}
			if q.After != nil && r.Created.After(q.After.Created) {
				t.Fatalf("%v comes after %v", r.Created, q.After.Created)
			}
			seen[r.Kind+" "+r.ID] = true
			q.After = r
		}
		if len(rows) < 4 {
			break
		}
	}
	if len(seen) != n {
		t.Fatalf("%d rows in pages, want %d", len(seen), n)
	}
}

func prune(t *testing.T, s connect.Store) {
	for i := range 7 {
		add(t, s, &connect.Row{Kind: "k", ID: fmt.Sprint("dead", i), Expires: past()})
	}
	add(t, s, &connect.Row{Kind: "k", ID: "later", Expires: future()})
	add(t, s, &connect.Row{Kind: "k", ID: "never"})
	for _, c := range []struct{ limit, want int }{{5, 5}, {0, 2}, {5, 0}} {
		if n, err := s.Prune(within(t), c.limit); err != nil || n != c.want {
			t.Fatalf("Prune(%d) = %d, %v; want %d", c.limit, n, err, c.want)
		}
	}
	rows, err := s.Find(within(t), &connect.Query{})
	if err != nil || ids(rows) != "never later" {
		t.Fatalf("left: %q, %v", ids(rows), err)
	}
}

func noAliases(t *testing.T, s connect.Store) {
	r := add(t, s, &connect.Row{Kind: "k", ID: "1", Data: []byte("data")})
	r.Data[0], r.Status = 'X', "changed"
	got, err := s.Get(within(t), "k", "1")
	if err != nil || string(got.Data) != "data" || got.Status != "" {
		t.Fatalf("the store keeps the caller's row: %+v, %v", got, err)
	}
	got.Data[0] = 'Y'
	if again, err := s.Get(within(t), "k", "1"); err != nil || string(again.Data) != "data" {
		t.Fatalf("the store hands out its own row: %+v, %v", again, err)
	}
}

func refused(t *testing.T, s connect.Store) {
	for _, r := range []*connect.Row{{}, {Kind: "k"}, {ID: "1"}, {Kind: "k", ID: "a\x00b"}, {Kind: "k", ID: "1", Owner: "\xff"}} {
		if _, err := s.Insert(within(t), r); err == nil {
			t.Errorf("Insert took %+v", r)
		}
		r.Version = 1
		if err := s.Update(within(t), r); err == nil || errors.Is(err, connect.ErrConflict) || errors.Is(err, connect.ErrNotFound) {
			t.Errorf("Update of %+v: %v", r, err)
		}
	}
}

func endedContext(t *testing.T, s connect.Store) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, insert := s.Insert(ctx, &connect.Row{Kind: "k", ID: "1"})
	_, get := s.Get(ctx, "k", "1")
	_, find := s.Find(ctx, &connect.Query{})
	_, prune := s.Prune(ctx, 0)
	update := s.Update(ctx, &connect.Row{Kind: "k", ID: "1", Version: 1})
	watch := s.Watch(ctx, func(string, string) {})
	for name, err := range map[string]error{"Insert": insert, "Get": get, "Find": find, "Prune": prune, "Update": update, "Watch": watch} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a context that is over: %v", name, err)
		}
	}
}
