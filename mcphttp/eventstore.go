//go:build !mcp_modern_only

package mcphttp

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// A track is one stream of a session as its client knows it: numbered messages, of which a bounded tail is kept, and at most one HTTP
// response that carries it at the moment. The answer of a POST is a track, and so is what the GET stream carries. A track outlives the
// connections that carry it; a client comes back to it with Last-Event-ID.
//
// Locks are taken in the order track, session, sink. What is kept is guarded by the session, so that a track that is stuck writing
// can still be pruned.
type track struct {
	sess   *session
	number uint64 // within the session; 0 is the GET stream

	out   atomic.Pointer[sink] // who carries the track now, nil for nobody
	ended atomic.Bool          // nothing will follow

	mu    sync.Mutex // serialises what the client sees
	seq   uint64     // of the last message
	sent  uint64     // of the last message that was written without an error
	begun bool       // the client has seen the beginning of the stream, so it may come back

	// What follows is guarded by sess.mu.
	events     []event
	memory     [2]event // most have a question and its answer, or less
	archived   bool     // the messages are in the session's archive
	prev, next *track   // in the session
}

// trackList are the tracks of a session that have not ended, in the order of their numbers.
type trackList struct{ first, last *track }

func (l *trackList) add(t *track) {
	if t.prev = l.last; t.prev == nil {
		l.first = t
	} else {
		t.prev.next = t
	}
	l.last = t
}

// remove takes t out; it reports false if t is not in the list.
func (l *trackList) remove(t *track) bool {
	switch {
	case t.prev != nil:
		t.prev.next = t.next
	case l.first == t:
		l.first = t.next
	default:
		return false
	}
	if t.next != nil {
		t.next.prev = t.prev
	} else {
		l.last = t.prev
	}
	t.prev, t.next = nil, nil
	return true
}

// An event is a message kept for replay.
type event struct {
	seq  uint64
	data []byte // the message as JSON
}

// id returns the event id for a position of the track: "<session tag>.<track>-<message>". The tag keeps ids of one session from
// meaning anything in another.
func (t *track) id(seq uint64) string { return string(t.appendID(make([]byte, 0, 32), seq)) }

func (t *track) appendID(dst []byte, seq uint64) []byte {
	dst = append(dst, t.sess.tag...)
	dst = append(dst, '.')
	dst = strconv.AppendUint(dst, t.number, 10)
	dst = append(dst, '-')
	return strconv.AppendUint(dst, seq, 10)
}

// appendPriming appends the event that opens a stream of 2025-11-25 and has no message: an id to come back with, and how long to wait
// before.
func (t *track) appendPriming(dst []byte, after uint64) []byte {
	if !t.sess.primes {
		return dst
	}
	dst = append(dst, "id: "...)
	dst = t.appendID(dst, after)
	if ms := t.sess.owner.opts().RetryAfter.Milliseconds(); ms > 0 {
		dst = append(dst, "\nretry: "...)
		dst = strconv.AppendInt(dst, ms, 10)
	}
	return append(dst, "\ndata: \n\n"...)
}

// appendHead appends what precedes the data of a message.
func (t *track) appendHead(dst []byte, seq uint64) []byte {
	dst = append(dst, "event: message\n"...)
	if t.sess.resumable() {
		dst = append(dst, "id: "...)
		dst = t.appendID(dst, seq)
		dst = append(dst, '\n')
	}
	return append(dst, "data: "...)
}

// Send numbers, keeps and writes m. It makes track the [mcp.Stream] of a call. A client that is not connected is no error: the
// message waits for it, as long as the bounds allow.
func (t *track) Send(ctx context.Context, m *jsonrpc.Message) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.putLocked(m, false)
}

// putLocked does what Send does; last says that it ends the stream.
func (t *track) putLocked(m *jsonrpc.Message, last bool) error {
	if t.ended.Load() {
		return mcp.ErrClosed
	}
	t.seq++
	buf := getBuffer(int64(len(m.Params)+len(m.Result)) + eventSize)
	defer buf.release()
	buf.b = t.appendHead(buf.b, t.seq)
	data := len(buf.b)
	buf.b = jsonrpc.Append(buf.b, m)
	kept := t.sess.keep(t, t.seq, buf.b[data:])
	out := t.out.Load()
	if out == nil {
		if kept {
			return nil
		}
		return mcp.ErrClosed
	}
	t.begun = true
	buf.b = append(buf.b, "\n\n"...)
	err := out.put(buf.b, !last)
	if err == nil {
		t.sent = t.seq
		return nil
	}
	t.out.CompareAndSwap(out, nil)
	if kept {
		return nil
	}
	return err
}

// eventSize is room for what surrounds the params or the result of a message.
const eventSize = 512

// writeEvent writes a kept message to a response.
func (t *track) writeEvent(out *sink, ev event) error {
	buf := getBuffer(int64(len(ev.data)) + eventSize)
	defer buf.release()
	buf.b = t.appendHead(buf.b, ev.seq)
	buf.b = append(buf.b, ev.data...)
	buf.b = append(buf.b, "\n\n"...)
	return out.put(buf.b, true)
}

// mayBePlain reports whether nothing has been streamed, so that the answer can be plain.
func (t *track) mayBePlain() bool {
	out := t.out.Load()
	return out != nil && out.untouched()
}

// finish ends the track of a POST: with the plain answer if nothing has been streamed and there is one, otherwise with the replies as
// the last events.
func (t *track) finish(plain *plainAnswer, replies ...*jsonrpc.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.out.Load()
	switch {
	case out != nil && plain != nil && out.answerPlain(plain),
		!t.begun && (out == nil || out.neverBegan()): // the client went away before it learned an event id: it cannot come back
		t.ended.Store(true)
		t.sess.forget(t)
		return
	case plain != nil && plain.buf != nil:
		plain.buf.release()
	}
	for i, m := range replies {
		if t.putLocked(m, i == len(replies)-1) != nil { // nobody is there and nothing is kept
			break
		}
	}
	t.endLocked(t.out.Load())
}

// endLocked ends the track; what it holds is kept for a while.
func (t *track) endLocked(out *sink) {
	if t.ended.Swap(true) {
		return
	}
	t.sess.markEnded(t)
	if out != nil {
		out.close()
	}
}

// end ends the track although its messages are not complete: the session is over.
func (t *track) end() {
	t.ended.Store(true)
	if out := t.out.Swap(nil); out != nil {
		out.abort()
	}
}

// sinceDelivered is the position after the last message that was written to some response.
const sinceDelivered = math.MaxUint64

// attach makes s the response that carries the track, in the place of one that may not even know yet that it is dead, and writes what
// was kept after the given message. It reports whether the track goes on.
func (t *track) attach(s *sink, g *getStream, after uint64) bool {
	if old := t.out.Load(); old != nil {
		old.abort()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.out.Swap(s); old != nil { // from here on the next one can abort this one
		old.abort()
	}
	t.begun = true
	if after == sinceDelivered {
		after = t.sent
	}
	g.after = after
	if t.replay(s, after) != nil {
		t.out.CompareAndSwap(s, nil)
		return false
	}
	if t.ended.Load() {
		t.out.CompareAndSwap(s, nil)
		s.close()
		return false
	}
	return true
}

// replay begins the stream and writes what was kept after a position.
func (t *track) replay(s *sink, after uint64) error {
	if err := s.begin(); err != nil {
		return err
	}
	for _, ev := range t.sess.keptAfter(t, after) {
		if err := t.writeEvent(s, ev); err != nil {
			return err
		}
		t.sent = max(t.sent, ev.seq)
	}
	return nil
}

// detach takes s, which is closed, from the track, so that its owner may return.
func (t *track) detach(s *sink) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun = t.begun || s.hasBegun()
	t.out.CompareAndSwap(s, nil)
}

// letGo closes the response that carries the track although the call goes on; the client comes back for the rest.
func (t *track) letGo() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.out.Load()
	if out == nil || t.ended.Load() || out.begin() != nil {
		return false
	}
	t.begun = true
	t.out.Store(nil)
	out.close()
	return true
}

// keep stores the data of a message for replay, within the bounds of the session and of all sessions. It reports whether it did.
func (s *session) keep(t *track, seq uint64, data []byte) bool {
	o := s.owner.opts()
	if o.ReplayBytes <= 0 {
		return false
	}
	ev := event{seq: seq, data: bytes.Clone(data)}
	size := int64(len(data))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	if s.owner.kept.Add(size) > o.ReplayTotalBytes {
		s.owner.kept.Add(-size)
		return false
	}
	if t.events == nil {
		t.events = t.memory[:0]
	}
	t.events = append(t.events, ev)
	s.kept += len(data)
	s.pruneLocked(o.ReplayBytes)
	return true
}

// pruneLocked brings the session back into its bound: streams that have ended go first, then the oldest messages of the others.
func (s *session) pruneLocked(limit int) {
	if s.kept <= limit {
		return
	}
	for s.kept > limit && s.archive.len() > 0 {
		s.dropArchivedLocked()
	}
	for old := s.tracks.first; old != nil; old = old.next {
		for s.kept > limit && len(old.events) > 1 {
			s.dropLocked(old, 1)
		}
	}
}

// dropLocked forgets the n oldest messages of a track.
func (s *session) dropLocked(t *track, n int) {
	size := 0
	for _, ev := range t.events[:n] {
		size += len(ev.data)
	}
	s.freeLocked(size)
	clear(t.events[:n])
	t.events = t.events[n:]
	if len(t.events) == 0 {
		t.events = nil
	}
}

// dropArchivedLocked forgets the stream that ended first.
func (s *session) dropArchivedLocked() {
	s.freeLocked(s.archive.oldest().kept)
	s.archive.drop()
}

// freeLocked counts bytes of messages that are not kept any more.
func (s *session) freeLocked(size int) {
	s.kept -= size
	s.owner.kept.Add(-int64(size))
}

// keptAfter returns what is kept of a track after a position.
func (s *session) keptAfter(t *track, after uint64) []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.archived {
		return s.archive.after(t.number, after)
	}
	for i, ev := range t.events {
		if ev.seq > after {
			return append([]event(nil), t.events[i:]...)
		}
	}
	return nil
}

// newTrack adds a track for a POST, which out carries.
func (s *session) newTrack(out *sink) *track {
	t := &track{sess: s}
	t.out.Store(out)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastTrack++
	t.number = s.lastTrack
	s.tracks.add(t)
	return t
}

// standing returns the track of the GET stream.
func (s *session) standing() *track {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.getTrack == nil {
		s.getTrack = &track{sess: s}
		s.tracks.add(s.getTrack)
	}
	return s.getTrack
}

// find returns the track and the position that an event id of this session names.
func (s *session) find(id string) (t *track, after uint64, ok bool) {
	name, seq, ok := cutLast(id, '-')
	tag, number, ok2 := cutLast(name, '.')
	n, err := strconv.ParseUint(number, 10, 64)
	after, err2 := strconv.ParseUint(seq, 10, 64)
	if !ok || !ok2 || tag != s.tag || err != nil || err2 != nil {
		return nil, 0, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := s.tracks.first; t != nil; t = t.next {
		if t.number == n && t.id(after) == id {
			return t, after, true
		}
	}
	if _, _, ok := s.archive.find(n); !ok {
		return nil, 0, false
	}
	t = &track{sess: s, number: n, archived: true}
	t.ended.Store(true)
	return t, after, t.id(after) == id
}

// cutLast cuts s around the last sep.
func cutLast(s string, sep byte) (before, after string, ok bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// maxEndedTracks is how many streams of one session that have ended can be resumed.
const maxEndedTracks = 256

// markEnded moves what is kept of an ended track to the archive, where it stays for a while.
func (s *session) markEnded(t *track) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !s.tracks.remove(t) {
		return
	}
	s.archive.add(t.number, time.Since(s.owner.base), t.events)
	clear(t.events)
	t.events, t.archived = nil, true
	if s.archive.len() > maxEndedTracks {
		s.dropArchivedLocked()
	}
}

// forget removes a track whose client has its answer or cannot come back for it.
func (s *session) forget(t *track) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tracks.remove(t) {
		s.dropLocked(t, len(t.events))
	}
}

// forgetOld removes tracks that ended before the given time.
func (s *session) forgetOld(before time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.archive.len() > 0 && s.archive.oldest().ended < before.Sub(s.owner.base) {
		s.dropArchivedLocked()
	}
}
