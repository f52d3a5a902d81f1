// Package postgres keeps what a desk remembers in PostgreSQL (13 or later), for a server on several machines.
//
// Each step is one statement, and conditional: no transaction outlives it, and no lock is held while somebody waits. Watch listens to
// notifications that the database sends itself when a row changes. Connections that are lost are made again; a step that was under way
// then fails if it writes, and is done again if it only reads, and every Watch is told that something may have been missed.
//
// The tables are in the schema that the connection uses (search_path). Through a pooler that shares connections between transactions
// nothing can be listened to: give the store a connection of its own.
//
// store.go has the rows, open.go the connections, watch.go the notifications, and migrations the tables.
package postgres
