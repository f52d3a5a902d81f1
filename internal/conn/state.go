package conn

import "github.com/seed38e7925c/parley/jsonrpc"

// state is all that the goroutines of a connection share.
type state struct {
	running bool  // Run was called
	cause   error // why the connection ended, nil while it has not
	writing bool  // the writer was started
	refused bool  // no more output is accepted

	lastID   int64                // of NewID
	calls    map[jsonrpc.ID]*call // outgoing requests that wait for a response
	incoming map[jsonrpc.ID]*work // incoming requests without a response yet
	working  int                  // pieces of work that have not returned
	slot     chan struct{}        // closed when inFlight falls, if the reader waits

	workers     int           // goroutines that do work or wait for more
	idleWorkers int           // those of them that wait and have no job yet
	idle        chan struct{} // closed when workers is 0, if somebody waits

	queued  int // responses in the queue
	leaving int // responses that are being written

	queue  []byte        // encoded messages, each ended by a newline
	spare  []byte        // an empty buffer for the next queue
	parked bool          // the writer waits to be woken
	space  chan struct{} // closed when the queue was taken, if somebody waits
}

// init makes s ready for use.
func (s *state) init() {
	s.calls = make(map[jsonrpc.ID]*call)
	s.incoming = make(map[jsonrpc.ID]*work)
}

// inFlight returns the number of requests that are worked on or whose responses
// are not yet written.
func (s *state) inFlight() int { return s.working + s.queued + s.leaving }

// update is the only access to the state. f must not block.
func (c *Conn) update(f func(s *state)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.s)
}

// begin marks the connection as running, once.
func (c *Conn) begin() (first bool) {
	c.update(func(s *state) {
		first = !s.running
		s.running = true
	})
	return first
}

// end stops the input for the given cause; the first one counts.
func (c *Conn) end(cause error) {
	c.update(func(s *state) {
		if s.cause == nil {
			s.cause = cause
			close(c.ended)
			close(c.jobs)
		}
	})
}

// refuse stops accepting output. The writer stops when it has drained the queue.
func (c *Conn) refuse(s *state) {
	if s.refused {
		return
	}
	s.refused = true
	close(c.refused)
	if !s.writing {
		close(c.writerDone)
	}
	c.wakeWriter(s)
	signal(&s.space)
}

// cause returns why the connection ended, or nil.
func (c *Conn) cause() (err error) {
	c.update(func(s *state) { err = s.cause })
	return err
}

// working returns the number of pieces of work that have not returned.
func (c *Conn) working() (n int) {
	c.update(func(s *state) { n = s.working })
	return n
}

// idle returns a channel that is closed when no worker is left. It is called
// after the end, when none can be added.
func (c *Conn) idle() (done <-chan struct{}) {
	c.update(func(s *state) {
		done = waiter(&s.idle)
		if s.workers == 0 {
			signal(&s.idle)
		}
	})
	return done
}

// waiter returns the channel at p, made if there is none.
func waiter(p *chan struct{}) <-chan struct{} {
	if *p == nil {
		*p = make(chan struct{})
	}
	return *p
}

// signal releases those who wait for the channel at p.
func signal(p *chan struct{}) {
	if *p != nil {
		close(*p)
		*p = nil
	}
}
