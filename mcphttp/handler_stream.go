package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// Header values that every answer of a kind has; they are shared between answers and never modified.
var (
	headerJSON      = []string{typeJSON}
	headerSSE       = []string{typeSSE}
	headerNoCache   = []string{"no-cache, no-transform"}
	headerNoBuffer  = []string{"no"}
	headerNoSniff   = []string{"nosniff"}
	keepAliveMarker = []byte(": keep-alive\n\n")
)

// A sink is one HTTP response as a stream of server-sent events. It begins lazily: until the first message or keep-alive is due the
// response can still become plain JSON. All methods may be called concurrently.
type sink struct {
	h       *Handler
	w       http.ResponseWriter
	carrier carrier // nil where the response has its one answer and its owner does not wait for that

	mu      sync.Mutex
	started bool
	closed  bool
	bounded bool  // what net/http still writes has a deadline
	err     error // why writing failed
	writing watched
	pausing watched
	due     time.Time    // of the next keep-alive
	pinger  *pinger      // nil before the first one
	plain   *plainAnswer // an answer that is to be written as JSON by whoever owns the response

	aborted atomic.Bool

	lease   sync.Mutex // held for a moment, never while writing
	expired bool       // the handler has returned or is about to: w must not be touched any more
}

// A carrier is who owns a response that others write to.
type carrier interface {
	// prelude appends what the stream begins with, such as the priming event of 2025-11-25.
	prelude(dst []byte) []byte
	// closed is called once when nothing more will be written, with the sink locked.
	closed()
}

// A plainAnswer is an encoded message with the HTTP status to send it with.
type plainAnswer struct {
	status int
	buf    *buffer     // nil for no body
	large  []byte      // see encode
	header http.Header // of a refusal by mcp.ServerOptions.Authorize; nil for none
}

// Send writes m as an event: sink is the [mcp.Stream] of an exchange whose messages need no event ids.
func (s *sink) Send(ctx context.Context, m *jsonrpc.Message) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	buf := getBuffer(0)
	defer buf.release()
	buf.b = appendMessage(buf.b, "", m)
	return s.write(buf.b)
}

// appendMessage appends m as one event of the default type.
func appendMessage(dst []byte, id string, m *jsonrpc.Message) []byte {
	dst = appendEventHead(dst, id)
	dst = jsonrpc.Append(dst, m)
	return append(dst, "\n\n"...)
}

// appendEventHead appends what precedes the data of a message, which is always a single line.
func appendEventHead(dst []byte, id string) []byte {
	dst = append(dst, "event: message\n"...)
	if id != "" {
		dst = append(dst, "id: "...)
		dst = append(dst, id...)
		dst = append(dst, '\n')
	}
	return append(dst, "data: "...)
}

// write sends p, which holds whole events, and flushes it.
func (s *sink) write(p []byte) error { return s.put(p, true) }

// writeLast is write for what ends the stream: it leaves flushing to net/http, which does so when the owner of the response returns,
// together with the end of the body.
func (s *sink) writeLast(p []byte) error { return s.put(p, false) }

func (s *sink) put(p []byte, flush bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writeLocked(p, flush)
}

// writeLocked writes p, and before it what begins the stream if it has not begun.
func (s *sink) writeLocked(p []byte, flush bool) error {
	switch {
	case s.err != nil:
		return s.err
	case s.closed:
		return mcp.ErrClosed
	}
	if !s.started {
		return s.beginLocked(p, flush)
	}
	if len(p) == 0 {
		return nil
	}
	return s.putLocked(p, flush)
}

// begin starts the stream if it has not begun: headers and prelude reach the client at once.
func (s *sink) begin() error { return s.write(nil) }

// beginLocked writes the headers of the stream, its prelude and p.
func (s *sink) beginLocked(p []byte, flush bool) error {
	s.started = true
	header := s.w.Header()
	header["Content-Type"] = headerSSE
	header["Cache-Control"] = headerNoCache
	header["X-Accel-Buffering"] = headerNoBuffer
	s.w.WriteHeader(http.StatusOK)
	s.unbound()
	if s.carrier == nil {
		return s.putLocked(p, flush)
	}
	buf := getBuffer(int64(len(p)) + preludeSize)
	defer buf.release()
	buf.b = append(s.carrier.prelude(buf.b), p...)
	return s.putLocked(buf.b, flush)
}

// preludeSize is room for a prelude.
const preludeSize = 256

// putLocked writes p, and flushes it if it is to. A reader that does not read ends its own stream and nothing else.
func (s *sink) putLocked(p []byte, flush bool) error {
	if !flush { // net/http writes it, or the rest, when the owner returns
		s.bounded = true
		s.bound()
	}
	if len(p) == 0 {
		s.h.writes.begin(&s.writing, s, writing)
	}
	defer s.written()
	if err := s.writePieces(p, true); err != nil {
		return s.failLocked(err)
	}
	if !flush {
		return nil
	}
	if s.aborted.Load() {
		return s.failLocked(errAborted)
	}
	switch err := http.NewResponseController(s.w).Flush(); {
	case errors.Is(err, http.ErrNotSupported):
		s.h.unflushed.Do(func() {
			s.h.opts.Logger.Warn("mcphttp: the response cannot be flushed, so clients see streams only when they end; " +
				"a middleware in front hides http.Flusher: give its ResponseWriter an Unwrap method")
		})
	case err != nil:
		return s.failLocked(err)
	}
	if d := s.h.opts.KeepAlive; d > 0 {
		s.due = time.Now().Add(d)
	}
	return nil
}

func (s *sink) failLocked(err error) error {
	s.err = fmt.Errorf("%w: the client is gone: %w", mcp.ErrClosed, err)
	s.closeLocked()
	return s.err
}

// close ends the stream: later writes fail. Whoever owns the response may return after it.
func (s *sink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked()
}

func (s *sink) closeLocked() {
	if s.closed {
		return
	}
	s.closed = true
	s.h.pauses.end(&s.pausing)
	if s.started && !s.bounded && s.err == nil { // for the end of the body
		s.bound()
	}
	if s.pinger != nil {
		s.h.releasePinger(s.pinger)
		s.pinger = nil
	}
	if s.carrier != nil {
		s.carrier.closed()
	}
}

// abortGrace is what a write that is under way has left when its sink is aborted. One that is not stuck needs far less, and then the
// stream ends cleanly.
const abortGrace = 200 * time.Millisecond

// abort closes the stream even while a write is stuck on a reader that does not read.
func (s *sink) abort() {
	if !s.mu.TryLock() {
		s.aborted.Store(true)
		s.whileLent(func() {
			// An error means that the connection is gone or knows no deadlines (tests): then nothing can be stuck.
			_ = http.NewResponseController(s.w).SetWriteDeadline(time.Now().Add(abortGrace)) // see above
		})
		s.mu.Lock()
		s.whileLent(s.unbound)
	}
	defer s.mu.Unlock()
	s.closeLocked()
}

// whileLent calls f unless the handler has returned, and keeps it from returning meanwhile.
func (s *sink) whileLent(f func()) {
	s.lease.Lock()
	defer s.lease.Unlock()
	if !s.expired {
		f()
	}
}

// expire is called by the owner of a response that others may abort, before it returns or uses the response itself.
func (s *sink) expire() {
	s.lease.Lock()
	defer s.lease.Unlock()
	s.expired = true
}

// hasBegun reports whether the client has seen the beginning of the stream.
func (s *sink) hasBegun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

// untouched reports whether the response can still become anything.
func (s *sink) untouched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.started && !s.closed
}

// neverBegan reports whether the sink was closed before the client has seen anything of it.
func (s *sink) neverBegan() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed && !s.started
}

// answerPlain closes the sink in favour of a JSON answer, unless the stream has begun or the sink was closed already.
func (s *sink) answerPlain(a *plainAnswer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started || s.closed {
		return false
	}
	s.plain = a
	s.closeLocked()
	return true
}

// keepAlive makes the sink write a comment whenever nothing was written for the configured time, beginning the stream if need be.
func (s *sink) keepAlive() {
	if s.h.opts.KeepAlive <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.due = time.Now().Add(s.h.opts.KeepAlive)
	s.h.pauses.begin(&s.pausing, s, pausing)
}

// tick is called by the pinger's timer.
func (s *sink) tick(p *pinger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return
	case s.pinger == nil:
		s.pinger = p
	case s.pinger != p:
		return
	}
	wait := time.Until(s.due)
	if wait <= 0 {
		// A failure is kept in s.err and closes the sink.
		if s.writeLocked(keepAliveMarker, true) != nil {
			return
		}
		wait = s.h.opts.KeepAlive
	}
	p.timer.Reset(wait)
}

// A pinger is a reusable timer for keep-alives, of a response for which the first one is due.
type pinger struct {
	timer  *time.Timer
	target atomic.Pointer[sink]
}

func (p *pinger) fire() {
	if s := p.target.Load(); s != nil {
		s.tick(p)
	}
}

// startPinger gives s a pinger, which begins at once.
func (h *Handler) startPinger(s *sink) {
	if p, ok := h.pingers.Get().(*pinger); ok {
		p.target.Store(s)
		p.timer.Reset(0)
		return
	}
	p := &pinger{}
	p.target.Store(s)
	p.timer = time.AfterFunc(time.Hour, p.fire) // not yet: it needs itself
	p.timer.Reset(0)
}

func (h *Handler) releasePinger(p *pinger) {
	p.target.Store(nil)
	p.timer.Stop()
	h.pingers.Put(p)
}
