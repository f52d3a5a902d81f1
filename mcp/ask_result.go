package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/internal/schema"
)

// This file asks by the result of the request (2026-07-28, basic/patterns/mrtr): what is known is answered, what is not goes out
// with the result, and the state is sealed for the next run.

// resultAsker answers from what the client brought back, or notes the question as pending.
type resultAsker struct{}

func (resultAsker) ask(_ context.Context, c *Call, q *Question) (*Answer, error) {
	a := &c.asking
	a.mu.Lock()
	defer a.mu.Unlock()
	run := a.run
	if !a.open {
		return nil, errAskedLate
	}
	ans, problem, err := run.known(c, q)
	switch {
	case err != nil:
		run.fault = err
		return nil, err
	case ans != nil:
		return ans, nil
	case len(run.pending) >= run.rt.maxQuestions:
		run.fault = &ToolError{
			Text: "too many questions at once",
			Err: fmt.Errorf("%w: %s %q asks more than %d questions in one round (AskOptions.MaxQuestions)",
				ErrTooManyRounds, c.method, c.name, run.rt.maxQuestions),
		}
		return nil, run.fault
	}
	p := &pendingQuestion{Question: q, problem: problem}
	run.pending = append(run.pending, p)
	return nil, (*awaitedError)(p)
}

// awaitedError is ErrInputRequired for a question.
type awaitedError pendingQuestion

func (e *awaitedError) Error() string { return fmt.Sprintf("%v: question %q", ErrInputRequired, e.Key) }
func (e *awaitedError) Unwrap() error { return ErrInputRequired }

// pendingQuestion is a question that goes out, and what was wrong with its answer before.
type pendingQuestion struct {
	*Question
	problem error
	id      string // elicitationId, where there is one
	method  string // as it goes out
	params  json.RawMessage
}

// known finds the answer to a question: one that was remembered, or one that this request brings. problem tells why an answer that
// is there does not count.
func (r *askRun) known(c *Call, q *Question) (ans *Answer, problem, err error) {
	digest := r.digest(q.Key)
	reply, ok := r.state.Answers.get(q.Key)
	if !ok && !r.resumed {
		var raw json.RawMessage
		if raw, ok = r.answers.get(q.Key); ok {
			reply = rememberedReply{Digest: digest, Raw: raw} // a first call that brings its answers along
		}
	}
	if !ok {
		r.noteReworded(c, q)
		return nil, nil, nil
	}
	said, malformed := readElicitResult(reply.Raw)
	if malformed == nil && said.refuses() { // it holds whatever became of the wording: nobody is asked twice
		r.state.Answers.set(q.Key, reply)
		return &Answer{Action: said.action}, nil, nil
	}
	if reply.Digest != digest {
		r.state.Answers.remove(q.Key)
		r.noteChanged(c, q)
		return nil, nil, nil
	}
	ans, err = q.answerOf(reply.Raw, said, malformed)
	if err == nil {
		r.state.Answers.set(q.Key, reply)
		return ans, nil, nil
	}
	r.state.Answers.remove(q.Key)
	var bad *badContent
	if errors.As(err, &bad) {
		return nil, bad, nil
	}
	return nil, nil, refusedReply(q.Key, err)
}

// errElicitResult says that a reply is none to an elicitation.
var errElicitResult = errors.New("it is not the result of an elicitation")

// elicitReply is what an [ElicitResult] says.
type elicitReply struct {
	action  ElicitAction
	content json.RawMessage
}

// refuses reports whether the person does not want to answer.
func (e elicitReply) refuses() bool { return e.action == ActionDecline || e.action == ActionCancel }

// readElicitResult reads an [ElicitResult] without its _meta.
func readElicitResult(raw json.RawMessage) (said elicitReply, err error) {
	if len(raw) == 0 || raw[0] != '{' {
		return said, errElicitResult
	}
	object := schema.EachMember(raw, func(name, value []byte) { // it came in a message, so it is JSON
		switch string(name) {
		case "action":
			text, state := stringOf(value)
			if state != era.Valid && value[0] != 'n' {
				err = errElicitResult
			}
			said.action = ElicitAction(text)
		case "content":
			said.content = value
		case "_meta":
			if value[0] != '{' && value[0] != 'n' {
				err = errElicitResult
			}
		}
	})
	if !object {
		return said, errElicitResult
	}
	return said, err
}

// noteReworded notices a question that went out in the last round, came back without an answer, and now says something else.
func (r *askRun) noteReworded(c *Call, q *Question) {
	if asked, was := r.state.Asked.get(q.Key); was && asked.Digest != r.digest(q.Key) {
		r.noteChanged(c, q)
	}
}

func (r *askRun) noteChanged(c *Call, q *Question) {
	r.state.Changed++
	r.rt.log.Warn("a question is not the same as when it was asked before, and is asked again; what it says must not differ between runs",
		"method", c.method, "name", c.name, "question", q.Key, "changed", r.state.Changed)
}

// resume reads requestState and inputResponses of a retry. With a store it returns the outcome of the run that has already
// redeemed the state, if there is one.
func (c *Call) resume(ctx context.Context) (*storedOutcome, error) {
	a := &c.asking
	responses, err := c.inputResponses()
	if err != nil {
		return nil, err
	}
	text, has, err := c.requestState()
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !has {
		c.startRun().answers = responses
		return nil, nil // a first call that brings answers along
	}
	run := c.startRunWith(nil) // until it is known
	run.answers = responses
	st, stored, err := run.rt.redeem(ctx, c, run, text)
	if err != nil {
		return nil, c.refuseState(err)
	}
	if stored != nil {
		return stored, nil
	}
	run.state, run.resumed = st, true
	return nil, run.keep()
}

// keep takes the answers to what was asked into the state, even those that this run will not come to ask for: the client does not
// send them again. Answers to what was not asked are left alone.
func (r *askRun) keep() error {
	for _, reply := range r.answers {
		asked, was := r.state.Asked.get(reply.key)
		if !was {
			continue
		}
		if len(reply.value) == 0 || reply.value[0] != '{' {
			return refusedReply(reply.key, &badReply{"it must be an object"})
		}
		r.state.Answers.set(reply.key, rememberedReply{Digest: asked.Digest, Raw: reply.value})
	}
	return nil
}

// refuseState logs why a state is refused and returns the one refusal that clients get to see.
func (c *Call) refuseState(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var wire *Error
	if errors.As(err, &wire) {
		return err
	}
	rt := c.asks()
	msg := "a requestState was refused"
	if errors.Is(err, errSealKey) {
		msg += ": replicas do not share keys, or a key was dropped before its states had expired"
	}
	rt.log.Warn(msg, "method", c.method, "name", c.name, "error", err.Error(), "keys", rt.keys.String())
	return errBadState
}

// inputResponses reads the answers that the request brings. They remain part of it.
func (c *Call) inputResponses() (byKey[json.RawMessage], error) {
	raw := c.param(paramInputResponses)
	if len(raw) == 0 {
		return nil, nil
	}
	if raw[0] != '{' {
		return nil, invalidParams("inputResponses must be an object")
	}
	var responses byKey[json.RawMessage]
	object := schema.EachMember(raw, func(name, value []byte) { // there may be very many
		responses = append(responses, keyed[json.RawMessage]{string(name), value})
	})
	if !object {
		return nil, invalidParams("inputResponses must be an object of results by key")
	}
	return responses, nil
}

// requestState reads the state that the request brings; the empty text is one. It remains part of the request.
func (c *Call) requestState() (text []byte, has bool, err error) {
	raw := c.param(paramRequestState)
	switch {
	case len(raw) == 0:
		return nil, false, nil
	case raw[0] != '"':
		return nil, false, invalidParams("requestState must be a string")
	case bytes.IndexByte(raw, '\\') < 0:
		return raw[1 : len(raw)-1], true, nil
	}
	if text, err = jsontext.AppendUnquote(nil, raw); err != nil {
		return nil, false, invalidParams("requestState must be a string")
	}
	return text, true, nil
}

// param returns a member of the request's params as it came, nil where it is absent.
func (c *Call) param(p param) json.RawMessage {
	if c.exchange == nil {
		return nil
	}
	return c.exchange.params.member(p)
}

// arguments returns the arguments of the request as they came.
func (c *Call) arguments() json.RawMessage { return c.param(paramArguments) }

// inputRequired builds the result that puts the pending questions.
func (c *Call) inputRequired(ctx context.Context, run *askRun) (any, error) {
	st := run.state
	if len(run.pending) > 0 {
		st.Round++
	} else {
		st.Waits++
	}
	if err := run.bounds(c); err != nil {
		return nil, err
	}
	if err := run.rt.limit.take(c, len(run.pending)); err != nil {
		return nil, err
	}
	st.Asked = make(byKey[askedQuestion], len(run.pending))
	for i, q := range run.pending {
		var err error
		if q.method, q.params, err = c.wording(q.Question, q.problem, ""); err != nil {
			return nil, fmt.Errorf("mcp: question %q: %w", q.Key, err)
		}
		st.Asked[i] = keyed[askedQuestion]{q.Key, askedQuestion{Digest: run.digest(q.Key)}}
	}
	if c.looksAtResult(run) {
		return c.inputResult(ctx, run)
	}
	return c.inputEncoded(ctx, run)
}

// looksAtResult reports whether anybody but the encoder sees the result.
func (c *Call) looksAtResult(run *askRun) bool {
	return c.server == nil || run.claim != nil || len(c.server.chain.Load().mws) > 0
}

// inputResult makes the result for those who want to look at it.
func (c *Call) inputResult(ctx context.Context, run *askRun) (*InputRequiredResult, error) {
	r := &InputRequiredResult{ResultType: ResultInputRequired, InputRequests: make(InputRequests, len(run.pending))}
	for _, q := range run.pending {
		r.InputRequests[q.Key] = InputRequest{Method: q.method, Params: q.params}
		r.order = append(r.order, q.Key)
	}
	sealed, err := run.rt.sealRound(ctx, c, run, nil)
	if err != nil {
		return nil, err
	}
	state := string(sealed)
	r.RequestState = &state
	return r, nil
}

// encodedInput is an encoded InputRequiredResult.
type encodedInput []byte

// inputEncoded makes the same result as bytes.
func (c *Call) inputEncoded(ctx context.Context, run *askRun) (encodedInput, error) {
	size := 384 // a state as it mostly is, and what every result has
	for _, q := range run.pending {
		size += len(q.Key) + len(q.method) + len(q.params) + 32
	}
	dst := append(make([]byte, 0, size), `{"inputRequests":{`...)
	for i, q := range run.pending {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendInputRequest(dst, q.Key, InputRequest{Method: q.method, Params: q.params})
	}
	dst, err := run.rt.sealRound(ctx, c, run, append(dst, `},"requestState":"`...))
	if err != nil {
		return nil, err
	}
	return c.server.appendInputStamp(append(dst, `",`...)), nil
}

// bounds refuses a round too many.
func (r *askRun) bounds(c *Call) error {
	option, limit := "", 0
	switch {
	case r.state.Round > r.rt.maxRounds:
		option, limit = "MaxRounds", r.rt.maxRounds
	case r.state.Waits > r.rt.maxWaits:
		option, limit = "MaxWaits", r.rt.maxWaits
	default:
		return nil
	}
	return &ToolError{
		Text: fmt.Sprintf("too many questions: this call has had %d rounds of them, and ends here", limit),
		Err:  fmt.Errorf("%w: AskOptions.%s (%d) reached by %s %q", ErrTooManyRounds, option, limit, c.method, c.name),
	}
}

// sealRound seals the state of the round that begins now and appends it. What is too large to travel goes to the store.
func (r *askRuntime) sealRound(ctx context.Context, c *Call, run *askRun, dst []byte) ([]byte, error) {
	r.noteKeys()
	st := run.state
	b, err := run.bound(c)
	if err != nil {
		return nil, err
	}
	expires := time.Now().Add(r.lifetime)
	st.RoundID, st.Expires, st.Stored = randomName(), expires.Unix(), ""
	sealed, fits, err := r.seal(dst, b, st)
	if err != nil || fits {
		return sealed, err
	}
	if r.store == nil {
		return nil, fmt.Errorf("mcp: the state of %s %q is larger than %d bytes (AskOptions.MaxState): keep less in Once, or set AskOptions.Store",
			c.method, c.name, r.maxState)
	}
	ref := &flowState{Flow: st.Flow, RoundID: st.RoundID, Expires: st.Expires, Round: st.Round, Waits: st.Waits, Stored: "state/" + randomName()}
	if err := r.store.Set(ctx, ref.Stored, sealed[len(dst):], expires); err != nil {
		return nil, fmt.Errorf("mcp: storing the state of a call: %w", err)
	}
	sealed, _, err = r.seal(dst, b, ref)
	return sealed, err
}

// load fetches the part of a state that was too large to travel.
func (r *askRuntime) load(ctx context.Context, b *Binding, ref *flowState) (*flowState, error) {
	if ref.Stored == "" {
		return ref, nil
	}
	if r.store == nil {
		return nil, fmt.Errorf("%w: this replica has no AskOptions.Store", errStateGone)
	}
	sealed, found, err := r.store.Get(ctx, ref.Stored)
	if err != nil {
		return nil, fmt.Errorf("reading the store: %w", err)
	}
	if !found {
		return nil, errStateGone
	}
	plain, err := r.keys.open(b, sealed)
	if err != nil {
		return nil, err
	}
	st := new(flowState)
	if err := st.decode(plain); err != nil || st.RoundID != ref.RoundID {
		return nil, errStateBody
	}
	return st, nil
}

// pendingKeys lists what is asked, for the log.
func (r *askRun) pendingKeys() []string {
	keys := make([]string, 0, len(r.pending)+len(r.waiting))
	for _, q := range r.pending {
		keys = append(keys, q.Key)
	}
	keys = append(keys, r.waiting...)
	slices.Sort(keys)
	return keys
}
