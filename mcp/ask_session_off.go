//go:build mcp_modern_only

package mcp

import (
	"context"
	"fmt"
)

// In a build without the handshake era every call asks by its result.

func (c *Call) handshakeAsker() asker { return nobody{} }

// nobody cannot be asked.
type nobody struct{}

func (nobody) ask(_ context.Context, _ *Call, q *Question) (*Answer, error) {
	return nil, &unavailableError{key: q.Key, kind: q.Kind, reason: "this build serves 2026-07-28 only"}
}

func (c *Call) hasChannel() bool { return c.rev.Rules().AskByResult || c.asking.script != nil }

func (c *Call) refusesForPages() bool { return false }

func (c *Call) remembersHandshake() bool { return false }

func (c *Call) usesDraft(QuestionKind) bool { return false }

// interactionTable holds nothing: the User Interaction draft belongs to the handshake era.
type interactionTable struct{}

func (s *Server) serveDraft() error { return nil }

func (c *Call) lastingSession() *Session { return nil }

func (c *Call) resumeHandshake(context.Context) error { return nil }

func (c *Call) forgetHandshake(context.Context, *askRun) {}

func (c *Call) visitRequired(context.Context, *askRun) error {
	return fmt.Errorf("%w: this build serves 2026-07-28 only", ErrUnavailable)
}

// CompleteElicitation has nobody to tell in a build without the handshake era; sent is false.
func (s *Server) CompleteElicitation(string) (sent bool, err error) {
	return false, nil
}
