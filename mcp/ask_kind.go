package mcp

import (
	"errors"
	"fmt"

	"github.com/seed38e7925c/parley/form"
)

// unavailableError is ErrUnavailable with the capability that the client would have had to declare.
type unavailableError struct {
	key    string
	kind   QuestionKind
	needs  *ClientCapabilities // nil when no declaration would have helped
	reason string
	tried  bool // the client knows the question, and failed to get an answer
}

func (e *unavailableError) Error() string {
	return fmt.Sprintf("mcp: nobody could be asked question %q (%v): %s", e.key, e.kind, e.reason)
}

func (e *unavailableError) Unwrap() error { return ErrUnavailable }

// checkKind reports whether the client can be asked a question of that kind at all.
func (c *Call) checkKind(q *Question) error {
	exists, declared := c.kindDeclared(q)
	switch {
	case !exists:
		return &unavailableError{key: q.Key, kind: q.Kind, reason: "revision " + c.rev.String() + " has no such question"}
	case !declared || c.asking.script.lacks(q.Key):
		return capabilityLacking(q)
	case q.Kind == AskForm && q.Form != nil && !c.rev.Rules().Elicitation.Multi:
		if _, err := q.Form.Schema(dialectOf(c.rev)); errors.Is(err, form.ErrInexpressible) {
			return &unavailableError{key: q.Key, kind: q.Kind, reason: err.Error()}
		}
	}
	return nil
}

// capabilityLacking is the error of a question for which the client did not declare what it takes.
func capabilityLacking(q *Question) error {
	return &unavailableError{key: q.Key, kind: q.Kind, needs: q.needs(), reason: "the client did not declare the capability"}
}

// kindDeclared says whether the revision has such questions, and whether the client declared that it can be asked them.
func (c *Call) kindDeclared(q *Question) (exists, declared bool) {
	rules, caps := c.rev.Rules(), c.ClientCapabilities()
	switch q.Kind {
	case AskForm:
		draft := c.usesDraft(AskForm)
		return rules.Elicitation.Form || draft, caps.Elicitation.HasForm() || draft
	case AskURL:
		draft := c.usesDraft(AskURL)
		return rules.Elicitation.URL || draft, caps.Elicitation.HasURL() || draft
	case AskSample:
		withTools := q.samplesTools()
		return !withTools || rules.SamplingTools, canSample(caps, withTools)
	case AskRoots:
		return true, caps.Roots != nil
	}
	return false, false
}

// samplesTools reports whether the question is a sampling request with tools.
func (q *Question) samplesTools() bool {
	return q.Sample != nil && (len(q.Sample.Tools) > 0 || q.Sample.ToolChoice != nil)
}

// needs returns what a client has to declare to be asked the question.
func (q *Question) needs() *ClientCapabilities {
	switch q.Kind {
	case AskForm:
		return &ClientCapabilities{Elicitation: &ElicitationCapability{Form: &Supported{}}}
	case AskURL:
		return &ClientCapabilities{Elicitation: &ElicitationCapability{URL: &Supported{}}}
	case AskSample:
		needs := &ClientCapabilities{Sampling: &SamplingCapability{}}
		if q.samplesTools() {
			needs.Sampling.Tools = &Supported{}
		}
		return needs
	case AskRoots:
		return &ClientCapabilities{Roots: &RootsCapability{}}
	}
	return nil
}

func canSample(caps *ClientCapabilities, withTools bool) bool {
	return caps.Sampling != nil && (!withTools || caps.Sampling.Tools != nil)
}

// refusal returns the protocol error that names the missing capability (2026-07-28), or nil where there is none to name.
func (e *unavailableError) refusal(rev Revision) *Error {
	if e.needs == nil || !rev.Rules().AskByResult {
		return nil
	}
	data, err := marshalJSON(&MissingCapabilityData{RequiredCapabilities: *e.needs})
	if err != nil {
		return errInternal
	}
	return &Error{
		Code:    rev.Rules().CodeMissingCapability,
		Message: fmt.Sprintf("this request needs a client capability that it does not declare: it asks the person a question (%v)", e.kind),
		Data:    data,
	}
}

// dialectOf says what a form can express at a revision.
func dialectOf(rev Revision) form.Dialect {
	e := rev.Rules().Elicitation
	return form.Dialect{Defaults: e.Defaults, OptionTitles: e.Titles, MultiChoice: e.Multi, Pattern: e.Pattern}
}
