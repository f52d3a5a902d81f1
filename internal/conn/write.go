package conn

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/seed38e7925c/parley/jsonrpc"
)

const (
	// encodeInPlace is the size up to which a message is encoded straight into
	// the queue, while the state is locked.
	encodeInPlace = 4 << 10
	// keepQueue bounds the buffers that are used again.
	keepQueue = 256 << 10
)

// scratch holds buffers for large messages.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// Write queues m to be written, behind all that was queued before. A request or
// notification waits while the queue is full. A response never waits, so that two
// sides that are busy with each other's requests cannot block each other;
// instead it counts as in flight until it is written.
//
// Nil means that m will be written unless the connection fails, and that failure
// ends the connection. Otherwise the error wraps [ErrClosed]. Once a response is
// queued, its id is free for the peer to use again.
func (c *Conn) Write(m *jsonrpc.Message) error {
	return c.write(context.Background(), m, nil)
}

// WriteContext is Write for those who do not want to wait for ever: if ctx ends
// while the queue is full, m is not sent and the error is the cause of ctx.
func (c *Conn) WriteContext(ctx context.Context, m *jsonrpc.Message) error {
	return c.write(ctx, m, nil)
}

// write queues m as part of the transition that also does admit, which may
// refuse. It gives up waiting for space when ctx ends.
func (c *Conn) write(ctx context.Context, m *jsonrpc.Message, admit func(s *state) error) error {
	var encoded []byte
	if size(m) > encodeInPlace {
		p := scratch.Get().(*[]byte)
		encoded = jsonrpc.Append((*p)[:0], m)
		defer func() {
			if *p = encoded; cap(encoded) <= keepQueue {
				scratch.Put(p)
			}
		}()
	}
	for {
		full, err := c.enqueue(m, encoded, admit)
		if err != nil || full == nil {
			return err
		}
		select {
		case <-full:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// enqueue adds m to the queue, or returns what to wait for if there is no space.
func (c *Conn) enqueue(m *jsonrpc.Message, encoded []byte, admit func(s *state) error) (full <-chan struct{}, err error) {
	isResponse := m.Kind() == jsonrpc.Response
	c.update(func(s *state) {
		switch {
		case s.refused:
			err = closedError{s.cause}
			return
		case !isResponse && len(s.queue) >= c.opts.MaxQueue:
			full = waiter(&s.space)
			return
		}
		if admit != nil {
			if err = admit(s); err != nil {
				return
			}
		}
		if encoded != nil {
			s.queue = append(s.queue, encoded...)
		} else {
			s.queue = jsonrpc.Append(s.queue, m)
		}
		s.queue = append(s.queue, '\n')
		if isResponse {
			delete(s.incoming, m.ID)
			s.queued++
		}
		c.wakeWriter(s)
	})
	return full, err
}

// size estimates the encoded size of m.
func size(m *jsonrpc.Message) int {
	n := len(m.Params) + len(m.Result)
	if m.Error != nil {
		n += len(m.Error.Message) + len(m.Error.Data)
	}
	return n
}

// wakeWriter lets a parked writer go on, and starts one for the first output.
// Who ends the connection, Run or Close, waits for it.
func (c *Conn) wakeWriter(s *state) {
	switch {
	case !s.writing && !s.refused:
		s.writing = true
		go c.writeLoop()
	case s.parked:
		s.parked = false
		c.wake <- struct{}{}
	}
}

// writeLoop writes what is queued until output is refused and the queue empty.
func (c *Conn) writeLoop() {
	defer close(c.writerDone)
	for {
		batch, ok := c.take()
		if !ok {
			return
		}
		if batch == nil {
			<-c.wake
			c.gather()
			continue
		}
		n, err := c.w.Write(batch)
		if err == nil && n < len(batch) {
			err = fmt.Errorf("conn: short write of %d of %d bytes", n, len(batch))
		}
		if err != nil {
			c.writeFailed(err)
			return
		}
		c.written(batch)
	}
}

// gather lets others that are about to answer do so before the queue is taken.
func (c *Conn) gather() {
	if c.working() > 1 {
		runtime.Gosched()
	}
}

// take returns all that is queued. It is nil if the writer has to park, and ok
// is false if it has to stop.
func (c *Conn) take() (batch []byte, ok bool) {
	c.update(func(s *state) {
		if len(s.queue) == 0 {
			s.parked = !s.refused
			ok = s.parked
			return
		}
		batch, ok = s.queue, true
		s.queue, s.spare = s.spare, nil
		s.queued, s.leaving = 0, s.queued
		signal(&s.space)
	})
	return batch, ok
}

// written settles a batch, and keeps its buffer for the next queue.
func (c *Conn) written(batch []byte) {
	c.update(func(s *state) {
		s.leaving = 0
		signal(&s.slot)
		if s.spare == nil && cap(batch) <= keepQueue {
			s.spare = batch[:0]
		}
	})
}

// writeFailed ends the connection because of a failed write.
func (c *Conn) writeFailed(err error) {
	c.end(err)
	c.update(func(s *state) {
		c.refuse(s)
		s.queue, s.spare = nil, nil
	})
}
