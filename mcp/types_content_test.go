package mcp_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/spectest"
	"github.com/seed38e7925c/parley/mcp"
)

// wire encodes as the library does: text that is not UTF-8 is repaired.
func wire(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestContentKinds encodes one block of every kind and reads it back.
func TestContentKinds(t *testing.T) {
	size := int64(0)
	half := 0.5
	for _, c := range []struct {
		block mcp.Content
		want  string
	}{
		{&mcp.TextContent{Text: ""}, `{"type":"text","text":""}`},
		{&mcp.TextContent{Text: "a\"é\n", Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, Priority: &half}, Meta: mcp.Meta{"x": []byte("1")}},
			`{"type":"text","text":"a\"é\n","annotations":{"audience":["user"],"priority":0.5},"_meta":{"x":1}}`},
		{&mcp.ImageContent{Data: []byte{0xfb, 0xff, 0}, MIMEType: "image/png"}, `{"type":"image","data":"+/8A","mimeType":"image/png"}`},
		{&mcp.AudioContent{Data: []byte{1}, MIMEType: "audio/wav"}, `{"type":"audio","data":"AQ==","mimeType":"audio/wav"}`},
		{&mcp.ResourceLink{URI: "file:///a", Name: "a", Size: &size}, `{"type":"resource_link","uri":"file:///a","name":"a","size":0}`},
		{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a"}}, `{"type":"resource","resource":{"uri":"file:///a","text":""}}`},
		{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", MIMEType: "x/y", Blob: []byte{}}},
			`{"type":"resource","resource":{"uri":"file:///a","mimeType":"x/y","blob":""}}`},
		{&mcp.ToolUseContent{ID: "1", Name: "n", Input: []byte(`{"i":9007199254740993}`)}, `{"type":"tool_use","id":"1","name":"n","input":{"i":9007199254740993}}`},
		{&mcp.ToolResultContent{ToolUseID: "1", Content: mcp.Text("ok"), StructuredContent: []byte("null"), IsError: true},
			`{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"ok"}],"structuredContent":null,"isError":true}`},
		{&mcp.UnknownContent{Kind: "video", Raw: []byte(`{"type":"video","frames":[1,2]}`)}, `{"type":"video","frames":[1,2]}`},
		{&mcp.UnknownContent{Raw: []byte(`{"data":{}}`)}, `{"data":{}}`},
	} {
		got := wire(t, mcp.ContentBlocks{c.block})
		if got != "["+c.want+"]" {
			t.Errorf("got  %s\nwant [%s]", got, c.want)
		}
		var back mcp.ContentBlocks
		if err := json.Unmarshal([]byte(got), &back); err != nil {
			t.Errorf("%s: %v", got, err)
			continue
		}
		if len(back) != 1 || !reflect.DeepEqual(back[0], c.block) {
			t.Errorf("%s: read back as %+v, want %+v", got, back[0], c.block)
		}
		if typ := back[0].Type(); !strings.Contains(c.want, `"type":"`+typ+`"`) && typ != "" {
			t.Errorf("%s: Type is %q", got, typ)
		}
	}
}

// TestContentRequired: members that must be there are there, whatever was left out in Go.
func TestContentRequired(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{&mcp.CallToolResult{}, `{"content":[]}`},
		{&mcp.ImageContent{}, `{"type":"image","data":"","mimeType":""}`},
		{&mcp.ToolUseContent{}, `{"type":"tool_use","id":"","name":"","input":{}}`},
		{&mcp.ToolResultContent{}, `{"type":"tool_result","toolUseId":"","content":[]}`},
		{&mcp.ListToolsResult{}, `{"tools":[]}`},
		{&mcp.ListPromptsResult{}, `{"prompts":[]}`},
		{&mcp.ListResourcesResult{}, `{"resources":[]}`},
		{&mcp.ListResourceTemplatesResult{}, `{"resourceTemplates":[]}`},
		{&mcp.ReadResourceResult{}, `{"contents":[]}`},
		{&mcp.GetPromptResult{}, `{"messages":[]}`},
		{&mcp.CompleteResult{}, `{"completion":{"values":[]}}`},
		{&mcp.ListRootsResult{}, `{"roots":[]}`},
		{&mcp.Tool{Name: "t"}, `{"name":"t","inputSchema":{"type":"object"}}`},
		{&mcp.SamplingMessage{Role: mcp.RoleUser}, `{"role":"user","content":[]}`},
		{&mcp.SamplingMessage{Role: mcp.RoleUser, Content: mcp.SamplingContent{&mcp.TextContent{Text: "x"}}}, `{"role":"user","content":{"type":"text","text":"x"}}`},
		{&mcp.InputRequiredResult{ResultType: "input_required", InputRequests: mcp.InputRequests{}}, `{"resultType":"input_required","inputRequests":{}}`},
		{&mcp.InputRequiredResult{ResultType: "input_required", RequestState: new("")}, `{"resultType":"input_required","requestState":""}`},
		{&mcp.PaginatedParams{Cursor: new(mcp.Cursor)}, `{"cursor":""}`},
		{&mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}, Elicitation: &mcp.ElicitationCapability{URL: &mcp.Supported{}}}, `{"sampling":{},"elicitation":{"url":{}}}`},
		{&mcp.Task{}, `{"taskId":"","status":"","createdAt":"","lastUpdatedAt":"","ttl":null}`},
		{&mcp.SubscriptionFilter{ToolsListChanged: true, Other: map[string]jsonRaw{"x": jsonRaw(`1`)}}, `{"toolsListChanged":true,"x":1}`},
	} {
		if got := wire(t, c.value); got != c.want {
			t.Errorf("%T:\n got %s\nwant %s", c.value, got, c.want)
		}
	}
}

// TestContentRefused: what cannot be sent or read is an error that says what is wrong.
func TestContentRefused(t *testing.T) {
	for want, v := range map[string]any{
		"content block is nil":        mcp.ContentBlocks{nil},
		"a content block is nil":      mcp.ContentBlocks{(*mcp.ImageContent)(nil)},
		"block is nil":                &mcp.PromptMessage{Role: mcp.RoleUser},
		"has no Resource":             &mcp.EmbeddedResource{},
		"UnknownContent.Raw is no":    &mcp.UnknownContent{Kind: "x", Raw: []byte(`"x"`)},
		"UnknownContent.Raw is no JS": mcp.ContentBlocks{&mcp.UnknownContent{}},
	} {
		if b, err := json.Marshal(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %s, %v, want an error with %q", v, b, err, want)
		}
	}
	for data, want := range map[string]string{
		`{}`:                                     "must be an array, not an object",
		`"x"`:                                    "must be an array, not a string",
		`[1]`:                                    "must be an object, not a number",
		`[null]`:                                 "must be an object, not null",
		`[true]`:                                 "must be an object, not a boolean",
		`[[]]`:                                   "must be an object, not an array",
		`[{"type":1}]`:                           "content block",
		`[{"type":"text","text":{}}]`:            `content block of type "text"`,
		`[{"type":"image","data":"?"}]`:          `content block of type "image"`,
		`[{"type":"resource"}]`:                  "resource is missing",
		`[{"type":"resource","resource":"x"}]`:   `content block of type "resource"`,
		`[{"type":"text","text":"a","text":""}]`: "duplicate",
		`[{"type":"text"`:                        "unexpected EOF",
	} {
		var b mcp.ContentBlocks
		if err := json.Unmarshal([]byte(data), &b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", data, err, want)
		}
	}
	var m mcp.PromptMessage
	if err := json.Unmarshal([]byte(`{"role":"user"}`), &m); err == nil || !strings.Contains(err.Error(), "no content") {
		t.Errorf("message without content: %v", err)
	}
	var s mcp.SamplingMessage
	if err := json.Unmarshal([]byte(`{"role":"user","content":7}`), &s); err == nil || !strings.Contains(err.Error(), "must be an object") {
		t.Errorf("sampling message with a number: %v", err)
	}
}

// TestContentLenient: peers that send null for a list are understood.
func TestContentLenient(t *testing.T) {
	var r mcp.CallToolResult
	if err := json.Unmarshal([]byte(`{"content":null,"structuredContent":null,"unknown":{"a":[1]}}`), &r); err != nil {
		t.Fatal(err)
	}
	if r.Content != nil || string(r.StructuredContent) != "null" {
		t.Errorf("got %+v", r)
	}
	var c mcp.ResourceContents
	if err := json.Unmarshal([]byte(`{"uri":"a","text":"t","blob":"AQ=="}`), &c); err != nil || c.Blob == nil || c.Text != "" {
		t.Errorf("text and blob: %+v, %v", c, err)
	}
}

func TestContentText(t *testing.T) {
	blocks := mcp.ContentBlocks{&mcp.TextContent{Text: "a"}, &mcp.ImageContent{}, &mcp.TextContent{}, &mcp.TextContent{Text: "b"}}
	if got := blocks.Text(); got != "a\n\nb" {
		t.Errorf("got %q", got)
	}
}

// TestCaseJ10: whatever bytes a handler returns, what is sent is UTF-8.
func TestCaseJ10(t *testing.T) {
	bad := string([]byte{0xb0, 0xa1, 0xff})
	for _, v := range []any{
		&mcp.CallToolResult{Content: mcp.Text(bad)},
		&mcp.TextContent{Text: bad, Annotations: &mcp.Annotations{}},
		&mcp.ResourceContents{URI: "file:///x", Text: bad},
		&mcp.ProgressParams{ProgressToken: mcp.Meta{"progressToken": []byte("1")}.ProgressToken(), Message: bad},
		&mcp.ElicitParams{Message: bad},
		mcp.Meta{bad: []byte(`"x"`)},
	} {
		if got := wire(t, v); !utf8.ValidString(got) || !strings.Contains(got, "\uFFFD") {
			t.Errorf("%T: %q", v, got)
		}
	}
	// Even with options that refuse invalid text, a text block is sent.
	if _, err := json.Marshal(mcp.Text(bad)); err != nil {
		t.Error(err)
	}
}

// TestCaseJ13: numbers that a float cannot hold come out as they went in.
func TestCaseJ13(t *testing.T) {
	const in = `{"content":[],"structuredContent":{"id":9007199254740993,"d":0.10,"e":1e400}}`
	var r mcp.CallToolResult
	if err := json.Unmarshal([]byte(in), &r); err != nil {
		t.Fatal(err)
	}
	if got := string(r.StructuredContent); got != `{"id":9007199254740993,"d":0.10,"e":1e400}` {
		t.Errorf("structuredContent is %s", got)
	}
	if got := wire(t, &r); got != in {
		t.Errorf("got  %s\nwant %s", got, in)
	}
}

// TestCaseJ01: a name in another case is another name.
func TestCaseJ01(t *testing.T) {
	var p mcp.CallToolParams
	if err := json.Unmarshal([]byte(`{"name":"safe","Name":"danger","NAME":"danger"}`), &p); err != nil || p.Name != "safe" {
		t.Errorf("got %q, %v", p.Name, err)
	}
	if err := json.Unmarshal([]byte(`{"name":"safe","name":"danger"}`), &p); err == nil {
		t.Error("a repeated name was accepted")
	}
}

func TestMeta(t *testing.T) {
	var m mcp.Meta
	if err := m.Set(mcp.MetaServerInfo, &mcp.Implementation{Name: "n", Version: "1"}); err != nil {
		t.Fatal(err)
	}
	if err := m.Set("bad", make(chan int)); err == nil || !strings.Contains(err.Error(), `_meta["bad"]`) {
		t.Errorf("Set of a channel: %v", err)
	}
	var info mcp.Implementation
	if ok, err := m.Get(mcp.MetaServerInfo, &info); !ok || err != nil || info.Name != "n" {
		t.Errorf("got %+v, %v, %v", info, ok, err)
	}
	if ok, err := m.Get("absent", &info); ok || err != nil {
		t.Errorf("absent: %v, %v", ok, err)
	}
	var s string
	if ok, err := m.Get(mcp.MetaServerInfo, &s); !ok || err == nil {
		t.Errorf("wrong type: %v, %v", ok, err)
	}
	if _, ok := m.Text(mcp.MetaServerInfo); ok {
		t.Error("an object is no text")
	}
	clone := m.Clone()
	clone["x"] = []byte(`"y"`)
	if text, ok := clone.Text("x"); !ok || text != "y" || m["x"] != nil {
		t.Errorf("clone: %q, %v, %v", text, ok, m)
	}
	for raw, want := range map[string]string{`7`: "7", `"7"`: `"7"`, `1.5`: "", `{}`: "", ``: ""} {
		meta := mcp.Meta{}
		if raw != "" {
			meta[mcp.MetaProgressToken] = []byte(raw)
		}
		token := meta.ProgressToken()
		if got := string(token.AppendJSON(nil)); token.IsZero() != (want == "") || !token.IsZero() && got != want {
			t.Errorf("token %s: got %s", raw, got)
		}
	}
}

func TestSmallHelpers(t *testing.T) {
	levels := []mcp.LoggingLevel{mcp.LevelDebug, mcp.LevelInfo, mcp.LevelNotice, mcp.LevelWarning, mcp.LevelError, mcp.LevelCritical, mcp.LevelAlert, mcp.LevelEmergency}
	for i, l := range levels {
		if l.Severity() != i+1 || !l.Valid() {
			t.Errorf("%s: severity %d", l, l.Severity())
		}
	}
	if mcp.LoggingLevel("Debug").Valid() {
		t.Error("Debug is no level")
	}
	on := &mcp.Supported{}
	for _, c := range []struct {
		cap       *mcp.ElicitationCapability
		form, url bool
	}{
		{nil, false, false}, {&mcp.ElicitationCapability{}, true, false}, {&mcp.ElicitationCapability{Form: on}, true, false},
		{&mcp.ElicitationCapability{URL: on}, false, true}, {&mcp.ElicitationCapability{Form: on, URL: on}, true, true},
	} {
		if c.cap.HasForm() != c.form || c.cap.HasURL() != c.url {
			t.Errorf("%+v: form %v, url %v", c.cap, c.cap.HasForm(), c.cap.HasURL())
		}
	}
	for status, want := range map[mcp.TaskStatus]bool{mcp.TaskWorking: false, mcp.TaskInputRequired: false, mcp.TaskCompleted: true, mcp.TaskFailed: true, mcp.TaskCancelled: true} {
		if status.Terminal() != want {
			t.Errorf("%s: terminal %v", status, !want)
		}
	}
	if rev, ok := mcp.ParseRevision("2026-07-28"); !ok || rev != mcp.Revision20260728 || len(mcp.Revisions()) != 5 {
		t.Errorf("revision %v, %v", rev, ok)
	}
}

// FuzzContent: reading never panics, and what was read is written and read again as the same.
func FuzzContent(f *testing.F) {
	for _, s := range []string{
		`[{"type":"text","text":"a"}]`, `[{"type":"image","data":"AQ==","mimeType":"x"}]`, `[{"type":"video","x":1e400}]`,
		`[{"type":"resource","resource":{"uri":"a","blob":""}}]`, `[{"type":"tool_use","id":"","name":"","input":null}]`,
		`[{"type":"tool_result","content":[{"type":"tool_result","content":[]}]}]`, `null`, `[{"type":"text","text":"\ud83d\ude00"}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b mcp.ContentBlocks
		if json.Unmarshal(data, &b) != nil {
			return
		}
		first, err := json.Marshal(b)
		if err != nil {
			t.Fatalf("%s: read, but cannot be written: %v", data, err)
		}
		var again mcp.ContentBlocks
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatalf("%s: written as %s, which cannot be read: %v", data, first, err)
		}
		second, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		x, err1 := spectest.Parse(first)
		y, err2 := spectest.Parse(second)
		if err1 != nil || err2 != nil || !reflect.DeepEqual(x, y) {
			t.Fatalf("%s: %s became %s", data, first, second)
		}
	})
}
