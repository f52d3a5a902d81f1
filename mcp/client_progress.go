package mcp

import "sync"

// maxProgressBacklog bounds the reports that wait for a slow progress function; when there are more, the oldest are left out.
const maxProgressBacklog = 1024

// A progressPump hands the progress of one call to its function, in order, on a goroutine of its own.
type progressPump struct {
	f    func(Progress)
	done chan struct{}

	mu      sync.Mutex
	wake    *sync.Cond
	queue   []Progress
	closing bool
}

func startProgress(f func(Progress)) *progressPump {
	p := &progressPump{f: f, done: make(chan struct{})}
	p.wake = sync.NewCond(&p.mu)
	go p.run()
	return p
}

func (p *progressPump) run() {
	defer close(p.done)
	for {
		p.mu.Lock()
		for len(p.queue) == 0 && !p.closing {
			p.wake.Wait()
		}
		if len(p.queue) == 0 {
			p.mu.Unlock()
			return
		}
		next := p.queue[0]
		p.queue = p.queue[1:]
		p.mu.Unlock()
		p.f(next)
	}
}

func (p *progressPump) push(v Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return
	}
	if len(p.queue) >= maxProgressBacklog {
		p.queue = p.queue[1:]
	}
	p.queue = append(p.queue, v)
	p.wake.Signal()
}

// finish delivers what is left and waits for it.
func (p *progressPump) finish() {
	p.mu.Lock()
	p.closing = true
	p.wake.Signal()
	p.mu.Unlock()
	<-p.done
}
