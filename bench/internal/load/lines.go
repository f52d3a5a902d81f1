package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/bench/internal/wire"
)

func lineLoads() []Load {
	var all []Load
	for _, modern := range []bool{true, false} {
		era := map[bool]string{true: "2026", false: "2025"}[modern]
		for _, window := range []int{1, 64} {
			all = append(all,
				Load{join("pipe", era, window), func(r *Run) error { return r.pipe(modern, window) }},
				Load{join("process", era, window), func(r *Run) error { return r.process(modern, window) }})
		}
	}
	return all
}

// pipe measures calls over pipes within the process.
func (r *Run) pipe(modern bool, window int) error {
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- r.peer.ServeLines(context.Background(), toServer, fromServer, peer.Setup{}) }()
	l := wire.NewLines(toClient, fromClient)
	if err := r.lines(l, modern, window); err != nil {
		return err
	}
	if err := fromClient.Close(); err != nil {
		return err
	}
	return <-ended
}

// process measures calls of a server that is a process of its own.
func (r *Run) process(modern bool, window int) error {
	c, err := start(self(), "-serve", "lines")
	if err != nil {
		return err
	}
	l := wire.NewLines(c.out, c.in)
	before, begin := c.cpu(), time.Now()
	if err := r.lines(l, modern, window); err != nil {
		return fmt.Errorf("%w %s", err, c.stop())
	}
	calls := r.result[Rate] * r.time.Seconds() * float64(time.Since(begin)) / float64(r.time)
	r.result[ServerCPU] = float64(c.cpu()-before) / calls
	if text := c.stop(); text != "" {
		return fmt.Errorf("the server: %s", text)
	}
	return nil
}

func (r *Run) lines(l *wire.Lines, modern bool, window int) error {
	if !modern {
		if err := l.Handshake(); err != nil {
			return err
		}
	}
	m := wire.Call(modern, 100).Line()
	if window == 1 {
		length := 0
		return r.measure(1, func(_, n int) error {
			m.SetID(n)
			answer, err := l.Do(m)
			if err != nil || len(answer) < 100 || length != 0 && len(answer) != length || !bytes.Contains(answer, m.ID()) {
				return fmt.Errorf("%d bytes, %d before: %s %w", len(answer), length, answer, err)
			}
			length = len(answer)
			return nil
		})
	}
	return r.window(l, m, window)
}

// window keeps that many calls in flight.
func (r *Run) window(l *wire.Lines, m *wire.Bytes, size int) error {
	for range warm {
		if _, err := l.Do(m); err != nil {
			return err
		}
	}
	free := make(chan int, size) // ids that are not in flight
	for id := range size {
		free <- id
	}
	read := make(chan error, 1)
	count := 0
	before, begin := used(), time.Now()
	go func() { read <- receive(l, size, free, &count) }()
	for time.Since(begin) < r.time {
		select {
		case id := <-free:
			m.SetID(id)
			if err := l.Send(m); err != nil {
				return err
			}
		case err := <-read:
			return err
		}
	}
	m.SetID(size) // the last one
	if err := l.Send(m); err != nil {
		return err
	}
	if err := <-read; err != nil {
		return err
	}
	r.report(count, time.Since(begin), before, used())
	return nil
}

// receive reads answers until that to the id last is there, and all before it, and gives the others' ids free.
func receive(l *wire.Lines, last int, free chan<- int, count *int) error {
	begin := []byte(`"id":5`)
	for ended := false; !ended || len(free) < cap(free); {
		answer, err := l.Next()
		if err != nil {
			return err
		}
		i := bytes.Index(answer, begin)
		if i < 0 || len(answer) < 100 {
			return fmt.Errorf("%w: %s", errNoAnswer, answer)
		}
		id := 0
		for _, digit := range answer[i+len(begin):][:9] {
			id = id*10 + int(digit-'0')
		}
		*count++
		if id == last {
			ended = true
			continue
		}
		free <- id
	}
	return nil
}
