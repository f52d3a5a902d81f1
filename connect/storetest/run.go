package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
)

// Run holds a store to the contract of [connect.Store]. open returns an empty store that is closed when its test is over.
func Run(t *testing.T, open func(t *testing.T) connect.Store) {
	for name, check := range single {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
	RunReplicas(t, func(t *testing.T) (connect.Store, connect.Store) {
		s := open(t)
		return s, s
	})
}

// RunReplicas holds two stores to what replicas promise each other: open returns two that keep the same rows, as two processes have
// them.
func RunReplicas(t *testing.T, open func(t *testing.T) (a, b connect.Store)) {
	for name, check := range shared {
		t.Run(name, func(t *testing.T) {
			a, b := open(t)
			check(t, a, b)
		})
	}
}

var single = map[string]func(*testing.T, connect.Store){
	"InsertAndGet":       insertAndGet,
	"InsertKeepsWhatIs":  insertKeepsWhatIs,
	"UpdateByVersion":    updateByVersion,
	"UpdateWritesFields": updateWritesFields,
	"Keys":               keys,
	"Expiry":             expiry,
	"Find":               find,
	"FindPages":          findPages,
	"Prune":              prune,
	"NoAliases":          noAliases,
	"Refused":            refused,
	"EndedContext":       endedContext,
}

var shared = map[string]func(*testing.T, connect.Store, connect.Store){
	"OneInsertWins":     oneInsertWins,
	"OneKeyWins":        oneKeyWins,
	"OneUpdateWins":     oneUpdateWins,
	"NothingIsLost":     nothingIsLost,
	"PruneLeavesLive":   pruneLeavesLive,
	"WatchTells":        watchTells,
	"WatchMissesNone":   watchMissesNone,
	"WatchEnds":         watchEnds,
	"ExpiredKeyIsTaken": expiredKeyIsTaken,
}

// long bounds what a test waits for. Nothing is slow in a store that works.
const long = 30 * time.Second

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), long)
	t.Cleanup(cancel)
	return ctx
}

// past is an Expires that has passed.
func past() time.Time { return time.Now().Add(-time.Hour) }

// future is one that has not.
func future() time.Time { return time.Now().Add(time.Hour) }

func add(t *testing.T, s connect.Store, r *connect.Row) *connect.Row {
	t.Helper()
	existing, err := s.Insert(within(t), r)
	if err != nil || existing != nil {
		t.Fatalf("Insert(%s %s) = %+v, %v", r.Kind, r.ID, existing, err)
	}
	return r
}

func same(t *testing.T, got, want *connect.Row) {
	t.Helper()
	if got == nil {
		t.Fatalf("no row, want %+v", want)
	}
	if got.Kind != want.Kind || got.ID != want.ID || got.Owner != want.Owner || got.Key != want.Key || got.Status != want.Status ||
		got.Version != want.Version || !got.Created.Equal(want.Created) || !got.Updated.Equal(want.Updated) ||
		!got.Expires.Equal(want.Expires.Truncate(time.Microsecond)) || string(got.Data) != string(want.Data) {
		t.Fatalf("row\n%+v, want\n%+v", got, want)
	}
}
