package x

import "github.com/seed38e7925c/parley/internal/era"

func exempt(r era.Revision) bool { return r == era.R20250618 }
