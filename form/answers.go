package form

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/schema"
)

// ValidationError lists what is wrong with an answer; each problem's Path is the JSON Pointer of a field.
type ValidationError = schema.ValidationError

// Problem is one thing that is wrong with an answer.
type Problem = schema.Problem

// Check judges the content of an accepted answer: types, options, lengths, bounds, formats, required fields, and that nothing was
// answered that was not asked. Absent content (nil or null) is the empty answer, which is right for a form without required fields.
// Values are never coerced: "42" is no integer. A null for an optional field counts as no answer. The error is a *ValidationError.
func (f *Form) Check(content json.RawMessage) error {
	content, err := answer(content)
	if err != nil {
		return err
	}
	r, err := f.ready()
	if err != nil {
		return err
	}
	return r.Check(content)
}

// Normalize is Check, except that fields that were not asked are dropped rather than refused; it returns the answer with the defaults of
// optional fields that were not answered. Required fields are never filled in: what a person must say is not invented.
func (f *Form) Normalize(content json.RawMessage) (json.RawMessage, error) {
	return f.normalize(make([]byte, 0, len(content)+16), content)
}

// normalize is Normalize into dst.
func (f *Form) normalize(dst []byte, content json.RawMessage) (json.RawMessage, error) {
	content, err := answer(content)
	if err != nil {
		return nil, err
	}
	r, err := f.ready()
	if err != nil {
		return nil, err
	}
	return r.AppendNormal(dst, content)
}

// Check judges a single answer, without coercion. The error is a *ValidationError whose paths start at the value.
func (fd *Field) Check(value json.RawMessage) error {
	r, err := fd.rule()
	if err != nil {
		return err
	}
	return r.Check(value)
}

// ready returns the rule of the form; forms that were not made by this package get theirs now.
func (f *Form) ready() (*schema.Rule, error) {
	if f.rule != nil {
		return f.rule, nil
	}
	made, err := New(f.Fields...)
	if err != nil {
		return nil, err
	}
	return made.rule, nil
}

func answer(content json.RawMessage) (json.RawMessage, error) {
	if len(content) > MaxBytes {
		return nil, &ValidationError{Problems: []Problem{{Keyword: "size", Message: fmt.Sprintf("has %d bytes; at most %d are allowed", len(content), MaxBytes)}}}
	}
	if content == nil || jsontext.Value(content).Kind() == 'n' && jsontext.Value(content).IsValid() {
		return json.RawMessage("{}"), nil
	}
	return content, nil
}

// Defaults returns the defaults of all fields as an answer: what a form holds before anything was typed.
func (f *Form) Defaults() json.RawMessage {
	dst := []byte{'{'}
	for i := range f.Fields {
		fd := &f.Fields[i]
		if fd.Default == nil {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, fd.Name), ':')
		dst = append(dst, fd.Default...)
	}
	return append(dst, '}')
}

// Decode turns the content of an accepted answer into T, with the checks and defaults of [Of]. Fields that T does not have are dropped.
func Decode[T any](content json.RawMessage) (T, error) {
	var v T
	f, err := Of[T]()
	if err != nil {
		return v, err
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	content, err = f.normalize((*buf)[:0], content)
	if err != nil {
		return v, err
	}
	if cap(content) <= maxKept {
		*buf = content
	}
	err = schema.DecodeAs(content, &v)
	return v, err
}

// maxKept is the size beyond which a buffer is not kept.
const maxKept = 16 << 10

// buffers are for answers that nobody keeps.
var buffers = sync.Pool{New: func() any { return new([]byte) }}
