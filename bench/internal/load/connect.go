package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/bench/internal/tool"
	"github.com/seed38e7925c/parley/bench/internal/wire"
)

const (
	people = 2000 // with a call each that waits
	wakes  = 300  // how many of them are measured
)

func connectLoads() []Load {
	return []Load{
		{"connect/stored", withConnection(stored)},
		{"connect/waiting", withConnection(waitingCalls)},
		{"connect/wake", withConnection(wake)},
	}
}

func withConnection(do func(r *Run, c *peer.Connection) error) func(r *Run) error {
	return func(r *Run) (err error) {
		p, ok := r.peer.(peer.Connected)
		if !ok {
			return fmt.Errorf("%s has no pages", r.peer.Name())
		}
		c, err := p.Connect()
		if err != nil {
			return err
		}
		defer closing(&err, c.Close)
		return do(r, c)
	}
}

// stored compares a call that has its secret with one that needs none.
func stored(r *Run, c *peer.Connection) error {
	link, _, err := asked(c.Handler, somebody(0))
	if err != nil {
		return err
	}
	if _, err := c.Fill(somebody(0), link); err != nil {
		return err
	}
	size := 0
	side := func(name string) func() error {
		d := callOf(c.Handler, somebody(0), wire.Visitor(name))
		n := 0
		return func() error {
			n++
			if err := d.do(n); err != nil {
				return err
			}
			if size == 0 {
				size = d.w.n
			}
			if d.w.n != size { // a question, or an error
				return fmt.Errorf("%s answers %d bytes, not %d: %w", name, d.w.n, size, errNoAnswer)
			}
			return nil
		}
	}
	without, with := side(tool.Repeat), side(tool.Keyed)
	for range warm {
		if err := errors.Join(without(), with()); err != nil {
			return err
		}
	}
	return r.turns(200, without, with)
}

// waitingCalls weighs calls that wait for their people, beside calls that are held for nothing.
func waitingCalls(r *Run, c *peer.Connection) error {
	_, visits, err := askAll(c.Handler)
	if err != nil {
		return err
	}
	held := make([]*direct, people)
	for i := range held {
		held[i] = callOf(c.Handler, somebody(i), wire.Visitor(tool.Hold))
	}
	empty, err := weighed(c, nil)
	if err != nil {
		return err
	}
	defer empty.end()
	bare, err := weighed(c, held)
	if err != nil {
		return err
	}
	defer bare.end()
	ours, err := weighed(c, visits)
	if err != nil {
		return err
	}
	defer ours.end()
	less, more := float64(bare.memory-empty.memory)/people, float64(ours.memory-bare.memory)/people
	r.result[BareHeap], r.result[Heap], r.result[OverHeap] = less, more, more-less
	return nil
}

// wake measures how long it takes from an interaction that is completed until the call that waits for it has been answered.
func wake(r *Run, c *peer.Connection) error {
	links, calls, err := askAll(c.Handler)
	if err != nil {
		return err
	}
	crowd, err := hold(c, calls)
	if err != nil {
		return err
	}
	defer crowd.end()
	took := make([]time.Duration, wakes)
	runtime.GC() // what the calls have left behind is not part of it
	for i := range took {
		completed, err := c.Fill(somebody(i), links[i])
		if err != nil {
			return err
		}
		select {
		case got := <-crowd.done:
			if got.err != nil || got.call != i {
				return fmt.Errorf("the call %d ended, not %d: %w", got.call, i, got.err)
			}
			took[i] = got.at.Sub(completed)
		case <-time.After(10 * time.Second):
			return errors.New("the call goes on waiting")
		}
	}
	slices.Sort(took)
	r.result[P50], r.result[P99] = float64(took[wakes/2]), float64(took[wakes*99/100])
	return nil
}

func somebody(i int) string { return fmt.Sprint("p", i) }

// callOf prepares a call of somebody.
func callOf(h http.Handler, who string, m wire.Message) *direct {
	d := &direct{h: h}
	d.prepare(m, "")
	d.req.Header.Set("Authorization", "Bearer "+who)
	return d
}

// asked makes a call that needs a secret, and returns the address of the page and the next round of the call.
func asked(h http.Handler, who string) (link string, next *direct, err error) {
	d := callOf(h, who, wire.Visitor(tool.Keyed))
	var answer bytes.Buffer
	d.w.keep = &answer
	if err := d.do(0); err != nil {
		return "", nil, err
	}
	var m struct {
		Result struct {
			InputRequests map[string]struct{ Params struct{ URL string } }
			RequestState  string
		}
	}
	if err := json.Unmarshal(wire.Payload(answer.Bytes()), &m); err != nil {
		return "", nil, err
	}
	for key, q := range m.Result.InputRequests {
		return q.Params.URL, callOf(h, who, wire.Visited(tool.Keyed, key, m.Result.RequestState)), nil
	}
	return "", nil, fmt.Errorf("%s: %w", answer.String(), errNoAnswer)
}

// askAll makes a call of everybody.
func askAll(h http.Handler) (links []string, next []*direct, err error) {
	links, next = make([]string, people), make([]*direct, people)
	for i := range people {
		if links[i], next[i], err = asked(h, somebody(i)); err != nil {
			return nil, nil, err
		}
	}
	return links, next, nil
}

// heldCalls are calls that are not answered yet.
type heldCalls struct {
	cancel context.CancelFunc
	all    sync.WaitGroup
	done   chan ended
	memory int // what is in use while they are held, if they were weighed
}

// ended is a call that was answered.
type ended struct {
	call int
	at   time.Time
	err  error
}

// hold makes calls, and waits until all of them wait.
func hold(c *peer.Connection, calls []*direct) (*heldCalls, error) {
	h := &heldCalls{done: make(chan ended, len(calls))}
	there := c.Entered() + int64(len(calls))
	ctx, cancel := context.WithCancel(connection())
	h.cancel = cancel
	for i, d := range calls {
		d.ctx = ctx
		h.all.Go(func() {
			err := d.do(i)
			h.done <- ended{i, time.Now(), err}
		})
	}
	if err := h.settle(func() bool { return c.Entered() >= there }); err != nil {
		h.end()
		return nil, err
	}
	return h, nil
}

// weighed makes calls and weighs the process while they wait.
func weighed(c *peer.Connection, calls []*direct) (*heldCalls, error) {
	h, err := hold(c, calls)
	if err == nil {
		h.memory = memory()
	}
	return h, err
}

// end ends them.
func (h *heldCalls) end() {
	h.cancel()
	h.all.Wait()
}

// settle waits until all are there and the process has nothing to do any more.
func (h *heldCalls) settle(there func() bool) error {
	const quiet = 12
	last, calm := cpuTime(), 0
	for range 3000 {
		<-time.After(10 * time.Millisecond)
		now := cpuTime()
		calm++
		if now-last > time.Millisecond || !there() {
			calm = 0
		}
		last = now
		if len(h.done) > 0 {
			return fmt.Errorf("a call was answered at once: %w", (<-h.done).err)
		}
		if calm == quiet {
			return nil
		}
	}
	return errors.New("the calls do not come to rest")
}

// memory is what is in use: heap and stacks.
func memory() int {
	for range 4 { // stacks shrink by half each time
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}
