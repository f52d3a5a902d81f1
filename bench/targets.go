package main

import (
	"slices"

	"github.com/seed38e7925c/parley/bench/internal/load"
)

// A target is what has to hold of one metric of one workload. Zero fields say nothing.
type target struct {
	load, metric string
	gosdk, mcpgo float64 // better by this factor at least
	mended       float64 // as gosdk, with go-sdk's flaw repaired
	floor        float64 // the floor's cost times this factor at most
	most         float64 // this value at most
	none         bool    // none at all: most is meant although it is zero
}

const mib = 1 << 20

// targets are those of the project. Times at the handler are processor time, which neighbours disturb less.
var targets = []target{
	{load: "http/2026/100B/64", metric: load.Rate, gosdk: 13, mended: 4, mcpgo: 3},
	{load: "http/2026/100B/64", metric: load.CPU, floor: 1.15},
	{load: "handler/2026/100B", metric: load.CPU, gosdk: 55, mended: 4, mcpgo: 10, floor: 1},
	{load: "handler/2026/100B", metric: load.Allocs, most: 45},
	{load: "handler/2026/64KiB", metric: load.CPU, gosdk: 12, mcpgo: 6, floor: 0.75},
	{load: "http/2025/100B/64", metric: load.Rate, gosdk: 8, mcpgo: 1.4, floor: 1.15},
	{load: "http/2025/100B/64", metric: load.CPU, floor: 1.15},
	{load: "process/2026/64", metric: load.Rate, gosdk: 11, mcpgo: 4, floor: 1.05},
	{load: "list/2026", metric: load.CPU, gosdk: 2000, mcpgo: 600, floor: 1.5},
	{load: "list/filtered", metric: load.CPU, gosdk: 200, mcpgo: 60},
	{load: "list/changing", metric: load.CPU, gosdk: 2000, mcpgo: 600, floor: 1.5},
	{load: "sessions", metric: load.Heap, most: 1024},
	{load: "sessions", metric: load.Goroutines, none: true},
	{load: "streams/2026", metric: load.Resident, floor: 1.1},
	{load: "streams/2026", metric: load.Goroutines, most: 2},
	{load: "streams/2026", metric: load.Last, gosdk: 2, mcpgo: 1.1, floor: 1.2},
	{load: "crowd", metric: load.Rate, gosdk: 4, mcpgo: 2.3, floor: 1.15},
	{load: "ask/2025/16", metric: load.Rate, gosdk: 6.5, mcpgo: 1.4, floor: 1.15},
	{load: "ask/2026/16", metric: load.Rate, gosdk: 13, mcpgo: 2.8, floor: 1.25},
	{load: "cold/1000", metric: load.Wall, gosdk: 4, mcpgo: 2.2},
	{load: "hello", metric: load.Size, most: 7 * mib},
	{load: "growth/tools", metric: load.Growth, most: 1.1},
	{load: "growth/sessions", metric: load.Growth, most: 1.1},
	{load: "growth/streams", metric: load.Growth, most: 1.1},
	{load: "auth/ES256", metric: load.Over, most: 25_000},
	{load: "auth/RS256", metric: load.Over, most: 25_000},
	{load: "auth/known", metric: load.CPU, most: 2_000},
	{load: "auth/rotation", metric: load.Fetches, most: 1},
	{load: "connect/stored", metric: load.Over, most: 3_000},
	{load: "connect/waiting", metric: load.OverHeap, most: 8 << 10},
	{load: "connect/wake", metric: load.P99, most: 1_000_000},
}

func hasTarget(name string) bool {
	return slices.ContainsFunc(targets, func(t target) bool { return t.load == name })
}

// holdsMended reports whether a workload has a target against the repaired go-sdk.
func holdsMended(name string) bool {
	return slices.ContainsFunc(targets, func(t target) bool { return t.load == name && t.mended > 0 })
}
