package mcptest

import (
	"context"
	"errors"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

// Connect connects a client to the server in memory, and closes it when the test ends. A nil o is a client that cannot be asked
// anything.
func Connect(t testing.TB, srv *mcp.Server, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	c, err := mcp.Connect(t.Context(), mcp.Pipe(srv.ServeConn), o)
	if err != nil {
		t.Fatalf("connecting to the server: %v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		if err := c.Close(); err != nil {
			t.Errorf("closing the client: %v", err)
		}
	})
	return c
}

// Interactor plays the person of a client: it answers forms and pages, sampling and roots, and so declares all of them. Answers are
// found by the key of the question, which clients of 2026-07-28 are told, or by its message, which every client is; "sampling" and
// "roots" are the keys of those two. A question without an answer and an answer that does not fit fail the test at once, at the line
// that calls Interactor; the server is told that nobody could be asked.
func Interactor(t testing.TB, by Answers) *mcp.Interactor {
	p := newPlayer(t, &Script{Answers: by})
	p.at = caller()
	return &mcp.Interactor{
		Form: func(ctx context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			return p.elicit(ctx, &mcp.Question{Key: p.keyOf(q.Key, q.Message), Kind: mcp.AskForm, Message: q.Message, Form: q.Form})
		},
		Open: func(ctx context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			return p.elicit(ctx, &mcp.Question{Key: p.keyOf(q.Key, q.Message), Kind: mcp.AskURL, Message: q.Message, URL: q.URL})
		},
		Sample: func(ctx context.Context, q *mcp.SampleQuestion) (*mcp.CreateMessageResult, error) {
			ans, err := p.answer(ctx, &mcp.Question{Key: p.keyOf(q.Key, "sampling"), Kind: mcp.AskSample, Sample: q.Params})
			if err != nil {
				return nil, err
			}
			return ans.Sample, nil
		},
		SampleTools: true,
		Roots: func(ctx context.Context) ([]mcp.Root, error) {
			ans, err := p.answer(ctx, &mcp.Question{Key: "roots", Kind: mcp.AskRoots})
			if err != nil {
				return nil, err
			}
			return ans.Roots, nil
		},
	}
}

// keyOf chooses the name under which the script has an answer.
func (p *player) keyOf(key, message string) string {
	if _, ok := p.script.Answers[key]; ok && key != "" {
		return key
	}
	return message
}

func (p *player) elicit(ctx context.Context, q *mcp.Question) (*mcp.ElicitResult, error) {
	ans, err := p.answer(ctx, q)
	switch {
	case errors.Is(err, mcp.ErrDeclined):
		return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
	case errors.Is(err, mcp.ErrCanceled):
		return &mcp.ElicitResult{Action: mcp.ActionCancel}, nil
	case err != nil:
		return nil, err
	}
	action := ans.Action
	if action == "" {
		action = mcp.ActionAccept
	}
	return &mcp.ElicitResult{Action: action, Content: ans.Content}, nil
}
