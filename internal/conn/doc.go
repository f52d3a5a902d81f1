// Package conn runs JSON-RPC over a pair of byte streams, one message a line:
// standard input and output, pipes, sockets. It is symmetric, so one [Conn]
// serves a client as well as a server, and it knows nothing of MCP.
//
//	        ┌ reader ── HandleMessage ── Go ── handlers ┐
//	bytes ──┤      └─── a waiting Call                  ├── queue ── writer ── bytes
//	        └────────── HandleMalformed ────────────────┘
//
// A Conn has two goroutines of its own, a reader, which [Conn.Run] starts, and a
// writer, which the first message to be written starts, and one for each piece of
// work started with [Conn.Go], some of which are kept for further work. Run waits
// for all of them.
//
// # Who owns the bytes
//
// Every line gets a buffer of its own, of the right size, that is never used
// again. A message handed to a [Handler] or returned by [Conn.Call], and the
// bytes that its raw fields alias, therefore belong to whoever got it, for as
// long as they like. What is given to [Conn.Write] is encoded before it returns
// and may be used again at once.
//
// # Output
//
// Write appends to a queue; the writer takes all that is queued and writes it
// at once, so answers that are ready together leave in one system call. The
// queue is bounded: beyond its bound notifications and requests wait, and a
// request is read only when there is room for its response. Nothing that was accepted is lost
// when the connection closes in good order, unless the peer does not read for
// as long as Options.Grace.
//
// # State
//
// All that goroutines share is the struct state, which only [Conn.update]
// touches. Channels are signals and never leave the package.
//
//	conn.go   Conn, Options, Handler, Run, Close
//	state.go  the shared state and its transitions
//	read.go   from lines to messages to their receivers
//	lines.go  from bytes to lines
//	write.go  Write, the queue and the writer
//	batch.go  WriteBatch
//	call.go   Call, NewID
//	work.go   Go, CancelIncoming
package conn
