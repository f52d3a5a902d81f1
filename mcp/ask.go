package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// # Asking
//
// A question is put to the person in one of three ways, and a handler need not know which:
//
//	2026-07-28            the handler is unwound with ErrInputRequired, the questions go out as the result of the request, and the
//	                      handler runs again, from its beginning, when the client comes back with the answers (ask_result.go)
//	older, with a stream  the question is a request of the server on the stream of the call; the handler waits (ask_session.go)
//	scripted              a function answers (ask_script.go)
//
// What was answered, and what Once did, travels sealed through the client between the runs (state_*.go).

// asking is the part of a Call that is about questions. The zero value is a call in which nothing may be asked.
type asking struct {
	mu       sync.Mutex
	open     bool        // between beginAsking and endAsking
	declared []*Question // what the tool, prompt or resource says it may ask
	run      *askRun     // nil until something is asked, or a retry came
	script   *askScript  // not nil for scripted calls
}

// askRun is what one run of a handler asked and was answered. It is guarded by asking.mu, but for what its fields say.
type askRun struct {
	asker   asker
	rt      *askRuntime
	used    byKey[string]      // keys asked in this run, with the digests of questions
	pending []*pendingQuestion // asked and unanswered, in order of asking
	waiting []string           // keys of Await that are not done
	fault   error              // what must be told whatever the handler returns
	state   *flowState
	first   flowState // where state mostly is
	bind    Binding   // of the state, once Parts are there
	parts   [3]string // of bind

	onces  map[string]*onceStep
	active int           // Once steps that are running
	idle   chan struct{} // closed when active returns to 0; nil while it is

	answers byKey[json.RawMessage] // of this request, with 2026-07-28
	resumed bool                   // the request brought a state
	claim   *roundClaim            // the redeemed round, with a store
}

// An asker is one way to put a question. ask is called with asking.mu released; it is only called for questions that passed every
// check and whose kind the client has declared.
type asker interface {
	ask(ctx context.Context, c *Call, q *Question) (*Answer, error)
}

// Ask puts a question to the person behind the client and returns the answer. The error is nil only for an accepted answer. It is or
// wraps
//
//   - [ErrDeclined] and [ErrCanceled], when the person said no or dismissed the question; the answer is returned beside it. Neither is
//     asked again within the call, even by a later run of the handler;
//   - [ErrUnavailable], when the client did not declare that it can be asked such a question, or there is no way back to it;
//   - [ErrInputRequired], while the answer is awaited (2026-07-28): return it, the handler runs again once the answer is there. A
//     handler that returns something else is overruled: the question is asked all the same, unless [Call.Abandon] takes it back;
//   - [ErrTooManyRounds], when a bound of [AskOptions] is reached;
//   - ctx's error, and errors that name what is wrong with the question: a key asked twice in one run, a form that asks for a secret,
//     a URL that is not one.
//
// Form answers are checked against the form before they are returned, at every revision. An answer that does not fit is asked for
// again, with what was wrong added to the message; a reply that is no answer at all is a protocol error.
//
// When the handler returns one of these errors, the core answers as follows. Tools: ErrDeclined, ErrCanceled and, before
// 2026-07-28, ErrUnavailable are a result with isError and a text that says so; prompts and resources have no such result, and get
// error -1 for the first two and -32603 for the third. On 2026-07-28 ErrUnavailable is error -32021 with the capability that was
// missing. To a 2025-11-25 client that has no channel back, a URL question is error -32042.
//
// Questions can be asked while tools/call, prompts/get and resources/read are served; elsewhere Ask returns ErrUnavailable. Ask may
// be called from several goroutines.
//
// Specification: client/elicitation, and basic/patterns/mrtr since 2026-07-28.
func (c *Call) Ask(ctx context.Context, q *Question) (*Answer, error) {
	run, err := c.admitQuestion(ctx, q)
	if err != nil {
		return nil, err
	}
	ans, err := run.asker.ask(ctx, c, q)
	if err != nil {
		return nil, err
	}
	switch ans.Action {
	case ActionDecline:
		return ans, fmt.Errorf("%w: question %q", ErrDeclined, q.Key)
	case ActionCancel:
		return ans, fmt.Errorf("%w: question %q", ErrCanceled, q.Key)
	}
	return ans, nil
}

// AskAll asks several questions at once: on 2026-07-28 they travel in one round, elsewhere they are asked one after the other. Each
// outcome is reported in the order of the questions; what was answered is kept when others have to be asked again.
//
// Questions that were declined, dismissed, or optional and unavailable are outcomes, not errors. The error is [ErrInputRequired] while
// an answer is awaited, [ErrUnavailable] when a question that is not optional cannot be asked, or otherwise as of [Call.Ask].
func (c *Call) AskAll(ctx context.Context, qs ...*Question) ([]Outcome, error) {
	outcomes := make([]Outcome, len(qs))
	if err := c.admitSet(qs); err != nil {
		return nil, err
	}
	var awaited, missing error
	for i, q := range qs {
		ans, err := c.Ask(ctx, q)
		outcomes[i] = Outcome{Question: q, Answer: ans, Err: err}
		switch {
		case err == nil, errors.Is(err, ErrDeclined), errors.Is(err, ErrCanceled):
		case errors.Is(err, ErrInputRequired):
			awaited = err
		case errors.Is(err, ErrUnavailable):
			if !q.Optional && missing == nil {
				missing = err
			}
		default:
			return outcomes, err
		}
	}
	if missing != nil {
		return outcomes, missing
	}
	return outcomes, awaited
}

// admitSet makes sure that nothing of a set is asked when one of it cannot be: on older revisions the person would answer in vain.
func (c *Call) admitSet(qs []*Question) error {
	for _, q := range qs {
		if q == nil {
			return errors.New("mcp: AskAll was given a nil question")
		}
		if err := q.check(false); err != nil {
			return c.fault(fmt.Errorf("mcp: %w", err))
		}
		if err := c.checkKind(q); err != nil && !q.Optional {
			return err
		}
	}
	return nil
}

// fault notes an error that must be told whatever the handler returns, and returns it.
func (c *Call) fault(err error) error {
	a := &c.asking
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open {
		c.startRun().fault = err
	}
	return err
}

// Abandon takes a question back that was asked in this run and not answered, so that the handler's own result stands. It does
// nothing for other keys.
func (c *Call) Abandon(key string) {
	a := &c.asking
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run == nil || !a.open {
		return
	}
	a.run.pending = slices.DeleteFunc(a.run.pending, func(q *pendingQuestion) bool { return q.Key == key })
	a.run.waiting = slices.DeleteFunc(a.run.waiting, func(k string) bool { return k == key })
}

// FlowID returns a name for the call through all its rounds: a retry with requestState has the FlowID of the request that it
// continues, and two calls have two, even when they say the same. It is 128 random bits, not a secret, and empty where nothing can be
// asked. A retry without state (2025-11-25 after error -32042, without a store) is another flow.
func (c *Call) FlowID() string {
	a := &c.asking
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.open {
		return ""
	}
	return c.startRun().state.Flow
}

// startRun returns the record of this run, made when first needed. The caller holds asking.mu.
func (c *Call) startRun() *askRun {
	if c.asking.run == nil {
		run := c.startRunWith(nil)
		run.state = &run.first
		run.state.Flow = randomName()
	}
	return c.asking.run
}

// startRunWith is startRun for a run whose state is known, or about to be.
func (c *Call) startRunWith(st *flowState) *askRun {
	a := &c.asking
	a.run = &askRun{rt: c.asks(), state: st}
	a.run.asker = c.chooseAsker()
	return a.run
}

// chooseAsker picks the way questions go at the revision of the call.
func (c *Call) chooseAsker() asker {
	switch {
	case c.asking.script != nil && (c.asking.script.suspend || !c.rev.Rules().AskByResult):
		return c.asking.script
	case c.rev.Rules().AskByResult:
		return resultAsker{}
	}
	return c.handshakeAsker()
}

// errAskedLate is for goroutines that ask on behalf of a handler that has returned.
var errAskedLate = fmt.Errorf("%w: the handler has returned", ErrClosed)

// admitQuestion checks everything about a question that does not depend on its answer.
func (c *Call) admitQuestion(ctx context.Context, q *Question) (*askRun, error) {
	if q == nil {
		return nil, errors.New("mcp: Ask was given a nil question")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a := &c.asking
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.open {
		return nil, fmt.Errorf("%w: questions can be asked while tools/call, prompts/get and resources/read are served, not in %s",
			ErrUnavailable, c.method)
	}
	run := c.startRun()
	if err := run.use(q.Key); err != nil {
		return nil, err
	}
	facts, digest := a.facts(q), q.digest
	if facts != nil {
		digest = facts.digest
	}
	if facts == nil || facts.linked {
		if err := c.checkWords(run, q); err != nil {
			run.fault = err
			return nil, err
		}
	}
	if err := c.checkKind(q); err != nil {
		return nil, err
	}
	sum, err := digest()
	if err != nil {
		run.fault = err
		return nil, err
	}
	run.used.set(q.Key, sum)
	c.noteUndeclared(run, q)
	return run, nil
}

// use takes a key for this run. A key names one question: were it asked twice, the second would get the answer of the first.
func (r *askRun) use(key string) error {
	if _, used := r.used.get(key); used {
		r.fault = fmt.Errorf("mcp: question %q was asked twice in one run of its handler; give each question a key of its own", key)
		return r.fault
	}
	r.used.set(key, "")
	return nil
}

// digest names what exactly is asked under a key in this run.
func (r *askRun) digest(key string) string {
	digest, _ := r.used.get(key)
	return digest
}

// checkWords refuses questions that must not be asked of anybody.
func (c *Call) checkWords(run *askRun, q *Question) error {
	if err := q.check(false); err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	link, found := q.clickable()
	if !found || q.Kind == AskRoots || q.Kind == AskSample {
		return nil
	}
	if run.rt.strict {
		return fmt.Errorf("mcp: question %q has a link in its text (%s); links belong in a question of kind AskURL, "+
			"where the client shows where they lead", q.Key, clip(link, 80))
	}
	run.rt.once.do("link\x00"+c.method+"\x00"+c.name+"\x00"+q.Key, func() {
		run.rt.log.Warn("a question has a link in its text; clients should not make it clickable, use an AskURL question",
			"method", c.method, "name", c.name, "question", q.Key, "link", clip(link, 80))
	})
	return nil
}

// noteUndeclared tells, once for each tool, prompt and resource, of a question that it does not declare.
func (c *Call) noteUndeclared(run *askRun, q *Question) {
	if c.asking.script != nil && c.asking.declared == nil {
		return // a script need not declare anything
	}
	for _, d := range c.asking.declared {
		if d.Key == q.Key {
			return
		}
	}
	run.rt.once.do("undeclared\x00"+c.method+"\x00"+c.name, func() {
		run.rt.log.Debug("a question is asked that is not declared in Asks; declared ones are checked before the handler runs",
			"method", c.method, "name", c.name, "question", q.Key, "kind", q.Kind.String())
	})
}
