package ask

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/mcp"
)

// An Item is one question and, once [All] has asked it, its result. An item that is asked belongs to one run of one handler: make it
// there. Its methods are not to be called concurrently.
type Item[T any] struct {
	question mcp.Question
	invalid  error // why there is no question
	read     func(ans *mcp.Answer) (T, error)
	noIs     *T // what a decline means, where it is an answer
	value    T
	err      error
}

// errNotAsked is the result of an item that nobody has asked.
var errNotAsked = errors.New("ask: the item was not asked; hand it to All first")

// Optional marks the item as one that is dropped when the client cannot be asked such a question: its result is then
// [ErrUnavailable]. It returns the item.
func (i *Item[T]) Optional() *Item[T] {
	i.question.Optional = true
	return i
}

// Named gives the interaction behind a URL a name of the program's own; see [mcp.Question.ID]. It returns the item.
func (i *Item[T]) Named(id string) *Item[T] {
	i.question.ID = id
	return i
}

// Get returns the result after [All].
func (i *Item[T]) Get() (T, error) { return i.value, i.err }

// Question returns the question, or why the item is none.
func (i *Item[T]) Question() (*mcp.Question, error) { return i.ask() }

func (i *Item[T]) ask() (*mcp.Question, error) {
	if err := i.valid(); err != nil {
		return nil, err
	}
	q := i.question
	return &q, nil
}

func (i *Item[T]) valid() error {
	if i.invalid != nil {
		return fmt.Errorf("ask: question %q: %w", i.question.Key, i.invalid)
	}
	return nil
}

func (i *Item[T]) settle(ans *mcp.Answer, err error) {
	var zero T
	i.value, i.err = zero, err
	switch {
	case errors.Is(err, ErrDeclined) && i.noIs != nil:
		i.value, i.err = *i.noIs, nil
	case err == nil && ans == nil:
		i.err = errNotAsked
	case err == nil:
		i.value, i.err = i.read(ans)
	}
}

func item[T any](q mcp.Question, invalid error, read func(ans *mcp.Answer) (T, error)) *Item[T] {
	return &Item[T]{question: q, invalid: invalid, read: read, err: errNotAsked}
}

// FormItem is the question of [Form].
func FormItem[T any](key, message string) *Item[T] {
	f, err := form.Of[T]()
	return item(mcp.Question{Key: key, Kind: mcp.AskForm, Message: message, Form: f}, err, func(ans *mcp.Answer) (T, error) {
		v, err := form.Decode[T](ans.Content)
		if err != nil {
			return v, fmt.Errorf("ask: question %q: %w", key, err)
		}
		return v, nil
	})
}

// FieldsItem is the question of [Fields].
func FieldsItem(key, message string, f *form.Form) *Item[json.RawMessage] {
	var invalid error
	if f == nil {
		invalid = errors.New("there is no form")
	}
	return item(mcp.Question{Key: key, Kind: mcp.AskForm, Message: message, Form: f}, invalid,
		func(ans *mcp.Answer) (json.RawMessage, error) { return ans.Content, nil })
}

// ConfirmItem is the question of [Confirm].
func ConfirmItem(key, message string) *Item[bool] {
	f, err := form.New()
	i := item(mcp.Question{Key: key, Kind: mcp.AskForm, Message: message, Form: f}, err, func(*mcp.Answer) (bool, error) { return true, nil })
	i.noIs = new(bool)
	return i
}

// choiceField is what the field of [Choose] and [ChooseMany] is called in the answer.
const choiceField = "choice"

// ChooseItem is the question of [Choose].
func ChooseItem(key, message string, options ...string) *Item[string] {
	f, err := choiceForm(form.Choice, options)
	return item(mcp.Question{Key: key, Kind: mcp.AskForm, Message: message, Form: f}, err, func(ans *mcp.Answer) (string, error) {
		return decodeChoice[string](ans.Content)
	})
}

// ChooseManyItem is the question of [ChooseMany].
func ChooseManyItem(key, message string, options ...string) *Item[[]string] {
	f, err := choiceForm(form.MultiChoice, options)
	return item(mcp.Question{Key: key, Kind: mcp.AskForm, Message: message, Form: f}, err, func(ans *mcp.Answer) ([]string, error) {
		return decodeChoice[[]string](ans.Content)
	})
}

func choiceForm(kind form.Kind, options []string) (*form.Form, error) {
	field := form.Field{Name: choiceField, Title: "Choice", Kind: kind, Required: true}
	for _, o := range options {
		value, title, _ := strings.Cut(o, "=")
		field.Options = append(field.Options, form.Option{Value: value, Title: title})
	}
	return form.New(field)
}

// OpenItem is the question of [Open]. Its value says nothing; its error does.
func OpenItem(key, message, url string) *Item[struct{}] {
	return item(mcp.Question{Key: key, Kind: mcp.AskURL, Message: message, URL: url}, nil,
		func(*mcp.Answer) (struct{}, error) { return struct{}{}, nil })
}

// SampleItem is the question of [Sample].
func SampleItem(key string, params *mcp.CreateMessageParams) *Item[*mcp.CreateMessageResult] {
	return item(mcp.Question{Key: key, Kind: mcp.AskSample, Sample: params}, nil,
		func(ans *mcp.Answer) (*mcp.CreateMessageResult, error) { return ans.Sample, nil })
}

// RootsItem is the question of [Roots].
func RootsItem(key string) *Item[[]mcp.Root] {
	return item(mcp.Question{Key: key, Kind: mcp.AskRoots}, nil, func(ans *mcp.Answer) ([]mcp.Root, error) { return ans.Roots, nil })
}

// decodeChoice reads the field of a choice.
func decodeChoice[T any](content json.RawMessage) (T, error) {
	var v struct {
		Choice T `json:"choice"`
	}
	if err := jsonv2.Unmarshal(content, &v); err != nil {
		return v.Choice, fmt.Errorf("ask: reading a choice: %w", err)
	}
	return v.Choice, nil
}
