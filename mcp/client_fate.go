package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// askFate is what became of the questions of one call, as far as it explains how the call ended. The server tells that in words only.
type askFate struct {
	mu      sync.Mutex
	turned  error           // ErrDeclined or ErrCanceled, when that is what the person said to the last question
	mishap  error           // why the last question was not answered at all (handshake era: since, that ends the call)
	telling []chan struct{} // of Completed functions that run
}

// note remembers what became of a question. ours tells that a question without an answer does not end the call by itself.
func (f *askFate) note(a reply, err error, ours bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turned, f.mishap = nil, nil
	switch {
	case err == nil && a.action == ActionDecline, errors.Is(err, ErrDeclined):
		f.turned = ErrDeclined
	case err == nil && a.action == ActionCancel, errors.Is(err, ErrCanceled):
		f.turned = ErrCanceled
	case err != nil && ours:
		f.mishap = localError(err)
	}
}

// explain adds to the error of a call why it failed.
func (f *askFate) explain(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.turned != nil && !errors.Is(err, f.turned):
		return &explainedError{err, f.turned}
	case f.mishap != nil:
		return fmt.Errorf("%w; a question of this call was not answered: %w", err, f.mishap)
	}
	return err
}

// cause returns what explains that a tool failed, nil when nothing does.
func (f *askFate) cause() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.turned, f.mishap)
}

// An explainedError is an error with a cause that its message need not name.
type explainedError struct{ err, cause error }

func (e *explainedError) Error() string   { return e.err.Error() }
func (e *explainedError) Unwrap() []error { return []error{e.err, e.cause} }

// settle ends a call: pages are reported as finished, and the error is explained. It is called once.
func (c *Client) settle(ctx context.Context, call *outCall, raw []byte, err error) error {
	failed := err != nil
	if !failed && call.req.Method == MethodToolsCall {
		failed = string(memberOf(raw, "isError")) == "true"
		if t := call.req.trace; failed && t != nil {
			t.cause = call.fate.cause()
		}
	}
	if f := call.asker.Completed; f != nil && !failed {
		for _, oq := range call.opened {
			if err := c.contain("Completed", func() error { f(ctx, oq); return nil }); err != nil {
				c.log.Warn("mcp: a handler failed", "server", c.origin, "err", err)
			}
		}
	}
	call.fate.awaitTold(ctx)
	if err != nil {
		return call.fate.explain(err)
	}
	return nil
}

// tellCompleted runs a Completed function because the server has reported a page as finished. A call that is under way waits for it.
func (c *Client) tellCompleted(call *outCall, f func(ctx context.Context)) {
	done := make(chan struct{})
	if call != nil {
		call.fate.mu.Lock()
		call.fate.telling = append(call.fate.telling, done)
		call.fate.mu.Unlock()
	}
	started := c.spawn(func() {
		defer close(done)
		if err := c.contain("Completed", func() error { f(c.base); return nil }); err != nil {
			c.log.Warn("mcp: a handler failed", "server", c.origin, "err", err)
		}
	})
	if !started {
		close(done)
	}
}

// awaitTold waits for the Completed functions that have begun.
func (f *askFate) awaitTold(ctx context.Context) {
	f.mu.Lock()
	telling := f.telling
	f.telling = nil
	f.mu.Unlock()
	for _, done := range telling {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// checkAsker refuses an interactor for one call where nobody could ever be asked through it: in the handshake era the client declares
// what it can be asked when it connects.
func (c *Client) checkAsker(terms *agreement, call *outCall) error {
	if !terms.rules.Handshake || call.asker == c.opts.Interactor || callName(call.req) == "" {
		return nil
	}
	own, asked := c.capabilities(terms.rules, c.opts.Interactor), c.capabilities(terms.rules, call.asker)
	if own.Elicitation != nil || own.Sampling != nil || own.Roots != nil || c.interactionTypes() != nil {
		return nil
	}
	if asked.Elicitation == nil && asked.Sampling == nil && asked.Roots == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: RequestOptions.Interactor would never be asked at revision %s, where a client declares when it connects "+
		"what it can be asked: give Connect an Interactor", ErrUnavailable, call.what(), terms.rev)
}
