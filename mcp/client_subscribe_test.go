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

// heard collects notices as short words.
type heard struct {
	mu    sync.Mutex
	words []string
}

func (h *heard) handle(_ context.Context, n mcp.Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	word := map[mcp.NoticeKind]string{mcp.NoticeTools: "tools", mcp.NoticePrompts: "prompts", mcp.NoticeResources: "resources",
		mcp.NoticeResource: "resource", mcp.NoticeOther: "other", mcp.NoticeInterrupted: "interrupted", mcp.NoticeResumed: "resumed"}[n.Kind]
	if n.URI != "" {
		word += " " + n.URI
	}
	if n.Gap {
		word += " gap"
	}
	if n.Err != nil {
		word += " err"
	}
	h.words = append(h.words, word)
}

// take returns what was heard and forgets it.
func (h *heard) take() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.words
	h.words = nil
	return out
}

func tagged(id jsonrpc.ID, rest string) string {
	if rest != "" {
		rest = "," + rest
	}
	return fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}%s}`, id.AppendJSON(nil), rest)
}

func (p *fakePeer) acknowledge(id jsonrpc.ID, filter string) {
	p.notify("notifications/subscriptions/acknowledged", tagged(id, `"notifications":`+filter))
}

func TestCaseB01SubscribeWaitsForTheAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["subscriptions/listen"] = func(p *fakePeer, m *jsonrpc.Message) {
			p.notify("notifications/tools/list_changed", tagged(m.ID, "")) // before the acknowledgement: not to be delivered
			time.Sleep(300 * time.Millisecond)
			p.acknowledge(m.ID, `{"toolsListChanged":true,"promptsListChanged":true}`)
			p.notify("notifications/tools/list_changed", tagged(m.ID, ""))
			p.notify("notifications/prompts/list_changed", tagged(m.ID, "")) // not asked for
			p.notify("notifications/tools/list_changed", tagged(jsonrpc.StringID(m.ID.String()), ""))
		}
		var h heard
		c := f.connect(nil)
		start := time.Now()
		s, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: []string{"a:b"}}, h.handle)
		if err != nil || time.Since(start) != 300*time.Millisecond {
			t.Fatalf("after %v: %v", time.Since(start), err)
		}
		if got := s.Filter(); !got.ToolsListChanged || got.PromptsListChanged || got.ResourcesListChanged || got.ResourceSubscriptions != nil {
			t.Errorf("honoured %+v", got)
		}
		if got := h.take(); !slices.Equal(got, []string{"tools"}) {
			t.Errorf("heard %v", got)
		}
		params := f.received("subscriptions/listen")[0].Params
		if memberIn(t, params, "notifications") != `{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:b"]}` || memberIn(t, params, "_meta", mcp.MetaProtocolVersion) == "" {
			t.Errorf("params %s", params)
		}
		time.Sleep(time.Hour) // listening has no timeout
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if n := f.received("notifications/cancelled"); len(n) != 1 || memberIn(t, n[0].Params, "requestId") != f.received("subscriptions/listen")[0].ID.String() {
			t.Errorf("cancellations %v", n)
		}
	})
}

func TestSubscribeRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		c := f.connect(nil)
		if _, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{}, func(context.Context, mcp.Notice) {}); !errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
			t.Errorf("%v", err)
		}
		f.on["subscriptions/listen"] = func(p *fakePeer, m *jsonrpc.Message) {}
		var te *mcp.TimeoutError
		if _, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{}, func(context.Context, mcp.Notice) {}); !errors.As(err, &te) {
			t.Errorf("never acknowledged: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Subscribe(ctx, mcp.SubscriptionFilter{}, func(context.Context, mcp.Notice) {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("given up: %v", err)
		}
		if _, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{}, nil); err == nil {
			t.Error("accepted no handler")
		}
	})
}

func TestCaseB02UpdatesReachTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["subscriptions/listen"] = func(p *fakePeer, m *jsonrpc.Message) {
			p.acknowledge(m.ID, memberIn(t, m.Params, "notifications"))
			for _, uri := range []string{"a:x", "a:x/sub", "a:xy", "b:x"} {
				p.notify("notifications/resources/updated", tagged(m.ID, fmt.Sprintf(`"uri":%q`, uri)))
			}
			p.notify("notifications/tasks", tagged(m.ID, `"taskId":"t"`))
			p.notify("notifications/cancelled", `{"requestId":"other"}`)
		}
		var h, g heard
		c := f.connect(nil)
		if _, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:x"}}, h.handle); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"b:x"}, TaskIDs: []string{"t", "u"}}, g.handle); err != nil {
			t.Fatal(err)
		}
		if got := h.take(); !slices.Equal(got, []string{"resource a:x", "resource a:x/sub"}) {
			t.Errorf("first heard %v", got)
		}
		if got := g.take(); !slices.Equal(got, []string{"resource b:x", "other"}) {
			t.Errorf("second heard %v", got)
		}
	})
}

func TestCaseB04LostStreamIsReopened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["subscriptions/listen"] = func(p *fakePeer, m *jsonrpc.Message) {
			n := len(f.received("subscriptions/listen"))
			if n == 4 || n == 5 {
				p.fail(m, -32603, "starting", "")
				return
			}
			p.acknowledge(m.ID, memberIn(t, m.Params, "notifications"))
			time.Sleep(2 * time.Minute)
			switch n {
			case 1:
				p.rwc.Close() // the connection is lost
			case 2:
				p.result(m, `{"resultType":"complete","_meta":`+memberIn(t, json.RawMessage(tagged(m.ID, "")), "_meta")+`}`) // ended in good order
			case 3:
				p.notify("notifications/cancelled", fmt.Sprintf(`{"requestId":%s}`, m.ID)) // ended, told otherwise
			case 6:
				p.fail(m, -32601, "gone for good", "")
			}
		}
		var h heard
		c := f.connect(nil)
		s, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"a:b"}}, h.handle)
		if err != nil {
			t.Fatal(err)
		}
		resumed := []string{"resumed", "tools gap", "resource a:b gap"}
		for i, want := range [][]string{
			append([]string{"interrupted err"}, resumed...),
			append([]string{"interrupted"}, resumed...),
			append([]string{"interrupted"}, resumed...), // told once, however many tries it takes
		} {
			time.Sleep(2*time.Minute + 20*time.Second)
			if got := h.take(); !slices.Equal(got, want) {
				t.Errorf("%d: heard %v", i, got)
			}
		}
		time.Sleep(2 * time.Minute)
		if err := s.Wait(t.Context()); !errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
			t.Errorf("ended by %v", err)
		}
		ids := map[jsonrpc.ID]bool{}
		for _, m := range f.received("subscriptions/listen") {
			if ids[m.ID] {
				t.Errorf("id %v was used twice", m.ID)
			}
			ids[m.ID] = true
		}
	})
}

// However many notices come while the handler works, they make one more call of it.
func TestCaseB05StormsArePutTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["subscriptions/listen"] = func(p *fakePeer, m *jsonrpc.Message) {
			p.acknowledge(m.ID, memberIn(t, m.Params, "notifications"))
			for range 200 {
				p.notify("notifications/tools/list_changed", tagged(m.ID, ""))
			}
		}
		calls := 0
		c := f.connect(nil)
		s, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, func(context.Context, mcp.Notice) {
			calls++
			time.Sleep(time.Second)
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		s.Close()
		if calls < 1 || calls > 2 {
			t.Errorf("%d calls", calls)
		}
	})
}

// A handler that panics is heard of in the log and called again.
func TestSubscriptionHandlerPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["subscriptions/listen"] = func(p *fakePeer, m *jsonrpc.Message) {
			p.acknowledge(m.ID, memberIn(t, m.Params, "notifications"))
			p.notify("notifications/tools/list_changed", tagged(m.ID, ""))
			time.Sleep(time.Second)
			p.notify("notifications/tools/list_changed", tagged(m.ID, ""))
		}
		book, calls := &clientLog{}, 0
		c := f.connect(&mcp.ClientOptions{Logger: book.logger()})
		if _, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, func(context.Context, mcp.Notice) {
			calls++
			panic("no")
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if calls != 2 || !strings.Contains(book.String(), "panic contained") {
			t.Errorf("%d calls; %s", calls, book)
		}
	})
}
