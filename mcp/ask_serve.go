package mcp

import (
	"context"
	"errors"
	"fmt"
)

// asked runs the handler of a request that may ask, with everything around it that asking needs: a retry is taken up, declared
// questions are checked before the handler runs, and what it left pending is asked. The server calls it for tools/call, prompts/get
// and resources/read.
func (c *Call) asked(ctx context.Context, declared []*Question, handler func(ctx context.Context) (any, error)) (any, error) {
	stored, err := c.beginAsking(ctx, declared)
	if err != nil {
		return nil, err
	}
	if stored != nil {
		return stored.returned()
	}
	returned := false
	defer func() {
		if !returned { // a panic on its way up
			c.abortAsking(ctx)
		}
	}()
	result, err := handler(ctx)
	returned = true
	return c.endAsking(ctx, result, err)
}

// beginAsking opens the call for questions and takes a retry up. An outcome that is not nil is that of the run which has redeemed
// the same state before, and stands for this one.
func (c *Call) beginAsking(ctx context.Context, declared []*Question) (*storedOutcome, error) {
	a := &c.asking
	a.open, a.declared = true, declared
	if !c.rev.Rules().AskByResult {
		return nil, c.resumeHandshake(ctx)
	}
	for _, q := range declared {
		if q.Optional {
			continue
		}
		var lacking *unavailableError
		if err := c.checkKind(q); errors.As(err, &lacking) {
			if refusal := lacking.refusal(c.rev); refusal != nil {
				return nil, refusal
			}
		}
	}
	if c.param(paramRequestState) == nil && c.param(paramInputResponses) == nil {
		return nil, nil
	}
	stored, err := c.resume(ctx)
	if err != nil {
		c.release(ctx)
	}
	return stored, err
}

// abortAsking ends asking for a handler that did not return.
func (c *Call) abortAsking(ctx context.Context) {
	if run, _ := c.asking.close(ctx); run != nil { // a step that is still running ends the run no differently
		c.settle(ctx, run, nil, errStoredFailure)
	}
}

// endAsking turns what the handler returned into what is answered.
func (c *Call) endAsking(ctx context.Context, result any, err error) (any, error) {
	run, waited := c.asking.close(ctx)
	if run == nil {
		return c.answerErrors(result, err)
	}
	if waited != nil {
		err = waited
	}
	result, err = c.decide(ctx, run, result, err)
	c.settle(ctx, run, result, err)
	return result, err
}

// decide weighs what the handler returned against what it left unanswered.
func (c *Call) decide(ctx context.Context, run *askRun, result any, err error) (any, error) {
	var lacking *unavailableError
	switch {
	case run.fault != nil:
		return nil, run.fault
	case err != nil && ctx.Err() != nil:
		return nil, err
	case errors.As(err, &lacking):
		return c.answerErrors(nil, err)
	case len(run.pending)+len(run.waiting) == 0:
		c.forgetHandshake(ctx, run)
		return c.answerErrors(result, err)
	}
	c.notePending(run, err)
	if !c.rev.Rules().AskByResult {
		return nil, c.visitRequired(ctx, run)
	}
	input, err := c.inputRequired(ctx, run)
	if err != nil {
		return nil, err
	}
	return input, nil
}

// notePending tells of a handler that does not pass on that it waits for an answer: pending questions win over what it returned.
func (c *Call) notePending(run *askRun, err error) {
	if errors.Is(err, ErrInputRequired) {
		return
	}
	if c.asking.script != nil {
		c.asking.script.overruled(run.pendingKeys())
	}
	returned := "a result"
	if err != nil {
		returned = "another error: " + err.Error()
	}
	run.rt.log.Warn("a handler with unanswered questions should return the error of Ask; the questions are asked all the same "+
		"(Call.Abandon takes one back)",
		"method", c.method, "name", c.name, "questions", run.pendingKeys(), "returned", returned)
}

// answerErrors turns the errors of asking, which a handler may simply return, into what their reader can use.
func (c *Call) answerErrors(result any, err error) (any, error) {
	if err == nil {
		return result, nil
	}
	var (
		wire    *Error
		tool    *ToolError
		lacking *unavailableError
	)
	switch {
	case err == nil:
		return result, nil
	case errors.As(err, &wire), errors.As(err, &tool):
		return nil, err
	case errors.Is(err, ErrDeclined):
		return nil, c.personSays("the person declined", err)
	case errors.Is(err, ErrCanceled):
		return nil, c.personSays("the person dismissed the question", err)
	case errors.As(err, &lacking):
		if refusal := lacking.refusal(c.rev); refusal != nil {
			return nil, refusal
		}
		return nil, &ToolError{
			Text: fmt.Sprintf("this needs to ask the person a question (%v), but nobody can be asked at this client: %s", lacking.kind, lacking.reason),
			Err:  err,
		}
	case errors.Is(err, ErrUnavailable):
		return nil, &ToolError{Text: "this needs to ask the person, but nobody can be asked at this client", Err: err}
	}
	return nil, err
}

// personSays reports a refusal: to a model as the failure of the tool, elsewhere as the error that older revisions have for it.
func (c *Call) personSays(text string, err error) error {
	if c.method == MethodToolsCall {
		return &ToolError{Text: text, Err: err}
	}
	return &Error{Code: CodeUserRejected, Message: text}
}

// checkDeclared checks the questions that a tool, prompt or resource declares, when it is registered.
func checkDeclared(qs []*Question) error {
	seen := make(map[string]bool, len(qs))
	for i, q := range qs {
		if q == nil {
			return fmt.Errorf("question %d of Asks is nil", i+1)
		}
		if err := q.check(true); err != nil {
			return fmt.Errorf("in Asks: %w", err)
		}
		if seen[q.Key] {
			return fmt.Errorf("in Asks: question %q is declared twice", q.Key)
		}
		seen[q.Key] = true
	}
	return nil
}
