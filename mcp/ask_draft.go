//go:build !mcp_modern_only

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// This file speaks the User Interaction draft of June 2025, from which URL questions came: capability userInteraction, request
// interaction/create of type "ua", request interaction/track of the client. It is off unless AskOptions.InteractionDraft is set, and
// only used for clients that cannot be asked a URL question otherwise.

const (
	methodInteractionCreate = "interaction/create"
	methodInteractionTrack  = "interaction/track"
	interactionUserAction   = "ua"

	// codeNoConsent answers interaction/create when the person declined or dismissed it; the draft does not tell the two apart.
	codeNoConsent jsonrpc.Code = -32099
)

// speaksDraft reports whether the capabilities of a client declare interactions of type "ua", and the server wants to use them.
func (r *askRuntime) speaksDraft(capabilities json.RawMessage) bool {
	if !r.draft || len(capabilities) == 0 {
		return false
	}
	var caps struct {
		UserInteraction struct {
			Types []string `json:"types"`
		} `json:"userInteraction"`
	}
	return unmarshalJSON(capabilities, &caps) == nil && slices.Contains(caps.UserInteraction.Types, interactionUserAction)
}

// usesDraft reports whether URL questions of the call go out in the draft's form.
func (c *Call) usesDraft() bool {
	ss := c.lastingSession()
	return ss != nil && ss.draft.Load() && !(c.rev.Rules().Elicitation.URL && c.ClientCapabilities().Elicitation.HasURL())
}

// interaction returns the params of interaction/create.
func (q *Question) interaction(id string) (json.RawMessage, error) {
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type userAction struct {
		URL     string `json:"url"`
		Message *text  `json:"message,omitzero"`
	}
	p := struct {
		ID          string     `json:"id"`
		Type        string     `json:"type"`
		Interaction userAction `json:"interaction"`
	}{ID: id, Type: interactionUserAction, Interaction: userAction{URL: q.URL}}
	if q.Message != "" {
		p.Interaction.Message = &text{"text", q.Message}
	}
	return marshalJSON(&p)
}

// interact puts a URL question in the draft's form.
func (c *Call) interact(ctx context.Context, q *Question) (*Answer, error) {
	id := q.elicitationID()
	c.asks().urls.add(id, c.exchange.Session, true)
	params, err := q.interaction(id)
	if err != nil {
		return nil, fmt.Errorf("mcp: question %q: %w", q.Key, err)
	}
	reply, err := c.toClient(ctx, methodInteractionCreate, params)
	switch {
	case err != nil:
		return nil, fmt.Errorf("mcp: question %q: %w", q.Key, err)
	case reply.Error != nil && reply.Error.Code == codeNoConsent:
		return &Answer{Action: ActionDecline, ID: id}, nil
	case reply.Error != nil:
		return nil, clientRefusal(q, reply.Error)
	}
	return &Answer{Action: ActionAccept, ID: id}, nil
}

// trackInteraction serves interaction/track: it reports progress once at the beginning and once when the interaction is complete, which
// ends the request. A client learns nothing of interactions that are not its own session's.
func (s *Server) trackInteraction(ctx context.Context, c *Call) (any, error) {
	if c.exchange.Session == nil {
		return nil, methodNotFound(methodInteractionTrack)
	}
	var p struct {
		ID string `json:"id"`
	}
	if err := unmarshalJSON(c.Params(), &p); err != nil {
		return nil, invalidParams("params.id must be the id of an interaction")
	}
	u := s.asks.urls.find(p.ID, c.exchange.Session)
	if u == nil {
		return nil, invalidParams("there is no such interaction in this session")
	}
	if err := c.Progress(ctx, 0, 1, ""); err != nil {
		return nil, err
	}
	select {
	case <-u.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
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
