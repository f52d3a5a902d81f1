//go:build !mcp_modern_only

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// This file is the client's half of the User Interaction draft (draft.go).

// maxFollowed bounds the pages of a connection that are followed with interaction/track at one time.
const maxFollowed = 16

// errNoConsent answers interaction/create when the person does not want to.
var errNoConsent = &Error{Code: codeNoConsent, Message: "User did not consent to the interaction."}

// interactionTypes returns the types of interactions that the client declares, nil for none.
func (c *Client) interactionTypes() []string {
	in := c.opts.Interactor
	switch {
	case !c.opts.InteractionDraft || in.Open == nil:
		return nil
	case in.Form == nil:
		return []string{interactionPage}
	}
	return []string{interactionPage, interactionPrompt}
}

// declareDraft adds the capability userInteraction to the params of initialize.
func (c *Client) declareDraft(params json.RawMessage) (json.RawMessage, error) {
	types := c.interactionTypes()
	if types == nil {
		return params, nil
	}
	own, err := marshalJSON(&interactionCapability{Types: types})
	if err != nil {
		return nil, err
	}
	caps, err := withMembers(memberOf(params, "capabilities"), member{"userInteraction", own})
	if err != nil {
		return nil, err
	}
	return withMembers(params, member{"capabilities", caps})
}

// speaksDraft reports whether what was agreed over the connection includes the draft.
func (n *connection) speaksDraft() bool {
	return n.agreed().rules.Handshake && n.client.interactionTypes() != nil
}

// prepareInteraction checks an interaction/create.
func (q *inquiry) prepareInteraction() (func(context.Context) (reply, error), error) {
	var p interactionParams
	if err := unmarshalJSON(q.params, &p); err != nil {
		return nil, invalidParams("%s: %v", q.method, err)
	}
	i := &p.Interaction
	switch {
	case !slices.Contains(q.conn.client.interactionTypes(), p.Type):
		return nil, invalidParams("%s: this client did not declare type %q", q.method, clip(p.Type, 50))
	case p.ID == "":
		return nil, invalidParams("%s: id is missing", q.method)
	case i.Message != nil && i.Message.Type != "text":
		return nil, invalidParams("%s: message must be a text", q.method)
	case p.Type == interactionPrompt:
		return q.prepareForm(&ElicitParams{Message: i.Message.text(), RequestedSchema: i.Schema})
	}
	if q.opened == nil {
		q.opened = func(oq *OpenQuestion) { q.conn.followPage(oq, q.asker, q.of) }
	}
	return q.prepareOpen(&ElicitParams{Mode: ElicitURL, Message: i.Message.text(), URL: i.URL, ElicitationID: p.ID})
}

// interacted turns the answer of a person into the result of interaction/create: what was filled in, for a prompt, and nothing for a
// page.
func interacted(a reply) (json.RawMessage, error) {
	if a.action != ActionAccept {
		return nil, errNoConsent
	}
	return withMembers(nil, member{"content", memberOf(a.result, "content")})
}

// visitInteraction deals with a call that was refused because the person must visit a page first (-32003): it asks for consent, waits
// until the server or the person says that it is done, and returns nil for the call to be repeated. As each refusal names one page, it
// is MaxRounds that bounds them.
func (c *Client) visitInteraction(ctx context.Context, conn *connection, call *outCall, loop *pageLoop, refusal *jsonrpc.Error) error {
	var data interactionRequiredData
	bad := func(err error) error {
		return fmt.Errorf("%w: %w", refusal, &ResultError{Method: call.req.Method, Result: refusal.Data, Err: err})
	}
	if len(refusal.Data) == 0 {
		return bad(errors.New("it names no page"))
	}
	if err := unmarshalJSON(refusal.Data, &data); err != nil {
		return bad(err)
	}
	if data.Type != interactionPage {
		return bad(fmt.Errorf("it wants an interaction of type %q; only %q can be the data of an error", clip(data.Type, 50), interactionPage))
	}
	loop.attempts++
	switch {
	case loop.attempts > c.opts.MaxRounds:
		return fmt.Errorf("%w: %s was refused %d times until pages were visited (ClientOptions.MaxRounds): %w",
			ErrTooManyRounds, call.what(), c.opts.MaxRounds, refusal)
	case loop.finished[data.URL]:
		return fmt.Errorf("%w: the server wants a page visited again that was just finished: %w", ErrTooManyRounds, refusal)
	}
	if err := c.admitQuestions(call, 1); err != nil {
		return err
	}
	call.timer.pause()
	defer call.timer.resume()
	call.nextQuestion()
	if err := c.visitInteractionPage(ctx, conn, call, &data); err != nil {
		return fmt.Errorf("mcp: %s needs a page to be visited: %w", call.what(), localError(err))
	}
	loop.finish(data.URL)
	return nil
}

// visitInteractionPage asks for consent to the page and waits until it is finished.
func (c *Client) visitInteractionPage(ctx context.Context, conn *connection, call *outCall, data *interactionRequiredData) error {
	params, err := marshalJSON(&interactionParams{
		ID: data.ID, Type: data.Type, Interaction: interactionBody{URL: data.URL, Message: data.Message},
	})
	if err != nil {
		return err
	}
	var wait *pageWait
	q := &inquiry{
		conn: conn, asker: call.asker, rules: conn.agreed().rules, draft: true, method: methodInteractionCreate, params: params,
		about: Asked{Method: call.req.Method, Name: callName(call.req), Round: int(call.round.Load())},
		opened: func(oq *OpenQuestion) {
			wait = &pageWait{question: oq, asker: call.asker, call: call, done: make(chan struct{})}
		},
	}
	q.join()
	a, err := q.put(ctx)
	switch {
	case err != nil:
		return err
	case a.action == ActionDecline:
		return ErrDeclined
	case a.action == ActionCancel:
		return ErrCanceled
	}
	return c.awaitTracked(ctx, conn, wait)
}

// awaitTracked waits for a page like awaitPage does, while the server is asked to report. When it cannot, and nobody else can say that
// the page is finished, the wait ends.
func (c *Client) awaitTracked(ctx context.Context, conn *connection, w *pageWait) error {
	waiting, giveUp := context.WithCancelCause(ctx)
	tracking, stop := context.WithCancel(waiting)
	finished := make(chan struct{})
	go func() { // ends with stop, and is waited for
		defer close(finished)
		err := conn.trackPage(tracking, w)
		switch {
		case err == nil || tracking.Err() != nil:
		case w.asker.Wait == nil:
			giveUp(fmt.Errorf("the server does not say when the page is finished, and there is no Interactor.Wait to ask the person: %w",
				localError(err)))
		default:
			c.log.Info("mcp: a page is not tracked; the person says when it is finished", "server", c.origin, "err", err)
		}
	}()
	err := c.awaitPage(waiting, w)
	stop()
	<-finished
	giveUp(nil)
	return err
}

// trackPage asks the server to report on a page (interaction/track), and returns nil when it is finished. A response that comes before
// any report is taken for an acknowledgement, and reports are still waited for.
func (n *connection) trackPage(ctx context.Context, w *pageWait) error {
	id := n.client.newID()
	token, err := withMembers(nil, member{MetaProgressToken, id.AppendJSON(nil)})
	if err != nil {
		return err
	}
	params, err := marshalJSON(&interactionTrackParams{Meta: token, ID: w.question.ID})
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.tracked[id] = w
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.tracked, id)
	}()
	resp, err := n.link.RoundTrip(ctx, &Outgoing{ID: id, Method: methodInteractionTrack, Params: params, Revision: n.agreed().rev})
	switch {
	case err != nil:
		return err
	case resp.Error != nil:
		return resp.Error
	}
	n.mu.Lock()
	reported := w.reported
	n.mu.Unlock()
	if reported {
		n.finish(w)
	}
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// receiveTracked deals with the progress of a page that is tracked.
func (n *connection) receiveTracked(p *ProgressParams) {
	n.mu.Lock()
	w := n.tracked[p.ProgressToken]
	if w != nil {
		w.reported = true
	}
	n.mu.Unlock()
	if w != nil && p.Total != nil && *p.Total > 0 && p.Progress >= *p.Total {
		n.finish(w)
	}
}

// followPage has the interactor told when a page that the person agreed to open is finished, where it wants to know.
func (n *connection) followPage(oq *OpenQuestion, asker *Interactor, call *outCall) {
	n.mu.Lock()
	full := len(n.tracked) >= maxFollowed
	n.mu.Unlock()
	if asker.Completed == nil || full {
		return
	}
	w := &pageWait{question: oq, asker: asker, call: call, done: make(chan struct{})}
	n.client.spawn(func() {
		ctx, cancel := context.WithTimeout(n.client.base, n.client.opts.CompletionWait)
		defer cancel()
		if err := n.trackPage(ctx, w); err != nil && n.client.base.Err() == nil {
			n.client.log.Info("mcp: a page is not tracked", "server", n.client.origin, "err", err)
		}
	})
}
