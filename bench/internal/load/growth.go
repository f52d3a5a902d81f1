package load

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/bench/internal/wire"
)

// Growth is measured between few and a lot.
const (
	few = 10
	lot = 100_000
)

func growthLoads() []Load {
	return []Load{
		{"growth/tools", func(r *Run) error {
			return r.growth(peer.Modern, func(n int) (*peer.Server, func(), error) {
				s, err := r.peer.Serve(peer.Setup{Mode: peer.Modern, Extra: n})
				return s, func() {}, err
			})
		}},
		{"growth/sessions", func(r *Run) error { return r.growth(peer.Stateful, r.withSessions) }},
		{"growth/streams", func(r *Run) error { return r.growth(peer.Modern, r.withStreams) }},
	}
}

// growth compares a call at a server with few of something to one with a lot. The two take turns.
func (r *Run) growth(mode peer.Mode, serve func(n int) (*peer.Server, func(), error)) error {
	var callers [2]*direct
	for i, n := range []int{few, lot} {
		s, stop, err := serve(n)
		if err != nil {
			return err
		}
		defer stop() //nolint:gocritic // both are needed until the end
		callers[i] = &direct{h: s.Handler}
		session := ""
		if mode != peer.Modern {
			if session, err = callers[i].handshake(); err != nil {
				return err
			}
		}
		callers[i].prepare(wire.Call(mode == peer.Modern, 100), session)
	}
	var costs [2][]float64
	const turns = 15
	for turn := range turns {
		for i, d := range callers {
			before, begin, calls := cpuTime(), time.Now(), 0
			for time.Since(begin) < r.time/turns {
				if err := d.do(calls); err != nil {
					return err
				}
				calls++
			}
			if turn > 0 {
				costs[i] = append(costs[i], float64(cpuTime()-before)/float64(calls))
			}
		}
	}
	r.result[CPU] = Median(costs[1])
	r.result[Growth] = Median(costs[1]) / Median(costs[0])
	return nil
}

// Median returns the median of v, 0 if there is none.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// withSessions returns a server that has n sessions.
func (r *Run) withSessions(n int) (*peer.Server, func(), error) {
	s, err := r.peer.Serve(peer.Setup{Mode: peer.Stateful, Room: room})
	if err != nil {
		return nil, nil, err
	}
	d := &direct{h: s.Handler}
	for range n {
		if _, err := d.handshake(); err != nil {
			return nil, nil, err
		}
	}
	return s, func() {}, nil
}

// listening is a response that is open as soon as something was written.
type listening struct {
	writer
	once sync.Once
	open *sync.WaitGroup
}

// Write implements http.ResponseWriter.
func (l *listening) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.once.Do(l.open.Done)
	}
	return len(p), nil
}

// withStreams returns a server that has n open streams.
func (r *Run) withStreams(n int) (*peer.Server, func(), error) {
	s, err := r.peer.Serve(peer.Setup{Mode: peer.Modern, Room: room})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var open, over sync.WaitGroup
	open.Add(n)
	for i := range n {
		d := &direct{h: s.Handler}
		d.prepare(wire.Listen(), "")
		d.msg.SetID(i)
		d.body.Reset(d.msg.Raw)
		req := d.req.WithContext(ctx)
		req.Body = &d.body
		w := &listening{writer: writer{header: http.Header{}}, open: &open}
		over.Go(func() { s.Handler.ServeHTTP(w, req) })
	}
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		open.Wait()
	}()
	select {
	case <-opened:
		return s, func() { cancel(); over.Wait() }, nil
	case <-time.After(time.Minute):
		cancel()
		return nil, nil, fmt.Errorf("not all of %d streams were opened within a minute", n)
	}
}
