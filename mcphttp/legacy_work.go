//go:build !mcp_modern_only

package mcphttp

import (
	"sync"
	"time"
)

// idleWork is how long a goroutine that has done its work is kept for more, or up to twice as long.
const idleWork = time.Second

// work runs calls on goroutines that are kept for a moment, for a stack that has grown once need not grow again: half of the time of a
// small call otherwise. The one that has been idle for the shortest time works first, so that those in excess are found out.
type work struct {
	workers sync.WaitGroup

	mu     sync.Mutex
	idle   []*worker
	unused int         // how many of idle, from the first, have been in it since the last sweep
	timer  *time.Timer // nil while there is nothing to sweep
	ended  bool
}

// worker is a goroutine.
type worker struct {
	next chan *served // capacity 1; nil means that it is to end
}

func newWork() *work { return &work{} }

// do has c served on a goroutine of its own.
func (w *work) do(c *served) {
	w.mu.Lock()
	n := len(w.idle) - 1
	if n < 0 {
		w.mu.Unlock()
		w.workers.Go(func() { w.loop(c) })
		return
	}
	k := w.idle[n]
	w.idle[n] = nil
	w.idle = w.idle[:n]
	w.unused = min(w.unused, n)
	w.mu.Unlock()
	k.next <- c
}

// loop serves c and then what else comes, until it is told to end.
func (w *work) loop(c *served) {
	k := &worker{next: make(chan *served, 1)}
	for c != nil {
		c.run()
		c = nil // what it holds is not held while nothing comes
		if w.rest(k) {
			c = <-k.next
		}
	}
}

// rest enters an idle worker; it reports false if the worker is to end.
func (w *work) rest(k *worker) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false
	}
	w.idle = append(w.idle, k)
	if w.timer == nil {
		w.unused = 0
		w.timer = time.AfterFunc(idleWork, w.sweep)
	}
	return true
}

// sweep lets those go that have not been used since the last time.
func (w *work) sweep() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	for _, k := range w.idle[:w.unused] {
		k.next <- nil
	}
	n := copy(w.idle, w.idle[w.unused:])
	clear(w.idle[n:])
	w.idle = w.idle[:n]
	if w.unused = n; n == 0 {
		w.timer, w.idle = nil, nil
		return
	}
	w.timer.Reset(idleWork)
}

// end lets idle goroutines go, and the others once they are done.
func (w *work) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.ended = true
	if w.timer != nil {
		w.timer.Stop()
	}
	for _, k := range w.idle {
		k.next <- nil
	}
	w.idle = nil
}

// wait waits for all goroutines, after end.
func (w *work) wait() { w.workers.Wait() }
