package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// The pace at which a call is repeated that came back without a question.
const (
	firstPoll = 250 * time.Millisecond
	lastPoll  = 5 * time.Second
)

// resultHead is what every result may carry beside its own members.
type resultHead struct {
	ResultType    *string         `json:"resultType"`
	InputRequests json.RawMessage `json:"inputRequests"`
	RequestState  *string         `json:"requestState"`
}

// A roundState is what a call carries from one round to the next.
type roundState struct {
	more     []member // what the retry adds to the parameters
	polls    int      // times in a row that it came back without a question
	told     refusals
	pages    pageLoop
	relisted bool
}

// rounds sends a call and answers the server's questions until it has a complete result. See [basic/patterns/mrtr].
//
// [basic/patterns/mrtr]: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
func (c *Client) rounds(ctx context.Context, conn *connection, call *outCall) (json.RawMessage, error) {
	var st roundState
	call.round.Store(0)
	for legs := 1; ; legs++ {
		res, err := c.leg(ctx, conn, call, st.more...)
		if err != nil {
			refusal := err
			if err := c.untilClosed(ctx, func(ctx context.Context) error { return c.recoverLeg(ctx, conn, call, &st, refusal) }); err != nil {
				return nil, err
			}
			continue
		}
		r, done, err := c.headOf(ctx, conn, call, res)
		if err != nil {
			return nil, err
		}
		if done {
			if t := call.req.trace; t != nil {
				t.plain = legs == 1
			}
			return r.raw, nil
		}
		if err := c.untilClosed(ctx, func(ctx context.Context) error { return c.nextRound(ctx, conn, call, r, &st) }); err != nil {
			return nil, err
		}
	}
}

// untilClosed runs what a call does between two of its messages, when the link cannot end it: a question, a pause.
func (c *Client) untilClosed(ctx context.Context, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(c.base, func() { cancel(context.Cause(c.base)) })
	defer stop()
	err := f(ctx)
	if err != nil {
		err = causeOf(ctx, err)
	}
	return err
}

// nextRound prepares the retry of a call that came back incomplete.
func (c *Client) nextRound(ctx context.Context, conn *connection, call *outCall, r *roundResult, st *roundState) error {
	var err error
	st.more = nil
	if r.asks() {
		st.polls = 0
		if call.nextQuestion() > c.opts.MaxRounds {
			return fmt.Errorf("%w: %s asked %d times (ClientOptions.MaxRounds)", ErrTooManyRounds, call.what(), c.opts.MaxRounds)
		}
		st.more, err = c.answerRound(ctx, conn, call, r, &st.told)
	} else {
		st.polls++
		if st.polls > c.opts.MaxPolls {
			return fmt.Errorf("%w: %s was put off %d times (ClientOptions.MaxPolls)", ErrTooManyRounds, call.what(), c.opts.MaxPolls)
		}
		err = sleep(ctx, pollPause(st.polls))
	}
	if err != nil {
		return err
	}
	if r.RequestState != nil {
		st.more = append(st.more, member{"requestState", rawString(*r.RequestState)})
	}
	return nil
}

// recoverLeg prepares a retry where an error response asks for one, and returns the error otherwise.
func (c *Client) recoverLeg(ctx context.Context, conn *connection, call *outCall, st *roundState, err error) error {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		return err
	}
	terms := conn.agreed()
	switch {
	case e.Code == CodeHeaderMismatch && terms.mirrors && call.req.Method == MethodToolsCall && !st.relisted:
		// The tool's schema, and so its headers, are not known here or no longer true.
		st.relisted = true
		return c.relist(ctx, callName(call.req))
	case e.Code == CodeURLElicitationRequired && terms.rules.Elicitation.RequiredError && call.asker.Open != nil:
		return c.visitPages(ctx, conn, call, &st.pages, e)
	case e.Code == codeInteractionRequired && conn.speaksDraft() && call.asker.Open != nil:
		return c.visitInteraction(ctx, conn, call, &st.pages, e)
	}
	return err
}

// nextQuestion counts a round of questions and returns its number.
func (call *outCall) nextQuestion() int { return int(call.round.Add(1)) }

// admitQuestions counts questions of a call before they are put, and refuses them all when they are too many.
func (c *Client) admitQuestions(call *outCall, n int) error {
	most := c.opts.MaxQuestions
	if n > most || int(call.asked.Add(int32(n))) > most { //nolint:gosec // n is bounded by most
		return fmt.Errorf("%w: %s asks more than %d questions (ClientOptions.MaxQuestions)", ErrTooManyRounds, call.what(), most)
	}
	return nil
}

// what names a call for people.
func (call *outCall) what() string {
	if name := callName(call.req); name != "" {
		return call.req.Method + " " + clip(name, 100)
	}
	return call.req.Method
}

// callName returns the tool, prompt or resource that a request is about.
func callName(r *ClientRequest) string {
	field := "name"
	switch r.Method {
	case MethodToolsCall, MethodPromptsGet:
	case MethodResourcesRead:
		field = "uri"
	default:
		return ""
	}
	s, _ := textOf(memberOf(r.Params, field))
	return s
}

// pollPause spaces repetitions: it doubles from a quarter of a second to five seconds, with a fifth of jitter.
func pollPause(n int) time.Duration {
	d := min(firstPoll<<min(n-1, 10), lastPoll)
	return d - rand.N(d/5)
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A roundResult is a result together with what it asks for.
type roundResult struct {
	resultHead
	raw      json.RawMessage
	requests []member // inputRequests, in order
}

func (r *roundResult) asks() bool { return len(r.requests) > 0 }

// headOf looks at a result. It reports true for one that is complete.
func (c *Client) headOf(ctx context.Context, conn *connection, call *outCall, res json.RawMessage) (*roundResult, bool, error) {
	r := &roundResult{raw: res}
	bad := func(format string, args ...any) error {
		return &ResultError{Method: call.req.Method, Result: res, Err: fmt.Errorf(format, args...)}
	}
	if !isObject(res) {
		return nil, false, bad("it is not a JSON object")
	}
	rules := conn.agreed().rules
	if !rules.ResultType {
		return r, true, nil
	}
	if err := unmarshalJSON(res, &r.resultHead); err != nil {
		return nil, false, bad("%w", err)
	}
	switch kind := r.ResultType; {
	case kind == nil || *kind == ResultComplete:
		return r, true, nil
	case *kind != ResultInputRequired:
		resolve := c.opts.ResultTypes[*kind]
		if resolve == nil {
			return nil, false, bad("resultType %q is unknown here", clip(*kind, 50))
		}
		full, err := resolve(ctx, c, call.req, res)
		if err != nil {
			return nil, false, err
		}
		r.raw = full
		return r, true, nil
	case !rules.CanBeAsked(call.req.Method):
		return nil, false, bad("this method cannot ask for input")
	}
	var err error
	if len(r.InputRequests) > 0 && string(r.InputRequests) != "null" {
		if r.requests, err = membersOf(r.InputRequests); err != nil {
			return nil, false, bad("inputRequests: %w", err)
		}
	} else if r.RequestState == nil {
		return nil, false, bad("it asks for input, but has neither inputRequests nor requestState")
	}
	return r, false, nil
}

// refusals remembers which questions the person has turned down in this call, so that they are not put again.
type refusals map[string]error

// check returns the error to give up with when the person has turned this very question down already.
func (t refusals) check(question []byte) error {
	if err := t[string(question)]; err != nil {
		return fmt.Errorf("%w, and the server asked the same again", err)
	}
	return nil
}

func (t *refusals) note(question []byte, a Action) {
	var err error
	switch a {
	case ActionDecline:
		err = ErrDeclined
	case ActionCancel:
		err = ErrCanceled
	default:
		return
	}
	if *t == nil {
		*t = refusals{}
	}
	(*t)[string(question)] = err
}

// answerRound puts the questions of one round to the person, one after the other in the server's order, and returns what the retry
// carries for them. Who declines or cancels one of them is not bothered with the rest: since a retry has to answer each, those count as
// cancelled, which is what a dialog that is closed says; the server can ask them again if it still wants to know.
func (c *Client) answerRound(ctx context.Context, conn *connection, call *outCall, r *roundResult, told *refusals) ([]member, error) {
	if err := c.admitQuestions(call, len(r.requests)); err != nil {
		return nil, err
	}
	call.timer.pause()
	defer call.timer.resume()
	answers := make([]member, 0, len(r.requests))
	dismissed := false
	for _, q := range r.requests {
		var req struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := unmarshalJSON(q.value, &req); err != nil {
			return nil, &ResultError{Method: call.req.Method, Result: r.raw, Err: fmt.Errorf("inputRequests[%q]: %w", q.name, err)}
		}
		if dismissed && req.Method == MethodElicit {
			answers = append(answers, member{q.name, cancelled})
			continue
		}
		if err := told.check(q.value); err != nil {
			return nil, err
		}
		ask := &inquiry{
			conn: conn, call: call, of: call, asker: call.asker, rules: conn.agreed().rules, method: req.Method, params: req.Params,
			about: Asked{Method: call.req.Method, Name: callName(call.req), Round: int(call.round.Load()), Key: q.name},
		}
		ask.join()
		a, err := ask.put(ctx)
		if err != nil {
			return nil, fmt.Errorf("mcp: %s asked %q: %w", call.what(), clip(q.name, 100), localError(err))
		}
		told.note(q.value, a.action)
		dismissed = dismissed || a.action == ActionDecline || a.action == ActionCancel
		answers = append(answers, member{q.name, a.result})
	}
	raw, err := withMembers(nil, answers...)
	if err != nil {
		return nil, err
	}
	return []member{{"inputResponses", raw}}, nil
}

// cancelled answers a question that was not put because another one of its round was turned down.
var cancelled = json.RawMessage(`{"action":"cancel"}`)

// localError turns what a server of the handshake era would be answered into an error for the caller.
func localError(err error) error {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return fmt.Errorf("%w: %s", ErrUnavailable, e.Message)
	}
	return err
}
