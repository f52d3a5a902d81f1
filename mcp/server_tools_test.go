package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

// serverTool registers one tool and returns what calls it at 2026-07-28 with arguments.
func serverTool[In, Out any](t *testing.T, tl *mcp.Tool, h func(context.Context, *mcp.Call, In) (Out, error)) (*testServer, func(args string) string) {
	t.Helper()
	s := newServer(t, nil)
	if tl.Name == "" {
		tl.Name = "t"
	}
	mcp.AddTool(s.Server, tl, h)
	return s, func(args string) string {
		t.Helper()
		if args != "" {
			args = `,"arguments":` + args
		}
		return s.modern(t, "tools/call", `"name":"`+tl.Name+`"`+args)
	}
}

func TestCaseJ12ServerInt64Arguments(t *testing.T) {
	type in struct {
		ID int64   `json:"id"`
		U  *uint64 `json:"u,omitempty"`
		D  int64   `json:"d" default:"9007199254740993"`
	}
	var got in
	_, call := serverTool(t, &mcp.Tool{}, func(_ context.Context, _ *mcp.Call, v in) (string, error) { got = v; return "", nil })
	for text, right := range map[string]int64{"9007199254740993": 9007199254740993, "-9223372036854775808": -9223372036854775808} {
		call(`{"id":` + text + `}`)
		if got.ID != right || got.D != 9007199254740993 {
			t.Errorf("%s arrived as %+v", text, got)
		}
	}
	call(`{"id":1,"u":18446744073709551615}`)
	if got.U == nil || *got.U != 18446744073709551615 {
		t.Errorf("uint64 arrived as %v", got.U)
	}
	want(t, call(`{"id":9223372036854775808}`), `"isError":true`, "/id")
}

func TestCaseK05ServerAndK06NoArguments(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "struct"}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "ok", nil })
	mcp.AddTool(s.Server, &mcp.Tool{Name: "map"}, func(_ context.Context, _ *mcp.Call, in map[string]any) (string, error) { return "ok", nil })
	mcp.AddTool(s.Server, &mcp.Tool{Name: "any"}, func(_ context.Context, _ *mcp.Call, in any) (string, error) { return "ok", nil })
	mcp.AddTool(s.Server, &mcp.Tool{Name: "raw"}, func(_ context.Context, _ *mcp.Call, in json.RawMessage) (string, error) {
		return "ok " + string(in), nil
	})
	list := s.modern(t, "tools/list", "")
	for i := range 4 {
		schema := at(t, list, "result", "tools", i, "inputSchema")
		want(t, schema, `"type":"object"`, `"properties":{}`)
	}
	for _, name := range []string{"struct", "map", "any", "raw"} {
		for _, args := range []string{"", `,"arguments":null`, `,"arguments":{}`} {
			want(t, s.modern(t, "tools/call", `"name":"`+name+`"`+args), `"text":"ok`)
		}
		for _, args := range []string{`[]`, `"{}"`, `5`} {
			want(t, s.modern(t, "tools/call", `"name":"`+name+`","arguments":`+args), `"isError":true`, "object")
		}
	}
	_, call := serverTool(t, &mcp.Tool{}, func(_ context.Context, _ *mcp.Call, in echoIn) (string, error) { return "ok", nil })
	want(t, call(""), `"isError":true`, "text")
}

func TestCaseK02ServerRawSchemaTool(t *testing.T) {
	schema := `{"type":"object","properties":{"n":{"type":"integer","minimum":1},"unit":{"type":"string","default":"km"}},"required":["n"],"x-vendor":{"k":[1,null]}}`
	var got string
	s, call := serverTool(t, &mcp.Tool{InputSchema: json.RawMessage(schema)}, func(_ context.Context, _ *mcp.Call, in json.RawMessage) (string, error) {
		got = string(in)
		return "ok", nil
	})
	want(t, s.modern(t, "tools/list", ""), schema) // K02: passed through unchanged
	want(t, call(`{"n":9007199254740993}`), `"text":"ok"`)
	want(t, got, `"n":9007199254740993`, `"unit":"km"`)
	want(t, call(`{"n":0}`), `"isError":true`)
	want(t, call(`{}`), `"isError":true`, "n")
	type in struct {
		N    int    `json:"n"`
		Unit string `json:"unit"`
	}
	_, typed := serverTool(t, &mcp.Tool{InputSchema: json.RawMessage(schema)}, func(_ context.Context, _ *mcp.Call, in in) (string, error) {
		return fmt.Sprintf("%d %s", in.N, in.Unit), nil
	})
	want(t, typed(`{"n":3}`), `"text":"3 km"`)
	want(t, typed(`{"n":0}`), `"isError":true`)
}

func TestCaseK01ServerDialects(t *testing.T) {
	s := newServer(t, nil)
	for i, dialect := range []string{
		"http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft/2020-12/schema",
		"http://json-schema.org/draft-04/schema#", "https://example.test/unknown",
	} {
		name := fmt.Sprintf("t%d", i)
		err := mcp.RegisterTool(s.Server, &mcp.Tool{
			Name:         name,
			InputSchema:  json.RawMessage(`{"$schema":"` + dialect + `","type":"object","properties":{"a":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"string"}}}`),
			OutputSchema: json.RawMessage(`{"$schema":"` + dialect + `","type":"object"}`),
		}, func(context.Context, *mcp.Call, json.RawMessage) (map[string]int, error) {
			return map[string]int{"n": 1}, nil
		})
		if err != nil {
			t.Errorf("%s: %v", dialect, err)
		}
	}
	list := s.modern(t, "tools/list", "")
	for i := range 5 {
		want(t, list, fmt.Sprintf(`"name":"t%d"`, i))
	}
	want(t, s.modern(t, "tools/call", `"name":"t0","arguments":{"a":"x"}`), `"structuredContent":{"n":1}`)
	want(t, s.modern(t, "tools/call", `"name":"t0","arguments":{"a":5}`), `"isError":true`)
	bad := s.modern(t, "tools/call", `"name":"t4","arguments":{}`)
	want(t, bad, `"isError":true`, "schema")
}

func TestServerToolNamesAndSchemasAreChecked(t *testing.T) {
	s := newServer(t, nil)
	h := func(context.Context, *mcp.Call, json.RawMessage) (string, error) { return "", nil }
	for _, tl := range []*mcp.Tool{
		nil, {}, {Name: "a b"}, {Name: "ü"}, {Name: "a/b"}, {Name: strings.Repeat("x", 129)},
		{Name: "s1", InputSchema: json.RawMessage(`{"type":"string"}`)},
		{Name: "s2", InputSchema: json.RawMessage(`{}`)},
		{Name: "s3", InputSchema: json.RawMessage(`nonsense`)},
		{Name: "s4", InputSchema: json.RawMessage(`true`)},
		{Name: "s5", OutputSchema: json.RawMessage(`[]`)},
		{Name: "s6", Asks: []*mcp.Question{nil}},
	} {
		if err := mcp.RegisterTool(s.Server, tl, h); err == nil {
			t.Errorf("%+v was registered", tl)
		}
	}
	if err := mcp.RegisterTool[json.RawMessage, string](s.Server, &mcp.Tool{Name: "x"}, nil); err == nil {
		t.Error("a tool without a handler was registered")
	}
	for _, name := range []string{"a", "A-Z_0.9", strings.Repeat("x", 128)} {
		if err := mcp.RegisterTool(s.Server, &mcp.Tool{Name: name}, h); err != nil {
			t.Error(err)
		}
	}
	if err := mcp.RegisterTool(s.Server, &mcp.Tool{Name: "a"}, h); err == nil {
		t.Error("a name was registered twice")
	}
	defer func() {
		if recover() == nil {
			t.Error("AddTool did not panic")
		}
	}()
	mcp.AddTool(s.Server, &mcp.Tool{Name: "a"}, h)
}

func TestCaseK04ServerOneBadToolDoesNotSpoilTheList(t *testing.T) {
	s := newServer(t, nil)
	addEcho(s.Server)
	type bad struct {
		C chan int `json:"c"`
	}
	err := mcp.RegisterTool(s.Server, &mcp.Tool{Name: "bad"}, func(context.Context, *mcp.Call, bad) (string, error) { return "", nil })
	if err == nil || !strings.Contains(err.Error(), `"bad"`) || !strings.Contains(err.Error(), "chan int") {
		t.Errorf("a tool whose input has no schema: %v", err)
	}
	got := s.modern(t, "tools/list", "")
	want(t, got, `"name":"echo"`)
	wantNot(t, got, `"bad"`)
	want(t, s.modern(t, "tools/call", `"name":"bad"`), `"code":-32602`)
}

func TestCaseK09ServerToolOutputs(t *testing.T) {
	text := &mcp.TextContent{Text: "hi"}
	for name, run := range map[string]func(*testing.T) string{
		"string":  outputOf("hi"),
		"content": outputOf[mcp.Content](text),
		"text":    outputOf(text),
		"blocks":  outputOf(mcp.ContentBlocks{text}),
		"slice":   outputOf([]mcp.Content{text}),
		"result":  outputOf(&mcp.CallToolResult{Content: mcp.ContentBlocks{text}}),
		"value":   outputOf(mcp.CallToolResult{Content: mcp.ContentBlocks{text}}),
		"any":     outputOf[any]("hi"),
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t)
			want(t, got, `"content":[{"type":"text","text":"hi"}]`)
			wantNot(t, got, "structuredContent")
		})
	}
	for right, run := range map[string]func(*testing.T) string{
		`"structuredContent":[1,2]`:                             outputOf([]int{1, 2}),
		`"structuredContent":[]`:                                outputOf([]int(nil)),
		`"structuredContent":5`:                                 outputOf(5),
		`"structuredContent":false`:                             outputOf(false),
		`"structuredContent":{"a":1}`:                           outputOf[any](map[string]int{"a": 1}),
		`"structuredContent":null`:                              outputOf(json.RawMessage("null")),
		`"structuredContent":{"b":1}`:                           outputOf(json.RawMessage(`{"b":1}`)),
		`"structuredContent":{"text":"x","n":9007199254740993}`: outputOf(echoOut{"x", 9007199254740993}),
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1.0"},"k":1}`: outputOf(&mcp.CallToolResult{Meta: mcp.Meta{"k": json.RawMessage("1")}}),
		`"resultType":"task"`: outputOf(&mcp.CallToolResult{ResultType: "task"}),
	} {
		t.Run(right, func(t *testing.T) { want(t, run(t), right) })
	}
	for name, run := range map[string]func(*testing.T) string{
		"nil result":   outputOf[*mcp.CallToolResult](nil),
		"nil content":  outputOf[mcp.Content](nil),
		"nil block":    outputOf(mcp.ContentBlocks{nil}),
		"bad raw":      outputOf(json.RawMessage("{")),
		"bad struct":   outputOf(&mcp.CallToolResult{StructuredContent: json.RawMessage("{")}),
		"not encoding": outputOf[any](func() {}),
	} {
		t.Run(name, func(t *testing.T) { want(t, run(t), "internal error") })
	}
}

func outputOf[Out any](v Out) func(*testing.T) string {
	return func(t *testing.T) string {
		_, call := serverTool(t, &mcp.Tool{}, func(context.Context, *mcp.Call, struct{}) (Out, error) { return v, nil })
		return call("")
	}
}

func TestCaseK08ServerOutputSchema(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	for name, tc := range map[string]struct {
		result *mcp.CallToolResult
		right  string
	}{
		"error without content": {&mcp.CallToolResult{IsError: true, Content: mcp.Text("real error")}, "real error"},
		"error with bad content": {&mcp.CallToolResult{IsError: true, Content: mcp.Text("real error"), StructuredContent: json.RawMessage(`{"n":"x"}`)},
			"real error"},
		"good":    {&mcp.CallToolResult{StructuredContent: json.RawMessage(`{"n":1}`)}, `"structuredContent":{"n":1}`},
		"without": {&mcp.CallToolResult{Content: mcp.Text("x")}, "output schema"},
		"bad":     {&mcp.CallToolResult{StructuredContent: json.RawMessage(`{"n":"x"}`)}, "output schema"},
	} {
		t.Run(name, func(t *testing.T) {
			_, call := serverTool(t, &mcp.Tool{OutputSchema: schema}, func(context.Context, *mcp.Call, struct{}) (*mcp.CallToolResult, error) {
				return tc.result, nil
			})
			got := call("")
			want(t, got, tc.right)
			wantNot(t, got, `"code"`)
		})
	}
	type out struct {
		Color string `json:"color" enum:"red,green"`
	}
	_, call := serverTool(t, &mcp.Tool{}, func(context.Context, *mcp.Call, struct{}) (out, error) { return out{"blue"}, nil })
	want(t, call(""), `"isError":true`, "output schema")
}

func TestCaseP03ServerErrorsInTheirPlace(t *testing.T) {
	secret := errors.New("password is hunter2")
	for name, tc := range map[string]struct {
		err    error
		right  string
		result bool
	}{
		"plain":          {secret, "internal error", true},
		"tool error":     {mcp.ToolErrorf("no seat in %s", "first"), "no seat in first", true},
		"wrapped tool":   {fmt.Errorf("hunter2: %w", &mcp.ToolError{Text: "sold out", Err: secret}), "sold out", true},
		"protocol":       {&mcp.Error{Code: 7, Message: "mine", Data: json.RawMessage(`{"a":1}`)}, `"error":{"code":7,"message":"mine","data":{"a":1}}`, false},
		"wrapped":        {fmt.Errorf("hunter2: %w", &mcp.Error{Code: 7, Message: "mine"}), `"error":{"code":7,"message":"mine"}`, false},
		"deadline":       {fmt.Errorf("hunter2: %w", context.DeadlineExceeded), "internal error", true},
		"cancelled self": {context.Canceled, "internal error", true},
	} {
		t.Run(name, func(t *testing.T) {
			s, call := serverTool(t, &mcp.Tool{}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", tc.err })
			got := call("")
			want(t, got, tc.right)
			wantNot(t, got, "hunter2")
			if isResult := strings.Contains(got, `"isError":true`); isResult != tc.result {
				t.Errorf("as a result: %v, want %v: %s", isResult, tc.result, got)
			}
			if strings.Contains(tc.right, "internal error") {
				want(t, s.log.String(), tc.err.Error())
			}
		})
	}
	s, _ := serverTool(t, &mcp.Tool{}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
	want(t, s.modern(t, "tools/call", `"name":"nope"`), "-32602", "unknown tool: nope")
}

func TestCaseP04ServerPanicsAreContained(t *testing.T) {
	s := fullServer(t, nil)
	boom := func() { var m map[string]int; m["hunter2"] = 1 } //nolint:staticcheck // the panic is the point
	mcp.AddTool(s.Server, &mcp.Tool{Name: "boom"}, func(context.Context, *mcp.Call, struct{}) (string, error) { boom(); return "", nil })
	mcp.AddPrompt(s.Server, &mcp.Prompt{Name: "boom"}, func(context.Context, *mcp.Call, struct{}) (*mcp.GetPromptResult, error) { boom(); return nil, nil })
	mcp.AddResource(s.Server, &mcp.Resource{URI: "x:boom", Name: "boom"}, func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) { boom(); return nil, nil })
	if err := s.CompletePrompt("boom", func(context.Context, *mcp.Call, mcp.CompleteArgument, map[string]string) (*mcp.Completion, error) {
		boom()
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	for method, params := range map[string]string{
		"tools/call": `"name":"boom"`, "prompts/get": `"name":"boom"`, "resources/read": `"uri":"x:boom"`,
		"completion/complete": `"ref":{"type":"ref/prompt","name":"boom"},"argument":{"name":"a","value":""}`,
	} {
		got := s.modern(t, method, params)
		want(t, got, `"error":{"code":-32603,"message":"internal error"}`)
		wantNot(t, got, "nil map", "goroutine")
	}
	want(t, s.log.String(), "nil map", "goroutine")
	s.Use(func(mcp.Handler) mcp.Handler {
		return func(context.Context, *mcp.Call) (any, error) { panic("in middleware") }
	})
	want(t, s.modern(t, "tools/list", ""), "internal error")

	open := newServer(t, &mcp.ServerOptions{PropagatePanics: true})
	mcp.AddTool(open.Server, &mcp.Tool{Name: "boom"}, func(context.Context, *mcp.Call, struct{}) (string, error) { boom(); return "", nil })
	defer func() {
		if recover() == nil {
			t.Error("the panic was contained")
		}
	}()
	open.modern(t, "tools/call", `"name":"boom"`)
}

func TestCaseJ10ServerOutputThatIsNotUTF8(t *testing.T) {
	bad := "\xb0\xa1\xff"
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "text"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return bad, c.Progress(ctx, 1, 2, bad)
	})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "struct"}, func(context.Context, *mcp.Call, struct{}) (echoOut, error) { return echoOut{Text: bad}, nil })
	mcp.AddTool(s.Server, &mcp.Tool{Name: "error"}, func(context.Context, *mcp.Call, struct{}) (echoOut, error) {
		return echoOut{}, mcp.ToolErrorf("%s", bad)
	})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "wire"}, func(context.Context, *mcp.Call, struct{}) (echoOut, error) {
		return echoOut{}, &mcp.Error{Code: 1, Message: bad}
	})
	for _, name := range []string{"text", "struct", "error", "wire"} {
		x := exchange(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":1},"name":"`+name+`"}}`)
		stream := &recorder{}
		x.Stream = stream
		got, _ := s.serve(t.Context(), x)
		want(t, got, "\uFFFD")
		for _, line := range stream.lines() {
			want(t, line, "\uFFFD")
		}
	}
}
