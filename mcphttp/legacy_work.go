//go:build !mcp_modern_only

package mcphttp

import (
	"sync"
	"time"
)

// idleWork is how long a goroutine that has done its work waits for more.
const idleWork = time.Second

// work runs calls on goroutines that are kept for a moment, for a stack that has grown once need not grow again: half of the time of a
// small call otherwise.
type work struct {
	jobs    chan func()
	stop    chan struct{}
	workers sync.WaitGroup
}

func newWork() *work { return &work{jobs: make(chan func()), stop: make(chan struct{})} }

// do runs f on a goroutine of its own.
func (w *work) do(f func()) {
	select {
	case w.jobs <- f:
	default:
		w.workers.Go(func() { w.loop(f) })
	}
}

// loop runs f and then what else comes, until nothing has come for a while or the work is stopped.
func (w *work) loop(f func()) {
	timer := time.NewTimer(idleWork)
	defer timer.Stop()
	for {
		f()
		timer.Reset(idleWork)
		select {
		case f = <-w.jobs:
		case <-timer.C:
			return
		case <-w.stop:
			return
		}
	}
}

// end lets idle goroutines go, and the others once they are done. It must be called once.
func (w *work) end() { close(w.stop) }

// wait waits for all goroutines, after end.
func (w *work) wait() { w.workers.Wait() }
