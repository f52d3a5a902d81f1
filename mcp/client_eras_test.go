package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/mcp"
)

// bothEras runs f with a client of s at the newest revision of either era. The client is closed when f returns.
func bothEras(t *testing.T, s *testServer, o mcp.ClientOptions, f func(t *testing.T, c *mcp.Client)) {
	t.Helper()
	for _, rev := range []mcp.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(rev.String(), func(t *testing.T) {
			if rev.Legacy() {
				needLegacy(t)
			}
			o.Revisions = []mcp.Revision{rev}
			c, err := mcp.Connect(t.Context(), mcp.Pipe(s.ServeConn), &o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			f(t, c)
		})
	}
}

// askName asks for a name.
func askName(t *testing.T, key string) *mcp.Question {
	t.Helper()
	f, err := form.New(form.Field{Name: "name", Kind: form.String, Required: true})
	if err != nil {
		t.Fatal(err)
	}
	return &mcp.Question{Key: key, Kind: mcp.AskForm, Message: "Who is " + key + "?", Form: f}
}

// A person is asked in the order in which the handler asks, whatever the keys.
func TestQuestionsKeepTheirOrder(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
		_, err := call.AskAll(ctx, askName(t, "z"), askName(t, "a"), askName(t, "m"))
		return "asked", err
	})
	var asked []string
	in := &mcp.Interactor{Form: func(_ context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
		asked = append(asked, q.Message)
		return accepting(`{"name":"x"}`).Form(t.Context(), q)
	}}
	want := []string{askName(t, "z").Message, askName(t, "a").Message, askName(t, "m").Message}
	bothEras(t, s, mcp.ClientOptions{Interactor: in}, func(t *testing.T, c *mcp.Client) {
		asked = nil
		if _, err := mcp.CallTool[string](t.Context(), c, "ask", nil); err != nil || !slices.Equal(asked, want) {
			t.Errorf("asked %q, %v", asked, err)
		}
	})
}

func TestUnknownNamesAreNotFound(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (string, error) {
		return "", &mcp.Error{Code: mcp.CodeInvalidParams, Message: "unknown tool: t"}
	})
	mcp.AddPrompt(s.Server, &mcp.Prompt{Name: "p"}, func(context.Context, *mcp.Call, map[string]string) (*mcp.GetPromptResult, error) {
		return nil, fmt.Errorf("gone: %w", mcp.ErrNotFound)
	})
	bothEras(t, s, mcp.ClientOptions{}, func(t *testing.T, c *mcp.Client) {
		_, noTool := c.CallTool(t.Context(), &mcp.CallToolParams{Name: `no"ne`})
		_, typed := mcp.CallTool[string](t.Context(), c, "none", nil)
		_, noPrompt := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "none"})
		_, gone := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "p"})
		for i, err := range []error{noTool, typed, noPrompt, gone} {
			if e := (*mcp.Error)(nil); !errors.Is(err, mcp.ErrNotFound) || !errors.As(err, &e) || e.Code != mcp.CodeInvalidParams {
				t.Errorf("%d: %v", i, err)
			}
		}
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"}); err == nil || errors.Is(err, mcp.ErrNotFound) {
			t.Errorf("a text is no proof: %v", err)
		}
	})
}

// What a subscription takes is not told a second time.
func TestNoticesComeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		needLegacy(t)
		s := newServer(t, &mcp.ServerOptions{Declare: []string{"tools", "prompts"}})
		got := make(chan string, 10)
		note := func(by string) func(context.Context, mcp.Notice) {
			return func(_ context.Context, n mcp.Notice) { got <- by + " " + n.Kind.String() }
		}
		c, err := mcp.Connect(t.Context(), mcp.Pipe(s.ServeConn), &mcp.ClientOptions{
			Revisions: []mcp.Revision{mcp.Revision20251125}, OnNotice: note("unasked"),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, note("subscribed")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the server knows that the handshake is over
		mcp.AddTool(s.Server, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
		first := <-got
		mcp.AddPrompt(s.Server, &mcp.Prompt{Name: "p"}, func(context.Context, *mcp.Call, map[string]string) (*mcp.GetPromptResult, error) { return nil, nil })
		second := <-got
		synctest.Wait()
		if first != "subscribed tools" || second != "unasked prompts" || len(got) != 0 {
			t.Errorf("got %q, %q and %d more", first, second, len(got))
		}
	})
}

func TestNoticeKindNames(t *testing.T) {
	for k, want := range map[mcp.NoticeKind]string{
		mcp.NoticeTools: "tools", mcp.NoticePrompts: "prompts", mcp.NoticeResources: "resources", mcp.NoticeResource: "resource",
		mcp.NoticeOther: "other", mcp.NoticeInterrupted: "interrupted", mcp.NoticeResumed: "resumed", 0: "NoticeKind(0)", 99: "NoticeKind(99)",
	} {
		if k.String() != want {
			t.Errorf("%d: %s; want %s", uint8(k), k, want)
		}
	}
}

// A mistyped template is refused in words that say where and why.
func TestTemplateTypos(t *testing.T) {
	s := newServer(t, nil)
	for template, want := range map[string]string{
		"a:{day":       `"{day" is not closed`,
		"a:day}":       `closes nothing`,
		"a:{day}}":     `closes nothing`,
		"a:{}":         `no variable`,
		"a:{?}":        `missing`,
		"a:{a,}":       `missing`,
		"a:{day-1}":    `contains '-'`,
		"a:{the day}":  `contains ' '`,
		"a:{{day}}":    `contains '{'`,
		"a:{=day}":     `reserves the operator "="`,
		"a:{day:x}":    `a length`,
		"a:{day:0}":    `a length`,
		"a:{täglich}":  `contains 'ä'`,
		"a:%zz{day}":   `RFC 6570`,
		"a:{ok}/{b-d}": `in "{b-d}"`,
	} {
		err := mcp.RegisterResourceTemplate(s.Server, &mcp.ResourceTemplate{URITemplate: template, Name: "n"},
			func(context.Context, *mcp.Call, mcp.TemplateVars) (*mcp.ReadResourceResult, error) { return nil, nil })
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "uritemplate:") {
			t.Errorf("%s: %v; want %s", template, err, want)
		}
	}
}

func TestServerRevisionsAreNamed(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{Revisions: []mcp.Revision{42}})
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "Revision(42), which is none") {
		t.Error(err)
	}
	if got := newServer(t, nil).Revisions(); got[0] != mcp.Revision20260728 {
		t.Errorf("newest first: %v", got)
	}
}

// That somebody says no is nothing to warn of, and hints come once.
func TestAskingIsNotNoisy(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
		_, err := call.AskAll(ctx, askName(t, "a"), askName(t, "b"))
		if err == nil {
			_, err = call.Ask(ctx, askName(t, "c"))
		}
		return "asked", err
	})
	mcp.AddPrompt(s.Server, &mcp.Prompt{Name: "ask"}, func(ctx context.Context, call *mcp.Call, _ map[string]string) (*mcp.GetPromptResult, error) {
		_, err := call.Ask(ctx, askName(t, "a"))
		return nil, err
	})
	bothEras(t, s, mcp.ClientOptions{Interactor: acting(mcp.ActionDecline)}, func(t *testing.T, c *mcp.Client) {
		for range 2 {
			if _, err := mcp.CallTool[string](t.Context(), c, "ask", nil); err == nil {
				t.Error("nothing was declined")
			}
			if _, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "ask"}); err == nil {
				t.Error("nothing was declined")
			}
		}
	})
	log := s.log.String()
	if strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") {
		t.Error(log)
	}
	if n := strings.Count(log, "state keys were made"); n != 1 {
		t.Errorf("the hint about keys came %d times", n)
	}
	if n := strings.Count(log, "is not declared in Asks"); n != 2 || strings.Contains(log, "level=INFO msg=\"a question is asked") {
		t.Errorf("the hint about declarations came %d times:\n%s", n, log)
	}
}
