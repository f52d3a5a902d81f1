package a

import "github.com/seed38e7925c/parley/internal/era"

type Alias = era.Revision

func compare(r era.Revision, a Alias, s string) bool {
	if r >= era.R20251125 { // want `revision compared`
		return true
	}
	if era.R20260728 == a { // want `revision compared`
		return true
	}
	if r < a { // want `revision compared`
		return true
	}
	if s == "2025-06-18" || "2024-11-05" < s { // want `revision compared` `revision compared`
		return true
	}
	switch r { // want `revision compared`
	case era.R20241105, era.R20250326:
		return true
	}
	switch s { // want `revision compared`
	case "2025-11-25":
		return true
	}
	//parleylint:ignore revision the sample shows an exception
	if r == era.R20250618 {
		return true
	}
	//parleylint:ignore revision
	if r == era.R20250618 { // want `revision compared`
		return true
	}
	return false
}

func allowed(r, other era.Revision, s string) bool {
	if r != other {
		return false
	}
	switch s {
	case "a":
		return true
	}
	return r == 0 || r.Modern() || s == "2025"
}
