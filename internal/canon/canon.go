package canon

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds the nesting of a value. Messages are bounded before they get here; this protects the stack of other callers.
const maxDepth = 1000

// ErrDepth refuses a value nested deeper than 1000 levels.
var ErrDepth = errors.New("canon: the value is nested deeper than 1000 levels")

// Digest returns the SHA-256 of the canonical form of raw.
func Digest(raw []byte) ([sha256.Size]byte, error) {
	var small [256]byte
	text, err := Append(small[:0], raw)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	return sha256.Sum256(text), nil
}

// Append appends the canonical form of raw to dst. raw must be exactly one JSON value in valid UTF-8 without duplicate names;
// anything else is an error, and dst is then returned as it was.
//
// The canonical form is itself JSON: no white space, members sorted by the bytes of their names, strings with only the escapes
// that JSON demands, numbers as shown at [AppendNumber].
func Append(dst, raw []byte) ([]byte, error) {
	w := writers.Get().(*writer)
	defer w.release()
	w.in, w.out = *bytes.NewBuffer(raw), dst
	w.dec.Reset(&w.in)
	if err := w.value(0); err != nil {
		return dst, fmt.Errorf("canon: %w", err)
	}
	if _, err := w.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return dst, errors.New("canon: more than one value")
	}
	return w.out, nil
}

// writers holds writers that own no data.
var writers = sync.Pool{New: func() any { return new(writer) }}

type writer struct {
	dec jsontext.Decoder
	in  bytes.Buffer
	out []byte
}

// release drops every reference to what was read and written.
func (w *writer) release() {
	w.in, w.out = bytes.Buffer{}, nil
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
	tok, err := w.dec.ReadToken()
	if err != nil {
		return err
	}
	switch tok.Kind() {
	case '0':
		w.out = AppendNumber(w.out, []byte(tok.String()))
	case '"':
		return w.quote(tok.String())
	default: // null, true, false
		w.out = append(w.out, tok.String()...)
	}
	return nil
}

func (w *writer) quote(s string) (err error) {
	w.out, err = jsontext.AppendQuote(w.out, s)
	return err
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
	name       string
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
		sorted = sorted && (len(members) == 0 || members[len(members)-1].name < m.name)
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
	tok, err := w.dec.ReadToken()
	if err != nil {
		return member{}, err
	}
	m := member{name: tok.String(), start: len(w.out)}
	if err := w.quote(m.name); err != nil {
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

func (w *writer) reorder(begin int, members []member) {
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	ordered := make([]byte, 0, len(w.out)-begin)
	for _, m := range members {
		ordered = append(ordered, w.out[m.start:m.end]...)
	}
	w.out = append(w.out[:begin], ordered...)
}
