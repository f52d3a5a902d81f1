package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

func toolNames(seq iter.Seq2[*mcp.Tool, error]) ([]string, error) {
	var out []string
	for tool, err := range seq {
		if err != nil {
			return out, err
		}
		out = append(out, tool.Name)
	}
	return out, nil
}

func tool(name string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
}

func toolPage(next string, tools ...string) string {
	out := `{"resultType":"complete","tools":[` + strings.Join(tools, ",") + `]`
	if next != "" {
		out += `,"nextCursor":` + next
	}
	return out + `}`
}

func TestCaseP01EmptyCursorGoesOn(t *testing.T) {
	f := modernFake(t)
	f.on["tools/list"] = func(p *fakePeer, m *jsonrpc.Message) {
		if memberIn(t, m.Params, "cursor") == `""` {
			p.result(m, toolPage("", tool("b")))
			return
		}
		p.result(m, toolPage(`""`, tool("a")))
	}
	got, err := toolNames(f.connect(nil).Tools(t.Context()))
	if err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v %v", got, err)
	}
	// A server that means by it that this was the last page repeats the page.
	g := modernFake(t)
	g.on["tools/list"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, toolPage(`""`, tool("a"))) }
	got, err = toolNames(g.connect(nil).Tools(t.Context()))
	if err != nil || !slices.Equal(got, []string{"a"}) || len(g.received("tools/list")) != 2 {
		t.Errorf("%v %v after %d requests", got, err, len(g.received("tools/list")))
	}
}

func TestCaseP02CursorsThatDoNotAdvance(t *testing.T) {
	for name, next := range map[string]func(n int) string{
		"the same":    func(int) string { return `"c"` },
		"alternating": func(n int) string { return fmt.Sprintf(`"c%d"`, n%2) },
		"endless":     func(n int) string { return fmt.Sprintf(`"c%d"`, n) },
	} {
		t.Run(name, func(t *testing.T) {
			f := modernFake(t)
			f.on["tools/list"] = func(p *fakePeer, m *jsonrpc.Message) {
				p.result(m, toolPage(next(len(f.received("tools/list"))), tool("a"), tool("b")))
			}
			got, err := toolNames(f.connect(&mcp.ClientOptions{MaxPages: 50}).Tools(t.Context()))
			if err == nil || !slices.Equal(got, []string{"a", "b"}) || len(f.received("tools/list")) > 50 {
				t.Errorf("%v %v", got, err)
			}
		})
	}
}

func TestCaseK03K04OneBadToolDoesNotHideTheOthers(t *testing.T) {
	f := modernFake(t)
	f.on["tools/list"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.result(m, toolPage("", tool("good"), `{"inputSchema":{"type":"object"}}`, `{"name":"none"}`, `{"name":"null","inputSchema":null}`, `{"name":5}`, `null`,
			tool("good"), `{"name":"old","inputSchema":{"type":"object","properties":{"a":{"type":"string","required":true},"b":{"type":["string","null"]},"c":{"items":true},"required":[]}}}`,
			`{"name":"big","description":"`+strings.Repeat("x", 1<<20)+`","inputSchema":{"type":"object"}}`))
	}
	book := &clientLog{}
	c := f.connect(&mcp.ClientOptions{Logger: book.logger()})
	got, err := toolNames(c.Tools(t.Context()))
	if err != nil || !slices.Equal(got, []string{"good", "old", "big"}) {
		t.Errorf("%v %v", got, err)
	}
	if n := strings.Count(book.String(), "left out"); n != 6 {
		t.Errorf("%d lines in the log: %s", n, book)
	}
	for _, bad := range []string{`{"resultType":"complete"}`, `{"tools":null}`, `{"tools":{}}`, `{"tools":[],"nextCursor":5}`} {
		f.on["tools/list"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, bad) }
		var re *mcp.ResultError
		if _, err := c.ListTools(t.Context(), nil); !errors.As(err, &re) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestOtherLists(t *testing.T) {
	f := modernFake(t)
	f.on["prompts/list"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, `{"prompts":[{"name":"p"},{}]}`) }
	f.on["resources/list"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.result(m, `{"resources":[{"uri":"a:b","name":"r"},{"name":"x"}]}`)
	}
	f.on["resources/templates/list"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.result(m, `{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"t"},{"name":"x"}]}`)
	}
	f.on["prompts/get"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.result(m, `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`)
	}
	f.on["completion/complete"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, `{"completion":{"values":["a"]}}`) }
	c := f.connect(nil)
	ctx := t.Context()
	var got []string
	for p, err := range c.Prompts(ctx) {
		got = append(got, fmt.Sprint(p.Name, err))
	}
	for r, err := range c.Resources(ctx) {
		got = append(got, fmt.Sprint(r.URI, err))
	}
	for r, err := range c.ResourceTemplates(ctx) {
		got = append(got, fmt.Sprint(r.URITemplate, err))
		break
	}
	if !slices.Equal(got, []string{"p<nil>", "a:b<nil>", "a:{b}<nil>"}) {
		t.Errorf("%v", got)
	}
	if l, err := c.ListPrompts(ctx, nil); err != nil || len(l.Prompts) != 1 {
		t.Error(l, err)
	}
	if l, err := c.ListResources(ctx, nil); err != nil || len(l.Resources) != 1 {
		t.Error(l, err)
	}
	if l, err := c.ListResourceTemplates(ctx, nil); err != nil || len(l.ResourceTemplates) != 1 {
		t.Error(l, err)
	}
	if r, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p"}); err != nil || len(r.Messages) != 1 {
		t.Error(r, err)
	}
	if r, err := c.Complete(ctx, &mcp.CompleteParams{Ref: mcp.Reference{Type: mcp.RefPrompt, Name: "p"}}); err != nil || r.Completion.Values[0] != "a" {
		t.Error(r, err)
	}
	if d, err := c.Discover(ctx); err != nil || d.SupportedVersions[0] != "2026-07-28" {
		t.Error(d, err)
	}
	delete(f.on, "prompts/list")
	for _, err := range c.Prompts(ctx) {
		if err == nil {
			t.Error("no error from a server without prompts")
		}
	}
	_, e1 := c.GetPrompt(ctx, nil)
	_, e2 := c.ReadResource(ctx, nil)
	_, e3 := c.Complete(ctx, nil)
	if e1 == nil || e2 == nil || e3 == nil {
		t.Error("missing parameters were accepted")
	}
	if err := c.RootsChanged(ctx); err != nil || len(f.received("notifications/roots/list_changed")) != 0 {
		t.Error("roots/list_changed was sent at 2026-07-28")
	}
}

func TestCaseP05OneErrorForMissingResources(t *testing.T) {
	f := modernFake(t)
	f.on["resources/read"] = func(p *fakePeer, m *jsonrpc.Message) {
		switch memberIn(t, m.Params, "uri") {
		case `"old:x"`:
			p.fail(m, -32002, "Resource not found", "")
		case `"new:x"`:
			p.fail(m, -32602, "resource not found", `{"uri":"new:x"}`)
		default:
			p.fail(m, -32602, "bad", "")
		}
	}
	c := f.connect(nil)
	for _, uri := range []string{"old:x", "new:x"} {
		_, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		var e *mcp.Error
		if !errors.Is(err, mcp.ErrNotFound) || !errors.As(err, &e) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "other:x"}); err == nil || errors.Is(err, mcp.ErrNotFound) {
		t.Errorf("other: %v", err)
	}
}

// headerPipe is a transport whose links repeat arguments in headers, as HTTP does.
type headerPipe struct {
	mcp.Transport
	mu   sync.Mutex
	sent []mcp.Outgoing
	auth string
}

type headerLink struct {
	mcp.Link
	t *headerPipe
}

func (h *headerPipe) Open(ctx context.Context, r mcp.Receiver) (mcp.Link, error) {
	l, err := h.Transport.Open(ctx, r)
	return &headerLink{l, h}, err
}

func (l *headerLink) MirrorsHeaders(rev mcp.Revision) bool { return rev == mcp.Revision20260728 }

func (l *headerLink) AuthContext() string {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	return l.t.auth
}

func (l *headerLink) RoundTrip(ctx context.Context, o *mcp.Outgoing) (*jsonrpc.Message, error) {
	l.t.mu.Lock()
	l.t.sent = append(l.t.sent, *o)
	l.t.mu.Unlock()
	return l.Link.RoundTrip(ctx, o)
}

func TestMirroredArguments(t *testing.T) {
	f := modernFake(t)
	schema := `{"name":"x","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"Num"},` +
		`"b":{"type":"boolean","x-mcp-header":"Flag"},"in":{"type":"object","properties":{"d":{"type":"string","x-mcp-header":"Deep"}}}}}}`
	f.on["tools/list"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.result(m, toolPage("", schema, `{"name":"bad","inputSchema":{"type":"object","properties":{"r":{"type":"number","x-mcp-header":"R"}}}}`))
	}
	listed := false
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		if !listed {
			listed = true
			p.fail(m, -32020, "Mcp-Param-Region is missing", "")
			return
		}
		p.result(m, textResult("ok"))
	}
	h := &headerPipe{Transport: mcp.Pipe(f.serve)}
	c, err := mcp.Connect(t.Context(), h, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	// The schema is not known at first: the refusal makes the client list the tools, and call again once.
	if s, err := mcp.CallTool[string](ctx, c, "x", map[string]any{"r": "eu", "n": 42, "b": true, "in": map[string]any{"d": ""}}); err != nil || s != "ok" {
		t.Errorf("%q %v", s, err)
	}
	last := func() mcp.Outgoing { return h.sent[len(h.sent)-1] }
	want := []mcp.MirroredParam{{Name: "Region", Value: "eu"}, {Name: "Num", Value: "42"}, {Name: "Flag", Value: "true"}, {Name: "Deep", Value: ""}}
	if got := last(); !slices.Equal(got.Mirrored, want) || got.Name != "x" {
		t.Errorf("mirrored %v of %q", got.Mirrored, got.Name)
	}
	for args, want := range map[string][]mcp.MirroredParam{
		`{}`:                           nil,
		`{"r":null,"n":1e2}`:           {{Name: "Num", Value: "100"}},
		`{"n":-9007199254740991}`:      {{Name: "Num", Value: "-9007199254740991"}},
		`{"n":1.5,"r":["x"]}`:          {{Name: "Num", Value: "1.5"}},
		`{"in":{"d":"a b"},"b":false}`: {{Name: "Flag", Value: "false"}, {Name: "Deep", Value: "a b"}},
		`{"in":5}`:                     nil,
	} {
		if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "x", Arguments: json.RawMessage(args)}); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		if got := last().Mirrored; !slices.Equal(got, want) {
			t.Errorf("%s: mirrored %v, want %v", args, got, want)
		}
	}
	for _, n := range []string{"9007199254740992", "-9007199254740992", "1e30", "99999999999999999999"} {
		if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "x", Arguments: json.RawMessage(`{"n":` + n + `}`)}); err == nil {
			t.Errorf("%s was sent", n)
		}
	}
	// Case H12: the tool whose annotation is invalid is left out here, and kept where there are no headers.
	if got, err := toolNames(c.Tools(ctx)); err != nil || !slices.Equal(got, []string{"x"}) {
		t.Errorf("over HTTP: %v %v", got, err)
	}
	if got, err := toolNames(f.connect(nil).Tools(ctx)); err != nil || !slices.Equal(got, []string{"x", "bad"}) {
		t.Errorf("elsewhere: %v %v", got, err)
	}
	if _, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "pp"}); err == nil || last().Name != "pp" {
		t.Errorf("name of a prompt: %q", last().Name)
	}
	if _, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "u:r"}); err == nil || last().Name != "u:r" {
		t.Errorf("name of a resource: %q", last().Name)
	}
}

func TestCaseK08OutputSchema(t *testing.T) {
	f := modernFake(t)
	f.on["tools/list"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.result(m, toolPage("", `{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`,
			`{"name":"odd","inputSchema":{"type":"object"},"outputSchema":{"$schema":"https://example.test/unknown","type":7}}`))
	}
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, memberIn(t, m.Params, "arguments")) }
	c := f.connect(&mcp.ClientOptions{ValidateOutput: true})
	call := func(name, res string) error {
		got, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(res)})
		if err != nil && got == nil {
			t.Errorf("%s: the result is lost: %v", res, err)
		}
		return err
	}
	if err := call("x", `{"content":[]}`); err != nil {
		t.Errorf("before the schema is known: %v", err)
	}
	if _, err := toolNames(c.Tools(t.Context())); err != nil {
		t.Fatal(err)
	}
	var oe *mcp.OutputError
	for res, ok := range map[string]bool{
		`{"content":[],"structuredContent":{"n":1}}`:   true,
		`{"content":[],"structuredContent":{"n":"x"}}`: false,
		`{"content":[]}`:                false,
		`{"content":[],"isError":true}`: true,
		`{"content":[],"isError":true,"structuredContent":{"n":"x"}}`: true,
	} {
		if err := call("x", res); (err == nil) != ok || err != nil && !errors.As(err, &oe) {
			t.Errorf("%s: %v", res, err)
		}
	}
	if err := call("odd", `{"content":[],"structuredContent":{}}`); !errors.As(err, &oe) {
		t.Errorf("a schema that cannot be used: %v", err)
	}
}

func cacheable(ttl int, scope, rest string) string {
	return fmt.Sprintf(`{"resultType":"complete","ttlMs":%d,"cacheScope":%q,%s}`, ttl, scope, rest)
}

func TestResponseCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		ttl, scope := 10_000, "private"
		f.on["tools/list"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, cacheable(ttl, scope, `"tools":[`+tool("a")+`]`)) }
		f.on["resources/read"] = func(p *fakePeer, m *jsonrpc.Message) {
			if memberIn(t, m.Params, "uri") == `"ask:x"` && memberIn(t, m.Params, "inputResponses") == "" {
				p.result(m, inputRequired(`{"q":`+formAsk+`}`, ""))
				return
			}
			p.result(m, cacheable(ttl, scope, `"contents":[]`))
		}
		shared := mcp.NewResponseCache(nil)
		c := f.connect(&mcp.ClientOptions{Cache: shared, Interactor: accepting(`{"to":"x"}`)})
		ctx := t.Context()
		list := func(c *mcp.Client, o ...*mcp.RequestOptions) *mcp.ListToolsResult {
			t.Helper()
			res, err := c.ListTools(ctx, nil, o...)
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		count := func(method string, want int, why string) {
			t.Helper()
			if n := len(f.received(method)); n != want {
				t.Errorf("%s: %d requests, want %d", why, n, want)
			}
		}
		res := list(c)
		res.Tools[0].Name = "spoiled"
		if list(c).Tools[0].Name != "a" {
			t.Error("one caller can spoil what another gets")
		}
		count("tools/list", 1, "fresh")
		time.Sleep(10 * time.Second)
		list(c)
		count("tools/list", 2, "stale")
		list(c, &mcp.RequestOptions{Fresh: true})
		count("tools/list", 3, "Fresh")
		f.last().notify("notifications/tools/list_changed", "")
		synctest.Wait()
		list(c)
		count("tools/list", 4, "changed")
		d := f.connect(&mcp.ClientOptions{Cache: shared})
		list(d)
		count("tools/list", 5, "private results are not shared")
		scope = "public"
		list(c, &mcp.RequestOptions{Fresh: true})
		e := f.connect(&mcp.ClientOptions{Cache: shared})
		list(e)
		count("tools/list", 6, "public results are shared")
		off := f.connect(&mcp.ClientOptions{NoCache: true})
		list(off)
		list(off)
		count("tools/list", 8, "NoCache")

		read := func(uri string) {
			t.Helper()
			if _, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			read("a:x/y")
			read("a:z")
		}
		count("resources/read", 2, "resources")
		f.peers[0].notify("notifications/resources/updated", `{"uri":"a:x"}`)
		synctest.Wait()
		read("a:x/y")
		read("a:z")
		count("resources/read", 3, "the one under the changed one")
		read("ask:x")
		read("ask:x")
		count("resources/read", 7, "what took questions is not kept")
		for _, odd := range []int{0, -5} {
			ttl = odd
			read(fmt.Sprint("odd:", odd))
			read(fmt.Sprint("odd:", odd))
		}
		count("resources/read", 11, "no time to live")
	})
}

// A change that is told while the list is on its way makes what comes stale.
func TestCacheChangeDuringRequest(t *testing.T) {
	f := modernFake(t)
	f.on["tools/list"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.notify("notifications/tools/list_changed", "")
		p.result(m, cacheable(1e6, "public", `"tools":[]`))
	}
	c := f.connect(nil)
	for range 2 {
		if _, err := c.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.received("tools/list")); n != 2 {
		t.Errorf("%d requests", n)
	}
}

func TestCacheIsBoundedAndPerIdentity(t *testing.T) {
	f := modernFake(t)
	f.on["resources/read"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, cacheable(1e6, "private", `"contents":[]`)) }
	h := &headerPipe{Transport: mcp.Pipe(f.serve), auth: "alice"}
	c, err := mcp.Connect(t.Context(), h, &mcp.ClientOptions{Cache: mcp.NewResponseCache(&mcp.CacheOptions{MaxEntries: 2})})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	read := func(uri string) {
		t.Helper()
		if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
	}
	for _, uri := range []string{"a:1", "a:2", "a:1", "a:3", "a:1", "a:2"} { // 2 is the least recently used when 3 comes
		read(uri)
	}
	if n := len(f.received("resources/read")); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
	h.mu.Lock()
	h.auth = "bob"
	h.mu.Unlock()
	read("a:2")
	if n := len(f.received("resources/read")); n != 5 {
		t.Error("bob got what was kept for alice")
	}
}

// A cursor from a kept page that the server no longer knows makes the iteration begin again.
func TestCursorOfAKeptPageExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		era := "1"
		f.on["tools/list"] = func(p *fakePeer, m *jsonrpc.Message) {
			switch memberIn(t, m.Params, "cursor") {
			case "":
				p.result(m, cacheable(1e6, "public", `"tools":[`+tool("a")+`],"nextCursor":"`+era+`"`))
			case `"` + era + `"`:
				p.result(m, cacheable(0, "public", `"tools":[`+tool("b")+`]`))
			default:
				p.fail(m, -32602, "unknown cursor", "")
			}
		}
		c := f.connect(nil)
		for range 2 {
			if got, err := toolNames(c.Tools(t.Context())); err != nil || !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("%v %v", got, err)
			}
			era = "2"
		}
		f.on["tools/list"] = func(p *fakePeer, m *jsonrpc.Message) { p.fail(m, -32602, "no", "") }
		if _, err := toolNames(c.Tools(t.Context(), &mcp.RequestOptions{Fresh: true})); err == nil {
			t.Error("no error")
		}
	})
}
