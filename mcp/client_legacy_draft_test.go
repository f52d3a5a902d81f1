//go:build !mcp_modern_only

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

func opening(a mcp.Action) func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
	return func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: a}, nil
	}
}

// needsInteraction is the data of an error -32003.
func needsInteraction(url, id string) string {
	return fmt.Sprintf(`{"id":%q,"type":"ua","url":%q,"message":{"type":"text","text":"Sign in."}}`, id, url)
}

func TestInteractionDraftIsDeclared(t *testing.T) {
	open, form := opening(mcp.ActionAccept), accepting(`{}`).Form
	for name, tc := range map[string]struct {
		o    *mcp.ClientOptions
		want string
	}{
		"off":         {&mcp.ClientOptions{Interactor: &mcp.Interactor{Open: open}}, ``},
		"no Open":     {&mcp.ClientOptions{Interactor: &mcp.Interactor{Form: form}, InteractionDraft: true}, ``},
		"nobody":      {&mcp.ClientOptions{InteractionDraft: true}, ``},
		"Open":        {&mcp.ClientOptions{Interactor: &mcp.Interactor{Open: open}, InteractionDraft: true}, `{"types":["ua"]}`},
		"Open, Form":  {&mcp.ClientOptions{Interactor: &mcp.Interactor{Open: open, Form: form}, InteractionDraft: true}, `{"types":["ua","prompt"]}`},
		"experiments": {&mcp.ClientOptions{Interactor: &mcp.Interactor{Open: open}, InteractionDraft: true, Experimental: map[string]json.RawMessage{"x": json.RawMessage(`{}`)}}, `{"types":["ua"]}`},
	} {
		for _, rev := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
			f := legacyFake(t, rev)
			f.connect(tc.o)
			got := f.received("initialize")[0].Params
			if v := memberIn(t, got, "capabilities", "userInteraction"); v != tc.want {
				t.Errorf("%s at %s: %s", name, rev, got)
			}
			if tc.o.Experimental != nil && memberIn(t, got, "capabilities", "experimental") != `{"x":{}}` {
				t.Errorf("%s", got)
			}
		}
	}
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.fail(m, -32003, "x", needsInteraction("https://a.test/", "i"))
	}
	c := f.connect(&mcp.ClientOptions{Interactor: &mcp.Interactor{Open: open}, InteractionDraft: true})
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.Is(err, &mcp.Error{Code: -32003}) {
		t.Errorf("2026-07-28: %v", err)
	}
	for _, m := range f.received("") {
		if strings.Contains(string(m.Params), "userInteraction") {
			t.Errorf("2026-07-28 hears of the draft: %s", m.Params)
		}
	}
}

func TestInteractionCreate(t *testing.T) {
	page := func(url string) string {
		return fmt.Sprintf(`{"id":"i1","type":"ua","interaction":{"url":%q,"message":{"type":"text","text":"Sign in."}}}`, url)
	}
	prompt := `{"id":"i1","type":"prompt","interaction":{"message":{"type":"text","text":"To?"},"schema":{"type":"object","properties":{"to":{"type":"string"}}}}}`
	both := func(open mcp.Action, content string) *mcp.Interactor {
		return &mcp.Interactor{Open: opening(open), Form: accepting(content).Form}
	}
	const refused = `-32099 User did not consent to the interaction.`
	failing := func(err error) *mcp.Interactor {
		return &mcp.Interactor{Open: func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) { return nil, err }}
	}
	for _, tt := range []struct {
		name, params string
		in           *mcp.Interactor
		want         string
	}{
		{"accepted", page("https://a.test/"), both(mcp.ActionAccept, `{}`), `{}`},
		{"no message", `{"id":"i","type":"ua","interaction":{"url":"https://a.test/"}}`, both(mcp.ActionAccept, `{}`), `{}`},
		{"declined", page("https://a.test/"), both(mcp.ActionDecline, `{}`), refused},
		{"dismissed", page("https://a.test/"), both(mcp.ActionCancel, `{}`), refused},
		{"declined by error", page("https://a.test/"), failing(mcp.ErrDeclined), refused},
		{"nobody there", page("https://a.test/"), failing(mcp.ErrUnavailable), `-32601 nobody could be asked`},
		{"failing", page("https://a.test/"), failing(errors.New("private")), `-32603 internal error`},
		{"prompt", prompt, both(mcp.ActionAccept, `{"to":"Wien"}`), `{"content":{"to":"Wien"}}`},
		{"prompt confirmed", prompt, both(mcp.ActionAccept, ``), `{"content":{}}`},
		{"prompt not declared", prompt, &mcp.Interactor{Open: opening(mcp.ActionAccept)}, `-32602 interaction/create: this client did not declare type "prompt"`},
		{"prompt for a password", `{"id":"i","type":"prompt","interaction":{"schema":{"type":"object","properties":{"password":{"type":"string"}}}}}`, both(mcp.ActionAccept, `{}`), `-32602 interaction/create: a secret`},
		{"prompt too deep", `{"id":"i","type":"prompt","interaction":{"schema":{"type":"array"}}}`, both(mcp.ActionAccept, `{}`), `-32602 interaction/create: requestedSchema`},
		{"oob", `{"id":"i","type":"oob","interaction":{"message":{"type":"text","text":"m"}}}`, both(mcp.ActionAccept, `{}`), `-32602 interaction/create: this client did not declare type "oob"`},
		{"no id", `{"type":"ua","interaction":{"url":"https://a.test/"}}`, both(mcp.ActionAccept, `{}`), `-32602 interaction/create: id`},
		{"odd message", `{"id":"i","type":"ua","interaction":{"url":"https://a.test/","message":{"type":"image","text":"x"}}}`, both(mcp.ActionAccept, `{}`), `-32602`},
		{"malformed", `{"id":5}`, both(mcp.ActionAccept, `{}`), `-32602`},
		{"script", page("javascript:alert(1)"), both(mcp.ActionAccept, `{}`), `-32602 interaction/create: url`},
		{"file", page("file:///etc/passwd"), both(mcp.ActionAccept, `{}`), `-32602 interaction/create: url`},
		{"userinfo", page("https://bank.test@evil.test/"), both(mcp.ActionAccept, `{}`), `-32602 interaction/create: url`},
		{"not encrypted", page("http://a.test/"), both(mcp.ActionAccept, `{}`), `-32602 interaction/create: url`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := askingFake(t, "2025-03-26", "interaction/create", tt.params).connect(&mcp.ClientOptions{Interactor: tt.in, InteractionDraft: true})
			got, err := mcp.CallTool[string](t.Context(), c, "x", nil)
			if err != nil || !strings.HasPrefix(got, tt.want) || strings.Contains(got, "private") {
				t.Errorf("%s %v; want %s", got, err, tt.want)
			}
		})
	}
	for _, o := range []*mcp.ClientOptions{{Interactor: both(mcp.ActionAccept, `{}`)}, {InteractionDraft: true, Interactor: accepting(`{}`)}} {
		c := askingFake(t, "2025-03-26", "interaction/create", page("https://a.test/")).connect(o)
		if got, err := mcp.CallTool[string](t.Context(), c, "x", nil); err != nil || !strings.HasPrefix(got, "-32601") {
			t.Errorf("undeclared: %s %v", got, err)
		}
	}
}

// A server that takes its interaction back gets no answer.
func TestInteractionWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := legacyFake(t, "2025-06-18")
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if r := p.ask(ctx, "q1", "interaction/create", `{"id":"i","type":"ua","interaction":{"url":"https://a.test/"}}`); r != nil {
				t.Errorf("answered %v", r)
			}
			p.notify("notifications/cancelled", `{"requestId":"q1"}`)
			time.Sleep(time.Second)
			p.result(m, `{"content":[]}`)
		}
		var withdrawn atomic.Bool
		in := &mcp.Interactor{Open: func(ctx context.Context, _ *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			<-ctx.Done()
			withdrawn.Store(true)
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
		}}
		c := f.connect(&mcp.ClientOptions{Interactor: in, InteractionDraft: true})
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil || !withdrawn.Load() {
			t.Error(err, withdrawn.Load())
		}
		for _, m := range f.received("") {
			if m.Kind() == jsonrpc.Response {
				t.Errorf("answered after all: %v", m)
			}
		}
	})
}

// The ways of servers to tell that a page is finished.
func TestInteractionRequiredIsTracked(t *testing.T) {
	progress := func(p *fakePeer, m *jsonrpc.Message, rest string) {
		p.notify("notifications/progress", `{"progressToken":`+string(m.ID.AppendJSON(nil))+`,`+rest+`}`)
	}
	manual := func(context.Context, *mcp.OpenQuestion) error { time.Sleep(5 * time.Minute); return nil }
	for name, tc := range map[string]struct {
		track func(p *fakePeer, m *jsonrpc.Message)
		wait  func(context.Context, *mcp.OpenQuestion) error
		after time.Duration
		fails error
	}{
		"progress, then the response": {track: func(p *fakePeer, m *jsonrpc.Message) {
			progress(p, m, `"progress":0,"total":1`)
			time.Sleep(time.Minute)
			progress(p, m, `"progress":1,"total":1`)
			p.result(m, `{}`)
		}, after: time.Minute},
		"progress alone": {track: func(p *fakePeer, m *jsonrpc.Message) {
			time.Sleep(time.Minute)
			progress(p, m, `"progress":3,"total":3`)
		}, after: time.Minute},
		"progress without a total, then the response": {track: func(p *fakePeer, m *jsonrpc.Message) {
			progress(p, m, `"progress":1`)
			time.Sleep(time.Minute)
			p.result(m, `{}`)
		}, after: time.Minute},
		"response first": {track: func(p *fakePeer, m *jsonrpc.Message) {
			p.result(m, `{}`)
			time.Sleep(time.Minute)
			progress(p, m, `"progress":1,"total":1`)
		}, after: time.Minute},
		"not at all, the person says so": {wait: manual, after: 5 * time.Minute},
		"silence, the person says so":    {track: func(*fakePeer, *jsonrpc.Message) {}, wait: manual, after: 5 * time.Minute},
		"before the person says so":      {track: func(p *fakePeer, m *jsonrpc.Message) { progress(p, m, `"progress":1,"total":1`) }, wait: func(ctx context.Context, _ *mcp.OpenQuestion) error { <-ctx.Done(); return ctx.Err() }},
		"not at all, and nobody to say":  {fails: mcp.ErrUnavailable},
		"silence, and nobody to say":     {track: func(*fakePeer, *jsonrpc.Message) {}, after: 10 * time.Minute, fails: context.DeadlineExceeded},
		"the person gives up":            {wait: func(context.Context, *mcp.OpenQuestion) error { return mcp.ErrCanceled }, fails: mcp.ErrCanceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := legacyFake(t, "2025-03-26")
				f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
					if len(f.received("tools/call")) == 1 {
						p.fail(m, -32003, "interaction_required", needsInteraction("https://a.test/", "i1"))
						return
					}
					p.result(m, `{"content":[{"type":"text","text":"in"}]}`)
				}
				if tc.track != nil {
					f.on["interaction/track"] = tc.track
				}
				in := &mcp.Interactor{Wait: tc.wait, Open: func(_ context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
					if q.URL != "https://a.test/" || q.ID != "i1" || q.Message != "Sign in." || q.Method != "tools/call" || q.Name != "x" || q.Round != 1 || q.Server.Name != "old" {
						t.Errorf("asked %+v", q)
					}
					return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
				}}
				c := f.connect(&mcp.ClientOptions{Interactor: in, InteractionDraft: true, RequestTimeout: time.Second})
				start := time.Now()
				got, err := mcp.CallTool[string](t.Context(), c, "x", nil)
				if tc.fails != nil && !errors.Is(err, tc.fails) || tc.fails == nil && (err != nil || got != "in") || time.Since(start) != tc.after {
					t.Errorf("after %v: %q %v", time.Since(start), got, err)
				}
				if tracks := f.received("interaction/track"); len(tracks) > 1 || len(tracks) == 0 && name != "the person gives up" ||
					len(tracks) == 1 && (memberIn(t, tracks[0].Params, "id") != `"i1"` || memberIn(t, tracks[0].Params, "_meta", "progressToken") == "") {
					t.Errorf("tracked %v", tracks)
				}
			})
		})
	}
}

func TestInteractionRequiredLoopsEnd(t *testing.T) {
	accept, at := opening(mcp.ActionAccept), "https://a.test/"
	manual := func(context.Context, *mcp.OpenQuestion) error { return nil }
	for name, tt := range map[string]struct {
		data  func(n int) string
		in    *mcp.Interactor
		calls int
		want  error
	}{
		"same page again":    {func(int) string { return needsInteraction(at, "e") }, &mcp.Interactor{Open: accept, Wait: manual}, 2, mcp.ErrTooManyRounds},
		"same page, new id":  {func(n int) string { return needsInteraction(at, fmt.Sprint(n)) }, &mcp.Interactor{Open: accept, Wait: manual}, 2, mcp.ErrTooManyRounds},
		"new page each time": {func(n int) string { return needsInteraction(fmt.Sprint(at, n), fmt.Sprint(n)) }, &mcp.Interactor{Open: accept, Wait: manual}, 11, mcp.ErrTooManyRounds},
		"no data":            {func(int) string { return `` }, &mcp.Interactor{Open: accept}, 1, &mcp.Error{Code: -32003}},
		"odd data":           {func(int) string { return `[]` }, &mcp.Interactor{Open: accept}, 1, &mcp.Error{Code: -32003}},
		"no id":              {func(int) string { return needsInteraction(at, "") }, &mcp.Interactor{Open: accept}, 1, mcp.ErrUnavailable},
		"undeclared type":    {func(int) string { return `{"id":"e","type":"prompt","url":"https://a.test/"}` }, &mcp.Interactor{Open: accept}, 1, &mcp.Error{Code: -32003}},
		"script":             {func(int) string { return needsInteraction("javascript:alert(1)", "e") }, &mcp.Interactor{Open: accept}, 1, mcp.ErrUnavailable},
		"declined":           {func(int) string { return needsInteraction(at, "e") }, &mcp.Interactor{Open: opening(mcp.ActionDecline)}, 1, mcp.ErrDeclined},
		"dismissed":          {func(int) string { return needsInteraction(at, "e") }, &mcp.Interactor{Open: opening(mcp.ActionCancel)}, 1, mcp.ErrCanceled},
		"cannot open":        {func(int) string { return needsInteraction(at, "e") }, nil, 1, &mcp.Error{Code: -32003}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := legacyFake(t, "2025-11-25")
				f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
					p.fail(m, -32003, "interaction_required", tt.data(len(f.received("tools/call"))))
				}
				_, err := f.connect(&mcp.ClientOptions{Interactor: tt.in, InteractionDraft: true}).CallTool(t.Context(), &mcp.CallToolParams{Name: "x"})
				if err == nil || !errors.Is(err, tt.want) {
					t.Errorf("%v; want %v", err, tt.want)
				}
				if n := len(f.received("tools/call")); n != tt.calls {
					t.Errorf("%d calls, want %d", n, tt.calls)
				}
			})
		})
	}
	few := legacyFake(t, "2025-06-18") // what one call may ask at all holds here too
	few.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		n := len(few.received("tools/call"))
		p.fail(m, -32003, "interaction_required", needsInteraction(fmt.Sprint(at, n), fmt.Sprint(n)))
	}
	asking := few.connect(&mcp.ClientOptions{Interactor: &mcp.Interactor{Open: accept, Wait: manual}, InteractionDraft: true, MaxQuestions: 2})
	if _, err := asking.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.Is(err, mcp.ErrTooManyRounds) || len(few.received("tools/call")) != 3 {
		t.Errorf("%v after %d calls", err, len(few.received("tools/call")))
	}
	// Any request can be refused so; without the option the code means nothing.
	f := legacyFake(t, "2025-06-18")
	f.on["resources/read"] = func(p *fakePeer, m *jsonrpc.Message) {
		if len(f.received("resources/read")) == 1 {
			p.fail(m, -32003, "interaction_required", needsInteraction(at, "e"))
			return
		}
		p.result(m, `{"contents":[]}`)
	}
	c := f.connect(&mcp.ClientOptions{Interactor: &mcp.Interactor{Open: accept, Wait: manual}, InteractionDraft: true})
	if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "a:b"}); err != nil {
		t.Error(err)
	}
	f = legacyFake(t, "2025-06-18")
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.fail(m, -32003, "x", needsInteraction(at, "e")) }
	c = f.connect(&mcp.ClientOptions{Interactor: &mcp.Interactor{Open: accept, Wait: manual}})
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.Is(err, &mcp.Error{Code: -32003}) || len(f.received("tools/call")) != 1 {
		t.Errorf("%v", err)
	}
}

// Our client and our server, at every revision with a handshake: the handler is the same, and hears the same.
func TestInteractionDraftClientAndServer(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev mcp.Revision) {
		if !rev.Rules().Handshake {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, &mcp.ServerOptions{Ask: &mcp.AskOptions{InteractionDraft: true}})
			addAskers(s.Server)
			mcp.AddTool(s.Server, &mcp.Tool{Name: "visit"}, func(ctx context.Context, c *mcp.Call, _ any) (string, error) {
				a, err := c.Ask(ctx, pageQuestion("a"))
				if err != nil {
					return "", err
				}
				time.AfterFunc(time.Minute, func() {
					if sent, err := s.CompleteElicitation(a.ID); !sent || err != nil {
						t.Errorf("complete: %v %v", sent, err)
					}
				})
				return a.ID, nil
			})
			var completed []string
			var action atomic.Value
			action.Store(mcp.ActionAccept)
			c, err := mcp.Connect(t.Context(), mcp.Pipe(s.ServeConn), &mcp.ClientOptions{
				Revisions: []mcp.Revision{rev}, InteractionDraft: true,
				Interactor: &mcp.Interactor{
					Open: func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: action.Load().(mcp.Action)}, nil
					},
					Form:      accepting(`{"name":"Ann"}`).Form,
					Completed: func(_ context.Context, q *mcp.OpenQuestion) { completed = append(completed, q.ID) },
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := mcp.CallTool[string](t.Context(), c, "name", map[string]int{"a": 1}); err != nil || got != "hello Ann" {
				t.Errorf("name: %q %v", got, err)
			}
			id, err := mcp.CallTool[string](t.Context(), c, "visit", map[string]int{"a": 1})
			if err != nil || id == "" {
				t.Errorf("visit: %v", err)
			}
			time.Sleep(2 * time.Minute)
			if synctest.Wait(); !slices.Equal(completed, []string{id}) {
				t.Errorf("completed %q, want %q", completed, id)
			}
			action.Store(mcp.ActionDecline)
			if got, err := mcp.CallTool[string](t.Context(), c, "visit", map[string]int{"a": 1}); err == nil || !strings.Contains(err.Error(), "declined") {
				t.Errorf("declined: %q %v", got, err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}
