//go:build !mcp_modern_only

package mcp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

func initLine(revision string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"0"}}}`, revision)
}

const readyLine = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

func TestServerStreamBothEras(t *testing.T) {
	s := fullServer(t, nil)
	c := s.connect(t)
	want(t, c.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), `{"jsonrpc":"2.0","id":1,"result":{}}`) // V11
	want(t, c.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`), "initialize")
	bad := strings.ReplaceAll(modernLine(3, "server/discover", ""), "2026-07-28", "2099-01-01")
	want(t, c.ask(bad), "-32022") // V09
	want(t, c.ask(modernLine(4, "tools/list", "")), `"resultType"`)
	want(t, c.ask(initLine("2025-11-25")), `"id":"init"`, `"protocolVersion":"2025-11-25"`)
	want(t, c.ask(`{"jsonrpc":"2.0","id":5,"method":"ping"}`), `"result":{}`)
	c.send(readyLine)
	legacy := c.ask(`{"jsonrpc":"2.0","id":6,"method":"tools/list"}`)
	want(t, legacy, `"id":6`, `"name":"echo"`)
	wantNot(t, legacy, "resultType")
	want(t, c.ask(modernLine(7, "tools/list", "")), `"resultType"`)
	want(t, c.ask(initLine("2025-06-18")), "-32600", "before")
	s.RemoveTools("echo")
	want(t, c.line(), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

func TestServerStreamLegacyOnly(t *testing.T) {
	s := fullServer(t, &mcp.ServerOptions{Revisions: []mcp.Revision{mcp.Revision20250618, mcp.Revision20250326}})
	c := s.connect(t)
	want(t, c.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), "-32600", "initialize")
	want(t, c.ask(modernLine(1, "server/discover", "")), "error")
	want(t, c.ask(initLine("2025-11-25")), `"protocolVersion":"2025-06-18"`)
}

func TestServerStreamInitializeFails(t *testing.T) {
	s := fullServer(t, nil)
	c := s.connect(t)
	want(t, c.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`), "-32602")
	want(t, c.ask(initLine("2025-11-25")), `"protocolVersion":"2025-11-25"`)
}

func TestServerStreamCancelInASession(t *testing.T) {
	s := newServer(t, nil)
	began, ended := make(chan struct{}), make(chan struct{})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return "late", nil
	})
	c := s.connect(t)
	c.ask(initLine("2025-11-25"))
	c.send(readyLine, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`)
	<-began
	want(t, c.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`), `"id":2`) // during a running call
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	<-ended
	want(t, c.ask(`{"jsonrpc":"2.0","id":3,"method":"ping"}`), `"id":3`)
}

func TestServerStreamRequestToTheClient(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		got, err := mcp.CallClient[map[string]int, map[string]string](ctx, c, "x/name", nil)
		return got["name"], err
	})
	c := s.connect(t)
	c.ask(initLine("2025-06-18"))
	asked := c.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`)
	want(t, asked, `"method":"x/name"`)
	c.send(`{"jsonrpc":"2.0","id":77,"result":{"name":"nobody"}}`)
	want(t, c.ask(`{"jsonrpc":"2.0","id":`+at(t, asked, "id")+`,"result":{"name":"Ann"}}`), `"id":1`, `"text":"Ann"`)
}

func TestServerStreamBatches(t *testing.T) {
	s := fullServer(t, nil)
	c := s.connect(t)
	batch := `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"no/such"},{"jsonrpc":"2.0","id":2},` +
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}},{"jsonrpc":"2.0","id":9,"result":{}},` + initLine("2025-03-26") + `]`
	want(t, c.ask(batch), "-32600") // before initialize there are no batches
	c.ask(initLine("2025-03-26"))
	got := c.ask(batch)
	if !strings.HasPrefix(got, "[") || strings.Count(got, `"jsonrpc"`) != 4 {
		t.Fatalf("got %s", got)
	}
	want(t, got, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,`, `{"jsonrpc":"2.0","id":3,"result":`, `"id":"init","error":`)
	c.send(`[{"jsonrpc":"2.0","method":"no/such"}]`) // nothing to answer
	want(t, c.ask(`[]`), "-32600")
	want(t, c.ask(`{"jsonrpc":"2.0","id":5,"method":"ping"}`), `"id":5`)

	c = s.connect(t)
	c.ask(initLine("2025-06-18"))
	want(t, c.ask(batch), "-32600") // batches were removed
}
