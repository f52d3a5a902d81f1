package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/schema"
	"github.com/seed38e7925c/parley/internal/spectest"
	"github.com/seed38e7925c/parley/mcp"
)

// published compiles definitions of the published schema of a revision.
type published struct {
	t        *testing.T
	revision string
	dialect  json.RawMessage
	defsName string
	defs     json.RawMessage
	compiled map[string]*schema.Compiled
}

func publishedSchema(t *testing.T, revision string) *published {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(spectest.Dir(t), revision, "schema.json"))
	if err != nil {
		t.Skipf("the published schema is not here: %v. %s", err, spectest.HowToGet)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	p := &published{t: t, revision: revision, dialect: doc["$schema"], defsName: "$defs", defs: doc["$defs"], compiled: map[string]*schema.Compiled{}}
	if p.defs == nil {
		p.defsName, p.defs = "definitions", doc["definitions"]
	}
	return p
}

// check validates a value against a definition.
func (p *published) check(definition, value string) {
	p.t.Helper()
	c := p.compiled[definition]
	if c == nil {
		text := fmt.Sprintf(`{"$schema":%s,%q:%s,"$ref":"#/%s/%s"}`, p.dialect, p.defsName, p.defs, p.defsName, definition)
		if strings.Contains(string(p.dialect), "draft-07") { // where $ref hides what is beside it
			text = fmt.Sprintf(`{"$schema":%s,%q:%s,"allOf":[{"$ref":"#/%s/%s"}]}`, p.dialect, p.defsName, p.defs, p.defsName, definition)
		}
		var err error
		if c, err = schema.Compile([]byte(text), &schema.Limits{SchemaBytes: 4 << 20, Subschemas: 50_000, Steps: 5_000_000}); err != nil {
			p.t.Fatalf("%s %s: %v", p.revision, definition, err)
		}
		p.compiled[definition] = c
	}
	if err := c.Validate([]byte(value)); err != nil {
		p.t.Errorf("%s: not a %s: %v\n%s", p.revision, definition, err, value)
	}
}

// exhibition is a server that uses every feature that a revision could trip over.
func exhibition(t *testing.T) *testServer {
	t.Helper()
	meta := mcp.Meta{"com.example/k": json.RawMessage(`{"a":1}`)}
	icons := []mcp.Icon{{Src: "https://example.com/i.png", MIMEType: "image/png", Sizes: []string{"48x48"}, Theme: mcp.IconDark}}
	note := &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, LastModified: "2025-01-12T15:00:58Z"}
	s := newServer(t, &mcp.ServerOptions{
		Title: "T", Description: "D", WebsiteURL: "https://example.com", Icons: icons, Instructions: "I",
		Extensions: map[string]any{"com.example/x": nil}, Experimental: map[string]any{"com.example/y": map[string]int{"a": 1}},
	})
	yes := true
	mcp.AddTool(s.Server, &mcp.Tool{
		Name: "all", Title: "All", Description: "D", Icons: icons, Meta: meta,
		Annotations: &mcp.ToolAnnotations{Title: "A", ReadOnlyHint: true, DestructiveHint: &yes},
		Execution:   &mcp.ToolExecution{TaskSupport: mcp.TaskForbidden},
	}, func(ctx context.Context, c *mcp.Call, _ echoIn) (*mcp.CallToolResult, error) {
		if err := c.Progress(ctx, 1, 2, "half"); err != nil {
			return nil, err
		}
		if err := c.Log(ctx, mcp.LevelError, "l", map[string]int{"a": 1}); err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Meta: meta, StructuredContent: json.RawMessage(`{"a":1}`), Content: mcp.ContentBlocks{
			&mcp.TextContent{Text: "t", Meta: meta, Annotations: note},
			&mcp.ImageContent{Data: []byte{1}, MIMEType: "image/png", Meta: meta, Annotations: note},
			&mcp.AudioContent{Data: []byte{1}, MIMEType: "audio/wav", Meta: meta, Annotations: note},
			&mcp.ResourceLink{URI: "x:y", Name: "n", Title: "t", Description: "d", Icons: icons, Meta: meta, Annotations: note},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x:y", Text: "t", Meta: meta}, Meta: meta, Annotations: note},
		}}, nil
	})
	addEcho(s.Server)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "list"}, func(context.Context, *mcp.Call, struct{}) ([]int, error) { return []int{1}, nil })
	mcp.AddTool(s.Server, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", mcp.ToolErrorf("no") })
	mcp.AddPrompt(s.Server, &mcp.Prompt{Name: "p", Title: "P", Description: "D", Icons: icons, Meta: meta},
		func(_ context.Context, _ *mcp.Call, in greetIn) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Meta: meta, Description: "d", Messages: []*mcp.PromptMessage{
				{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: "t", Meta: meta, Annotations: note}},
				{Role: mcp.RoleAssistant, Content: &mcp.AudioContent{Data: []byte{1}, MIMEType: "audio/wav"}},
				{Role: mcp.RoleAssistant, Content: &mcp.ResourceLink{URI: "x:y", Name: "n"}},
			}}, nil
		})
	if err := s.CompletePrompt("p", mcp.CompleteFrom(map[string][]string{"name": {"a"}})); err != nil {
		t.Fatal(err)
	}
	size := int64(5)
	mcp.AddResource(s.Server, &mcp.Resource{URI: "x:y", Name: "n", Title: "T", Size: &size, Icons: icons, Meta: meta, Annotations: note},
		func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Meta: meta, Contents: []*mcp.ResourceContents{{Text: "t", Meta: meta}, {Blob: []byte{}, Meta: meta}}}, nil
		})
	mcp.AddResourceTemplate(s.Server, &mcp.ResourceTemplate{URITemplate: "t:{a}", Name: "n", Title: "T", Icons: icons, Meta: meta, Annotations: note},
		func(context.Context, *mcp.Call, mcp.TemplateVars) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "t"}}}, nil
		})
	return s
}

// requests are requests of all revisions and what their results are.
var requests = []struct{ method, params, result string }{
	{"tools/list", ``, "ListToolsResult"},
	{"tools/call", `"name":"all","arguments":{"text":"a"}`, "CallToolResult"},
	{"tools/call", `"name":"echo","arguments":{"text":"a"}`, "CallToolResult"},
	{"tools/call", `"name":"list"`, "CallToolResult"},
	{"tools/call", `"name":"fail"`, "CallToolResult"},
	{"prompts/list", ``, "ListPromptsResult"},
	{"prompts/get", `"name":"p","arguments":{"name":"x"}`, "GetPromptResult"},
	{"resources/list", ``, "ListResourcesResult"},
	{"resources/templates/list", ``, "ListResourceTemplatesResult"},
	{"resources/read", `"uri":"x:y"`, "ReadResourceResult"},
	{"resources/read", `"uri":"t:1"`, "ReadResourceResult"},
	{"completion/complete", `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"name","value":""}`, "CompleteResult"},
}

// notices are the definitions of notifications by method.
var notices = map[string]string{
	"notifications/progress":                   "ProgressNotification",
	"notifications/message":                    "LoggingMessageNotification",
	"notifications/tools/list_changed":         "ToolListChangedNotification",
	"notifications/prompts/list_changed":       "PromptListChangedNotification",
	"notifications/resources/list_changed":     "ResourceListChangedNotification",
	"notifications/resources/updated":          "ResourceUpdatedNotification",
	"notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
}

func TestServerModernSpeaksTheSchema(t *testing.T) {
	p := publishedSchema(t, "2026-07-28")
	s := exhibition(t)
	meta := metaText[:len(metaText)-1] + `,"progressToken":"p","io.modelcontextprotocol/logLevel":"debug"}`
	stream := &recorder{}
	for i, r := range append(requests, struct{ method, params, result string }{"server/discover", ``, "DiscoverResult"}) {
		params := meta
		if r.params != "" {
			params += "," + r.params
		}
		x := exchange(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, i, r.method, params))
		x.Stream = stream
		got, _ := s.serve(t.Context(), x)
		p.check(r.result, at(t, got, "result"))
		p.check("JSONRPCResultResponse", got)
	}
	got := s.modern(t, "no/such", "")
	p.check("JSONRPCErrorResponse", got)
	if n := len(stream.lines()); n != 2 {
		t.Errorf("streamed %v", stream.lines())
	}
	for _, line := range stream.lines() {
		p.check(notices[strings.Trim(at(t, line, "method"), `"`)], line)
	}
}
