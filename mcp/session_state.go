//go:build !mcp_modern_only

package mcp

import (
	"errors"
	"fmt"

	"github.com/seed38e7925c/parley/internal/era"
)

// A SessionState is what a handshake agreed on, in a form that can be kept elsewhere: in a sealed session id, so that any replica can
// serve the next request. It says nothing of subscriptions, of requests that are running or of who owns the session.
type SessionState struct {
	// ProtocolVersion is the negotiated revision, as on the wire.
	ProtocolVersion string              `json:"protocolVersion"`
	Capabilities    *ClientCapabilities `json:"capabilities,omitzero"`
	ClientInfo      *Implementation     `json:"clientInfo,omitzero"`
	LogLevel        LoggingLevel        `json:"logLevel,omitzero"`
	// Interactions and InteractionScope are what was agreed on about the User Interaction draft ([AskOptions.InteractionDraft]), empty
	// if nothing: the types that the client declared and a name for the session, which no other one has.
	Interactions     []string `json:"interactions,omitzero"`
	InteractionScope string   `json:"interactionScope,omitzero"`
}

// State returns what the session's handshake agreed on. It must not be modified.
func (ss *Session) State() SessionState {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	st := SessionState{ProtocolVersion: ss.rev.String(), Capabilities: ss.caps, ClientInfo: ss.info, LogLevel: ss.level}
	if terms := ss.draft.Load(); terms != nil {
		st.Interactions, st.InteractionScope = terms.types, terms.scope
	}
	return st
}

// RestoreSession makes a session of what an earlier one agreed on, without a handshake, for one request. There is no channel back to
// its client: requests to it are refused with [ErrUnavailable], it hears of no changes, and what it subscribes to is forgotten.
// Notifications that belong to the request, progress and log messages, go to the stream of its exchange as ever.
//
// The state must come from [Session.State], by a way that its client cannot forge. It fails for revisions that are not served.
func (s *Server) RestoreSession(p *Principal, st SessionState) (*Session, error) {
	rev, ok := era.Parse(st.ProtocolVersion)
	if !ok || !s.served.Legacy().Has(rev) {
		return nil, fmt.Errorf("mcp: a session of revision %q cannot be restored: this server speaks %v", st.ProtocolVersion, s.served.Legacy().Strings())
	}
	if st.LogLevel == "" {
		st.LogLevel = s.options.LogLevel
	} else if !st.LogLevel.Valid() {
		return nil, errors.New("mcp: a session with an unknown log level cannot be restored")
	}
	ss := s.NewSession(nil, p)
	ss.rev, ss.caps, ss.info, ss.level, ss.detached = rev, st.Capabilities, st.ClientInfo, st.LogLevel, true
	if s.asks.draft && st.InteractionScope != "" {
		ss.draft.Store(&draftTerms{types: st.Interactions, scope: st.InteractionScope})
	}
	return ss, nil
}
