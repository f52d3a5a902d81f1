package load

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/bench/internal/wire"
)

const (
	idleSessions = 10_000
	openStreams  = 2000
	fanRounds    = 10
)

func idleLoads() []Load {
	return []Load{
		{"sessions", sessions},
		{join("streams", "2026"), func(r *Run) error { return r.streams(peer.Modern) }},
		{join("streams", "2025"), func(r *Run) error { return r.streams(peer.Stateful) }},
		{"crowd", crowd},
	}
}

func (r *Run) weights(before, after weight, n float64) {
	r.result[Heap] = float64(after.Heap-before.Heap) / n
	r.result[Resident] = float64(after.Resident-before.Resident) / n
	r.result[Goroutines] = float64(after.Goroutines-before.Goroutines) / n
}

// sessions weighs sessions that do nothing.
func sessions(r *Run) error {
	c, err := startHTTP(peer.Stateful)
	if err != nil {
		return err
	}
	defer c.stop()
	conn, err := wire.Dial(c.host)
	if err != nil {
		return err
	}
	defer closing(&err, conn.Close)
	var before, after weight
	for i := range idleSessions + 100 {
		if i == 100 {
			if before, err = c.weigh(); err != nil {
				return err
			}
		}
		if _, err := conn.Handshake(); err != nil {
			return err
		}
	}
	if after, err = c.weigh(); err != nil {
		return err
	}
	r.weights(before, after, idleSessions)
	return nil
}

// streams weighs open streams and tells all of them of changes.
func (r *Run) streams(mode peer.Mode) error {
	c, err := startHTTP(mode)
	if err != nil {
		return err
	}
	defer c.stop()
	requests, err := streamRequests(c.host, mode)
	if err != nil {
		return err
	}
	before, err := c.weigh()
	if err != nil {
		return err
	}
	fan, err := openFan(c.host, requests)
	if err != nil {
		return err
	}
	defer fan.close()
	after, err := c.weigh()
	if err != nil {
		return err
	}
	r.weights(before, after, openStreams)
	return r.fan(c, fan)
}

// streamRequests are the requests that open streams.
func streamRequests(host string, mode peer.Mode) ([][]byte, error) {
	requests := make([][]byte, openStreams)
	if mode == peer.Modern {
		for i := range requests {
			m := wire.Listen().Post(host, "")
			m.SetID(i)
			requests[i] = m.Raw
		}
		return requests, nil
	}
	conn, err := wire.Dial(host)
	if err != nil {
		return nil, err
	}
	defer closing(&err, conn.Close)
	for i := range requests {
		session, err := conn.Handshake()
		if err != nil {
			return nil, err
		}
		requests[i] = wire.Get(host, session)
	}
	return requests, err
}

// fan tells all streams of changes, and measures how long it takes until the last one has heard.
func (r *Run) fan(c *child, f *fan) error {
	var total, cpu time.Duration
	for i := range fanRounds + 1 {
		before, begin := c.cpu(), time.Now()
		var answer string
		told := make(chan error, 1)
		go func() { told <- c.tell(cmdChange, &answer) }()
		last, err := f.wait([]byte("notifications/tools/list_changed"))
		if err != nil {
			return err
		}
		if err := <-told; err != nil {
			return err
		}
		if i > 0 { // the first one warms up
			total += last.Sub(begin)
			cpu += c.cpu() - before
		}
		settle(c)
	}
	r.result[Last] = float64(total) / fanRounds
	r.result[ServerCPU] = float64(cpu) / fanRounds / openStreams
	return nil
}

// settle waits until the server has nothing to do any more, and as long as changes are held back after one that was told at once.
func settle(c *child) {
	quiet := 0
	for last := c.cpu(); quiet < 12; {
		<-time.After(10 * time.Millisecond)
		now := c.cpu()
		if now-last < time.Millisecond {
			quiet++
		}
		last = now
	}
}

// crowd measures calls while streams are open.
func crowd(r *Run) (err error) {
	c, err := startHTTP(peer.Modern)
	if err != nil {
		return err
	}
	defer c.stop()
	requests, err := streamRequests(c.host, peer.Modern)
	if err != nil {
		return err
	}
	fan, err := openFan(c.host, requests)
	if err != nil {
		return err
	}
	defer fan.close()
	conn, err := wire.Dial(c.host)
	if err != nil {
		return err
	}
	defer closing(&err, conn.Close)
	m := wire.Call(true, 100).Post(c.host, "")
	length := 0
	before, begin := c.cpu(), time.Now()
	if err := r.measure(1, func(_, n int) error { return exchange(conn, m, n, &length) }); err != nil {
		return err
	}
	r.result[ServerCPU] = float64(c.cpu()-before) / (r.result[Rate] * time.Since(begin).Seconds())
	return nil
}

// opened reports whether what came from the server so far says that a stream is open.
func opened(mode peer.Mode, got []byte) (bool, error) {
	if len(got) > 12 && !bytes.HasPrefix(got, []byte("HTTP/1.1 200")) {
		return false, fmt.Errorf("a stream was refused, not %d: %s", http.StatusOK, got)
	}
	if mode == peer.Modern {
		return bytes.Contains(got, []byte("notifications/subscriptions/acknowledged")), nil
	}
	return bytes.Contains(got, []byte("\r\n\r\n")), nil
}
