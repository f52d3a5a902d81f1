//go:build !mcp_modern_only

package mcp_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// slowAnswers is a link over which the client's answer to a question is still on its way when the call that caused it has its result.
type slowAnswers struct {
	r              mcp.Receiver
	begun, release chan struct{}
	cut            error // why the sending of the answer was called back
}

func (l *slowAnswers) Open(_ context.Context, r mcp.Receiver) (mcp.Link, error) {
	l.r = r
	return l, nil
}

func (l *slowAnswers) RoundTrip(ctx context.Context, o *mcp.Outgoing) (*jsonrpc.Message, error) {
	switch o.Method {
	case mcp.MethodInitialize:
		return &jsonrpc.Message{ID: o.ID, Result: json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)}, nil
	case mcp.MethodToolsCall:
		l.r.Receive(ctx, &jsonrpc.Message{ID: jsonrpc.StringID("q"), Method: mcp.MethodElicit, Params: json.RawMessage(`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`)}, o.ID)
		<-l.begun
		return &jsonrpc.Message{ID: o.ID, Result: json.RawMessage(`{"content":[]}`)}, nil
	default:
		return &jsonrpc.Message{ID: o.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such method"}}, nil
	}
}

func (l *slowAnswers) Send(ctx context.Context, m *jsonrpc.Message) error {
	if m.Kind() != jsonrpc.Response {
		return nil
	}
	close(l.begun)
	select {
	case <-l.release:
	case <-ctx.Done():
		l.cut = context.Cause(ctx)
	}
	return l.cut
}

func (l *slowAnswers) Established(mcp.Revision) {}
func (l *slowAnswers) Close() error             { return nil }

// An answer that is on its way is not called back by the end of the call: over HTTP/1.1 that would take a connection down which another
// request may have been given already. That one failed, or a question was never answered.
func TestAnswersAreNotCalledBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &slowAnswers{begun: make(chan struct{}), release: make(chan struct{})}
		c, err := mcp.Connect(t.Context(), l, &mcp.ClientOptions{
			Revisions: []mcp.Revision{mcp.Revision20251125},
			Interactor: &mcp.Interactor{Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{}`)}, nil
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		close(l.release)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if l.cut != nil {
			t.Errorf("the answer was called back: %v", l.cut)
		}
	})
}
