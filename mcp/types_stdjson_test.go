package mcp_test

import (
	stdjson "encoding/json"
	"reflect"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

// jsonRaw is the raw type of the public API.
type jsonRaw = stdjson.RawMessage

// TestStandardJSON: encoding/json writes and reads what the library's own encoding does.
func TestStandardJSON(t *testing.T) {
	for _, v := range []any{
		&mcp.CallToolResult{Content: mcp.ContentBlocks{
			&mcp.TextContent{Text: "a"}, &mcp.ImageContent{Data: []byte{1}}, &mcp.AudioContent{Data: []byte{2}},
			&mcp.ResourceLink{URI: "u", Name: "n"}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u", Blob: []byte{}}},
			&mcp.UnknownContent{Kind: "x", Raw: jsonRaw(`{"type":"x"}`)},
		}},
		&mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: "a"}}}},
		&mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.SamplingContent{
			&mcp.ToolUseContent{ID: "1", Name: "n", Input: jsonRaw(`{}`)},
			&mcp.ToolResultContent{ToolUseID: "1", Content: mcp.Text("b")},
		}},
		&mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "u", Text: "t"}}},
		&mcp.Tool{Name: "t", InputSchema: jsonRaw(`{"type":"object"}`)},
	} {
		std, err := stdjson.Marshal(v)
		if err != nil {
			t.Errorf("%T: %v", v, err)
			continue
		}
		same(t, std, []byte(wire(t, v)))
		back := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := stdjson.Unmarshal(std, back); err != nil {
			t.Errorf("%T: %v", v, err)
		} else if !reflect.DeepEqual(back, v) {
			t.Errorf("%T: %s read back as %+v", v, std, back)
		}
	}
}
