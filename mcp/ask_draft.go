//go:build !mcp_modern_only

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// This file is the server's half of the User Interaction draft (draft.go). It is only used for clients that cannot be asked a question
// in the way of their revision.

// draftTerms is what a handshake agreed on about the draft. It is immutable.
type draftTerms struct {
	types []string // that the client declared and this server sends
	scope string   // names the session towards the table of interactions; a secret of the server
}

// draftOf reads what the capabilities of a client declare of the draft; nil when they declare nothing that is sent, or the server
// does not want to use it.
func (r *askRuntime) draftOf(capabilities json.RawMessage) *draftTerms {
	if !r.draft || len(capabilities) == 0 {
		return nil
	}
	var caps struct {
		UserInteraction interactionCapability `json:"userInteraction"`
	}
	if unmarshalJSON(capabilities, &caps) != nil {
		return nil
	}
	terms := &draftTerms{scope: randomName()}
	for _, known := range []string{interactionPage, interactionPrompt} {
		if slices.Contains(caps.UserInteraction.Types, known) {
			terms.types = append(terms.types, known)
		}
	}
	if len(terms.types) == 0 {
		return nil
	}
	return terms
}

// draftTerms returns what the handshake behind the call agreed on about the draft, nil if nothing.
func (c *Call) draftTerms() *draftTerms {
	if c.exchange == nil || c.exchange.Session == nil || !c.rev.Rules().Handshake {
		return nil
	}
	return c.exchange.Session.draft.Load()
}

// usesDraft reports whether questions of that kind go out in the draft's form.
func (c *Call) usesDraft(kind QuestionKind) bool {
	terms := c.draftTerms()
	if terms == nil {
		return false
	}
	rules, caps := c.rev.Rules(), c.ClientCapabilities()
	switch kind {
	case AskURL:
		return slices.Contains(terms.types, interactionPage) && !(rules.Elicitation.URL && caps.Elicitation.HasURL())
	case AskForm:
		return slices.Contains(terms.types, interactionPrompt) && !(rules.Elicitation.Form && caps.Elicitation.HasForm())
	}
	return false
}

// interaction returns the params of interaction/create.
func (c *Call) interaction(q *Question, id, message string) (json.RawMessage, error) {
	p := interactionParams{ID: id, Type: interactionPage, Interaction: interactionBody{URL: q.URL, Message: textInteraction(message)}}
	if q.Kind == AskForm {
		schema, err := q.Form.Schema(dialectOf(c.rev))
		if err != nil {
			return nil, err
		}
		p.Type, p.Interaction.Schema = interactionPrompt, schema
	}
	return marshalJSON(&p)
}

// interact puts a question in the draft's form.
func (c *Call) interact(ctx context.Context, q *Question, problem error) (*Answer, error) {
	id := q.elicitationID()
	params, err := c.interaction(q, id, reworded(q.Message, problem))
	if err != nil {
		return nil, fmt.Errorf("mcp: question %q: %w", q.Key, err)
	}
	if q.Kind == AskURL {
		c.openInteraction(id)
	}
	ans, err := c.putInteraction(ctx, q, params)
	if ans != nil {
		ans.ID = id
	}
	if err != nil || ans.Action != ActionAccept {
		c.asks().interactions.remove(id)
	}
	return ans, err
}

// openInteraction enters a page that the person is asked to visit into the table.
func (c *Call) openInteraction(id string) {
	rt := c.asks()
	rt.interactions.add(&interaction{
		id: id, scope: c.draftTerms().scope, principal: c.principal, expires: time.Now().Add(rt.lifetime), ended: make(chan struct{}),
	})
}

// putInteraction sends interaction/create and reads the answer.
func (c *Call) putInteraction(ctx context.Context, q *Question, params json.RawMessage) (*Answer, error) {
	reply, err := c.toClient(ctx, methodInteractionCreate, params)
	switch {
	case err != nil:
		return nil, fmt.Errorf("mcp: question %q: %w", q.Key, err)
	case reply.Error != nil && reply.Error.Code == codeNoConsent:
		return &Answer{Action: ActionDecline}, nil
	case reply.Error != nil:
		return nil, clientRefusal(q, reply.Error)
	case q.Kind == AskURL:
		return &Answer{Action: ActionAccept}, nil
	}
	var res struct {
		Content json.RawMessage `json:"content"`
	}
	if err := unmarshalJSON(reply.Result, &res); err != nil {
		return nil, unreadable(q, &badReply{"it is not the result of a prompt"})
	}
	content, err := q.content(res.Content)
	if bad := (*badReply)(nil); errors.As(err, &bad) {
		return nil, unreadable(q, bad)
	}
	if err != nil {
		return nil, err
	}
	return &Answer{Action: ActionAccept, Content: content}, nil
}

// interactionRequired is error -32003 with the page of q.
func (c *Call) interactionRequired(q *pendingQuestion) error {
	raw, err := marshalJSON(&interactionRequiredData{ID: q.id, Type: interactionPage, URL: q.URL, Message: textInteraction(q.Message)})
	if err != nil {
		return fmt.Errorf("mcp: encoding an interaction: %w", err)
	}
	c.openInteraction(q.id)
	return &Error{Code: codeInteractionRequired, Message: "interaction_required", Data: raw}
}

// trackInteraction serves interaction/track: it reports progress once at the beginning and once when the interaction is complete, which
// ends the request. A client learns nothing of interactions that are not its own session's, and hears of none twice at a time.
func (s *Server) trackInteraction(ctx context.Context, c *Call) (any, error) {
	terms := c.draftTerms()
	if terms == nil {
		return nil, methodNotFound(methodInteractionTrack)
	}
	var p interactionTrackParams
	if err := unmarshalJSON(c.Params(), &p); err != nil {
		return nil, invalidParams("params.id must be the id of an interaction")
	}
	table := &s.asks.interactions
	i, err := table.track(p.ID, terms.scope, c.principal)
	if err != nil {
		return nil, err
	}
	defer table.untrack(i)
	if err := c.Progress(ctx, 0, 1, ""); err != nil {
		return nil, err
	}
	life := time.NewTimer(time.Until(i.expires))
	defer life.Stop()
	select {
	case <-i.ended:
	case <-life.C:
	case <-s.asks.draining.Done():
		return nil, errShuttingDown
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if !table.completed(i) {
		return nil, errNoInteraction
	}
	if err := c.Progress(ctx, 1, 1, ""); err != nil {
		return nil, err
	}
	return &EmptyResult{}, nil
}

// serveDraft registers what clients of the draft call.
func (s *Server) serveDraft() error {
	if !s.asks.draft {
		return nil
	}
	return s.custom.set(&s.custom.requests, methodInteractionTrack, false, s.trackInteraction)
}
