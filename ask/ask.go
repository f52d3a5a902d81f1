package ask

import (
	"context"
	"encoding/json"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/mcp"
)

// The errors of asking are those of package mcp.
var (
	// ErrInputRequired: the question is on its way to the person. Return it; the handler runs again with the answer.
	ErrInputRequired = mcp.ErrInputRequired
	// ErrDeclined: the person was asked and said no. It is not asked again within the call.
	ErrDeclined = mcp.ErrDeclined
	// ErrCanceled: the person was asked and dismissed the question. It is not asked again within the call.
	ErrCanceled = mcp.ErrCanceled
	// ErrUnavailable: nobody could be asked, because the client cannot or does not let itself be asked such a question.
	ErrUnavailable = mcp.ErrUnavailable
)

// Form asks for the fields of T, a flat struct as described at [form.Of], and returns them filled in: checked, with defaults where the
// person left something out. The errors are those of [mcp.Call.Ask]; a T that is no form is one too.
func Form[T any](ctx context.Context, call *mcp.Call, key, message string) (T, error) {
	return one(ctx, call, FormItem[T](key, message))
}

// Fields is [Form] for a form that is made while the program runs. It returns the content of the answer, a JSON object that fits f.
func Fields(ctx context.Context, call *mcp.Call, key, message string, f *form.Form) (json.RawMessage, error) {
	return one(ctx, call, FieldsItem(key, message, f))
}

// Confirm asks for a yes or a no: an empty form, which is accepted or declined. No is an answer here, not an error; a question that is
// dismissed is [ErrCanceled].
func Confirm(ctx context.Context, call *mcp.Call, key, message string) (bool, error) {
	return one(ctx, call, ConfirmItem(key, message))
}

// Choose asks for one of the options and returns its value. An option is a value, or a value and what people see instead of it:
// "second=Second class".
func Choose(ctx context.Context, call *mcp.Call, key, message string, options ...string) (string, error) {
	return one(ctx, call, ChooseItem(key, message, options...))
}

// ChooseMany asks for any number of the options, as [Choose] has them, and returns their values; none is an answer. Clients before
// 2025-11-25 cannot be asked that ([ErrUnavailable]).
func ChooseMany(ctx context.Context, call *mcp.Call, key, message string, options ...string) ([]string, error) {
	return one(ctx, call, ChooseManyItem(key, message, options...))
}

// Open asks the person to visit a page. No error means that the person agreed to, not that anything was done there: what counts is
// what the page has stored. The URL is absolute and https (http on loopback), contains nothing secret and nothing that would let
// somebody else than the person act, and is the same in each run of the handler. Clients before 2025-11-25 cannot be asked that
// ([ErrUnavailable]).
func Open(ctx context.Context, call *mcp.Call, key, message, url string) error {
	_, err := one(ctx, call, OpenItem(key, message, url))
	return err
}

// Sample asks the host's model, with the person's approval. Sampling is deprecated since 2026-07-28: prefer a model of your own.
func Sample(ctx context.Context, call *mcp.Call, key string, params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return one(ctx, call, SampleItem(key, params))
}

// Roots asks which directories the host works in. Roots are deprecated since 2026-07-28: prefer an argument of the tool.
func Roots(ctx context.Context, call *mcp.Call, key string) ([]mcp.Root, error) {
	return one(ctx, call, RootsItem(key))
}

func one[T any](ctx context.Context, call *mcp.Call, item *Item[T]) (T, error) {
	if err := item.valid(); err != nil {
		return item.value, err
	}
	ans, err := call.Ask(ctx, &item.question) // nobody else has the item, and can change its question
	item.settle(ans, err)
	return item.value, item.err
}

// An Asked is a question for [All] or [Declare]: an [Item] of any type.
type Asked interface {
	ask() (*mcp.Question, error)
	settle(ans *mcp.Answer, err error)
}

// All asks several questions at once. Where the revision allows it the person sees them together; an answer that is there is kept
// while others are asked again. When All returns nil every item has its result, which may be an error of its own: declined,
// dismissed, or, for optional items, unavailable. Otherwise no item has one, and the error is as of [mcp.Call.AskAll].
func All(ctx context.Context, call *mcp.Call, items ...Asked) error {
	questions := make([]*mcp.Question, len(items))
	for i, item := range items {
		q, err := item.ask()
		if err != nil {
			return err
		}
		questions[i] = q
	}
	outcomes, err := call.AskAll(ctx, questions...)
	for i := range items {
		if err == nil {
			items[i].settle(outcomes[i].Answer, outcomes[i].Err)
		} else {
			items[i].settle(nil, err)
		}
	}
	return err
}

// Declare makes the list for [mcp.Tool.Asks] and its siblings on prompts and resources. It panics when one of the items is no
// question, such as a form of a type that no form can have: that is a mistake in the program.
func Declare(items ...Asked) []*mcp.Question {
	questions := make([]*mcp.Question, len(items))
	for i, item := range items {
		q, err := item.ask()
		if err != nil {
			panic(err)
		}
		questions[i] = q
	}
	return questions
}
