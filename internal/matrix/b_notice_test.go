package matrix_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/mcp"
)

// B02: an update reaches those who asked for that resource, under the id they asked with.
func TestCaseB02UpdatesReachTheirListeners(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		for _, id := range []string{"0", `"0"`, `"a b"`} {
			w := l.Wire(t, field)
			w.Request(id, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["note:///a"]}`)
			w.Notice("notifications/subscriptions/acknowledged").Has(t, `"io.modelcontextprotocol/subscriptionId":`+id)
			for i, uri := range []string{"note:///b", "other:///a", "note:///a"} {
				w.Ask(fmt.Sprintf(`"touch%d"`, i), "tools/call", `"name":"touch","arguments":{"uri":"`+uri+`"}`)
			}
			w.Notice("notifications/resources/updated").Has(t, `"uri":"note:///a"`, `"io.modelcontextprotocol/subscriptionId":`+id)
			for _, text := range w.Rest() {
				t.Errorf("the server said %s", text)
			}
		}
	}, matrix.Modern)
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		got := make(chan mcp.Notice, 10)
		c := l.Client(t, field, nil)
		sub, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"note:///a"}},
			func(_ context.Context, n mcp.Notice) { got <- n })
		if err != nil {
			t.Fatal(err)
		}
		for _, uri := range []string{"note:///b", "note:///a"} {
			if _, err := mcp.CallTool[string](t.Context(), c, "touch", map[string]string{"uri": uri}); err != nil {
				t.Fatal(err)
			}
		}
		if n := <-got; n.URI != "note:///a" || n.Gap {
			t.Errorf("got %+v", n)
		}
		if err := sub.Close(); err != nil {
			t.Error(err)
		}
	})
}

// stormy is a server that puts change notices together, as servers do by default.
var stormy = matrix.NewFixture("stormy", func() *mcp.Server {
	srv := mcp.NewServer("stormy", "1", &mcp.ServerOptions{Logger: quiet()})
	grow := func(n int) {
		for i := range n {
			name := fmt.Sprint("grown", i)
			srv.RemoveTools(name)
			mcp.AddTool(srv, &mcp.Tool{Name: name}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
		}
	}
	mcp.AddTool(srv, &mcp.Tool{Name: "grow"}, func(context.Context, *mcp.Call, struct{}) (string, error) { grow(100); return "grown", nil })
	return srv
})

// B05: a hundred changes are told once or twice, and not to a client that is not ready.
func TestCaseB05StormsAreCalmed(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, stormy)
		if l.Modern() {
			w.Request(`"listen"`, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
			w.Notice("notifications/subscriptions/acknowledged")
		}
		w.Ask("1", "tools/call", `"name":"grow","arguments":{}`).Has(t, "grown")
		w.Notice("notifications/tools/list_changed")
		w.Ask("2", "tools/call", `"name":"grow","arguments":{}`)
		w.Notice("notifications/tools/list_changed")
		more := strings.Count(strings.Join(w.Rest(), "\n"), "list_changed")
		if more > 4 {
			t.Errorf("%d more notices", more)
		}
	})
}
