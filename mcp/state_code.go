package mcp

import (
	"encoding/binary"
	"encoding/json"
	"slices"
)

// A byKey is a short list of values by key, in the order in which they were set. Calls have few of them, and most none.
type byKey[V any] []keyed[V]

type keyed[V any] struct {
	key   string
	value V
}

func (l byKey[V]) get(key string) (value V, ok bool) {
	for i := range l {
		if l[i].key == key {
			return l[i].value, true
		}
	}
	return value, false
}

func (l *byKey[V]) set(key string, value V) {
	for i := range *l {
		if (*l)[i].key == key {
			(*l)[i].value = value
			return
		}
	}
	*l = append(*l, keyed[V]{key, value})
}

func (l *byKey[V]) remove(key string) {
	*l = slices.DeleteFunc(*l, func(e keyed[V]) bool { return e.key == key })
}

// The code of a state is a version, the numbers, the texts and then the lists, each with its length in front. Texts are preceded by
// their length; numbers are varints.
const stateVersion = 2

// encode appends the state.
func (st *flowState) encode(dst []byte) []byte {
	dst = append(dst, stateVersion)
	for _, n := range [...]int64{int64(st.Round), int64(st.Waits), int64(st.Changed), st.Expires} {
		dst = binary.AppendVarint(dst, n)
	}
	dst = appendSized(appendSized(appendSized(dst, st.Flow), st.RoundID), st.Stored)
	dst = binary.AppendUvarint(dst, uint64(len(st.Asked)))
	for i := range st.Asked {
		q := &st.Asked[i]
		dst = appendSized(appendSized(appendSized(dst, q.key), q.value.Digest), q.value.ID)
	}
	dst = binary.AppendUvarint(dst, uint64(len(st.Answers)))
	for i := range st.Answers {
		a := &st.Answers[i]
		dst = appendSized(appendSized(appendSized(dst, a.key), a.value.Digest), a.value.Raw)
	}
	dst = binary.AppendUvarint(dst, uint64(len(st.Once)))
	for key, raw := range st.Once { // its order does not matter: nobody compares sealed texts
		dst = appendSized(appendSized(dst, key), raw)
	}
	return dst
}

//go:noinline
func appendSized[T ~string | ~[]byte](dst []byte, s T) []byte { // small, but there are many of them in encode
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// decode reads what encode wrote. Results and answers stay part of plain.
func (st *flowState) decode(plain []byte) error {
	d := stateReader{rest: plain, text: string(plain)}
	if version := d.bytes(1); len(version) != 1 || version[0] != stateVersion {
		return errStateBody
	}
	st.Round, st.Waits, st.Changed, st.Expires = int(d.number()), int(d.number()), int(d.number()), d.number()
	st.Flow, st.RoundID, st.Stored = d.string(), d.string(), d.string()
	for range d.count() {
		st.Asked = append(st.Asked, keyed[askedQuestion]{d.string(), askedQuestion{d.string(), d.string()}})
	}
	for range d.count() {
		st.Answers = append(st.Answers, keyed[rememberedReply]{d.string(), rememberedReply{d.string(), d.raw()}})
	}
	for range d.count() {
		if st.Once == nil {
			st.Once = make(map[string]json.RawMessage)
		}
		key := d.string()
		st.Once[key] = d.raw()
	}
	if d.failed || len(d.rest) > 0 {
		return errStateBody
	}
	return nil
}

// stateReader reads the code of a state. Once it has failed, everything that it reads is zero.
type stateReader struct {
	rest   []byte
	text   string // all of it
	failed bool
}

func (d *stateReader) fail() {
	d.rest, d.failed = nil, true
}

func (d *stateReader) number() int64 {
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// count reads how many there are; each takes a byte at least.
func (d *stateReader) count() int {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || n > uint64(len(d.rest)-size) {
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return int(n) //nolint:gosec // no more than there are bytes
}

func (d *stateReader) bytes(n int) []byte {
	if n > len(d.rest) {
		d.fail()
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *stateReader) raw() json.RawMessage { return d.bytes(d.count()) }

func (d *stateReader) string() string {
	n := d.count()
	if d.failed {
		return ""
	}
	at := len(d.text) - len(d.rest)
	d.rest = d.rest[n:]
	return d.text[at : at+n]
}
