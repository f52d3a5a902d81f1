// Package sqlite keeps what a desk remembers in one file, with SQLite in pure Go: the default for a server on one machine.
//
// The file is created readable by its owner alone. One connection writes, several read, and the write-ahead log lets them do so at the
// same time; a commit is on the disk when it returns. Several processes on one machine may use the same file. Watch tells of the
// process's own changes at once, and of those of other processes within [Options.PollInterval]. The file must not be on a network file
// system: SQLite's locks do not work there. For several machines there is package connect/postgres.
//
// store.go has the rows, open.go the connections, watch.go what tells of changes, and migrations the tables.
package sqlite
