package canon

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds the nesting of a value. Messages are bounded before they get here; this protects the stack of other callers.
const maxDepth = 1000

// ErrDepth refuses a value nested deeper than 1000 levels.
var ErrDepth = errors.New("canon: the value is nested deeper than 1000 levels")

// Digest returns the SHA-256 of the canonical form of raw.
func Digest(raw []byte) ([sha256.Size]byte, error) {
	w := writers.Get().(*writer)
	defer w.release()
	if err := w.write(w.own[:0], raw); err != nil {
		return [sha256.Size]byte{}, err
	}
	if cap(w.out) <= maxKept {
		w.own = w.out
	}
	return sha256.Sum256(w.out), nil
}

// maxKept is the size of texts beyond which their memory is not kept.
const maxKept = 16 << 10

// Append appends the canonical form of raw to dst. raw must be exactly one JSON value in valid UTF-8 without duplicate names;
// anything else is an error, and dst is then returned as it was.
//
// The canonical form is itself JSON: no white space, members sorted by the bytes of their names, strings with only the escapes
// that JSON demands, numbers as shown at [AppendNumber].
func Append(dst, raw []byte) ([]byte, error) {
	w := writers.Get().(*writer)
	defer w.release()
	if err := w.write(dst, raw); err != nil {
		return dst, err
	}
	return w.out, nil
}

// write makes w.out the canonical form of raw, appended to dst.
func (w *writer) write(dst, raw []byte) error {
	w.in, w.src, w.out = *bytes.NewBuffer(raw), raw, dst
	w.dec.Reset(&w.in)
	if err := w.value(0); err != nil {
		return fmt.Errorf("canon: %w", err)
	}
	if _, err := w.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("canon: more than one value")
	}
	return nil
}

// writers holds writers that own no data.
var writers = sync.Pool{New: func() any { return new(writer) }}

type writer struct {
	dec jsontext.Decoder
	in  bytes.Buffer
	src []byte // what is read
	out []byte
	own []byte // memory for texts that nobody keeps
}

// release drops every reference to what was read and written.
func (w *writer) release() {
	w.in, w.src, w.out = bytes.Buffer{}, nil, nil
	w.dec.Reset(&w.in)
	writers.Put(w)
}

func (w *writer) value(depth int) error {
	if depth > maxDepth {
		return ErrDepth
	}
	switch w.dec.PeekKind() {
	case '{':
		return w.object(depth)
	case '[':
		return w.array(depth)
	}
	raw, err := w.literal()
	if err != nil {
		return err
	}
	switch jsontext.Value(raw).Kind() {
	case '0':
		w.out = AppendNumber(w.out, raw)
	case '"':
		_, err = w.text(raw)
	default: // null, true, false
		w.out = append(w.out, raw...)
	}
	return err
}

// literal reads a value, which is part of what is read.
func (w *writer) literal() ([]byte, error) {
	v, err := w.dec.ReadValue()
	end := int(w.dec.InputOffset())
	return w.src[end-len(v) : end], err
}

// text writes a string in its canonical form and returns what it says.
func (w *writer) text(raw []byte) (said []byte, err error) {
	said = raw[1 : len(raw)-1]
	if bytes.IndexByte(said, '\\') < 0 { // nothing in it needs an escape, since nothing has one
		w.out = append(w.out, raw...)
		return said, nil
	}
	if said, err = jsontext.AppendUnquote(nil, raw); err == nil {
		w.out, err = jsontext.AppendQuote(w.out, said)
	}
	return said, err
}

func (w *writer) array(depth int) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	w.out = append(w.out, '[')
	for first := true; w.dec.PeekKind() != ']'; first = false {
		if !first {
			w.out = append(w.out, ',')
		}
		if err := w.value(depth + 1); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	_, err := w.dec.ReadToken()
	return err
}

// member is where one member of an object was written, to be put in order afterwards.
type member struct {
	name       []byte // part of what is read, or memory of its own
	start, end int
}

func (w *writer) object(depth int) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	w.out = append(w.out, '{')
	begin := len(w.out)
	var members []member
	sorted := true
	for w.dec.PeekKind() != '}' {
		m, err := w.member(depth)
		if err != nil {
			return err
		}
		sorted = sorted && (len(members) == 0 || bytes.Compare(members[len(members)-1].name, m.name) < 0)
		members = append(members, m)
	}
	if !sorted {
		w.reorder(begin, members)
	}
	if len(members) > 0 {
		w.out = w.out[:len(w.out)-1] // the last comma
	}
	w.out = append(w.out, '}')
	_, err := w.dec.ReadToken()
	return err
}

// member writes one name and its value, followed by a comma.
func (w *writer) member(depth int) (member, error) {
	raw, err := w.literal()
	if err != nil {
		return member{}, err
	}
	m := member{start: len(w.out)}
	if m.name, err = w.text(raw); err != nil {
		return member{}, err
	}
	w.out = append(w.out, ':')
	if err := w.value(depth + 1); err != nil {
		return member{}, err
	}
	w.out = append(w.out, ',')
	m.end = len(w.out)
	return m, nil
}

// byName orders members. Package sort makes less code of it than package slices, in every program that links it.
type byName []member

func (b byName) Len() int           { return len(b) }
func (b byName) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b byName) Less(i, j int) bool { return bytes.Compare(b[i].name, b[j].name) < 0 }

func (w *writer) reorder(begin int, members []member) {
	sort.Sort(byName(members))
	ordered := make([]byte, 0, len(w.out)-begin)
	for _, m := range members {
		ordered = append(ordered, w.out[m.start:m.end]...)
	}
	w.out = append(w.out[:begin], ordered...)
}
