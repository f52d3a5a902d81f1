package mcptest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
	"github.com/seed38e7925c/parley/mcptest"
)

// everyKind asks all there is.
func everyKind(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
	ok, err := ask.Confirm(ctx, call, "confirm", "Go on?")
	if err != nil {
		return "", err
	}
	class, err := ask.Choose(ctx, call, "choose", "Which class?", "first=First class", "second")
	if err != nil {
		return "", err
	}
	page := ask.Open(ctx, call, "page", "Please sign in.", "https://travel.example/connect")
	if page != nil && !errors.Is(page, ask.ErrDeclined) {
		return "", page
	}
	m, err := ask.Sample(ctx, call, "sampling", &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{
		{Role: mcp.RoleUser, Content: mcp.SamplingContent{&mcp.TextContent{Text: "hello"}}}}})
	if err != nil {
		return "", err
	}
	roots, err := ask.Roots(ctx, call, "roots")
	if err != nil {
		return "", err
	}
	return fmt.Sprint(ok, " ", class, " ", page != nil, " ", m.Model, " ", roots[0].URI), nil
}

func everyAnswer() mcptest.Answers {
	return mcptest.Answers{
		"Go on?": mcptest.Accept, "Which class?": "first", "Please sign in.": mcptest.Decline,
		"sampling": &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.SamplingContent{&mcp.TextContent{Text: "hi"}}},
		"roots":    []mcp.Root{{URI: "file:///home"}},
	}
}

// One handler, every revision, over HTTP: in sessions the questions travel on the stream of the call, since 2026-07-28 in its result.
func TestAskingOverHTTP(t *testing.T) {
	mcptest.CheckLeaks(t)
	srv := mcp.NewServer("travel", "1", nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "ask"}, everyKind)
	mcp.AddTool(srv, &mcp.Tool{Name: "book"}, book)
	h := mcphttp.NewHandler(srv, nil)
	web := httptest.NewServer(h)
	defer web.Close()
	for _, rev := range srv.Revisions() {
		if !rev.Rules().Elicitation.Form {
			continue
		}
		t.Run(rev.String(), func(t *testing.T) {
			c, err := mcp.Connect(t.Context(), mcphttp.Dial(web.URL), &mcp.ClientOptions{
				Revisions: []mcp.Revision{rev}, Interactor: mcptest.Interactor(t, everyAnswer()),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}()
			got, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
			if err != nil {
				t.Fatal(err)
			}
			text := got.Content[0].(*mcp.TextContent).Text
			if rev.Rules().Elicitation.URL && text != "true first true m file:///home" {
				t.Errorf("got %q", text)
			}
			if !rev.Rules().Elicitation.URL && !got.IsError {
				t.Errorf("a page was asked at %v: %q", rev, text)
			}
		})
	}
}
