package connect_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/storetest"
	"github.com/seed38e7925c/parley/mcp"
)

// TestOptions: what is wrong with the options is said when the desk is opened, by name.
func TestOptions(t *testing.T) {
	good := func() *connect.Options {
		return &connect.Options{
			ServerName: "Desk", BaseURL: "https://desk.test/connect", Store: storetest.NewMemory(), Identity: connect.CookieIdentity{},
			Keys: connect.KeysFromFile(filepath.Join(t.TempDir(), "keys")),
		}
	}
	for want, change := range map[string]func(o *connect.Options){
		"ServerName": func(o *connect.Options) { o.ServerName = " " }, "Store": func(o *connect.Options) { o.Store = nil },
		"Keys": func(o *connect.Options) { o.Keys = nil }, "Identity": func(o *connect.Options) { o.Identity = nil },
		"Lifetime": func(o *connect.Options) { o.Lifetime = -1 }, "MaxOpenPerPerson": func(o *connect.Options) { o.MaxOpenPerPerson = -1 },
		"MaxOpenPerTool": func(o *connect.Options) { o.MaxOpenPerTool = -1 }, "MaxResult": func(o *connect.Options) { o.MaxResult = -1 },
		"AuditRetention": func(o *connect.Options) { o.AuditRetention = -1 },
		"must be https":  func(o *connect.Options) { o.BaseURL = "http://desk.test/" },
		"absolute":       func(o *connect.Options) { o.BaseURL = "/connect/" },
		"no user":        func(o *connect.Options) { o.BaseURL = "https://desk.test/?x=1" },
		"plain path":     func(o *connect.Options) { o.BaseURL = "https://desk.test/a%20b/" },
		"BaseURL":        func(o *connect.Options) { o.BaseURL = "https://desk test" },
	} {
		o := good()
		change(o)
		if d, err := connect.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
			if d != nil {
				_ = d.Close()
			}
		}
	}
	if _, err := connect.Open(t.Context(), nil); err == nil {
		t.Error("no options at all")
	}
	broken := storetest.NewMemory()
	_ = broken.Close()
	o := good()
	o.Store = broken
	if _, err := connect.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "Options.Store") {
		t.Errorf("a store that does not answer: %v", err)
	}
	d, err := connect.Open(t.Context(), good())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	page := func(change func(*connect.PageSpec)) func() {
		s := &connect.PageSpec{
			Name: "p", Title: "P", Host: "p.test", Start: func(context.Context, *connect.Visit) (string, error) { return "", nil },
			Finish: func(context.Context, *connect.Visit, url.Values) (any, error) { return nil, nil },
		}
		change(s)
		return func() { d.Page(s) }
	}
	d.Secret(&connect.SecretSpec{Name: "taken", Title: "T"})
	for name, call := range map[string]func(){
		"bad name": func() { d.Secret(&connect.SecretSpec{Name: "a/b", Title: "T"}) }, "no title": func() { d.Secret(&connect.SecretSpec{Name: "t"}) },
		"taken": func() { d.Secret(&connect.SecretSpec{Name: "taken", Title: "T"}) }, "unknown": func() { d.Asks("nothing") },
		"help":       func() { d.Secret(&connect.SecretSpec{Name: "h", Title: "T", HelpURL: "javascript:x"}) },
		"page title": page(func(s *connect.PageSpec) { s.Title = "" }), "page host": page(func(s *connect.PageSpec) { s.Host = "" }),
		"page start": page(func(s *connect.PageSpec) { s.Start = nil }), "page end": page(func(s *connect.PageSpec) { s.Finish = nil }),
		"name of other": page(func(s *connect.PageSpec) { s.Name = "taken" }),
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

// TestFailedActions: the error of an action is what every retry gets; it is not run again. One result may be too long to be kept, and
// some actions nobody could judge.
func TestFailedActions(t *testing.T) {
	var runs atomic.Int64
	errs := map[string]error{
		"tool": mcp.ToolErrorf("no seats"), "wire": &mcp.Error{Code: 4711, Message: "of a peer"}, "other": errors.New("hidden cause"),
	}
	w := newWorld(t, &worldOptions{desk: func(o *connect.Options) { o.MaxResult = 100 }, tools: func(srv *mcp.Server, r *replica) {
		mcp.AddTool(srv, &mcp.Tool{Name: "act"}, func(ctx context.Context, call *mcp.Call, in where) (where, error) {
			a := payment(1)
			switch in.Text {
			case "untitled":
				a.Title = " "
			case "many":
				a.Details = make([]connect.Detail, 51)
			case "long":
				a.Details[0].Value = strings.Repeat("x", 3000)
			}
			return connect.Do(ctx, r.desk, call, a, func(connect.Approved) (where, error) {
				runs.Add(1)
				if err := errs[in.Text]; err != nil {
					return where{}, err
				}
				return where{strings.Repeat("y", 200)}, nil
			})
		})
	}})
	alice := w.browser("alice")
	for text, want := range map[string][2]string{
		"tool": {"no seats", "no seats"}, "wire": {"of a peer", "of a peer"}, "other": {"internal error", "internal error"},
		"big": {strings.Repeat("y", 200), "too long to be kept"},
	} {
		runs.Store(0)
		params := map[string]any{"name": "act", "arguments": map[string]any{"text": text}}
		first := w.wire("alice/raw", "tools/call", params)
		link, state := asked(t, first)
		alice.fill(link, "submit")
		params["requestState"], params["inputResponses"] = state, accepted(first)
		for i, want := range []string{want[0], want[1], want[1]} {
			if m := fmt.Sprint(w.wire("alice/raw", "tools/call", params)); !strings.Contains(m, want) || strings.Contains(m, "hidden cause") {
				t.Errorf("%s, try %d: %s", text, i, m)
			}
		}
		if runs.Load() != 1 {
			t.Errorf("%s: it ran %d times", text, runs.Load())
		}
		if p := alice.open(link); !strings.Contains(p.body, "Approved") {
			t.Errorf("%s: %s", text, p.body)
		}
	}
	for _, text := range []string{"untitled", "many", "long"} {
		params := map[string]any{"name": "act", "arguments": map[string]any{"text": text}}
		if m := fmt.Sprint(w.wire("alice/raw", "tools/call", params)); !strings.Contains(m, "internal error") {
			t.Errorf("%s: %s", text, m)
		}
	}
	if !strings.Contains(w.logs.String(), "Action.Details") || !strings.Contains(w.logs.String(), "Action.Title") {
		t.Error("the log does not say what is wrong with the actions")
	}
}

// TestForget: a secret that its service no longer accepts is asked for again, within the same call; one that has taken its place stays.
func TestForget(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		w := newWorld(t, &worldOptions{tools: func(srv *mcp.Server, r *replica) {
			mcp.AddTool(srv, &mcp.Tool{Name: "use"}, func(ctx context.Context, call *mcp.Call, _ where) (where, error) {
				for {
					v, err := r.key.Get(ctx, call)
					if err != nil {
						return where{}, err
					}
					if v.Reveal() != "mk_old" { // what the service accepts
						if err := r.key.Forget(ctx, call, connect.NewSecret("mk_old")); err != nil { // somebody is late
							return where{}, err
						}
						return where{v.Reveal()[3:]}, nil
					}
					if err := r.key.Forget(ctx, call, v); err != nil {
						return where{}, err
					}
				}
			})
		}})
		person, pages := links()
		c := w.client("alice/desktop", rev, person)
		alice := w.browser("alice")
		done := call(t, c, "use", where{"x"})
		first := get(t, pages)
		alice.fill(first, "submit", "f-value", "mk_old")
		second := get(t, pages)
		if second == first {
			t.Error("the same page again")
		}
		alice.fill(second, "submit", "f-value", "mk_new")
		if o := get(t, done); o.err != nil || o.res.Text != "new" {
			t.Fatalf("%+v", o)
		}
		if res, err := mcp.CallTool[where](t.Context(), c, "use", where{"x"}); err != nil || res.Text != "new" {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

// TestAskedTogether: several parts of a handler that need the same at the same time ask once; a prompt can ask as well.
func TestAskedTogether(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		w := newWorld(t, &worldOptions{tools: func(srv *mcp.Server, r *replica) {
			mcp.AddTool(srv, &mcp.Tool{Name: "both"}, func(ctx context.Context, call *mcp.Call, _ where) (where, error) {
				var wg sync.WaitGroup
				var errs [5]error
				for i := range errs {
					wg.Go(func() { _, errs[i] = r.key.Get(ctx, call) })
				}
				wg.Wait()
				return where{"all"}, errors.Join(errs[:]...)
			})
			mcp.AddPrompt(srv, &mcp.Prompt{Name: "ask"}, func(ctx context.Context, call *mcp.Call, _ map[string]string) (*mcp.GetPromptResult, error) {
				_, err := r.key.Get(ctx, call)
				return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}, err
			})
		}})
		person, pages := links()
		c := w.client("alice/desktop", rev, person)
		done := call(t, c, "both", where{"x"})
		w.browser("alice").fill(get(t, pages), "submit", "f-value", "mk_1")
		if o := get(t, done); o.err != nil {
			t.Fatal(o.err)
		}
		bob, bobs := links()
		c = w.client("bob/desktop", rev, bob)
		ended := make(chan error, 1)
		go func() {
			_, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "ask"})
			ended <- err
		}()
		w.browser("bob").fill(get(t, bobs), "submit", "f-value", "mk_2")
		if err := get(t, ended); err != nil {
			t.Error(err)
		}
		if len(pages)+len(bobs) != 0 {
			t.Error("somebody was asked twice")
		}
	})
}

// TestTwoAlike: two actions of one call that say the same have keys, and are two.
func TestTwoAlike(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		var runs atomic.Int64
		w := newWorld(t, &worldOptions{tools: func(srv *mcp.Server, r *replica) {
			mcp.AddTool(srv, &mcp.Tool{Name: "twice"}, func(ctx context.Context, call *mcp.Call, _ where) (where, error) {
				text := ""
				for _, key := range []string{"one", "two"} {
					a := payment(1)
					a.Key = key
					res, err := connect.Do(ctx, r.desk, call, a, func(a connect.Approved) (where, error) {
						runs.Add(1)
						return where{a.Action.Key}, nil
					})
					if err != nil {
						return where{}, err
					}
					text += res.Text
				}
				return where{text}, nil
			})
		}})
		person, pages := links()
		done := call(t, w.client("alice/desktop", rev, person), "twice", where{"x"})
		alice := w.browser("alice")
		alice.fill(get(t, pages), "submit")
		alice.fill(get(t, pages), "submit")
		if o := get(t, done); o.err != nil || o.res.Text != "onetwo" || runs.Load() != 2 {
			t.Errorf("%+v, %d", o, runs.Load())
		}
	})
}

// TestLinkError: what a handler can find out about a link.
func TestLinkError(t *testing.T) {
	got := make(chan error, 1)
	w := newWorld(t, &worldOptions{tools: func(srv *mcp.Server, r *replica) {
		mcp.AddTool(srv, &mcp.Tool{Name: "look"}, func(ctx context.Context, call *mcp.Call, _ where) (where, error) {
			_, err := r.key.Get(ctx, call)
			got <- err
			return where{}, err
		})
	}})
	_, err := mcp.CallTool[where](t.Context(), w.client("alice/desktop", mcp.Revision20260728, nil), "look", where{"x"})
	seen := get(t, got)
	var link *connect.LinkError
	if !errors.As(seen, &link) || !errors.Is(seen, mcp.ErrUnavailable) || link.Title != "Maps API key" || link.URL != linkIn(t, err) {
		t.Errorf("%v", seen)
	}
}

// TestAuditPages: what has happened is listed, newest first, page by page, and nothing else is found by a made-up page.
func TestAuditPages(t *testing.T) {
	w := newWorld(t, nil)
	c := w.client("alice/desktop", mcp.Revision20260728, nil)
	alice := w.browser("alice")
	for range 40 { // asked, and declined
		_, err := mcp.CallTool[where](t.Context(), c, "pay", pay{1 + len(w.rows(connect.RowInteraction))})
		alice.fill(linkIn(t, err), "decline")
	}
	entries := len(w.rows(connect.RowAudit))
	seen, next := 0, w.url+"/connect/audit"
	for pagesSeen := 0; next != ""; pagesSeen++ {
		p := alice.open(next)
		seen += strings.Count(p.body, "<tr>") - 1
		next = ""
		if _, after, more := strings.Cut(p.body, `<p><a href="`); more {
			path, _, _ := strings.Cut(after, `"`)
			next = w.url + strings.ReplaceAll(path, "&amp;", "&")
		}
		if pagesSeen > 5 {
			t.Fatal("it does not end")
		}
	}
	if seen != entries || entries < 80 {
		t.Errorf("%d of %d entries", seen, entries)
	}
	for _, bad := range []string{"x", "1.", "99999999999999999999.a", strings.Repeat("1", 300), "1.\x00"} {
		if p := alice.open(w.url + "/connect/audit?before=" + url.QueryEscape(bad)); p.status != 200 {
			t.Errorf("%q: status %d", bad, p.status)
		}
	}
	p := alice.open(w.url + "/connect/")
	if p = alice.post(w.url+"/connect/signout", url.Values{"csrf": {p.csrf()}}); !strings.Contains(p.body, "signed out") {
		t.Errorf("%s", p.body)
	}
	if p = alice.open(w.url + "/connect/"); p.status != 401 {
		t.Errorf("status %d", p.status)
	}
}

// TestPrune: what has expired goes.
func TestPrune(t *testing.T) {
	w := newWorld(t, &worldOptions{desk: func(o *connect.Options) { o.AuditRetention = time.Millisecond }})
	_, err := mcp.CallTool[where](t.Context(), w.client("alice/desktop", mcp.Revision20260728, nil), "pay", pay{1})
	w.browser("alice").fill(linkIn(t, err), "decline")
	<-time.After(5 * time.Millisecond)
	n, err := w.replicas[0].desk.Prune(t.Context())
	if err != nil || n < 2 {
		t.Errorf("%d, %v", n, err)
	}
}
