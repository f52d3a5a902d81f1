package mcphttp

import (
	"errors"
	"maps"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// answerJSON answers with one message.
func (s *sink) answerJSON(status int, m *jsonrpc.Message) {
	buf, large := encode(m)
	s.writeBody(status, buf, large)
}

// writePlain writes what answerPlain agreed on.
func (s *sink) writePlain(a *plainAnswer) {
	if a.buf == nil {
		s.w.WriteHeader(a.status)
		return
	}
	maps.Copy(s.w.Header(), a.header)
	s.writeBody(a.status, a.buf, a.large)
}

// writeBody writes what encode returned, and releases the buffer. It belongs to the owner of the response, when nobody streams to it.
func (s *sink) writeBody(status int, buf *buffer, large []byte) {
	defer buf.release()
	n := len(buf.b)
	if large != nil {
		n += len(large) + len(closingBrace)
	}
	whole := isPlain(s.w)
	header := s.w.Header()
	header["Content-Type"] = headerJSON
	if whole || n > sniffedLength {
		header["Content-Length"] = lengthHeader(n)
	}
	s.w.WriteHeader(status)
	var err error
	if whole {
		err = s.writeWhole(buf.b, large)
	} else {
		err = s.writeParts(buf.b, large)
	}
	if err != nil {
		s.h.opts.Logger.Debug("mcphttp: answer not delivered", "error", err)
	}
}

// writeWhole writes a body to the connection, so that the watch can bound it.
func (s *sink) writeWhole(body, large []byte) error {
	s.unbound()
	defer s.written()
	err := s.writePieces(body, true)
	if err == nil && large != nil {
		err = errors.Join(s.writePieces(large, true), s.writePieces(closingBrace, true))
	}
	if err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

// writeParts writes a body and leaves to net/http, or to what is around its response, when it is sent.
func (s *sink) writeParts(body, large []byte) error {
	err := s.writePieces(body, false)
	if err == nil && large != nil {
		err = errors.Join(s.writePieces(large, false), s.writePieces(closingBrace, false))
	}
	return err
}

// writePieces writes p, and gives each piece the time that a write may take: by the watch, which whoever calls ends (written), or by a
// deadline of the connection.
func (s *sink) writePieces(p []byte, watched bool) error {
	for len(p) > 0 {
		if watched {
			s.h.writes.begin(&s.writing, s, writing)
		} else {
			s.bound()
		}
		if s.started && s.aborted.Load() {
			return errAborted
		}
		n := min(len(p), writeSize)
		if _, err := s.w.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// written ends what writePieces has watched.
func (s *sink) written() {
	switch overdue := s.h.writes.end(&s.writing); {
	case overdue && s.bounded:
		s.bound()
	case overdue:
		s.unbound()
	}
}

var errAborted = errors.New("mcphttp: the response was closed")

var closingBrace = []byte("}")

// sniffedLength is up to where net/http finds a body's length by itself.
const sniffedLength = 2048

// writeSize is how much is written in the time for one write.
const writeSize = 64 << 10

// lengthHeader returns the values of Content-Length. They are shared and never modified.
func lengthHeader(n int) []string {
	if n >= len(lengths) {
		return []string{strconv.Itoa(n)}
	}
	known := lengths[n].Load()
	if known == nil {
		known = &[1]string{strconv.Itoa(n)}
		lengths[n].Store(known)
	}
	return known[:]
}

// lengths are the lengths of small answers that were used before.
var lengths [sniffedLength]atomic.Pointer[[1]string]

// unbound takes away the deadline that the server or a middleware may have set for the whole response: each write has its own time.
func (s *sink) unbound() { s.writeDeadline(time.Time{}) }

// bound sets a deadline for what is written next, also after the owner of the response has returned.
func (s *sink) bound() { s.writeDeadline(time.Now().Add(s.h.opts.WriteTimeout)) }

// writeDeadline sets the deadline for writing where the connection has such a thing; tests and some middleware have not.
func (s *sink) writeDeadline(t time.Time) {
	if s.h.opts.WriteTimeout <= 0 {
		return
	}
	err := http.NewResponseController(s.w).SetWriteDeadline(t)
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.h.opts.Logger.Debug("mcphttp: write deadline not set", "error", err)
	}
}
