// Package storetest holds a [connect.Store] to its contract, and has one in memory for tests.
//
// Whoever writes a store calls [Run] in a test of their own; connect/sqlite and connect/postgres do the same.
// memory.go has the store in memory, run.go and rows.go the checks of single steps, race.go those of steps at the same time, watch.go
// those of Watch.
package storetest
