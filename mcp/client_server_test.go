package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/mcp"
)

type bookIn struct {
	From string `json:"from"`
	Big  int64  `json:"big,omitzero"`
}

type bookOut struct {
	Seat string `json:"seat"`
	Big  int64  `json:"big"`
}

// bookingServer asks where to sit, and for consent to a page where the client can.
func bookingServer(t *testing.T) *mcp.Server {
	t.Helper()
	seat, err := form.New(form.Field{Name: "class", Kind: form.Choice, Required: true, Options: []form.Option{{Value: "first"}, {Value: "second"}}})
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer("travel", "1", &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	mcp.AddTool(s, &mcp.Tool{Name: "book"}, func(ctx context.Context, call *mcp.Call, in bookIn) (bookOut, error) {
		if err := call.Progress(ctx, 1, 2, "asking"); err != nil {
			return bookOut{}, err
		}
		a, err := call.Ask(ctx, &mcp.Question{Key: "seat", Kind: mcp.AskForm, Message: "Where?", Form: seat})
		if err != nil {
			return bookOut{}, err
		}
		if a.Action != mcp.ActionAccept {
			return bookOut{}, mcp.ToolErrorf("not booked: %s", a.Action)
		}
		var c struct {
			Class string `json:"class"`
		}
		if err := json.Unmarshal(a.Content, &c); err != nil {
			return bookOut{}, err
		}
		return bookOut{Seat: in.From + " " + c.Class, Big: in.Big}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	mcp.AddTool(s, &mcp.Tool{Name: "talk"}, func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
		return "said", call.Log(ctx, mcp.LevelWarning, "t", "hello")
	})
	mcp.AddResource(s, &mcp.Resource{URI: "a:b", Name: "ab"}, func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "a:b", Text: "text"}}}, nil
	})
	mcp.AddPrompt(s, &mcp.Prompt{Name: "p"}, func(context.Context, *mcp.Call, map[string]string) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: "hi"}}}}, nil
	})
	return s
}

// eachRevision runs f once for every revision that this build speaks.
func eachRevision(t *testing.T, f func(t *testing.T, rev mcp.Revision)) {
	for _, rev := range mcp.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			if rev != mcp.Revision20260728 {
				needLegacy(t)
			}
			f(t, rev)
		})
	}
}

func TestClientAndServer(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev mcp.Revision) {
		synctest.Test(t, func(t *testing.T) {
			srv := bookingServer(t)
			logged := make(chan *mcp.LogMessage, 1)
			c, err := mcp.Connect(t.Context(), mcp.Pipe(srv.ServeConn), &mcp.ClientOptions{
				Revisions: []mcp.Revision{rev}, Interactor: accepting(`{"class":"first"}`),
				LogLevel: mcp.LevelInfo, OnLog: func(_ context.Context, m *mcp.LogMessage) { logged <- m },
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			if s := c.Server(); s.Revision != rev || s.Implementation.Name != "travel" || s.Capabilities.Tools == nil {
				t.Errorf("Server() = %+v", s)
			}
			var steps []mcp.Progress
			got, err := mcp.CallTool[bookOut](ctx, c, "book", bookIn{"Bern", 9007199254740993}, &mcp.RequestOptions{Progress: func(p mcp.Progress) { steps = append(steps, p) }})
			canAsk := rev.Rules().Elicitation.Form
			if canAsk && (err != nil || got != bookOut{"Bern first", 9007199254740993}) {
				t.Errorf("book: %v %v", got, err)
			}
			if !canAsk && err == nil {
				t.Errorf("book: %v without a way to ask", got)
			}
			if len(steps) == 0 || steps[0].Done != 1 || steps[0].Total != 2 {
				t.Errorf("progress %v", steps)
			}
			if s, err := mcp.CallTool[string](ctx, c, "talk", nil); err != nil || s != "said" {
				t.Errorf("talk: %q %v", s, err)
			}
			if m := <-logged; m.Level != mcp.LevelWarning || string(m.Data) != `"hello"` {
				t.Errorf("logged %+v", m)
			}
			_, err = c.CallTool(ctx, &mcp.CallToolParams{Name: "slow"}, &mcp.RequestOptions{Timeout: time.Second})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("slow: %v", err)
			}
			names, err := toolNames(c.Tools(ctx))
			if err != nil || !slices.Equal(names, []string{"book", "slow", "talk"}) {
				t.Errorf("tools %v %v", names, err)
			}
			if r, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "a:b"}); err != nil || r.Contents[0].Text != "text" {
				t.Errorf("resource: %v %v", r, err)
			}
			if _, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "a:none"}); !errors.Is(err, mcp.ErrNotFound) {
				t.Errorf("missing resource: %v", err)
			}
			if r, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p"}); err != nil || len(r.Messages) != 1 {
				t.Errorf("prompt: %v %v", r, err)
			}
			if err := c.Ping(ctx); err != nil {
				t.Errorf("ping: %v", err)
			}
			if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "none"}); !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
				t.Errorf("unknown tool: %v", err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := srv.Shutdown(ctx); err != nil {
				t.Error(err)
			}
		})
	})
}

// By default the newest revision of both is spoken.
func TestClientAndServerNegotiate(t *testing.T) {
	c, err := mcp.Connect(t.Context(), mcp.Pipe(bookingServer(t).ServeConn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Server().Revision != mcp.LatestRevision {
		t.Errorf("revision %v", c.Server().Revision)
	}
}

func TestClientAndServerDeclines(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev mcp.Revision) {
		if !rev.Rules().Elicitation.Form {
			return
		}
		c, err := mcp.Connect(t.Context(), mcp.Pipe(bookingServer(t).ServeConn), &mcp.ClientOptions{Revisions: []mcp.Revision{rev}, Interactor: acting(mcp.ActionDecline)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var te *mcp.ToolResultError
		if _, err := mcp.CallTool[bookOut](t.Context(), c, "book", bookIn{From: "Bern"}); err == nil || errors.As(err, &te) && strings.Contains(err.Error(), "internal") {
			t.Errorf("%v", err)
		}
	})
}

func TestClientAndServerSubscribe(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev mcp.Revision) {
		synctest.Test(t, func(t *testing.T) {
			srv := bookingServer(t)
			c, err := mcp.Connect(t.Context(), mcp.Pipe(srv.ServeConn), &mcp.ClientOptions{Revisions: []mcp.Revision{rev}})
			if err != nil {
				t.Fatal(err)
			}
			var h, g heard
			s, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"a:b"}}, h.handle)
			if err != nil {
				t.Fatal(err)
			}
			other, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:b"}}, g.handle)
			if err != nil {
				t.Fatal(err)
			}
			if f := s.Filter(); !f.ToolsListChanged || !slices.Equal(f.ResourceSubscriptions, []string{"a:b"}) {
				t.Errorf("honoured %+v", f)
			}
			change := func(n int) {
				mcp.AddTool(srv, &mcp.Tool{Name: fmt.Sprint("more", n)}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
				srv.ResourceUpdated("a:b")
				time.Sleep(5 * time.Second)
			}
			change(1)
			if got := h.take(); !slices.Contains(got, "tools") || !slices.Contains(got, "resource a:b") {
				t.Errorf("heard %v", got)
			}
			if got := g.take(); !slices.Equal(got, []string{"resource a:b"}) {
				t.Errorf("the other heard %v", got)
			}
			// Case B06: the end of one does not end the other.
			if err := other.Close(); err != nil {
				t.Error(err)
			}
			change(2)
			if got := h.take(); !slices.Contains(got, "tools") || !slices.Contains(got, "resource a:b") {
				t.Errorf("afterwards heard %v", got)
			}
			if got := g.take(); len(got) != 0 {
				t.Errorf("after Close heard %v", got)
			}
			if names, err := toolNames(c.Tools(t.Context())); err != nil || !slices.Contains(names, "more2") {
				t.Errorf("tools %v %v", names, err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := s.Wait(t.Context()); err == nil || !errors.Is(err, mcp.ErrClosed) {
				t.Errorf("the subscription ended by %v", err)
			}
		})
	})
}

// Many calls at once over one connection, some of them cancelled, at every revision.
func TestClientAndServerConcurrently(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev mcp.Revision) {
		c, err := mcp.Connect(t.Context(), mcp.Pipe(bookingServer(t).ServeConn), &mcp.ClientOptions{Revisions: []mcp.Revision{rev}})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				if i%4 == 0 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					defer cancel()
					if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "slow"}); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("slow: %v", err)
					}
					return
				}
				if s, err := mcp.CallTool[string](t.Context(), c, "talk", nil); err != nil || s != "said" {
					t.Errorf("talk: %q %v", s, err)
				}
			})
		}
		wg.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
