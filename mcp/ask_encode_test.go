package mcp_test

import (
	"context"
	"regexp"
	"testing"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/mcp"
)

// Whether or not middleware wants to see the result that asks, the client gets the same bytes.
func TestQuestionsAreEncodedAlike(t *testing.T) {
	state := regexp.MustCompile(`"requestState":"[^"]{40,}"`)
	handler := func(ctx context.Context, c *mcp.Call, _ payIn) (string, error) {
		if err := ask.All(ctx, c, ask.ConfirmItem("b", "A \"quoted\" text\nin two lines"), ask.OpenItem("a", "Visit.", "https://pay.example/1")); err != nil {
			return "", err
		}
		err := c.Await(ctx, "done", "", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		return "paid", err
	}
	var got [2][2]string
	for i := range got {
		s := newServer(t, &mcp.ServerOptions{Ask: &mcp.AskOptions{Hold: 1}})
		mcp.AddTool(s.Server, &mcp.Tool{Name: "pay"}, handler)
		seen := 0
		if i == 1 {
			s.Use(func(next mcp.Handler) mcp.Handler {
				return func(ctx context.Context, c *mcp.Call) (any, error) {
					result, err := next(ctx, c)
					if r, ok := result.(*mcp.InputRequiredResult); ok && r.RequestState != nil {
						seen++
					}
					return result, err
				}
			})
		}
		client := &rawClient{t: t, args: `{"to":"Ann","amount":1}`}
		first := client.call(s, "", "")
		text := between(first, `"requestState":`, `,"resultType"`)
		second := client.call(s, text, `{"a":{"action":"accept"},"b":{"action":"accept","content":{}}}`)
		for j, reply := range []string{first, second} {
			if got[i][j] = state.ReplaceAllString(reply, `"requestState":"…"`); got[i][j] == reply {
				t.Fatalf("no state in %s", reply)
			}
		}
		if seen != 2*i {
			t.Errorf("the middleware saw %d results that ask", seen)
		}
	}
	if got[0] != got[1] {
		t.Errorf("without middleware\n%s\nwith it\n%s", got[0], got[1])
	}
}
