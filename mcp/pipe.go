package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// pipeBuffer is how many bytes one direction of an in-memory pipe holds before its writer waits.
const pipeBuffer = 64 << 10

// pipePatience bounds how long a closed link waits for the server at its other end to return.
const pipePatience = 5 * time.Second

// Pipe returns a [Transport] to a server in this process, usually its [Server.ServeConn]. Each link makes a pair of connected streams
// and runs serve on the server's end until it returns or the link is closed, which ends its ctx and
// waits for it, for 5 seconds at most. An error of serve is
// reported as the reason for the lost connection.
func Pipe(serve func(ctx context.Context, rwc io.ReadWriteCloser) error) Transport {
	return &pipeTransport{serve: serve}
}

type pipeTransport struct {
	EraMemo
	serve func(ctx context.Context, rwc io.ReadWriteCloser) error
}

// String says that the server is in this process.
func (t *pipeTransport) String() string { return "in-process" }

// Open implements [Transport].
func (t *pipeTransport) Open(_ context.Context, r Receiver) (Link, error) {
	near, far := newPipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := &pipeLink{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = t.serve(ctx, far)
		if err := far.Close(); err != nil && p.err == nil {
			p.err = err
		}
	}()
	p.streamLink = openStream(near, near, r, nil, p.explain)
	return p, nil
}

// A pipeLink is a [streamLink] that owns the server at its other end.
type pipeLink struct {
	*streamLink
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of serve, once done is closed
}

// await waits for the server to return.
func (p *pipeLink) await() bool {
	p.cancel()
	timer := time.NewTimer(pipePatience)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// explain waits for the server to return and says what it returned.
func (p *pipeLink) explain(err error) error {
	if p.await() && p.err != nil && !errors.Is(p.err, context.Canceled) {
		return fmt.Errorf("the server failed: %w", p.err)
	}
	return err
}

// Close implements [Link].
func (p *pipeLink) Close() error {
	err := p.streamLink.Close()
	if !p.await() {
		return errors.Join(err, fmt.Errorf("mcp: the in-process server did not return within %v of being told to", pipePatience))
	}
	return err
}

// newPipe returns the two ends of a bidirectional in-memory stream with a bounded buffer in each direction. Reads and writes of one end
// may be concurrent; closing an end interrupts both, lets the other end read what was written, and then ends its input.
func newPipe() (a, b io.ReadWriteCloser) {
	ab, ba := newHalfPipe(), newHalfPipe()
	return &pipeEnd{in: ba, out: ab}, &pipeEnd{in: ab, out: ba}
}

type pipeEnd struct{ in, out *halfPipe }

func (e *pipeEnd) Read(p []byte) (int, error)  { return e.in.read(p) }
func (e *pipeEnd) Write(p []byte) (int, error) { return e.out.write(p) }

func (e *pipeEnd) Close() error {
	e.out.closeWriter()
	e.in.closeReader()
	return nil
}

// A halfPipe is one direction.
type halfPipe struct {
	mu           sync.Mutex
	change       *sync.Cond
	buf          []byte
	noMore, gone bool // the writer, the reader has closed
}

func newHalfPipe() *halfPipe {
	h := &halfPipe{}
	h.change = sync.NewCond(&h.mu)
	return h
}

func (h *halfPipe) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.buf) == 0 && !h.noMore && !h.gone && len(p) > 0 {
		h.change.Wait()
	}
	switch {
	case h.gone:
		return 0, io.ErrClosedPipe
	case len(h.buf) == 0 && h.noMore:
		return 0, io.EOF
	}
	n := copy(p, h.buf)
	h.buf = h.buf[n:]
	if len(h.buf) == 0 {
		h.buf = nil
	}
	h.change.Broadcast()
	return n, nil
}

func (h *halfPipe) write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	written := 0
	for len(p) > 0 {
		for len(h.buf) >= pipeBuffer && !h.noMore && !h.gone {
			h.change.Wait()
		}
		if h.noMore || h.gone {
			return written, io.ErrClosedPipe
		}
		n := min(len(p), pipeBuffer-len(h.buf))
		h.buf = append(h.buf, p[:n]...)
		p, written = p[n:], written+n
		h.change.Broadcast()
	}
	return written, nil
}

func (h *halfPipe) closeWriter() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noMore = true
	h.change.Broadcast()
}

func (h *halfPipe) closeReader() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = true
	h.change.Broadcast()
}
