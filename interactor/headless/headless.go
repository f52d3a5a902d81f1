package headless

import (
	"context"
	"fmt"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/mcp"
)

// A Policy is what becomes of a question that nobody can be asked.
type Policy uint8

// The policies.
const (
	// Unavailable tells the server that nobody could be asked. It is the default.
	Unavailable Policy = iota
	// Cancel answers that the question was dismissed without a choice.
	Cancel
	// Decline answers that the answer is no. It speaks for the person: choose it only where the person, or whoever runs the host, has
	// said so beforehand.
	Decline
)

// String names the policy in lower case.
func (p Policy) String() string {
	switch p {
	case Unavailable:
		return "unavailable"
	case Cancel:
		return "cancel"
	case Decline:
		return "decline"
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// A Question is what a server wants to know, as [Options.Decide] sees it: a form, or a URL to visit.
type Question struct {
	mcp.Asked
	Message string     // of the server, not made safe to display
	Form    *form.Form // nil for a URL
	URL     string     // as the server sent it; empty for a form
}

// Options adjust what New makes. Nil, and the zero value, declare nothing.
type Options struct {
	// Policy is what becomes of every question. Default [Unavailable].
	Policy Policy
	// Decide chooses for each question, in place of Policy. It may log, or raise an alarm. With it, forms and URLs are declared. It is
	// called with one question at a time.
	Decide func(ctx context.Context, q *Question) Policy
	// Roots are the directories to tell servers about; nil declares no roots, empty declares that there are none.
	Roots []mcp.Root
}

// New returns an interactor for a host without a person. With the default policy it has no functions but Roots, if there are roots: the
// client then declares that it cannot be asked, which is the truth, and servers can do without.
//
// With another policy, or with Decide, forms and URLs are declared and answered by it. A question whose policy is Unavailable then
// fails with [mcp.ErrUnavailable], which servers never see as a no.
func New(o *Options) *mcp.Interactor {
	if o == nil {
		o = &Options{}
	}
	in := &mcp.Interactor{}
	if o.Roots != nil {
		roots := append([]mcp.Root{}, o.Roots...)
		in.Roots = func(context.Context) ([]mcp.Root, error) { return append([]mcp.Root{}, roots...), nil }
	}
	decide := o.Decide
	if decide == nil {
		if o.Policy == Unavailable {
			return in
		}
		policy := o.Policy
		decide = func(context.Context, *Question) Policy { return policy }
	}
	in.Form = func(ctx context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
		return answer(decide(ctx, &Question{Asked: q.Asked, Message: q.Message, Form: q.Form}))
	}
	in.Open = func(ctx context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		return answer(decide(ctx, &Question{Asked: q.Asked, Message: q.Message, URL: q.URL}))
	}
	return in
}

func answer(p Policy) (*mcp.ElicitResult, error) {
	switch p {
	case Cancel:
		return &mcp.ElicitResult{Action: mcp.ActionCancel}, nil
	case Decline:
		return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
	}
	return nil, fmt.Errorf("%w: nobody is there to be asked", mcp.ErrUnavailable)
}
