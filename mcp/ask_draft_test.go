//go:build !mcp_modern_only

package mcp_test

import (
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

func TestInteractionDraft(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{Ask: &mcp.AskOptions{InteractionDraft: true}})
	addAskers(s.Server)
	for _, tc := range []struct{ revision, answer, got string }{
		{"2025-03-26", `"result":{}`, "opened"},
		{"2025-06-18", `"error":{"code":-32099,"message":"User did not consent to the interaction."}`, "the person declined"},
		{"2025-11-25", `"result":{}`, "opened"},
		{"2025-03-26", `"error":{"code":-32601,"message":"x"}`, "nobody can be asked"},
	} {
		l, p := openAsked(t, s, tc.revision, `{"userInteraction":{"types":["oob","ua"]}}`, nil, func(string, string) string { return tc.answer })
		want(t, l.callTool(p, "page"), tc.got)
		asked := strings.Join(p.questions(), "\n")
		want(t, asked, `"method":"interaction/create"`, `"type":"ua"`, `"interaction":{"url":"https://travel.example/connect","message":{"type":"text","text":"Sign in."}}`)
	}
	// a client that can be asked in the way of its revision is asked so
	l, p := openAsked(t, s, "2025-11-25", `{"userInteraction":{"types":["ua"]},"elicitation":{"url":{}}}`, nil, func(string, string) string { return `"result":{"action":"accept"}` })
	want(t, l.callTool(p, "page"), "opened")
	want(t, strings.Join(p.questions(), ""), `"method":"elicitation/create"`)
	// what was not declared, or is switched off, is not sent
	for _, caps := range []string{`{"userInteraction":{"types":["oob"]}}`, `{"userInteraction":true}`, `{}`} {
		l, p := openAsked(t, s, "2025-06-18", caps, nil, nil)
		want(t, l.callTool(p, "page"), "nobody can be asked")
	}
	off := newServer(t, nil)
	addAskers(off.Server)
	l, p = openAsked(t, off, "2025-06-18", `{"userInteraction":{"types":["ua"]}}`, nil, nil)
	want(t, l.callTool(p, "page"), "nobody can be asked")
	want(t, l.call("interaction/track", `{"id":"x"}`), `"code":-32601`)
}

func TestInteractionTrack(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{Ask: &mcp.AskOptions{InteractionDraft: true}})
	addAskers(s.Server)
	const caps = `{"userInteraction":{"types":["ua"]}}`
	l, p := openAsked(t, s, "2025-06-18", caps, nil, func(string, string) string { return `"result":{}` })
	want(t, l.callTool(p, "page"), "opened")
	id := at(t, p.questions()[0], "params", "id")
	track := `{"id":` + id + `,"_meta":{"progressToken":"t"}}`

	other, _ := openAsked(t, s, "2025-06-18", caps, nil, nil)
	want(t, other.call("interaction/track", track), "no such interaction")
	wantNot(t, strings.Join(other.stream.lines(), ""), "progress")
	want(t, l.call("interaction/track", `{"id":"unknown"}`), "no such interaction")
	want(t, l.call("interaction/track", `{"id":5}`), `"code":-32602`)
	want(t, s.modern(t, "interaction/track", `"id":"x"`), `"code":-32601`)

	l.stream.ch = make(chan string, 4)
	done := make(chan string)
	go func() { done <- l.call("interaction/track", track) }()
	want(t, <-l.stream.ch, `"progressToken":"t"`, `"progress":0`)
	select {
	case got := <-done:
		t.Fatalf("ended before the interaction did: %s", got)
	default:
	}
	if sent, err := s.CompleteElicitation(strings.Trim(id, `"`)); !sent || err != nil {
		t.Errorf("complete: %v, %v", sent, err)
	}
	want(t, <-l.stream.ch, `"progress":1`)
	want(t, <-done, `"result":{}`)
	// one that is complete already says so at once
	want(t, l.call("interaction/track", track), `"result":{}`)
	want(t, <-l.stream.ch, `"progress":0`)
	want(t, <-l.stream.ch, `"progress":1`)

	l.stream.ch = make(chan string, 4)
	want(t, l.callTool(p, "page"), "opened")
	open := at(t, p.questions()[1], "params", "id")
	go func() {
		done <- l.raw(`{"jsonrpc":"2.0","id":"x","method":"interaction/track","params":{"id":` + open + `,"_meta":{"progressToken":"u"}}}`)
	}()
	<-l.stream.ch
	l.raw(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`)
	if got := <-done; got != "" {
		t.Errorf("a cancelled tracking was answered: %s", got)
	}
}
