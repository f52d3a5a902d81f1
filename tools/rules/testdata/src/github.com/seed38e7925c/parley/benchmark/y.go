package benchmark

import "github.com/seed38e7925c/parley/internal/era"

func sameLettersOnly(r era.Revision) bool { return r == era.R20250618 } // want `revision compared`
