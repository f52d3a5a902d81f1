package mcp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// allMethods are the requests of all revisions.
var allMethods = []string{
	"initialize", "ping", "server/discover", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list",
	"resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe", "completion/complete",
	"logging/setLevel", "subscriptions/listen", "no/such",
}

func fullServer(t testing.TB, o *mcp.ServerOptions) *testServer {
	t.Helper()
	s := newServer(t, o)
	addEcho(s.Server)
	addNotes(s.Server)
	mcp.AddPrompt(s.Server, &mcp.Prompt{Name: "greet", Title: "Greet", Description: "Greets."},
		func(_ context.Context, _ *mcp.Call, in greetIn) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: fmt.Sprintf("%+v", in)}}}}, nil
		})
	if err := s.CompletePrompt("greet", mcp.CompleteFrom(map[string][]string{"name": {"Ann", "anton", "Bob"}})); err != nil {
		t.Fatal(err)
	}
	return s
}

type greetIn struct {
	Name   string `json:"name" jsonschema:"whom" title:"Name"`
	Times  int    `json:"times,omitempty" minimum:"1"`
	Loudly bool   `json:"loudly,omitempty"`
}

func TestCaseJ07ServerParamsOfEveryShape(t *testing.T) {
	s := fullServer(t, nil)
	shapes := []string{
		"", `,"params":null`, `,"params":{}`, `,"params":[]`, `,"params":"x"`, `,"params":{"name":null}`, `,"params":{"_meta":null}`,
		`,"params":{"_meta":[]}`, `,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":5}}`,
		`,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`,
		`,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}}`,
		`,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":5}}}`,
		`,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":7}}`,
		`,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"loud"}}`,
		`,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":3}}`,
	}
	for _, method := range allMethods {
		for _, shape := range shapes {
			line := `{"jsonrpc":"2.0","id":1,"method":"` + method + `"` + shape + `}`
			got, _ := s.serve(t.Context(), exchange(t, line))
			if !strings.Contains(got, `"error":{"code":-32`) || !strings.Contains(got, `"id":1`) {
				if method == "ping" || method == "initialize" {
					continue // served by a session
				}
				t.Errorf("%s\n got %s", line, got)
			}
		}
	}
	for _, method := range []string{"tools/call", "prompts/get", "resources/read", "completion/complete", "subscriptions/listen"} {
		for _, params := range []string{``, `"name":null,"uri":null`, `"name":5,"uri":[]`, `"notifications":[]`, `"ref":5`, `"ref":{"type":"x"},"argument":{"name":"a","value":"b"}`} {
			want(t, s.modern(t, method, params), `"code":-32602`)
		}
	}
	for _, cursor := range []string{`5`, `"zzz"`, `""`, `"MSA5OTk"`} {
		want(t, s.modern(t, "tools/list", `"cursor":`+cursor), `"code":-32602`, "cursor")
	}
}

func TestCaseJ01ServerCaseVariantKeys(t *testing.T) {
	s := fullServer(t, nil)
	ran := ""
	for _, name := range []string{"read_note", "delete_all"} {
		mcp.AddTool(s.Server, &mcp.Tool{Name: name}, func(context.Context, *mcp.Call, struct{}) (string, error) { ran = name; return "", nil })
	}
	s.modern(t, "tools/call", `"name":"read_note","Name":"delete_all","NAME":"delete_all","arguments":{}`)
	if ran != "read_note" {
		t.Errorf("%q ran", ran)
	}
	ran = ""
	s.modern(t, "tools/call", `"Name":"delete_all","arguments":{}`)
	if ran != "" {
		t.Errorf("%q ran", ran)
	}
}

func TestCaseJ03ServerDuplicateKeys(t *testing.T) {
	s := fullServer(t, nil)
	// jsonrpc.Decode refuses these; a front end of another make may not.
	for _, params := range []string{
		`{` + metaText + `,"name":"echo","name":"delete_all"}`,
		`{` + metaText + `,"name":"echo","na\u006de":"delete_all"}`,
		`{` + metaText + `,` + metaText + `,"name":"echo"}`,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":1,"progressToken":2},"name":"echo"}`,
		`{"_meta":{`, `nonsense`,
	} {
		m := &jsonrpc.Message{ID: jsonrpc.IntID(1), Method: "tools/call", Params: []byte(params)}
		got, _ := s.serve(t.Context(), &mcp.Exchange{Message: m})
		want(t, got, `"code":-32602`)
	}
}

// headers makes HTTP headers of a request.
func headers(version, method, name string, params ...string) *mcp.Headers {
	h := &mcp.Headers{
		ProtocolVersion: mcp.HeaderOf([]string{version}), Method: mcp.HeaderOf([]string{method}), All: map[string][]string{},
	}
	if name != "" {
		h.Name = mcp.HeaderOf([]string{name})
	}
	for i := 0; i+1 < len(params); i += 2 {
		h.All[params[i]] = append(h.All[params[i]], params[i+1])
	}
	return h
}

func TestServerAdmitOverHTTP(t *testing.T) {
	s := fullServer(t, nil)
	serve := func(h *mcp.Headers, method, params string) (string, int) {
		x := exchange(t, modernLine(3, method, params))
		x.Headers = h
		return s.serve(t.Context(), x)
	}
	for _, tc := range []struct {
		name, method, params string
		headers              *mcp.Headers
		status               int
		right                string
	}{
		{"good", "tools/call", `"name":"echo","arguments":{"text":"a"}`, headers("2026-07-28", "tools/call", "echo"), 200, `"result"`},
		{"encoded name", "tools/call", `"name":"echo","arguments":{"text":"a"}`, headers("2026-07-28", "tools/call", "=?base64?ZWNobw==?="), 200, `"result"`},
		{"no method header", "tools/list", "", &mcp.Headers{ProtocolVersion: mcp.HeaderOf([]string{"2026-07-28"})}, 400, "-32020"},
		{"other name", "tools/call", `"name":"echo"`, headers("2026-07-28", "tools/call", "other"), 400, "-32020"},
		{"unknown method", "no/such", "", headers("2026-07-28", "no/such", ""), 404, "-32601"},
		{"method of older revisions", "ping", "", headers("2026-07-28", "ping", ""), 404, "-32601"},
		{"unknown tool", "tools/call", `"name":"nope"`, headers("2026-07-28", "tools/call", "nope"), 200, "-32602"},
		{"missing resource", "resources/read", `"uri":"x:y"`, headers("2026-07-28", "resources/read", "x:y"), 200, `"data":{"uri":"x:y"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, status := serve(tc.headers, tc.method, tc.params)
			want(t, got, tc.right, `"id":3`)
			if status != tc.status {
				t.Errorf("status %d, want %d", status, tc.status)
			}
		})
	}
	x := exchange(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	got, _ := s.serve(t.Context(), x)
	want(t, got, "-32022", `"requested":"2099-01-01"`, `"supported":["2026-07-28"`)
}

func TestServerParamHeaders(t *testing.T) {
	s := newServer(t, nil)
	type where struct {
		Zone string `json:"zone,omitempty" header:"Zone"`
	}
	type in struct {
		Region string `json:"region,omitempty" header:"Region"`
		Count  int    `json:"count,omitempty" header:"Item-Count"`
		Dry    bool   `json:"dry,omitempty" header:"Dry"`
		Where  *where `json:"where,omitempty"`
	}
	mcp.AddTool(s.Server, &mcp.Tool{Name: "t"}, func(_ context.Context, _ *mcp.Call, in in) (string, error) { return in.Region, nil })
	for _, tc := range []struct {
		args    string
		headers []string
		ok      bool
	}{
		{`{"region":"eu"}`, []string{"Mcp-Param-Region", "eu"}, true},
		{`{"region":"eu"}`, nil, false},
		{`{}`, nil, true},
		{`{"region":null}`, nil, true},
		{`{}`, []string{"Mcp-Param-Region", "eu"}, false},
		{`{"region":"eu"}`, []string{"Mcp-Param-Region", "EU"}, false},
		{`{"region":"eu"}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-Region", "eu"}, false},
		{`{"region":"ü"}`, []string{"Mcp-Param-Region", "=?base64?w7w=?="}, true},
		{`{"region":"ü"}`, []string{"Mcp-Param-Region", "=?base64?w7w?="}, false},
		{`{"region":""}`, []string{"Mcp-Param-Region", ""}, true},
		{`{"count":42}`, []string{"Mcp-Param-Item-Count", "42"}, true},
		{`{"count":42}`, []string{"Mcp-Param-Item-Count", "42.0"}, true},
		{`{"count":42}`, []string{"Mcp-Param-Item-Count", "43"}, false},
		{`{"dry":true}`, []string{"Mcp-Param-Dry", "true"}, true},
		{`{"dry":true}`, []string{"Mcp-Param-Dry", "false"}, false},
		{`{"where":{"zone":"z"}}`, []string{"Mcp-Param-Zone", "z"}, true},
		{`{"where":{"zone":"z"}}`, nil, false},
		{`{"region":{"x":1}}`, []string{"Mcp-Param-Region", "x"}, false},
		{`{}`, []string{"Mcp-Param-Unknown", "x"}, true},
	} {
		x := exchange(t, modernLine(3, "tools/call", `"name":"t","arguments":`+tc.args))
		x.Headers = headers("2026-07-28", "tools/call", "t", tc.headers...)
		got, status := s.serve(t.Context(), x)
		if refused := strings.Contains(got, "-32020"); refused == tc.ok || refused != (status == 400) {
			t.Errorf("%s with %v: status %d, %s", tc.args, tc.headers, status, got)
		}
	}
}

func TestServerOptionsAreChecked(t *testing.T) {
	for _, o := range []*mcp.ServerOptions{
		{PageSize: -1}, {MaxListeners: -1}, {MaxSubscriptions: -1}, {MaxQueue: -1}, {MaxPending: -1}, {MaxLine: -1}, {MaxInFlight: -1},
		{ListTTL: -1}, {LogLevel: "loud"}, {Extensions: map[string]any{"tasks": nil}}, {Extensions: map[string]any{"com.example/x": 5}}, {Declare: []string{"toolz"}}, {Revisions: []mcp.Revision{}}, {Revisions: []mcp.Revision{99}}, {Revisions: []mcp.Revision{0}},
	} {
		s := newServer(t, o)
		if s.Err() == nil {
			t.Errorf("%+v was accepted", o)
			continue
		}
		want(t, s.Err().Error(), "ServerOptions.")
		adm := s.Admit(exchange(t, modernLine(1, "tools/list", "")))
		if adm.Err == nil || adm.Status != 500 {
			t.Errorf("served with wrong options: %+v", adm)
		}
		wantNot(t, adm.Err.Message, "ServerOptions")
	}
	if mcp.NewServer("", "1", nil).Err() == nil {
		t.Error("a server without a name was accepted")
	}
	if err := mcp.NewServer("n", "1", nil).Err(); err != nil {
		t.Error(err)
	}
}

func TestServerOnlyModernServed(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{Revisions: []mcp.Revision{mcp.Revision20260728}})
	addEcho(s.Server)
	got, _ := s.serve(t.Context(), exchange(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`))
	want(t, got, "-32022", "2026-07-28")
	want(t, s.modern(t, "tools/list", ""), `"name":"echo"`)
	want(t, s.modern(t, "server/discover", ""), `"supportedVersions":["2026-07-28"]`)
}

func TestServerDiscover(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{
		Title: "Test", Description: "D", WebsiteURL: "https://example.com", Instructions: "be kind",
		Extensions: map[string]any{"com.example/a": map[string]bool{"x": true}, "com.example/b": nil},
		Icons:      []mcp.Icon{{Src: "https://example.com/i.png"}},
		NoLogging:  true, ListTTL: 1500e6, PublicLists: true,
	})
	got := s.modern(t, "server/discover", "")
	want(t, got, `"capabilities":{"extensions":{"com.example/a":{"x":true},"com.example/b":{}}}`, `"instructions":"be kind"`,
		`"ttlMs":1500,"cacheScope":"public"`, `"resultType":"complete"`, `"websiteUrl":"https://example.com"`)
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "completion/complete"} {
		want(t, s.modern(t, method, ""), "-32601") // not declared, so not served
	}
	full := fullServer(t, nil)
	want(t, full.modern(t, "server/discover", ""), `"logging":{}`, `"completions":{}`, `"prompts":{"listChanged":true}`,
		`"resources":{"subscribe":true,"listChanged":true}`, `"tools":{"listChanged":true}`)
	full.RemoveTools("echo")
	want(t, full.modern(t, "tools/list", ""), `"tools":[]`) // a capability, once declared, stays
	declared := newServer(t, &mcp.ServerOptions{Declare: []string{"tools", "prompts", "resources", "completions"}})
	want(t, declared.modern(t, "tools/list", ""), `"tools":[]`)
	want(t, declared.modern(t, "resources/templates/list", ""), `"resourceTemplates":[]`)
}

func TestServerNotificationsAreNeverAnswered(t *testing.T) {
	s := fullServer(t, nil)
	for _, method := range append(allMethods, "notifications/initialized", "notifications/cancelled", "notifications/roots/list_changed") {
		for _, params := range []string{"", `,"params":[]`, `,"params":{` + metaText + `}`} {
			x := exchange(t, `{"jsonrpc":"2.0","method":"`+method+`"`+params+`}`)
			if adm := s.Admit(x); adm.Err != nil {
				continue // the front end drops it
			}
			if reply, _ := s.Serve(t.Context(), x); reply != nil {
				t.Errorf("%s%s was answered: %s", method, params, jsonrpc.Append(nil, reply))
			}
		}
	}
}
