//go:build !mcp_modern_only

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

const formParams = `{"message":"Where to?","requestedSchema":{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}}`

// askingFake answers each tools/call with what the client answered to one request of the server.
func askingFake(t *testing.T, rev, method, params string) *fakeServer {
	f := legacyFake(t, rev)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		r := p.ask(t.Context(), m.ID.String(), method, params)
		if r == nil {
			return
		}
		if r.Error != nil {
			p.result(m, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, fmt.Sprint(int64(r.Error.Code), " ", r.Error.Message)))
			return
		}
		p.result(m, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, r.Result))
	}
	return f
}

func TestCaseU01F22F23LegacyElicitation(t *testing.T) {
	urlParams := `{"mode":"url","message":"m","elicitationId":"e1","url":"https://a.test/"}`
	form := accepting(`{"to":"Wien"}`)
	open := &mcp.Interactor{Open: func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
	}}
	failing := func(err error) *mcp.Interactor {
		return &mcp.Interactor{
			Form:   func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) { return nil, err },
			Sample: func(context.Context, *mcp.SampleQuestion) (*mcp.CreateMessageResult, error) { return nil, err },
		}
	}
	sample := `{"messages":[],"maxTokens":1}`
	tests := []struct {
		name, rev, method, params string
		in                        *mcp.Interactor
		want                      string
	}{
		{"form", "2025-06-18", "elicitation/create", formParams, form, `{"action":"accept","content":{"to":"Wien"}}`},
		{"form 2025-11-25", "2025-11-25", "elicitation/create", formParams, form, `{"action":"accept","content":{"to":"Wien"}}`},
		{"declined", "2025-11-25", "elicitation/create", formParams, acting(mcp.ActionDecline), `{"action":"decline"}`},
		{"declined by error", "2025-11-25", "elicitation/create", formParams, failing(mcp.ErrDeclined), `{"action":"decline"}`},
		{"cancelled", "2025-11-25", "elicitation/create", formParams, acting(mcp.ActionCancel), `{"action":"cancel"}`},
		{"cancelled by error", "2025-11-25", "elicitation/create", formParams, failing(mcp.ErrCanceled), `{"action":"cancel"}`},
		{"url", "2025-11-25", "elicitation/create", urlParams, open, `{"action":"accept"}`},
		{"nobody", "2025-11-25", "elicitation/create", formParams, nil, `-32601`},
		{"nobody reachable", "2025-11-25", "elicitation/create", formParams, failing(mcp.ErrUnavailable), `-32601 nobody`},
		{"failing", "2025-11-25", "elicitation/create", formParams, failing(errors.New("private")), `-32603 internal error`},
		{"never fitting", "2025-11-25", "elicitation/create", formParams, accepting(`{"to":5}`), `-32603 no answer to the form fitted it`},
		{"mode not declared", "2025-11-25", "elicitation/create", urlParams, form, `-32602`},
		{"form not declared", "2025-11-25", "elicitation/create", formParams, open, `-32602`},
		{"mode unknown in the revision", "2025-06-18", "elicitation/create", urlParams, &mcp.Interactor{Form: form.Form, Open: open.Open}, `-32602`},
		{"mode unknown", "2025-11-25", "elicitation/create", `{"mode":"smoke","message":"m"}`, form, `-32602`},
		{"method unknown in the revision", "2025-03-26", "elicitation/create", formParams, form, `-32601`},
		{"U01 no elicitationId", "2025-11-25", "elicitation/create", `{"mode":"url","message":"m","url":"https://a.test/"}`, open, `-32602 elicitation/create: elicitationId`},
		{"dangerous link", "2025-11-25", "elicitation/create", `{"mode":"url","message":"m","elicitationId":"e","url":"file:///x"}`, open, `-32602 elicitation/create: url`},
		{"F22 nested", "2025-11-25", "elicitation/create", `{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"object","properties":{}}}}}`, form, `-32602`},
		{"F22 array", "2025-11-25", "elicitation/create", `{"message":"m","requestedSchema":{"type":"array"}}`, form, `-32602`},
		{"F23 secret", "2025-11-25", "elicitation/create", `{"message":"m","requestedSchema":{"type":"object","properties":{"api_key":{"type":"string"}}}}`, form, `-32602`},
		{"malformed", "2025-11-25", "elicitation/create", `{"message":5}`, form, `-32602`},
		{"sampling undeclared", "2025-11-25", "sampling/createMessage", sample, form, `-32601`},
		{"sampling rejected", "2025-11-25", "sampling/createMessage", sample, failing(mcp.ErrDeclined), `-1 the person`},
		{"sampling malformed", "2025-11-25", "sampling/createMessage", `{"messages":5}`, failing(nil), `-32602`},
		{"sampling with tools", "2025-11-25", "sampling/createMessage", `{"messages":[],"maxTokens":1,"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`, failing(nil), `-32602`},
		{"roots undeclared", "2025-11-25", "roots/list", `{}`, form, `-32601`},
		{"roots", "2024-11-05", "roots/list", `{}`, &mcp.Interactor{Roots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file:///a"}}, nil
		}}, `{"roots":[{"uri":"file:///a"}]}`},
		{"unknown", "2025-11-25", "com.example/what", `{}`, form, `-32601`},
		{"F08 confirm", "2025-11-25", "elicitation/create", `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`, accepting(``), `{"action":"accept","content":{}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := askingFake(t, tt.rev, tt.method, tt.params).connect(&mcp.ClientOptions{Interactor: tt.in})
			got, err := mcp.CallTool[string](t.Context(), c, "x", nil)
			if err != nil || !strings.HasPrefix(got, tt.want) || strings.Contains(got, "private") {
				t.Errorf("%s %v; want %s", got, err, tt.want)
			}
		})
	}
}

func TestLegacyCustomRequest(t *testing.T) {
	o := &mcp.ClientOptions{}
	mcp.HandleServerRequest(o, "com.example/add", func(_ context.Context, p struct{ A, B int }) (map[string]int, error) {
		switch p.A {
		case 0:
			return nil, &mcp.Error{Code: -5, Message: "no zero"}
		case 1:
			return nil, errors.New("private")
		case 2:
			panic("two")
		}
		return map[string]int{"sum": p.A + p.B}, nil
	})
	for params, want := range map[string]string{
		`{"A":3,"B":4}`: `{"sum":7}`, `{"A":0}`: `-5 no zero`, `{"A":1}`: `-32603 internal error`, `{"A":2}`: `-32603 internal error`,
		`{"A":"x"}`: `-32602`, ``: `-5 no zero`,
	} {
		c := askingFake(t, "2025-11-25", "com.example/add", params).connect(o)
		if got, err := mcp.CallTool[string](t.Context(), c, "x", nil); err != nil || !strings.HasPrefix(got, want) || strings.Contains(got, "private") {
			t.Errorf("%s: %s %v", params, got, err)
		}
	}
}

// The timer of a call stands still while its question is with the person.
func TestCaseF15CallTimerPausesForThePerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := askingFake(t, "2025-11-25", "elicitation/create", formParams)
		slow := &mcp.Interactor{Form: func(ctx context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			if q.Method != "tools/call" || q.Name != "x" || q.Round != 1 {
				t.Errorf("asked because of %s %s %d", q.Method, q.Name, q.Round)
			}
			time.Sleep(5 * time.Minute) // case F14: and there is no hidden limit on the person
			return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{"to":"x"}`)}, nil
		}}
		c := f.connect(&mcp.ClientOptions{Interactor: slow, RequestTimeout: 2 * time.Second})
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
			t.Error(err)
		}
		silent := legacyFake(t, "2025-11-25")
		silent.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.ask(t.Context(), "1", "elicitation/create", formParams) }
		c = silent.connect(&mcp.ClientOptions{Interactor: slow, RequestTimeout: 2 * time.Second})
		start := time.Now()
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Minute+2*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// A server can take its question back; nothing is answered then. So can the end of the connection.
func TestCaseF16QuestionWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := legacyFake(t, "2025-11-25")
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if r := p.ask(ctx, "q1", "elicitation/create", formParams); r != nil {
				t.Errorf("answered %v", r)
			}
			p.notify("notifications/cancelled", `{"requestId":"nobody"}`)
			p.notify("notifications/cancelled", `{"requestId":{}}`)
			p.notify("notifications/cancelled", ``)
			p.notify("notifications/cancelled", `{"requestId":"q1","reason":"took too long"}`)
			time.Sleep(time.Second)
			if memberIn(t, m.Params, "name") == `"dies"` {
				p.send(&jsonrpc.Message{ID: jsonrpc.StringID("q2"), Method: "elicitation/create", Params: json.RawMessage(formParams)})
				time.Sleep(time.Second)
				p.rwc.Close()
				return
			}
			p.result(m, `{"content":[]}`)
		}
		var why []string
		var mu sync.Mutex
		in := &mcp.Interactor{Form: func(ctx context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			why = append(why, context.Cause(ctx).Error())
			return &mcp.ElicitResult{Action: mcp.ActionCancel}, nil
		}}
		c := f.connect(&mcp.ClientOptions{Interactor: in})
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
			t.Error(err)
		}
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "dies"}); !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("dies: %v", err)
		}
		synctest.Wait()
		if len(why) != 3 || !strings.Contains(why[0], "took too long") || !strings.Contains(why[2], "closed") {
			t.Errorf("withdrawn for %q", why)
		}
	})
}

// Questions keep their order although each is answered on its own goroutine.
func TestLegacyQuestionsKeepTheirOrder(t *testing.T) {
	f := legacyFake(t, "2025-11-25")
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		var wg sync.WaitGroup
		for i := range 20 {
			c := make(chan *jsonrpc.Message, 1)
			id := jsonrpc.IntID(int64(i))
			p.calls.Store(id, c)
			p.send(&jsonrpc.Message{ID: id, Method: "elicitation/create", Params: json.RawMessage(strings.Replace(formParams, "Where to?", fmt.Sprint(i), 1))})
			wg.Go(func() { <-c })
		}
		p.send(&jsonrpc.Message{ID: jsonrpc.IntID(19), Method: "ping"}) // an id in use: dropped, not answered twice
		wg.Wait()
		p.result(m, `{"content":[]}`)
	}
	var order []string
	in := &mcp.Interactor{Form: func(_ context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
		order = append(order, q.Message)
		return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
	}}
	if _, err := f.connect(&mcp.ClientOptions{Interactor: in}).CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
	}
	if !slices.Equal(order, want) {
		t.Errorf("order %v", order)
	}
}

// A server of 2026-07-28 sends no requests; a client that got one never answers.
func TestModernServerSendsARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if r := p.ask(ctx, "q", "elicitation/create", formParams); r != nil {
				t.Errorf("answered %v", r)
			}
			p.result(m, textResult("ok"))
		}
		c := f.connect(&mcp.ClientOptions{Interactor: accepting(`{"to":"x"}`)})
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
			t.Error(err)
		}
	})
}

// needsPage refuses a call until the person was at a page.
func needsPage(url, id string) string {
	return fmt.Sprintf(`{"elicitations":[{"mode":"url","message":"log in","url":%q,"elicitationId":%q}]}`, url, id)
}

func TestCaseU03CompletionNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := legacyFake(t, "2025-11-25")
		done := false
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			if !done {
				p.fail(m, -32042, "log in first", needsPage("https://a.test/1", "e1"))
				time.Sleep(3 * time.Minute)
				done = true
				p.notify("notifications/elicitation/complete", `{"elicitationId":"other"}`) // case U03: unknown, repeated
				p.notify("notifications/elicitation/complete", `{"elicitationId":"e1"}`)
				p.notify("notifications/elicitation/complete", `{"elicitationId":"e1"}`)
				return
			}
			p.result(m, `{"content":[{"type":"text","text":"in"}]}`)
		}
		var completed []string
		in := &mcp.Interactor{
			Open: func(_ context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
				if q.URL != "https://a.test/1" || q.ID != "e1" || q.Name != "x" || q.Round != 1 {
					t.Errorf("asked %+v", q)
				}
				return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
			},
			Completed: func(_ context.Context, q *mcp.OpenQuestion) { completed = append(completed, q.ID) },
		}
		c := f.connect(&mcp.ClientOptions{Interactor: in})
		start := time.Now()
		if s, err := mcp.CallTool[string](t.Context(), c, "x", nil); err != nil || s != "in" || time.Since(start) != 3*time.Minute {
			t.Errorf("after %v: %q %v", time.Since(start), s, err)
		}
		synctest.Wait()
		if !slices.Equal(completed, []string{"e1"}) {
			t.Errorf("completed %v", completed)
		}
	})
}

func TestCaseU02RequiredLoopsEnd(t *testing.T) {
	accept := func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
	}
	act := func(a mcp.Action) func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		return func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: a}, nil
		}
	}
	manual := func(context.Context, *mcp.OpenQuestion) error { return nil }
	mine := errors.New("gave up")
	tests := map[string]struct {
		data  func(n int) string
		in    *mcp.Interactor
		calls int
		want  error
	}{
		"same page again":    {func(int) string { return needsPage("https://a.test/", "e") }, &mcp.Interactor{Open: accept, Wait: manual}, 2, mcp.ErrTooManyRounds},
		"same page, new id":  {func(n int) string { return needsPage("https://a.test/", fmt.Sprint(n)) }, &mcp.Interactor{Open: accept, Wait: manual}, 2, mcp.ErrTooManyRounds},
		"new page each time": {func(n int) string { return needsPage(fmt.Sprintf("https://a.test/%d", n), fmt.Sprint(n)) }, &mcp.Interactor{Open: accept, Wait: manual}, 4, mcp.ErrTooManyRounds},
		"empty list":         {func(int) string { return `{"elicitations":[]}` }, &mcp.Interactor{Open: accept}, 1, nil},
		"no data":            {func(int) string { return `` }, &mcp.Interactor{Open: accept}, 1, nil},
		"odd data":           {func(int) string { return `{"elicitations":5}` }, &mcp.Interactor{Open: accept}, 1, nil},
		"null entry":         {func(int) string { return `{"elicitations":[null]}` }, &mcp.Interactor{Open: accept}, 1, nil},
		"no id":              {func(int) string { return needsPage("https://a.test/", "") }, &mcp.Interactor{Open: accept}, 1, nil},
		"form entry": {func(int) string {
			return `{"elicitations":[{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}]}`
		}, &mcp.Interactor{Open: accept}, 1, nil},
		"dangerous":       {func(int) string { return needsPage("file:///x", "e") }, &mcp.Interactor{Open: accept}, 1, mcp.ErrUnavailable},
		"declined":        {func(int) string { return needsPage("https://a.test/", "e") }, &mcp.Interactor{Open: act(mcp.ActionDecline)}, 1, mcp.ErrDeclined},
		"cancelled":       {func(int) string { return needsPage("https://a.test/", "e") }, &mcp.Interactor{Open: act(mcp.ActionCancel)}, 1, mcp.ErrCanceled},
		"wait given up":   {func(int) string { return needsPage("https://a.test/", "e") }, &mcp.Interactor{Open: accept, Wait: func(context.Context, *mcp.OpenQuestion) error { return mine }}, 1, mine},
		"never completed": {func(int) string { return needsPage("https://a.test/", "e") }, &mcp.Interactor{Open: accept}, 1, context.DeadlineExceeded},
		"never done": {func(int) string { return needsPage("https://a.test/", "e") }, &mcp.Interactor{Open: accept, Wait: func(ctx context.Context, _ *mcp.OpenQuestion) error {
			<-ctx.Done()
			return ctx.Err()
		}}, 1, context.DeadlineExceeded},
		"cannot open": {func(int) string { return needsPage("https://a.test/", "e") }, nil, 1, &mcp.Error{Code: mcp.CodeURLElicitationRequired}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := legacyFake(t, "2025-11-25")
				f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
					p.fail(m, -32042, "first", tt.data(len(f.received("tools/call"))))
				}
				_, err := f.connect(&mcp.ClientOptions{Interactor: tt.in}).CallTool(t.Context(), &mcp.CallToolParams{Name: "x"})
				if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("%v; want %v", err, tt.want)
				}
				if n := len(f.received("tools/call")); n != tt.calls {
					t.Errorf("%d calls, want %d", n, tt.calls)
				}
			})
		})
	}
}

// Before 2025-11-25 and after it the code means nothing special.
func TestRequiredPagesElsewhere(t *testing.T) {
	for _, f := range []*fakeServer{legacyFake(t, "2025-06-18"), modernFake(t)} {
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.fail(m, -32042, "first", needsPage("https://a.test/", "e")) }
		in := &mcp.Interactor{Open: func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			t.Error("asked")
			return nil, mcp.ErrDeclined
		}}
		if _, err := f.connect(&mcp.ClientOptions{Interactor: in}).CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.Is(err, &mcp.Error{Code: -32042}) {
			t.Errorf("%v", err)
		}
	}
}
