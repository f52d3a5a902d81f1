package era

import "math/bits"

// Revision is one published revision of the protocol. The zero value is no revision.
//
// Revisions are ordered by date, but only this package may rely on it.
type Revision uint8

// The published revisions.
const (
	R20241105 Revision = iota + 1
	R20250326
	R20250618
	R20251125
	R20260728

	// Latest is the newest revision known.
	Latest = R20260728
	// LatestLegacy is the newest revision that begins with a handshake.
	LatestLegacy = R20251125
)

var names = [...]string{"", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// Parse returns the revision that s names. The match is exact.
func Parse(s string) (Revision, bool) {
	for r := R20241105; r <= Latest; r++ {
		if names[r] == s {
			return r, true
		}
	}
	return 0, false
}

// String returns the revision as it is written on the wire, or "" for a value that is no revision.
func (r Revision) String() string {
	if r > Latest {
		return ""
	}
	return names[r]
}

// Valid reports whether r is a published revision.
func (r Revision) Valid() bool { return r >= R20241105 && r <= Latest }

// Modern reports whether r is spoken request by request, without a handshake.
func (r Revision) Modern() bool { return r.Valid() && !r.Rules().Handshake }

// Legacy reports whether r begins with an initialize handshake.
func (r Revision) Legacy() bool { return r.Valid() && r.Rules().Handshake }

// All returns the published revisions, oldest first, in a slice of its own.
func All() []Revision { return AllSet.Revisions() }

// Set is a set of revisions. The zero value is empty; sets are compared with ==.
type Set uint8

// Sets by era.
const (
	LegacySet = Set(1<<R20241105 | 1<<R20250326 | 1<<R20250618 | 1<<R20251125)
	ModernSet = Set(1 << R20260728)
	AllSet    = LegacySet | ModernSet
)

// SetOf returns the set of the given revisions; values that are no revision are left out.
func SetOf(revs ...Revision) Set {
	var s Set
	for _, r := range revs {
		if r.Valid() {
			s |= 1 << r
		}
	}
	return s
}

// Has reports whether r is in the set.
func (s Set) Has(r Revision) bool { return r.Valid() && s&(1<<r) != 0 }

// Modern returns the members that are spoken without a handshake.
func (s Set) Modern() Set { return s & ModernSet }

// Legacy returns the members that begin with a handshake.
func (s Set) Legacy() Set { return s & LegacySet }

// Newest returns the newest member, or the zero Revision of an empty set.
func (s Set) Newest() Revision {
	s &= AllSet
	if s == 0 {
		return 0
	}
	return Revision(bits.Len8(uint8(s)) - 1)
}

// Revisions returns the members, oldest first.
func (s Set) Revisions() []Revision {
	out := make([]Revision, 0, Latest)
	for r := R20241105; r <= Latest; r++ {
		if s.Has(r) {
			out = append(out, r)
		}
	}
	return out
}

// Strings returns the members as written on the wire, newest first. It is never nil.
func (s Set) Strings() []string {
	out := make([]string, 0, Latest)
	for r := Latest; r >= R20241105; r-- {
		if s.Has(r) {
			out = append(out, names[r])
		}
	}
	return out
}

// Common returns the members that versions names, ignoring names of revisions that are not known here.
func (s Set) Common(versions []string) Set {
	var c Set
	for _, v := range versions {
		if r, ok := Parse(v); ok {
			c |= s & (1 << r)
		}
	}
	return c
}
