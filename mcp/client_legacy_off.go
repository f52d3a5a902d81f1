//go:build mcp_modern_only

package mcp

import (
	"context"
	"errors"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// clientRevisions are the revisions that this build speaks.
const clientRevisions = era.ModernSet

// errNoHandshake tells that this build has no handshake. Nothing asks for one: clientRevisions has no revision with it.
var errNoHandshake = errors.New("mcp: this program was built without the revisions that have a handshake")

func (n *connection) initialize(context.Context, era.Set) error { return errNoHandshake }

func (n *connection) renewSession(context.Context, int) error { return errNoHandshake }

func (c *Client) subscribeEach(context.Context, *connection, context.Context, *Subscription) (*Subscription, error) {
	return nil, errNoHandshake
}

func (c *Client) resubscribe(*connection) {}

// receiveRequest passes a request of the server over: this revision has none.
func (n *connection) receiveRequest(m *jsonrpc.Message, _ jsonrpc.ID) {
	n.client.log.Warn("mcp: ignored a request of the server: this revision has none", "server", n.client.origin, "method", m.Method)
}

// A pageWait is a page that a call waits for; no call does.
type pageWait struct{}

type pageLoop struct{}

func (c *Client) visitPages(_ context.Context, _ *connection, _ *outCall, _ *pageLoop, refusal *jsonrpc.Error) error {
	return refusal
}

func (n *connection) expectCompletion(*OpenQuestion, *Interactor, *outCall) *pageWait { return nil }

func (n *connection) completed(string) {}

// The User Interaction draft needs a handshake.

const codeInteractionRequired jsonrpc.Code = -32003

func (c *Client) interactionTypes() []string { return nil }

func (n *connection) speaksDraft() bool { return false }

func (n *connection) receiveTracked(*ProgressParams) {}

func (q *inquiry) prepareInteraction() (func(context.Context) (reply, error), error) {
	return nil, methodNotFound(q.method)
}

func (c *Client) visitInteraction(_ context.Context, _ *connection, _ *outCall, _ *pageLoop, refusal *jsonrpc.Error) error {
	return refusal
}
