package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

// withMeta serves a tools/call of "t" with further members in _meta, and returns the reply and what was streamed.
func withMeta(t *testing.T, s *testServer, meta string) (string, []string) {
	t.Helper()
	stream := &recorder{}
	x := exchange(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+metaText[:len(metaText)-1]+`,`+meta+`},"name":"t"}}`)
	x.Stream = stream
	got, _ := s.serve(t.Context(), x)
	return got, stream.lines()
}

func TestServerProgress(t *testing.T) {
	s, _ := serverTool(t, &mcp.Tool{}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		for _, p := range []float64{0, 50, 50, 20, 100} {
			if err := c.Progress(ctx, p, 100, fmt.Sprint("at ", p)); err != nil {
				return "", err
			}
		}
		if c.Progress(ctx, math.NaN(), 0, "") == nil || c.Progress(ctx, 1, math.Inf(1), "") == nil {
			return "", errors.New("infinite progress")
		}
		return "ok", c.Progress(ctx, 100.5, 0, "")
	})
	got, sent := withMeta(t, s, `"progressToken":"a\"b"`)
	want(t, got, `"text":"ok"`)
	if len(sent) != 4 {
		t.Fatalf("sent %v", sent)
	}
	if sent[1] != `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a\"b","progress":50,"total":100,"message":"at 50"}}` {
		t.Error(sent[1])
	}
	if sent[3] != `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a\"b","progress":100.5}}` {
		t.Error(sent[3])
	}
	for _, none := range []string{`"progressToken":null`, `"progressToken":1.5`, `"progressToken":{}`, `"x":1`} {
		if _, sent := withMeta(t, s, none); len(sent) != 0 {
			t.Errorf("%s: sent %v", none, sent)
		}
	}
	if _, sent := withMeta(t, s, `"progressToken":9007199254740993`); len(sent) != 4 || !strings.Contains(sent[0], `"progressToken":9007199254740993,`) {
		t.Errorf("sent %v", sent)
	}
}

func TestServerLogging(t *testing.T) {
	s, _ := serverTool(t, &mcp.Tool{}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		log := c.Logger()
		log.Debug("d")
		log.With("a", 1).WithGroup("g").Info("hello", "b", "x")
		log.Log(ctx, slog.LevelInfo+2, "n")
		log.Warn("w")
		log.Error("e")
		log.Log(ctx, slog.LevelError+4, "c")
		if err := c.Log(ctx, "loud", "", nil); err == nil {
			return "", errors.New("an unknown level was logged")
		}
		if log.Enabled(ctx, slog.LevelInfo) {
			if err := c.Log(ctx, mcp.LevelAlert, "", func() {}); err == nil {
				return "", errors.New("a function was logged")
			}
		}
		return "ok", c.Log(ctx, mcp.LevelEmergency, "core", []int{1})
	})
	if _, sent := withMeta(t, s, `"x":1`); len(sent) != 0 {
		t.Errorf("without logLevel: %v", sent)
	}
	got, sent := withMeta(t, s, `"io.modelcontextprotocol/logLevel":"info"`)
	want(t, got, `"text":"ok"`)
	levels := []string{"info", "notice", "warning", "error", "critical", "emergency"}
	if len(sent) != len(levels) {
		t.Fatalf("sent %v", sent)
	}
	for i, level := range levels {
		want(t, sent[i], `"method":"notifications/message"`, `"level":"`+level+`"`)
	}
	want(t, sent[0], `"data":{"msg":"hello","a":1,"g":{"b":"x"}}`)
	want(t, sent[5], `"logger":"core","data":[1]`)
	quiet := newServer(t, &mcp.ServerOptions{NoLogging: true})
	mcp.AddTool(quiet.Server, &mcp.Tool{Name: "t"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return "", c.Log(ctx, mcp.LevelEmergency, "", 1)
	})
	if _, sent := withMeta(t, quiet, `"io.modelcontextprotocol/logLevel":"debug"`); len(sent) != 0 {
		t.Errorf("sent %v", sent)
	}
}

func TestCaseN15ServerLateSendsAreRefused(t *testing.T) {
	var (
		wg   sync.WaitGroup
		late = make(chan struct{})
		errs = make(chan error, 3)
	)
	s, _ := serverTool(t, &mcp.Tool{}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		for i := range 50 {
			wg.Go(func() {
				_ = c.Progress(ctx, float64(i), 0, "")
				_ = c.Log(ctx, mcp.LevelInfo, "", i)
			})
		}
		wg.Go(func() {
			<-late
			errs <- c.Progress(ctx, 1000, 0, "")
			errs <- c.Log(ctx, mcp.LevelInfo, "", "late")
			errs <- c.Notify(ctx, "x/y", nil)
		})
		return "ok", nil
	})
	withMeta(t, s, `"progressToken":1,"io.modelcontextprotocol/logLevel":"debug"`)
	close(late)
	wg.Wait()
	for range 3 {
		if err := <-errs; !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("a late send returned %v", err)
		}
	}
}

func TestServerCallTellsWhoCalls(t *testing.T) {
	s, _ := serverTool(t, &mcp.Tool{}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		var trace string
		if _, err := c.Meta().Get("traceparent", &trace); err != nil {
			return "", err
		}
		if err := c.Notify(ctx, "com.example/hello", map[string]int{"a": 1}); err != nil {
			return "", err
		}
		if err := c.Notify(ctx, "com.example/hello", 5); err == nil {
			return "", errors.New("params that are a number were accepted")
		}
		return fmt.Sprint(c.Method(), " ", c.Name(), " ", c.Revision(), " ", c.ClientInfo().Name, " ", c.ClientCapabilities().Elicitation.HasForm(), " ",
			trace, " ", c.ID(), " ", c.Principal() == nil, " ", c.Session() == nil, " ", len(c.Params()) > 0), nil
	})
	x := exchange(t, `{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"joe","version":"1"},"traceparent":"00-1"},"name":"t"}}`)
	stream := &recorder{}
	x.Stream = stream
	got, _ := s.serve(t.Context(), x)
	want(t, got, `"text":"tools/call t 2026-07-28 joe true 00-1 \"q\" true true true"`)
	if lines := stream.lines(); len(lines) != 1 || lines[0] != `{"jsonrpc":"2.0","method":"com.example/hello","params":{"a":1}}` {
		t.Errorf("sent %v", lines)
	}
	var zero mcp.Call
	if zero.Params() != nil || zero.Meta() != nil || zero.Session() != nil || !zero.ID().IsZero() || zero.Progress(t.Context(), 1, 1, "") != nil || zero.Notify(t.Context(), "x", nil) != nil {
		t.Error("the zero Call does not behave")
	}
}

func TestServerCustomMethods(t *testing.T) {
	s := newServer(t, nil)
	type in struct {
		Name string `json:"name"`
		N    int64  `json:"n"`
	}
	mcp.HandleMethod(s.Server, "com.example/add", func(_ context.Context, _ *mcp.Call, p in) (map[string]int64, error) {
		if p.N == 0 {
			return nil, mcp.ToolErrorf("n is 0")
		}
		return map[string]int64{"n": p.N + 1}, nil
	})
	want(t, s.modern(t, "com.example/add", `"n":9007199254740993`), `"result":{"n":9007199254740994,"resultType":"complete","_meta"`)
	want(t, s.modern(t, "com.example/add", `"n":"x"`), "-32602", "/n is a string")
	want(t, s.modern(t, "com.example/add", `"n":0`), "-32603", "n is 0")
	mcp.HandleMethod(s.Server, "com.example/bad", func(context.Context, *mcp.Call, struct{}) (int, error) { return 5, nil })
	want(t, s.modern(t, "com.example/bad", ""), "-32603", "internal error")
	mcp.HandleMethod(s.Server, "com.example/raw", func(context.Context, *mcp.Call, struct{}) (json.RawMessage, error) {
		return json.RawMessage(`{"resultType":"com.example/other","ttlMs":5,"cacheScope":"public","_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"forged"}},"x":[1, 2]}`), nil
	})
	got := s.modern(t, "com.example/raw", "")
	want(t, got, `{"x":[1, 2],"resultType":"com.example/other","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1.0"},"a":1}}`)

	heard := ""
	mcp.HandleNotification(s.Server, "notifications/roots/list_changed", func(_ context.Context, c *mcp.Call, p in) error {
		heard = c.Method() + p.Name
		return nil
	})
	mcp.HandleNotification(s.Server, "com.example/fail", func(context.Context, *mcp.Call, in) error { return errors.New("went wrong") })
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{` + metaText + `,"name":"!"}}`,
		`{"jsonrpc":"2.0","method":"com.example/fail","params":{` + metaText + `,"name":"!"}}`,
		`{"jsonrpc":"2.0","method":"com.example/fail","params":{` + metaText + `,"name":5}}`,
	} {
		if got, status := s.serve(t.Context(), exchange(t, line)); got != "" || status != 202 {
			t.Errorf("%s: %s %d", line, got, status)
		}
	}
	if heard != "notifications/roots/list_changed!" {
		t.Errorf("heard %q", heard)
	}
	want(t, s.log.String(), "went wrong", "/name is a number")
	mcp.HandleMethod[struct{}, struct{}](s.Server, "com.example/add", nil)
	want(t, s.modern(t, "com.example/add", ""), "-32601")
	for _, name := range []string{"", "tools/call", "com.example/raw"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was taken over", name)
				}
			}()
			mcp.HandleMethod(s.Server, name, func(context.Context, *mcp.Call, struct{}) (struct{}, error) { return struct{}{}, nil })
		}()
	}
	defer func() {
		if recover() == nil {
			t.Error("notifications/cancelled was taken over")
		}
	}()
	mcp.HandleNotification(s.Server, "notifications/cancelled", func(context.Context, *mcp.Call, struct{}) error { return nil })
}

// statusError chooses an HTTP status.
type statusError struct{}

func (statusError) Error() string   { return "scope is missing" }
func (statusError) HTTPStatus() int { return 401 }

func TestServerMiddlewareAndAuthorize(t *testing.T) {
	var seen []string
	s := newServer(t, &mcp.ServerOptions{Authorize: func(_ context.Context, c *mcp.Call) error {
		switch c.Name() {
		case "forbidden":
			return errors.New("hunter2")
		case "coded":
			return &mcp.Error{Code: 77, Message: "no"}
		case "status":
			return statusError{}
		}
		return nil
	}})
	for _, name := range []string{"t", "forbidden", "coded", "status"} {
		mcp.AddTool(s.Server, &mcp.Tool{Name: name}, func(context.Context, *mcp.Call, struct{}) (string, error) { return name, nil })
	}
	mw := func(name string) mcp.Middleware {
		return func(next mcp.Handler) mcp.Handler {
			return func(ctx context.Context, c *mcp.Call) (any, error) {
				seen = append(seen, name+" "+c.Method())
				result, err := next(ctx, c)
				if r, ok := result.(*mcp.CallToolResult); ok {
					r.Content = append(r.Content, &mcp.TextContent{Text: name})
				}
				return result, err
			}
		}
	}
	s.Use(mw("a"), mw("b"))
	s.Use(mw("c"))
	got := s.modern(t, "tools/call", `"name":"t"`)
	want(t, got, `{"type":"text","text":"t"},{"type":"text","text":"c"},{"type":"text","text":"b"},{"type":"text","text":"a"}`)
	if fmt.Sprint(seen) != "[a tools/call b tools/call c tools/call]" {
		t.Errorf("order: %v", seen)
	}
	for name, tc := range map[string]struct {
		status int
		right  string
	}{"forbidden": {403, "not permitted"}, "coded": {403, `"code":77`}, "status": {401, "not permitted"}} {
		x := exchange(t, modernLine(1, "tools/call", `"name":"`+name+`"`))
		got, status := s.serve(t.Context(), x)
		want(t, got, tc.right)
		wantNot(t, got, "hunter2")
		if status != tc.status || x.Refusal() == nil {
			t.Errorf("%s: status %d, refusal %v", name, status, x.Refusal())
		}
	}
}

func TestServerExtensions(t *testing.T) {
	s, _ := serverTool(t, &mcp.Tool{}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		settings, ok := c.Extension("com.example/x")
		return fmt.Sprintf("%s %v", settings, ok), c.RequireExtension("com.example/x")
	})
	if err := s.DeclareExtension("com.example/x", map[string]int{"v": 1}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "x", "/x", "x/", "example/x", ".com/x", "com./x"} {
		if s.DeclareExtension(id, nil) == nil {
			t.Errorf("%q was declared", id)
		}
	}
	want(t, s.modern(t, "server/discover", ""), `"extensions":{"com.example/x":{"v":1}}`)
	want(t, s.modern(t, "tools/call", `"name":"t"`), `"code":-32021`, `"requiredCapabilities":{"extensions":{"com.example/x":{}}}`)
	got, _ := s.serve(t.Context(), exchange(t, strings.Replace(modernLine(1, "tools/call", `"name":"t"`), `clientCapabilities":{}`, `clientCapabilities":{"extensions":{"com.example/x":{"w":2}}}`, 1)))
	want(t, got, `{\"w\":2} true`)
}
