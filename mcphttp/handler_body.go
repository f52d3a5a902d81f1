package mcphttp

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// Buffers come in two sizes, so that a long stream that began with a small request does not hold a large buffer.
const (
	smallBuffer = 4 << 10
	largeBuffer = 64 << 10
	keptBuffer  = 1 << 20 // larger ones are left to the collector
)

var (
	smallBuffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, smallBuffer)} }}
	largeBuffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, largeBuffer)} }}
)

// A buffer is a pooled byte slice.
type buffer struct{ b []byte }

// getBuffer returns an empty buffer for about n bytes; n below zero means unknown.
func getBuffer(n int64) *buffer {
	pool := &largeBuffers
	if n >= 0 && n < smallBuffer {
		pool = &smallBuffers
	}
	buf := pool.Get().(*buffer) // the pools hold nothing else
	buf.b = buf.b[:0]
	return buf
}

// release hands the buffer back. Nothing may alias it any more.
func (buf *buffer) release() {
	switch c := cap(buf.b); {
	case c > keptBuffer:
	case c >= largeBuffer:
		largeBuffers.Put(buf)
	case c >= smallBuffer:
		smallBuffers.Put(buf)
	}
}

// readBody reads the whole body, bounded in size and time.
func (s *sink) readBody(r *http.Request) (*buffer, *refusal) {
	h := s.h
	if r.ContentLength > h.opts.MaxBodyBytes {
		return nil, h.bodyTooLarge()
	}
	s.readDeadline(time.Time{}) // which the server or a middleware may have set: the body has a time of its own
	h.bodies.begin(&s.writing, s, reading)
	buf, ref := h.read(r)
	switch overdue := h.bodies.end(&s.writing); {
	case ref == nil && overdue:
		s.readDeadline(time.Time{})
	case ref != nil && !overdue: // net/http reads on, to use the connection again
		s.readDeadline(time.Now().Add(h.opts.BodyTimeout))
	}
	return buf, ref
}

// read reads the whole body.
func (h *Handler) read(r *http.Request) (*buffer, *refusal) {
	limit := h.opts.MaxBodyBytes
	buf := getBuffer(r.ContentLength)
	for {
		if len(buf.b) == cap(buf.b) {
			buf.b = append(buf.b, 0)[:len(buf.b)]
		}
		room := min(int64(cap(buf.b)), limit+1)
		n, err := r.Body.Read(buf.b[len(buf.b):room])
		buf.b = buf.b[:len(buf.b)+n]
		if int64(len(buf.b)) > limit {
			buf.release()
			return nil, h.bodyTooLarge()
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return buf, nil
		default:
			buf.release()
			return nil, bodyFailure(err)
		}
	}
}

func (h *Handler) bodyTooLarge() *refusal {
	return refuse(http.StatusRequestEntityTooLarge,
		"the body is larger than "+strconv.FormatInt(h.opts.MaxBodyBytes, 10)+" bytes (Options.MaxBodyBytes)")
}

// bodyFailure says why a body could not be read to its end.
func bodyFailure(err error) *refusal {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refuse(http.StatusRequestTimeout, "the body did not arrive in time")
	}
	return &refusal{status: http.StatusBadRequest, code: jsonrpc.CodeParseError, message: "the body ended before it was complete"}
}

// readDeadline sets the deadline for reading where the connection has such a thing; tests and some middleware have not.
func (s *sink) readDeadline(t time.Time) {
	if s.h.opts.BodyTimeout <= 0 {
		return
	}
	err := http.NewResponseController(s.w).SetReadDeadline(t)
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.h.opts.Logger.Debug("mcphttp: read deadline not set", "error", err)
	}
}
