//go:build !mcp_modern_only

package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// This file asks clients of the handshake era: by requests of the server on the stream of the call, for which the handler waits, or,
// where there is no way back, by error -32042.

// handshakeAsker chooses between the two.
func (c *Call) handshakeAsker() asker {
	if c.lastingSession() == nil || c.exchange.Stream == nil {
		return channelless{}
	}
	return sessionAsker{}
}

// lastingSession returns the session of the call, unless it was made up for this one request (RestoreSession).
func (c *Call) lastingSession() *Session {
	if c.exchange == nil || c.exchange.Session == nil || c.exchange.Session.detached {
		return nil
	}
	return c.exchange.Session
}

// sessionAsker sends the question on the stream of the call and waits for the answer. It sets no time limit: people take their time,
// and ctx ends with the call.
type sessionAsker struct{}

// maxRefills bounds how often somebody is asked again whose answer does not fit the form.
const maxRefills = 3

func (sessionAsker) ask(ctx context.Context, c *Call, q *Question) (*Answer, error) {
	rt := c.asks()
	var problem error
	for range 1 + maxRefills {
		if err := rt.limit.take(c, 1); err != nil {
			return nil, err
		}
		ans, err := c.askOnStream(ctx, q, problem)
		var bad *badContent
		switch {
		case errors.As(err, &bad):
			problem = bad
		case errors.Is(err, ErrUnavailable) && q.Kind == AskURL && !wasTried(err):
			return channelless{}.ask(ctx, c, q)
		default:
			return ans, err
		}
	}
	return nil, &ToolError{
		Text: fmt.Sprintf("the answers to question %q never fitted its form", q.Key),
		Err:  fmt.Errorf("mcp: question %q: the client's answer does not fit the form: %w", q.Key, problem),
	}
}

// askOnStream puts the question once.
func (c *Call) askOnStream(ctx context.Context, q *Question, problem error) (*Answer, error) {
	id := ""
	switch {
	case c.usesDraft(q.Kind):
		return c.interact(ctx, q, problem)
	case q.Kind == AskURL:
		id = c.openURL(q)
	}
	method, params, err := c.wording(q, problem, id)
	if err != nil {
		return nil, err
	}
	reply, err := c.toClient(ctx, method, params)
	if err != nil {
		return nil, fmt.Errorf("mcp: question %q: %w", q.Key, err)
	}
	if reply.Error != nil {
		return nil, clientRefusal(q, reply.Error)
	}
	ans, err := q.answer(reply.Result)
	var bad *badReply
	if errors.As(err, &bad) {
		return nil, unreadable(q, bad)
	}
	if ans != nil {
		ans.ID = id
	}
	return ans, err
}

// unreadable reports a reply that is no answer.
func unreadable(q *Question, bad *badReply) error {
	return &ToolError{
		Text: "the client's reply to a question could not be understood",
		Err:  fmt.Errorf("mcp: question %q: the client's reply cannot be used: %s", q.Key, bad.problem),
	}
}

// wasTried reports whether the client knows the question, and failed to get an answer: to ask in another way is of no use then.
func wasTried(err error) bool {
	var lacking *unavailableError
	return errors.As(err, &lacking) && lacking.tried
}

// clientRefusal reads the error that a client answers a question with.
func clientRefusal(q *Question, e *Error) error {
	switch e.Code {
	case CodeUserRejected:
		return fmt.Errorf("%w: question %q", ErrDeclined, q.Key)
	case CodeMethodNotFound, CodeInvalidParams:
		return &unavailableError{key: q.Key, kind: q.Kind,
			reason: fmt.Sprintf("the client declared the capability but refused the request (error %d: %s)", e.Code, clip(e.Message, 200))}
	}
	return &unavailableError{key: q.Key, kind: q.Kind, tried: true,
		reason: fmt.Sprintf("the client could not get an answer (error %d: %s)", e.Code, clip(e.Message, 200))}
}

// channelless serves clients that no request can be sent to. A URL question of 2025-11-25, or of the User Interaction draft, becomes the
// error of the request; other questions cannot be asked.
type channelless struct{}

func (channelless) ask(_ context.Context, c *Call, q *Question) (*Answer, error) {
	if q.Kind != AskURL || !c.refusesForPages() {
		return nil, &unavailableError{key: q.Key, kind: q.Kind,
			reason: "there is no stream back to the client (stateless sessions at revision " + c.rev.String() +
				"); clients of 2026-07-28 can be asked, and so can those of stateful sessions"}
	}
	a := &c.asking
	a.mu.Lock()
	defer a.mu.Unlock()
	run := a.run
	if !a.open {
		return nil, errAskedLate
	}
	asked, _ := run.state.Asked.get(q.Key)
	if asked.Digest == run.digest(q.Key) {
		return &Answer{Action: ActionAccept, ID: asked.ID}, nil // the call is made again because the person agreed
	}
	if len(run.pending) >= run.rt.maxQuestions {
		run.fault = fmt.Errorf("%w: more than %d questions in one round (AskOptions.MaxQuestions)", ErrTooManyRounds, run.rt.maxQuestions)
		return nil, run.fault
	}
	id := asked.ID
	if id == "" || q.ID != "" {
		id = q.elicitationID()
	}
	run.pending = append(run.pending, &pendingQuestion{Question: q, id: id})
	return nil, fmt.Errorf("%w: question %q", ErrInputRequired, q.Key)
}

// refusesForPages reports whether requests of the client can be refused until pages are visited.
func (c *Call) refusesForPages() bool {
	return c.rev.Rules().Elicitation.RequiredError || c.usesDraft(AskURL)
}

// elicitationID names the interaction behind a URL question.
func (q *Question) elicitationID() string {
	if q.ID != "" {
		return q.ID
	}
	return randomName()
}

// visitRequired is error -32042 with the pending questions, all of which are URLs. In the User Interaction draft it is -32003 with the
// first of them: that error names one page, and the others follow when the call is made again.
func (c *Call) visitRequired(ctx context.Context, run *askRun) error {
	pending, draft := run.pending, c.usesDraft(AskURL)
	if draft {
		pending = pending[:1]
	}
	if err := run.rt.limit.take(c, len(pending)); err != nil {
		return err
	}
	st := run.state
	st.Round++
	if err := run.bounds(c); err != nil {
		return err
	}
	data := URLElicitationRequiredData{Elicitations: []*ElicitParams{}}
	for _, q := range pending {
		data.Elicitations = append(data.Elicitations, &ElicitParams{Mode: ElicitURL, Message: q.Message, URL: q.URL, ElicitationID: q.id})
		st.Asked.set(q.Key, askedQuestion{run.digest(q.Key), q.id})
		if s := c.lastingSession(); s != nil && c.rev.Rules().Elicitation.CompleteNotice {
			run.rt.urls.add(q.id, s) // it can be told, on a stream of its own
		}
	}
	if err := c.rememberHandshake(ctx, run); err != nil {
		return err
	}
	if draft {
		return c.interactionRequired(pending[0])
	}
	raw, err := marshalJSON(&data)
	if err != nil {
		return fmt.Errorf("mcp: encoding elicitations: %w", err)
	}
	return &Error{Code: CodeURLElicitationRequired, Message: "the person must visit a page before this request can be served", Data: raw}
}

// purposeRetry is what the state of a call that got -32042 or -32003 is for, towards the key ring.
const purposeRetry = "url retry"

// handshakeKey finds the state of a call that is made again after -32042: by who calls, through which client, and what. Without a
// verified principal nobody can be told apart, and nothing is remembered. Clients of the User Interaction draft are told apart by their
// session as well.
func (c *Call) handshakeKey() (string, *Binding, bool) {
	draft := c.usesDraft(AskURL)
	if c.asks().store == nil || c.principal == nil && !draft {
		return "", nil, false
	}
	b, err := c.binding(purposeRetry)
	if err != nil {
		return "", nil, false
	}
	if c.client.info != nil {
		b.Parts = append(b.Parts, c.client.info.Name)
	}
	if draft {
		b.Parts = append(b.Parts, c.draftTerms().scope)
	}
	return "retry/" + b.digest(), b, true
}

// remembersHandshake reports whether a call that is answered with -32042 or -32003 is recognised when it is made again.
func (c *Call) remembersHandshake() bool {
	_, _, ok := c.handshakeKey()
	return ok && c.refusesForPages()
}

// resumeHandshake takes up a call that was answered with -32042 or -32003 before.
func (c *Call) resumeHandshake(ctx context.Context) error {
	if !c.refusesForPages() || c.hasChannel() {
		return nil
	}
	key, b, ok := c.handshakeKey()
	if !ok {
		return nil
	}
	rt := c.asks()
	sealed, found, err := rt.store.Get(ctx, key)
	if err != nil {
		return &storeError{err}
	}
	if !found {
		return nil
	}
	plain, err := rt.keys.Open(b, string(sealed))
	if err != nil {
		rt.log.Warn("the stored state of a call could not be opened; the call begins anew", "method", c.method, "name", c.name, "error", err)
		return nil
	}
	st := new(flowState)
	if err := st.decode(plain); err != nil {
		return &storeError{err}
	}
	a := &c.asking
	a.mu.Lock()
	defer a.mu.Unlock()
	run := c.startRun()
	run.state, run.resumed = st, true
	return nil
}

// hasChannel reports whether requests can be sent to the client while the call is served.
func (c *Call) hasChannel() bool {
	_, ok := c.chooseAsker().(channelless)
	return !ok
}

// rememberHandshake stores what the repeated call needs to know.
func (c *Call) rememberHandshake(ctx context.Context, run *askRun) error {
	key, b, ok := c.handshakeKey()
	if !ok {
		run.rt.once.do("retry\x00"+c.method+"\x00"+c.name, func() {
			run.rt.log.Warn("a URL question was answered with an error (-32042, -32003), and nothing recognises the call when it is made again: "+
				"that takes AskOptions.Store and a verified principal", "method", c.method, "name", c.name)
		})
		return nil
	}
	expires := time.Now().Add(run.rt.lifetime)
	run.state.RoundID, run.state.Expires = randomName(), expires.Unix()
	sealed, err := run.rt.keys.Seal(b, run.state.encode(nil))
	if err != nil {
		return err
	}
	if err := run.rt.store.Set(ctx, key, []byte(sealed), expires); err != nil {
		return &storeError{err}
	}
	return nil
}

// forgetHandshake drops the state of a call that has ended.
func (c *Call) forgetHandshake(ctx context.Context, run *askRun) {
	if !run.resumed || c.rev.Rules().AskByResult {
		return
	}
	key, _, ok := c.handshakeKey()
	if !ok {
		return
	}
	if err := run.rt.store.Delete(ctx, key); err != nil {
		run.rt.log.Warn("the state of a finished call could not be deleted; it expires by itself", "error", err)
	}
}

// openURL takes note of a URL question that goes out, so that its completion can be told.
func (c *Call) openURL(q *Question) string {
	id := q.elicitationID()
	if c.rev.Rules().Elicitation.CompleteNotice {
		c.asks().urls.add(id, c.exchange.Session)
	}
	return id
}

// CompleteElicitation tells the client that was asked to open a URL that what it was asked for there is finished
// (notifications/elicitation/complete of 2025-11-25; progress of interaction/track in the User Interaction draft). id is
// [Question.ID], or [Answer.ID] where the question had none. It goes to the session that was asked, and to nobody else; sent is false
// when there is nothing to tell: the id is unknown, was completed before, the session is over, or the client was asked at a revision
// that has no such notice.
func (s *Server) CompleteElicitation(id string) (sent bool, err error) {
	if s.asks.interactions.finish(id) {
		return true, nil
	}
	session := s.asks.urls.complete(id)
	if session == nil {
		return false, nil
	}
	if err := session.Notify(NotificationElicitationComplete, &ElicitationCompleteParams{ElicitationID: id}); err != nil {
		return false, fmt.Errorf("mcp: telling that elicitation %q is complete: %w", clip(id, 40), err)
	}
	return true, nil
}
