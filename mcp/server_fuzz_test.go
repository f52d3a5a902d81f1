package mcp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// FuzzServerParams serves a request with arbitrary params: it never panics, answers exactly once with the id, and what it says is one
// message without a line break. A tool that is not named by "name" does not run.
func FuzzServerParams(f *testing.F) {
	f.Add("tools/call", `{`+metaText+`,"name":"echo","arguments":{"text":"a"}}`)
	f.Add("tools/call", `{`+metaText+`,"Name":"danger"}`)
	f.Add("tools/call", `{`+metaText+`,"na\u006de":"echo","arguments":null}`)
	f.Add("tools/list", `{`+metaText+`,"cursor":"MSA1IHQ0"}`)
	f.Add("resources/read", `{`+metaText+`,"uri":"day:///1/2"}`)
	f.Add("prompts/get", `{`+metaText+`,"name":"greet","arguments":{"name":"a","times":"1e1"}}`)
	f.Add("completion/complete", `{`+metaText+`,"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"a"}}`)
	f.Add("subscriptions/listen", `{`+metaText+`,"notifications":[]}`)
	f.Add("tools/call", `[]`)
	f.Add("x", ``)
	s := fullServer(f, nil)
	ran := false
	mcp.AddTool(s.Server, &mcp.Tool{Name: "danger"}, func(context.Context, *mcp.Call, struct{}) (string, error) { ran = true; return "", nil })
	ctx, cancel := context.WithCancel(f.Context())
	cancel() // so that a listen stream ends at once
	f.Fuzz(func(t *testing.T, method, params string) {
		m := &jsonrpc.Message{ID: jsonrpc.StringID("q"), Method: method, Params: []byte(params)}
		if method == "" {
			return
		}
		ran = false
		got, _ := s.serve(ctx, &mcp.Exchange{Message: m, Stream: &recorder{}})
		if got == "" && method == "subscriptions/listen" {
			return
		}
		if strings.ContainsAny(got, "\n\r") {
			t.Fatalf("more than a line: %q", got)
		}
		reply, err := jsonrpc.Decode([]byte(got))
		if err != nil || reply.ID != m.ID {
			t.Fatalf("%v: %s", err, got)
		}
		if ran && !strings.Contains(params, "danger") && !strings.Contains(params, `\u`) {
			t.Fatalf("danger ran for %s", params)
		}
	})
}
