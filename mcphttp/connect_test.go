package mcphttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// travelServer asks where to sit, repeats an argument in a header, and can be changed.
func travelServer(t *testing.T) *mcp.Server {
	t.Helper()
	seat, err := form.New(form.Field{Name: "class", Kind: form.Choice, Required: true, Options: []form.Option{{Value: "first"}, {Value: "second"}}})
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer("travel", "1", &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	mcp.AddTool(s, &mcp.Tool{Name: "book"}, func(ctx context.Context, call *mcp.Call, in struct {
		From string `json:"from" header:"From"`
	}) (string, error) {
		if err := call.Progress(ctx, 1, 2, "asking"); err != nil {
			return "", err
		}
		a, err := call.Ask(ctx, &mcp.Question{Key: "seat", Kind: mcp.AskForm, Message: "Where?", Form: seat})
		if err != nil {
			return "", err
		}
		return in.From + string(a.Content), nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	mcp.AddResource(s, &mcp.Resource{URI: "a:b", Name: "ab"}, func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "a:b", Text: "text"}}}, nil
	})
	return s
}

// A client that dials the handler, at every revision: calls, questions, progress, headers, notices, the end.
func TestClientOverHTTP(t *testing.T) {
	for _, rev := range mcp.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			srv := travelServer(t)
			h := mcphttp.NewHandler(srv, nil)
			web := httptest.NewServer(h)
			defer web.Close()
			defer h.Close(t.Context())
			answer := func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{"class":"first"}`)}, nil
			}
			c, err := mcp.Connect(t.Context(), mcphttp.Dial(web.URL), &mcp.ClientOptions{Revisions: []mcp.Revision{rev}, Interactor: &mcp.Interactor{Form: answer}})
			if err != nil && strings.Contains(err.Error(), "names no revision") {
				t.Skip("this build has no handshake")
			}
			if err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			if c.Server().Revision != rev {
				t.Errorf("revision %v", c.Server().Revision)
			}
			var steps []mcp.Progress
			for _, from := range []string{"Bern", "Zürich", " x "} {
				got, err := mcp.CallTool[string](ctx, c, "book", map[string]string{"from": from}, &mcp.RequestOptions{Progress: func(p mcp.Progress) { steps = append(steps, p) }})
				if rev.Rules().Elicitation.Form && (err != nil || got != from+`{"class":"first"}`) {
					t.Errorf("book: %q %v", got, err)
				}
			}
			if len(steps) < 3 {
				t.Errorf("progress %v", steps)
			}
			var names []string
			for tool, err := range c.Tools(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, tool.Name)
			}
			if !slices.Equal(names, []string{"book", "slow"}) {
				t.Errorf("tools %v", names)
			}
			if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "slow"}, &mcp.RequestOptions{Timeout: 50 * time.Millisecond}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("slow: %v", err)
			}
			if _, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "a:none"}); !errors.Is(err, mcp.ErrNotFound) {
				t.Errorf("missing resource: %v", err)
			}
			notices := make(chan mcp.Notice, 100)
			sub, err := c.Subscribe(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"a:b"}}, func(_ context.Context, n mcp.Notice) { notices <- n })
			if err != nil {
				t.Fatal(err)
			}
			mcp.AddTool(srv, &mcp.Tool{Name: "more"}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
			srv.ResourceUpdated("a:b")
			want := map[mcp.NoticeKind]bool{mcp.NoticeTools: true, mcp.NoticeResource: true}
			for len(want) > 0 {
				select {
				case n := <-notices:
					delete(want, n.Kind)
				case <-time.After(10 * time.Second):
					t.Fatalf("never heard of %v", want)
				}
			}
			if err := sub.Close(); err != nil {
				t.Error(err)
			}
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					from := fmt.Sprint(i)
					got, err := mcp.CallTool[string](ctx, c, "book", map[string]string{"from": from})
					if rev.Rules().Elicitation.Form && (err != nil || got != from+`{"class":"first"}`) {
						t.Errorf("book: %q %v", got, err)
					}
				})
			}
			wg.Wait()
			if err := c.Ping(ctx); err != nil {
				t.Error(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
