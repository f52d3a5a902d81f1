package jsonrpc

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxBatch bounds the number of messages in a batch. A longer one is refused
// as a whole with [CodeInvalidRequest].
const MaxBatch = 1000

// Item is one element of a batch: a message, or why it is none. With Err set,
// Message is as [Decode] returns it on failure.
type Item struct {
	Message
	Err *Error
}

// IsBatch reports whether the first byte of data that is not space is '['.
// Whether a batch is welcome depends on the revision: only 2025-03-26 has them.
func IsBatch(data []byte) bool {
	for _, c := range data {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c == '['
		}
	}
	return false
}

// DecodeBatch reads an array of messages. Each element is judged by itself, as
// by [Decode]; raw fields alias data. The batch as a whole is refused, with an
// [*Error], if it is not JSON ([CodeParseError]) or if it is not an array, is
// empty, too long or nested deeper than [MaxDepth] ([CodeInvalidRequest]).
func DecodeBatch(data []byte) ([]Item, error) {
	if tooDeep(data) {
		return nil, errTooDeep
	}
	d := decoders.Get().(*decoder)
	defer d.release()
	d.reset(data, jsontext.AllowDuplicateNames(true))
	items, err := d.batch()
	if err != nil {
		return nil, explain(data, err)
	}
	return items, nil
}

// batch reads the elements of an array.
func (d *decoder) batch() ([]Item, error) {
	if d.text.PeekKind() != '[' {
		if _, err := d.text.ReadValue(); err != nil {
			return nil, err
		}
		if err := d.end(); err != nil {
			return nil, err
		}
		return nil, invalid("a batch must be an array")
	}
	if _, err := d.text.ReadToken(); err != nil {
		return nil, err
	}
	var items []Item
	for d.text.PeekKind() != ']' {
		v, err := d.text.ReadValue()
		if err != nil {
			return nil, err
		}
		if len(items) == MaxBatch {
			return nil, invalid(fmt.Sprintf("a batch has at most %d messages", MaxBatch))
		}
		m, err := Decode(v)
		item := Item{Message: m}
		if err != nil {
			item.Err = asError(err)
		}
		items = append(items, item)
	}
	if _, err := d.text.ReadToken(); err != nil {
		return nil, err
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, invalid("a batch must not be empty")
	}
	return items, nil
}
