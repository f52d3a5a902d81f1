package connect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Kinds of rows that the desk writes. A store treats all of them alike.
const (
	rowInteraction = "interaction"
	rowCredential  = "credential"
	rowSession     = "session"
	rowAudit       = "audit"
	rowState       = "state"
	rowLease       = "lease"
)

// A Row is one record of a desk: an interaction, a credential, a session of a browser, an audit entry, a lease, the state of a call.
// Everything that a desk remembers is rows, and every step of it is one insert or one conditional update.
//
// Times are kept in UTC and to the microsecond.
type Row struct {
	Kind string // what it is a record of; not empty
	ID   string // unique within Kind; opaque, not empty
	// Owner is whose it is: a digest of tenant, issuer and subject; empty for nobody's.
	Owner string
	// Key is what the row stands for. Where it is not empty, at most one live row of a Kind has it.
	Key    string
	Status string
	// Version is 1 when inserted, and every update adds 1. The store sets it.
	Version int64
	// Created and Updated are set by the store.
	Created, Updated time.Time
	// Expires ends the row; zero means never. A row whose Expires has passed is not there for anybody, and Prune removes it. An update
	// with an Expires that has passed is how a row is removed at once.
	Expires time.Time
	// Data is sealed by the desk (see [Keys]): a store never sees plain text.
	Data []byte
}

// Live reports whether the row is still there at a time.
func (r *Row) Live(now time.Time) bool { return r.Expires.IsZero() || r.Expires.After(now) }

// Validate says what no store takes: an empty Kind or ID, and text that is not UTF-8 or has a NUL.
func (r *Row) Validate() error {
	if r.Kind == "" || r.ID == "" {
		return errors.New("connect: a row needs a Kind and an ID")
	}
	for _, s := range []string{r.Kind, r.ID, r.Owner, r.Key, r.Status} {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			return fmt.Errorf("connect: the text %q of a row of kind %q is not UTF-8 without NUL", s, r.Kind)
		}
	}
	return nil
}

// A Query selects rows. Empty fields select everything.
type Query struct {
	Kind, Owner, Key, Status string
	// After continues a list: it is the last row of the part before. Its Created, ID and Kind are looked at.
	After *Row
	// Limit is the most rows to return. The default is 100; more than 1000 are never returned at once.
	Limit int
}

// Bounds of Query.Limit.
const (
	defaultFindLimit = 100
	maxFindLimit     = 1000
)

// Rows is Limit within its bounds, for those who write a store.
func (q *Query) Rows() int {
	if q.Limit <= 0 {
		return defaultFindLimit
	}
	return min(q.Limit, maxFindLimit)
}

// What a [Store] says about a row. Any other error of a store means that the store could not be reached or does not work.
var (
	ErrNotFound = errors.New("connect: there is no such row")
	ErrConflict = errors.New("connect: the row has changed in the meantime")
)

// A Store keeps the rows of a desk. Replicas of a server share one. Package connect/sqlite has the default for one machine,
// connect/postgres the one for several; connect/storetest holds any other to this contract.
//
// All methods may be called concurrently. They do not keep the rows that they are given, nor hand out rows that they keep. Errors that
// are not ErrNotFound or ErrConflict (by errors.Is) mean that nothing is known: the step may have been done or not, and the caller
// finds out by reading.
//
// A store compares Expires with a clock. Where replicas' clocks differ, a row ends earlier for one than for the other, by the
// difference and no more; nothing else depends on clocks.
type Store interface {
	// Insert adds r, and sets its Version, Created and Updated. If there is a live row with the same Kind and ID, or the same Kind and
	// Key where Key is not empty, it adds nothing and returns that row. Exactly one of concurrent inserts adds.
	Insert(ctx context.Context, r *Row) (existing *Row, err error)
	// Update writes Owner, Key, Status, Expires and Data of r if the row still has r.Version, and sets r.Version and r.Updated. It is
	// ErrConflict if the row has another version or another live row has the Key, and ErrNotFound if the row is not there; then r is
	// unchanged.
	Update(ctx context.Context, r *Row) error
	// Get returns a live row, or ErrNotFound.
	Get(ctx context.Context, kind, id string) (*Row, error)
	// Find returns live rows, newest first: by Created, then ID, then Kind, all descending. It is no error to find none.
	Find(ctx context.Context, q *Query) ([]*Row, error)
	// Prune removes rows that have expired, at most limit of them (1000 where limit is not positive), and returns how many.
	Prune(ctx context.Context, limit int) (int, error)
	// Watch calls changed for each row that anybody, in any process, inserts or updates from then on, until ctx is over or the store is
	// closed, and returns why. An empty kind means that something may have been missed: look at everything that is waited for. The
	// first call is one of those, once Watch is listening; more follow when the connection had to be made again. Calls come one at a
	// time, in any order, and possibly more than once for a change; changed must return soon.
	Watch(ctx context.Context, changed func(kind, id string)) error
}
