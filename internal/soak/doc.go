// Package soak holds a test in which hundreds of clients of every revision come, go, stall, cut connections, cancel and leave without
// a word, against one HTTP server and a few child processes. Each of them sees its own data only, every answer is right, and when all
// have left nothing remains: no goroutine, no file descriptor, no session, no heap. make soak runs it for ten minutes; go test runs it
// for a few seconds.
package soak
