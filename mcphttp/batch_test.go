//go:build !mcp_modern_only

package mcphttp_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBatch(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-03-26")
	a := s.ask(c.post(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"one"}}},
		{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}},
		{"jsonrpc":"2.0","id":2,"method":"ping"},
		{"jsonrpc":"2.0","id":"three","method":"no/such"},
		{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}},
		{"jsonrpc":"2.0","id":5},
		42]`))
	var answers []struct {
		ID     any
		Result json.RawMessage
		Error  *struct{ Code int }
	}
	if err := json.Unmarshal([]byte(a.body), &answers); err != nil || a.status != 200 || a.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	got := map[any]int{}
	for _, x := range answers {
		if got[x.ID] = 0; x.Error != nil {
			got[x.ID] = x.Error.Code
		}
	}
	want := map[any]int{1.0: 0, 2.0: 0, "three": -32601, 4.0: -32600, 5.0: -32600, nil: -32600}
	if len(answers) != len(want) {
		t.Errorf("%d answers: %s", len(answers), a.body)
	}
	for id, code := range want {
		if got[id] != code {
			t.Errorf("id %v: code %d, want %d", id, got[id], code)
		}
	}
}

func TestBatchOfQuietMessages(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-03-26")
	a := s.ask(c.post(`[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}},{"jsonrpc":"2.0","id":9,"result":{}}]`))
	if a.status != 202 || a.body != "" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestBatchStreams(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-03-26")
	progress := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"progress","arguments":{}}}`
	a := s.ask(c.post(`[` + progress + `,{"jsonrpc":"2.0","id":2,"method":"ping"}]`))
	if a.header.Get("Content-Type") != "text/event-stream" || strings.Count(a.body, "notifications/progress") != 3 ||
		!strings.Contains(a.body, `"id":1`) || !strings.Contains(a.body, `"id":2`) {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	a = s.ask(c.post(`[{"jsonrpc":"2.0","id":2,"method":"ping"}]`).with("Accept", "text/event-stream"))
	if a.header.Get("Content-Type") != "text/event-stream" || strings.Contains(a.body, "[") {
		t.Errorf("stream only: %v %s", a.header, a.body)
	}
}

func TestBatchRefused(t *testing.T) {
	s := serveSite(t, nil)
	ping := `[{"jsonrpc":"2.0","id":2,"method":"ping"}]`
	for _, rev := range []string{"2025-06-18", "2025-11-25"} {
		s.ask(s.open(rev).post(ping)).wantError(t, 400, -32600, "")
	}
	c := s.open("2025-03-26")
	s.ask(plainPost(ping)).wantError(t, 400, -32600, "")
	s.ask(c.post(`[]`)).wantError(t, 400, -32600, "")
	s.ask(c.post(`[{"jsonrpc":"2.0"`)).wantError(t, 400, -32700, "")
	s.ask(c.post(ping).with("Mcp-Session-Id", "nope")).wantError(t, 404, -32600, "")
	many := `[` + strings.TrimSuffix(strings.Repeat(`{"jsonrpc":"2.0","id":2,"method":"ping"},`, 100), ",") + `]`
	s.ask(c.post(many)).wantError(t, 429, -32600, "")
	modernItem := `[` + modern("1", "tools/list", "", "").body + `]`
	if a := s.ask(c.post(modernItem)); !strings.Contains(a.body, "-32600") && !strings.Contains(a.body, "-32020") {
		t.Errorf("a modern item: %s", a.body)
	}
}
