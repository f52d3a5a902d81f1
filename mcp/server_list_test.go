package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/seed38e7925c/parley/mcp"
)

func addNumbered(s *mcp.Server, from, to int) {
	for i := from; i < to; i++ {
		mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("t%d", i)}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
	}
}

// names returns the names on one page and its cursor.
func names(t *testing.T, page string) (out []string, cursor string) {
	t.Helper()
	var r struct {
		Result struct {
			Tools      []struct{ Name string }
			NextCursor *string
		}
	}
	if err := json.Unmarshal([]byte(page), &r); err != nil {
		t.Fatal(err)
	}
	for _, tl := range r.Result.Tools {
		out = append(out, tl.Name)
	}
	if r.Result.NextCursor != nil {
		cursor = *r.Result.NextCursor
	}
	return out, cursor
}

func page(t *testing.T, s *testServer, cursor string) ([]string, string) {
	t.Helper()
	params := ""
	if cursor != "" {
		params = fmt.Sprintf(`"cursor":%q`, cursor)
	}
	return names(t, s.modern(t, "tools/list", params))
}

func TestServerPagination(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{PageSize: 3})
	addNumbered(s.Server, 0, 8)
	var all []string
	for cursor, rounds := "", 0; ; rounds++ {
		got, next := page(t, s, cursor)
		all = append(all, got...)
		if cursor = next; cursor == "" {
			break
		}
		if rounds > 5 {
			t.Fatal("the pages do not end")
		}
	}
	if want := []string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"}; !slices.Equal(all, want) {
		t.Errorf("got %v", all)
	}
	_, first := page(t, s, "")
	s.RemoveTools("t2", "t4") // t2 is what the cursor names
	addNumbered(s.Server, 8, 9)
	got, next := page(t, s, first)
	if !slices.Equal(got, []string{"t3", "t5", "t6"}) {
		t.Errorf("after changes the cursor continues with %v", got)
	}
	if got, next = page(t, s, next); !slices.Equal(got, []string{"t7", "t8"}) || next != "" {
		t.Errorf("the last page is %v, cursor %q", got, next)
	}
	exact := newServer(t, &mcp.ServerOptions{PageSize: 3})
	addNumbered(exact.Server, 0, 3)
	if _, next := page(t, exact, ""); next != "" {
		t.Error("a full last page has a cursor")
	}
	replica := newServer(t, &mcp.ServerOptions{PageSize: 3}) // was started later, with t1 removed and added again
	addNumbered(replica.Server, 0, 8)
	if got, _ := page(t, replica, first); !slices.Equal(got, []string{"t3", "t4", "t5"}) {
		t.Errorf("at a replica the cursor continues with %v", got)
	}
}

func TestServerVisible(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{PageSize: 2, PublicLists: true, Visible: func(c *mcp.Call, kind mcp.Kind, name string) bool {
		return c.Principal() != nil || name != "t1" && name != "note:///a" && kind != mcp.KindResourceTemplate && kind != mcp.KindPrompt
	}})
	addNumbered(s.Server, 0, 5)
	addNotes(s.Server)
	mcp.AddPrompt(s.Server, &mcp.Prompt{Name: "p"}, func(context.Context, *mcp.Call, map[string]string) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	got, next := page(t, s, "")
	if !slices.Equal(got, []string{"t0", "t2"}) {
		t.Errorf("anonymous sees %v", got)
	}
	if got, next = page(t, s, next); !slices.Equal(got, []string{"t3", "t4"}) || next != "" {
		t.Errorf("anonymous sees %v, %q", got, next)
	}
	want(t, s.modern(t, "tools/list", ""), `"cacheScope":"private"`)
	want(t, s.modern(t, "tools/call", `"name":"t1"`), "unknown tool")
	want(t, s.modern(t, "prompts/get", `"name":"p"`), "unknown prompt")
	want(t, s.modern(t, "resources/read", `"uri":"note:///a"`), "-32602", "not found")
	want(t, s.modern(t, "resources/read", `"uri":"day:///2026/1"`), "-32602", "not found")
	x := exchange(t, modernLine(1, "tools/list", ""))
	x.Principal = &mcp.Principal{Subject: "ann"}
	line, _ := s.serve(t.Context(), x)
	if got, _ := names(t, line); !slices.Equal(got, []string{"t0", "t1"}) {
		t.Errorf("ann sees %v", got)
	}
}

func TestServerListsWhileServing(t *testing.T) {
	s := newServer(t, nil)
	addNumbered(s.Server, 0, 50)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				name := fmt.Sprintf("g%d-%d", g, i)
				mcp.AddTool(s.Server, &mcp.Tool{Name: name}, func(context.Context, *mcp.Call, struct{}) (string, error) { return name, nil })
				if i%2 == 0 {
					s.RemoveTools(name)
				}
			}
		})
		wg.Go(func() {
			for range 100 {
				got, _ := names(t, s.modern(t, "tools/list", ""))
				if len(got) < 50 || got[0] != "t0" || got[49] != "t49" {
					t.Errorf("the list begins with %v", got)
					return
				}
				s.modern(t, "tools/call", `"name":"t7"`)
			}
		})
	}
	wg.Wait()
	if got, _ := names(t, s.modern(t, "tools/list", "")); len(got) != 50+4*25 {
		t.Errorf("%d tools in the end", len(got))
	}
	if !s.HasTool("t1") || s.HasTool("g0-0") {
		t.Error("HasTool is wrong")
	}
}

func TestServerPrompts(t *testing.T) {
	s := fullServer(t, nil)
	mcp.AddPrompt(s.Server, &mcp.Prompt{Name: "plain", Arguments: []*mcp.PromptArgument{{Name: "a", Required: true, Title: "A"}}, Icons: []mcp.Icon{{Src: "https://x.example/i"}}},
		func(_ context.Context, _ *mcp.Call, args map[string]string) (*mcp.GetPromptResult, error) {
			if args["a"] == "nil" {
				return nil, nil
			}
			return &mcp.GetPromptResult{Description: args["a"], Messages: []*mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.AudioContent{Data: []byte("x"), MIMEType: "audio/wav"}}}}, nil
		})
	list := s.modern(t, "prompts/list", "")
	want(t, list, `"arguments":[{"name":"name","title":"Name","description":"whom","required":true},{"name":"times"},{"name":"loudly"}]`, `"icons"`)
	want(t, s.modern(t, "prompts/get", `"name":"greet","arguments":{"name":"Ann","times":"3","loudly":"true"}`), `{Name:Ann Times:3 Loudly:true}`, `"resultType":"complete"`)
	want(t, s.modern(t, "prompts/get", `"name":"greet","arguments":{"name":"007"}`), `{Name:007 Times:0`)
	for _, bad := range []string{``, `,"arguments":{}`, `,"arguments":{"name":"a","times":"many"}`, `,"arguments":{"name":"a","times":"0"}`, `,"arguments":{"name":5}`, `,"arguments":[]`} {
		want(t, s.modern(t, "prompts/get", `"name":"greet"`+bad), "-32602")
	}
	want(t, s.modern(t, "prompts/get", `"name":"nope"`), "-32602", "unknown prompt: nope")
	want(t, s.modern(t, "prompts/get", `"name":"plain"`), "-32602", "missing")
	want(t, s.modern(t, "prompts/get", `"name":"plain","arguments":{"a":"nil"}`), "-32603")
	want(t, s.modern(t, "prompts/get", `"name":"plain","arguments":{"a":"d"}`), `"description":"d"`, `"type":"audio"`)
	if n := s.RemovePrompts("plain", "nope"); n != 1 {
		t.Errorf("%d prompts removed", n)
	}
	h := func(context.Context, *mcp.Call, map[string]string) (*mcp.GetPromptResult, error) { return nil, nil }
	for _, p := range []*mcp.Prompt{nil, {}, {Name: "greet"}, {Name: "q", Asks: []*mcp.Question{nil}}} {
		if err := mcp.RegisterPrompt(s.Server, p, h); err == nil {
			t.Errorf("%+v was registered", p)
		}
	}
	if err := mcp.RegisterPrompt[struct{}](s.Server, &mcp.Prompt{Name: "x"}, nil); err == nil {
		t.Error("a prompt without a handler was registered")
	}
}

func TestServerResources(t *testing.T) {
	s := fullServer(t, nil)
	mcp.AddResource(s.Server, &mcp.Resource{URI: "x:hints", Name: "h", Icons: []mcp.Icon{{Src: "https://x.example/i"}}}, func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
		ttl := int64(5000)
		return &mcp.ReadResourceResult{CacheHints: mcp.CacheHints{TTLMillis: &ttl, CacheScope: mcp.CachePublic},
			Contents: []*mcp.ResourceContents{nil, {Blob: []byte{1}, Meta: mcp.Meta{"k": json.RawMessage("1")}}}}, nil
	})
	mcp.AddResource(s.Server, &mcp.Resource{URI: "x:nil", Name: "n"}, func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) { return nil, nil })
	mcp.AddResource(s.Server, &mcp.Resource{URI: "x:secret", Name: "n"}, func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
		return nil, fmt.Errorf("hunter2")
	})
	mcp.AddResource(s.Server, &mcp.Resource{URI: "x:tool", Name: "n"}, func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
		return nil, &mcp.ToolError{Text: "disk is full", Err: fmt.Errorf("hunter2")}
	})
	read := func(uri string) string { return s.modern(t, "resources/read", `"uri":"`+uri+`"`) }
	want(t, read("note:///a"), `{"uri":"note:///a","mimeType":"text/plain","text":"text of note:///a"}`, `"ttlMs":0,"cacheScope":"private"`)
	want(t, read("day:///2026/11"), `{"uri":"day:///2026/11","mimeType":"text/x-day","text":"2026-11"}`)
	want(t, read("day:///2026/%2E%2E"), `"text":"2026-.."`)
	want(t, read("day:///2026/13"), `"code":-32602`, `"data":{"uri":"day:///2026/13"}`) // P05
	want(t, read("day:///2026/1/2"), `"code":-32602`)
	want(t, read("x:hints"), `"ttlMs":5000,"cacheScope":"public"`, `"blob":"AQ=="`)
	want(t, read("x:nil"), "-32603", "internal error")
	wantNot(t, read("x:secret"), "hunter2")
	want(t, read("x:tool"), "-32603", "disk is full")
	want(t, s.modern(t, "resources/list", ""), `"uri":"note:///a"`, `"ttlMs"`, `"icons"`)
	want(t, s.modern(t, "resources/templates/list", ""), `"uriTemplate":"day:///{year}/{month}"`)
	if n := s.RemoveResources("x:nil", "x:nope"); n != 1 {
		t.Errorf("%d resources removed", n)
	}
	if n := s.RemoveResourceTemplates("day:///{year}/{month}"); n != 1 {
		t.Errorf("%d templates removed", n)
	}
	want(t, read("day:///2026/11"), "-32602")
}

func TestServerResourcesAreCheckedAtRegistration(t *testing.T) {
	s := fullServer(t, nil)
	h := func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) { return nil, nil }
	for _, r := range []*mcp.Resource{nil, {}, {URI: "x:y"}, {URI: "no scheme", Name: "n"}, {URI: ":", Name: "n"}, {URI: "note:///a", Name: "n"}, {URI: "x:q", Name: "q", Asks: []*mcp.Question{nil}}} {
		if err := mcp.RegisterResource(s.Server, r, h); err == nil {
			t.Errorf("%+v was registered", r)
		}
	}
	th := func(context.Context, *mcp.Call, mcp.TemplateVars) (*mcp.ReadResourceResult, error) { return nil, nil }
	for _, r := range []*mcp.ResourceTemplate{nil, {}, {URITemplate: "x:{a}"}, {URITemplate: "x:{a", Name: "n"}, {URITemplate: "day:///{year}/{month}", Name: "n"}, {URITemplate: "x:{b}", Name: "q", Asks: []*mcp.Question{nil}}} {
		if err := mcp.RegisterResourceTemplate(s.Server, r, th); err == nil {
			t.Errorf("%+v was registered", r)
		}
	}
	if mcp.RegisterResource(s.Server, &mcp.Resource{URI: "x:z", Name: "z"}, nil) == nil || mcp.RegisterResourceTemplate(s.Server, &mcp.ResourceTemplate{URITemplate: "x:{z}", Name: "z"}, nil) == nil {
		t.Error("something without a handler was registered")
	}
}

func TestServerCompletion(t *testing.T) {
	s := fullServer(t, nil)
	complete := func(ref, argument, context string) string {
		return s.modern(t, "completion/complete", `"ref":`+ref+`,"argument":`+argument+context)
	}
	greet := `{"type":"ref/prompt","name":"greet"}`
	want(t, complete(greet, `{"name":"name","value":"AN"}`, ""), `"completion":{"values":["Ann","anton"]}`, `"resultType":"complete"`)
	want(t, complete(greet, `{"name":"other","value":""}`, ""), `"completion":{"values":[]}`)
	day := `{"type":"ref/resource","uri":"day:///{year}/{month}"}`
	want(t, complete(day, `{"name":"year","value":""}`, ""), `"values":[]`)
	err := s.CompleteResourceTemplate("day:///{year}/{month}", func(_ context.Context, _ *mcp.Call, arg mcp.CompleteArgument, given map[string]string) (*mcp.Completion, error) {
		c := &mcp.Completion{}
		for i := range 150 {
			c.Values = append(c.Values, fmt.Sprintf("%s%s%d", given["year"], arg.Value, i))
		}
		return c, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := complete(day, `{"name":"month","value":"x"}`, `,"context":{"arguments":{"year":"2026"}}`)
	want(t, got, `"2026x0"`, `"2026x99"`, `"total":150`, `"hasMore":true`)
	wantNot(t, got, `"2026x100"`)
	want(t, complete(`{"type":"ref/resource","uri":"note:///a"}`, `{"name":"x","value":""}`, ""), `"values":[]`)
	want(t, complete(`{"type":"ref/prompt","name":"nope"}`, `{"name":"x","value":""}`, ""), "-32602")
	want(t, complete(`{"type":"ref/resource","uri":"nope"}`, `{"name":"x","value":""}`, ""), "-32602")
	want(t, complete(greet, `{"value":""}`, ""), "-32602")
	want(t, complete(greet, `{"name":5}`, ""), "-32602", "/argument/name")
	if s.CompletePrompt("nope", nil) == nil || s.CompleteResourceTemplate("nope", nil) == nil {
		t.Error("completion was set for something that is not there")
	}
}

func TestServerHints(t *testing.T) {
	if got := strings.Count(fullServer(t, nil).modern(t, "tools/list", ""), "ttlMs"); got != 1 {
		t.Errorf("%d ttlMs", got)
	}
}

// What is kept of lists that depend on the caller is never shown to another, nor after a change, however many callers there are.
func TestServerViews(t *testing.T) {
	const tools, callers = 20, 150
	sees := func(caller, tool int) bool { return caller>>(tool%8)&1 == tool/8%2 }
	s := newServer(t, &mcp.ServerOptions{PageSize: 4, Visible: func(c *mcp.Call, _ mcp.Kind, name string) bool {
		var caller, tool int
		if _, err := fmt.Sscanf(c.Principal().Subject+" "+name, "%d t%d", &caller, &tool); err != nil {
			t.Error(err)
		}
		return sees(caller, tool)
	}})
	addNumbered(s.Server, 0, tools)
	check := func(gone int) {
		for caller := range callers {
			var got, want []string
			for i := range tools {
				if sees(caller, i) && i != gone {
					want = append(want, fmt.Sprintf("t%d", i))
				}
			}
			for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
				params := ""
				if cursor != "" {
					params = `"cursor":"` + cursor + `"`
				}
				x := exchange(t, modernLine(1, "tools/list", params))
				x.Principal = &mcp.Principal{Subject: strconv.Itoa(caller)}
				line, _ := s.serve(t.Context(), x)
				var some []string
				some, cursor = names(t, line)
				got = append(got, some...)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("caller %d sees %v, want %v", caller, got, want)
			}
		}
	}
	check(-1)
	check(-1)
	s.RemoveTools("t5")
	check(5)
}

// A list is one line of valid UTF-8 whatever the schemas in it look like, for it is not looked at again when it is sent.
func TestServerListIsClean(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{
		Name: "odd", Description: "a\xffb\r\nc",
		InputSchema: json.RawMessage("{\r\n\"type\":\n\t\"object\",\"title\":\"x\\ny\"}"),
	}, func(context.Context, *mcp.Call, json.RawMessage) (string, error) { return "", nil })
	reply, _ := s.Serve(t.Context(), exchange(t, modernLine(1, "tools/list", "")))
	if !reply.Vouched() {
		t.Fatal("not vouched for")
	}
	if raw := string(reply.Result); !utf8.ValidString(raw) || strings.ContainsAny(raw, "\r\n") || !json.Valid(reply.Result) {
		t.Errorf("%q", raw)
	}
}
