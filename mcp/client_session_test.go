//go:build !mcp_modern_only

package mcp_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// forgetful is a transport whose server forgets the session when told to, as a restarted HTTP server does.
type forgetful struct {
	mcp.Transport
	forgot  atomic.Bool
	forever atomic.Bool
	set     atomic.Int32 // how often Established was called
}

type forgetfulLink struct {
	mcp.Link
	t *forgetful
}

func (f *forgetful) Open(ctx context.Context, r mcp.Receiver) (mcp.Link, error) {
	l, err := f.Transport.Open(ctx, r)
	return &forgetfulLink{l, f}, err
}

func (l *forgetfulLink) RoundTrip(ctx context.Context, o *mcp.Outgoing) (*jsonrpc.Message, error) {
	if o.Method == "initialize" {
		l.t.forgot.Store(false)
		return l.Link.RoundTrip(ctx, o)
	}
	if l.t.forgot.Load() || l.t.forever.Load() {
		return nil, mcp.ErrSessionLost
	}
	return l.Link.RoundTrip(ctx, o)
}

func (l *forgetfulLink) Established(rev mcp.Revision) {
	l.t.set.Add(1)
	l.Link.Established(rev)
}

func TestCaseN02LostSessionIsRenewedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := legacyFake(t, "2025-11-25")
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, `{"content":[]}`) }
		f.on["resources/subscribe"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, `{}`) }
		f.on["resources/unsubscribe"] = f.on["resources/subscribe"]
		tr := &forgetful{Transport: mcp.Pipe(f.serve)}
		told := 0
		c, err := mcp.Connect(t.Context(), tr, &mcp.ClientOptions{OnStateLost: func() { told++ }})
		if err != nil {
			t.Fatal(err)
		}
		var h heard
		s, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourceSubscriptions: []string{"a:b"}}, h.handle)
		if err != nil {
			t.Fatal(err)
		}
		tr.forgot.Store(true)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if n := len(f.received("initialize")); n != 2 || told != 1 || tr.set.Load() != 2 {
			t.Errorf("%d times initialize, %d times told, %d times established", n, told, tr.set.Load())
		}
		if n := len(f.received("tools/call")); n != 10 {
			t.Errorf("%d calls arrived", n)
		}
		if n := len(f.received("resources/subscribe")); n != 2 {
			t.Errorf("%d times subscribed", n)
		}
		if got := h.take(); !slices.Equal(got, []string{"interrupted err", "resumed", "tools gap", "resource a:b gap"}) {
			t.Errorf("heard %v", got)
		}
		f.last().notify("notifications/resources/updated", `{"uri":"a:b"}`)
		f.last().notify("notifications/prompts/list_changed", ``) // the server did not declare it
		if got := h.take(); !slices.Equal(got, []string{"resource a:b"}) {
			t.Errorf("heard %v", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if n := len(f.received("resources/unsubscribe")); n != 1 {
			t.Errorf("%d times unsubscribed", n)
		}
		tr.forever.Store(true)
		start := len(f.received("initialize"))
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.Is(err, mcp.ErrSessionLost) {
			t.Errorf("lost for ever: %v", err)
		}
		if n := len(f.received("initialize")) - start; n != 1 {
			t.Errorf("%d times initialize", n)
		}
		f.set("initialize", func(p *fakePeer, m *jsonrpc.Message) { p.fail(m, -32603, "closed for today", "") })
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.Is(err, mcp.ErrSessionLost) || !strings.Contains(err.Error(), "closed for today") {
			t.Errorf("no new session: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A caller that waits for somebody else's new session has its own deadline.
func TestRenewalHonoursEachDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := legacyFake(t, "2025-11-25")
		answer := f.on["initialize"]
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, `{"content":[]}`) }
		tr := &forgetful{Transport: mcp.Pipe(f.serve)}
		c, err := mcp.Connect(t.Context(), tr, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		f.set("initialize", func(p *fakePeer, m *jsonrpc.Message) {
			time.Sleep(30 * time.Second)
			answer(p, m)
		})
		tr.forgot.Store(true)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			time.Sleep(time.Second)
			tr.forgot.Store(true)
			start := time.Now()
			_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}, &mcp.RequestOptions{TotalTimeout: time.Second})
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
			tr.forgot.Store(false)
		})
		wg.Wait()
	})
}

// One subscription to a resource serves all of a client's.
func TestCaseB06SubscriptionsAreCounted(t *testing.T) {
	f := legacyFake(t, "2025-06-18")
	f.on["resources/subscribe"] = func(p *fakePeer, m *jsonrpc.Message) {
		if memberIn(t, m.Params, "uri") == `"a:bad"` {
			p.fail(m, -32602, "no", "")
			return
		}
		p.result(m, `{}`)
	}
	f.on["resources/unsubscribe"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, `{}`) }
	c := f.connect(nil)
	nop := func(context.Context, mcp.Notice) {}
	filter := mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:b", "a:c", "a:b"}}
	var subs []*mcp.Subscription
	for range 2 {
		s, err := c.Subscribe(t.Context(), filter, nop)
		if err != nil {
			t.Fatal(err)
		}
		subs = append(subs, s)
	}
	count := func(want ...int) {
		t.Helper()
		got := []int{len(f.received("resources/subscribe")), len(f.received("resources/unsubscribe"))}
		if !slices.Equal(got, want) {
			t.Errorf("subscribed and unsubscribed %v times, want %v", got, want)
		}
	}
	count(2, 0)
	subs[0].Close()
	count(2, 0)
	subs[1].Close()
	count(2, 2)
	if _, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:aaa", "a:bad"}}, nop); !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
		t.Errorf("refused: %v", err)
	}
	count(4, 3) // what was taken is given back
	if err := c.RootsChanged(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.Discover(t.Context()); !errors.Is(err, mcp.ErrUnavailable) {
		t.Errorf("Discover: %v", err)
	}
}

// Batches of 2025-03-26 are taken apart; other revisions have none.
func TestBatchesOfTheServer(t *testing.T) {
	for rev, want := range map[string]int{"2025-03-26": 1, "2025-06-18": 0} {
		synctest.Test(t, func(t *testing.T) {
			f := legacyFake(t, rev)
			f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
				p.raw(`[{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},5,{"jsonrpc":"2.0","id":` + m.ID.String() + `,"result":{"content":[]}}]`)
				p.raw(`[]`)
			}
			heard := 0
			c := f.connect(&mcp.ClientOptions{OnNotice: func(context.Context, mcp.Notice) { heard++ }})
			_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}, &mcp.RequestOptions{Timeout: time.Second})
			synctest.Wait()
			if (err == nil) != (want == 1) || heard != want {
				t.Errorf("%s: %v, heard %d", rev, err, heard)
			}
		})
	}
}
