//go:build !mcp_modern_only

package mcp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

func TestInteractionDraft(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{Ask: &mcp.AskOptions{InteractionDraft: true}})
	addAskers(s.Server)
	for _, tc := range []struct{ revision, answer, got string }{
		{"2025-03-26", `"result":{}`, "opened"},
		{"2025-06-18", `"error":{"code":-32099,"message":"User did not consent to the interaction."}`, "the person declined"},
		{"2025-11-25", `"result":{}`, "opened"},
		{"2025-03-26", `"error":{"code":-32601,"message":"x"}`, `"code":-32003`}, // one that cannot be sent to after all
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

// Forms are the type "prompt" of the draft's earlier versions, for clients that cannot be asked them otherwise.
func TestInteractionPrompt(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{Ask: &mcp.AskOptions{InteractionDraft: true}})
	addAskers(s.Server)
	const both = `{"userInteraction":{"types":["ua","prompt"]}}`
	for _, tc := range []struct{ revision, caps, answer, method, got string }{
		{"2024-11-05", both, `"result":{"content":{"name":"Ann"}}`, "interaction/create", "hello Ann"},
		{"2025-03-26", both, `"result":{"content":{}}`, "interaction/create", "hello nobody"},
		{"2025-03-26", both, `"result":{"content":{"name":7}}`, "interaction/create", "never fitted"},
		{"2025-03-26", both, `"result":{"content":7}`, "interaction/create", "could not be understood"},
		{"2025-03-26", both, `"result":7`, "interaction/create", "could not be understood"},
		{"2025-03-26", both, `"error":{"code":-32099,"message":"no"}`, "interaction/create", "the person declined"},
		{"2025-06-18", `{"elicitation":{},"userInteraction":{"types":["prompt"]}}`, `"result":{"action":"accept","content":{"name":"Ann"}}`, "elicitation/create", "hello Ann"},
		{"2025-03-26", `{"userInteraction":{"types":["ua"]}}`, ``, "", "nobody can be asked"},
	} {
		l, p := openAsked(t, s, tc.revision, tc.caps, nil, func(string, string) string { return tc.answer })
		want(t, l.callTool(p, "name"), tc.got)
		asked := strings.Join(p.questions(), "\n")
		switch tc.method {
		case "":
			want(t, "asked:"+asked+":", "asked::")
		case "interaction/create":
			want(t, asked, `"method":"interaction/create"`, `"type":"prompt"`, `"message":{"type":"text","text":"Your name?"}`, `"schema":{"type":"object"`)
		default:
			want(t, asked, tc.method)
		}
	}
	l, _ := openAsked(t, s, "2025-03-26", both, nil, nil)
	want(t, l.callTool(nil, "name"), "nobody can be asked") // the error names pages only
}

// A client that no request can be sent to gets error -32003, and may track the page that it names.
func TestInteractionRequired(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{Ask: &mcp.AskOptions{InteractionDraft: true, Store: mcp.NewMemoryStore(0)}})
	addAskers(s.Server)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "pages"}, func(ctx context.Context, c *mcp.Call, _ any) (string, error) {
		_, err := c.AskAll(ctx, pageQuestion("a"), pageQuestion("b"))
		return "both", err
	})
	const caps = `{"userInteraction":{"types":["ua"]}}`
	alice := &mcp.Principal{Issuer: "i", Subject: "alice"}
	l, _ := openAsked(t, s, "2025-03-26", caps, alice, nil)
	principals[l.session] = alice
	other, _ := openAsked(t, s, "2025-03-26", caps, alice, nil)
	principals[other.session] = alice
	refused := l.callTool(nil, "page")
	want(t, refused, `"code":-32003,"message":"interaction_required"`, `"type":"ua","url":"https://travel.example/connect","message":{"type":"text","text":"Sign in."}`)
	id := at(t, refused, "error", "data", "id")
	track := `{"id":` + id + `,"_meta":{"progressToken":"t"}}`
	if sent, err := s.CompleteElicitation(strings.Trim(id, `"`)); !sent || err != nil {
		t.Errorf("complete: %v, %v", sent, err)
	}
	if sent, _ := s.CompleteElicitation(strings.Trim(id, `"`)); sent {
		t.Error("completed twice")
	}
	want(t, l.callAs(alice, "interaction/track", track), `"result":{}`)
	want(t, strings.Join(l.stream.lines(), ""), `"progress":0,"total":1`, `"progress":1,"total":1`)
	for who, got := range map[string]string{
		"another session of hers":      other.callAs(alice, "interaction/track", track),
		"somebody else in her session": l.callAs(&mcp.Principal{Issuer: "i", Subject: "mallory"}, "interaction/track", track),
		"nobody in her session":        l.callAs(nil, "interaction/track", track),
	} {
		if !strings.Contains(got, "no such interaction") {
			t.Errorf("%s: %s", who, got)
		}
	}
	if n := len(l.stream.lines()) + len(other.stream.lines()); n != 2 {
		t.Errorf("%d messages were sent", n)
	}
	// the call made again is recognised in its session, once; a replay of it begins anew
	want(t, other.callTool(nil, "page"), "-32003")
	want(t, l.callTool(nil, "page"), "opened")
	want(t, l.callTool(nil, "page"), "-32003")
	// each refusal names one page
	got := l.callTool(nil, "pages")
	want(t, got, "https://pages.example/a")
	wantNot(t, got, "https://pages.example/b")
	want(t, l.callTool(nil, "pages"), "https://pages.example/b")
	want(t, l.callTool(nil, "pages"), "both")
	// what was not declared is not sent
	l, _ = openAsked(t, s, "2025-03-26", `{"userInteraction":{"types":["prompt","oob"]}}`, nil, nil)
	want(t, l.callTool(nil, "page"), "nobody can be asked")
	// and the error of its own revision goes to a client that declared that
	l, _ = openAsked(t, s, "2025-11-25", `{"elicitation":{"url":{}},"userInteraction":{"types":["ua"]}}`, nil, nil)
	want(t, l.callTool(nil, "page"), "-32042")
}

func pageQuestion(key string) *mcp.Question {
	return &mcp.Question{Key: key, Kind: mcp.AskURL, Message: "m", URL: "https://pages.example/" + key}
}

// callAs serves one request in the session for somebody.
func (l *legacy) callAs(who *mcp.Principal, method, params string) string {
	l.id++
	x := exchange(l.t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, l.id, method, params))
	x.Session, x.Stream, x.Principal = l.session, l.stream, who
	got, _ := l.s.serve(l.t.Context(), x)
	return got
}

// Tracking ends with the interaction, the session and the server, whatever comes first, and is bounded.
func TestInteractionTrackEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(s *testServer, l *legacy, id string)
		want string
	}{
		"expired":  {func(*testServer, *legacy, string) { time.Sleep(15 * time.Minute) }, "no such interaction"},
		"closed":   {func(_ *testServer, l *legacy, _ string) { _ = l.session.Close() }, ""},
		"shutdown": {func(s *testServer, _ *legacy, _ string) { _ = s.Shutdown(context.Background()) }, "shutting down"},
		"pushed out": {func(_ *testServer, l *legacy, _ string) {
			for range 64 {
				want(l.t, l.callTool(nil, "page"), "-32003")
			}
		}, "no such interaction"},
		"complete": {func(s *testServer, _ *legacy, id string) { _, _ = s.CompleteElicitation(id) }, `"result":{}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, &mcp.ServerOptions{Ask: &mcp.AskOptions{InteractionDraft: true, MaxPerMinute: -1}})
				addAskers(s.Server)
				l, _ := openAsked(t, s, "2025-03-26", `{"userInteraction":{"types":["ua"]}}`, nil, nil)
				id := at(t, l.callTool(nil, "page"), "error", "data", "id")
				ended := make(chan string, 4)
				for i := range 4 {
					x := exchange(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":"t%d","method":"interaction/track","params":{"id":%s,"_meta":{"progressToken":%d}}}`, i, id, i))
					x.Session, x.Stream = l.session, l.stream
					go func() {
						got, _ := s.serve(context.Background(), x)
						ended <- got
					}()
				}
				synctest.Wait()
				if got := l.call("interaction/track", `{"id":`+id+`}`); !strings.Contains(got, "tracked already") {
					t.Errorf("a fifth: %s", got)
				}
				tc.end(s, l, strings.Trim(id, `"`))
				for range 4 {
					if got := <-ended; tc.want == "" && strings.Contains(got, `"result"`) || !strings.Contains(got, tc.want) {
						t.Errorf("%s", got)
					}
				}
				if name == "complete" {
					want(t, l.call("interaction/track", `{"id":`+id+`}`), `"result":{}`)
					time.Sleep(15 * time.Minute)
				}
				wantNot(t, l.call("interaction/track", `{"id":`+id+`}`), `"result":{}`)
			})
		})
	}
}
