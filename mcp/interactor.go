package mcp

import (
	"context"

	"github.com/seed38e7925c/parley/form"
)

// An Interactor is the person's side of a client: functions that put a server's question to somebody. A function that is nil means
// that the client cannot do that, and the capabilities that the client declares follow from what is there: Form and Open declare
// elicitation with the modes form and url, Sample declares sampling, Roots declares roots.
//
// Questions to one interactor are queued: at most one function runs at a time, in order of arrival. A question is withdrawn by
// cancelling ctx, when the server gave up or the call that caused it ended. A function must not wait for another question: it would
// wait for itself. When an elicitation of a round of 2026-07-28 is declined or cancelled, the others of that round are not put: they
// count as cancelled.
//
// A function returns an error only when the question could not be put to anybody; the server is told that the answer is missing,
// never that a person declined. Interactors without a person return [ErrUnavailable].
//
// An Interactor must not be copied after its first use.
type Interactor struct {
	// Form asks for the fields of q.Form. The content of an accepted answer is checked against the form before it is sent; an
	// interactor that gets it wrong is called again with q.Problem set, at most three times.
	Form func(ctx context.Context, q *FormQuestion) (*ElicitResult, error)
	// Open asks for consent to open q.URL and opens it. Accept means that the person agreed and the page was opened or shown for
	// copying, not that anything was completed there. Interactors show what package consent makes of the URL, never the raw text.
	Open func(ctx context.Context, q *OpenQuestion) (*ElicitResult, error)
	// Sample asks the host's model, with the person's approval (deprecated in 2026-07-28).
	Sample func(ctx context.Context, q *SampleQuestion) (*CreateMessageResult, error)
	// SampleTools declares that Sample heeds tools and toolChoice in what it is asked (since 2025-11-25).
	SampleTools bool
	// Roots lists the directories that the server may look at (deprecated in 2026-07-28).
	Roots func(ctx context.Context) ([]Root, error)
	// Completed tells that the out-of-band interaction behind an opened URL is finished, where there is reason to believe it: the server
	// says so (2025-11-25 notifications/elicitation/complete, progress of interaction/track in the User Interaction draft), or, at
	// 2026-07-28, which has no such notice, the call that asked has succeeded. It is not called for a call that failed, nor at the end
	// of a call of the handshake era without the notice. What is known before the call returns is told before it returns; a notice
	// may come later. Optional; it must not use the call that it belongs to, nor Close.
	Completed func(ctx context.Context, q *OpenQuestion)
	// Wait keeps the person company while the client waits for an opened URL to be finished before it repeats a call that was refused
	// for it (2025-11-25, error -32042; the User Interaction draft, error -32003): it returns nil when the person says that they are done, or an error, usually [ErrCanceled], to
	// give the call up. ctx ends as soon as the server reports completion. Optional; without it the client waits for the report alone.
	Wait func(ctx context.Context, q *OpenQuestion) error

	queue askQueue
}

// Asked says who asks, and why: the part that every question has in common.
type Asked struct {
	Server Implementation // the server's name for itself; a claim
	Origin string         // where the server really is: the URL, or the command line
	Method string         // method of the call that caused the question; empty when it came without one
	Name   string         // tool, prompt or resource of that call
	Round  int            // which round of questions of this call, from 1
	Key    string         // the server's name for the question within the call (2026-07-28), else empty
}

// A FormQuestion is form-mode elicitation.
type FormQuestion struct {
	Asked
	Message string
	Form    *form.Form
	Problem error // what was wrong with the previous answer, if anything
}

// An OpenQuestion is URL-mode elicitation.
type OpenQuestion struct {
	Asked
	Message string
	URL     string // as the server sent it; pass it through consent.Review before showing or opening
	ID      string // elicitationId of 2025-11-25 or id of the User Interaction draft, empty otherwise
}

// A SampleQuestion is a sampling request.
type SampleQuestion struct {
	Asked
	Params *CreateMessageParams
}
