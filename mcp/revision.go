package mcp

import "github.com/seed38e7925c/parley/internal/era"

// Revision is one published revision of the protocol. The zero value is no revision. Its String is the date that the
// wire carries.
type Revision = era.Revision

// The revisions. All but the last begin with an initialize handshake and are called legacy here; since 2026-07-28 every
// request stands for itself.
const (
	Revision20241105 = era.R20241105
	Revision20250326 = era.R20250326
	Revision20250618 = era.R20250618
	Revision20251125 = era.R20251125
	Revision20260728 = era.R20260728
	// LatestRevision is the newest revision this package speaks.
	LatestRevision = era.Latest
)

// ParseRevision returns the revision that s names, and whether there is one. The match is exact.
func ParseRevision(s string) (Revision, bool) { return era.Parse(s) }

// Revisions returns the revisions this package speaks, oldest first.
func Revisions() []Revision { return era.All() }
