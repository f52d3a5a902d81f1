//go:build !mcp_modern_only

package mcphttp_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// draftServer asks for a page in the User Interaction draft. What its tool was told is complete when it comes to finish.
func draftServer(t *testing.T, store mcp.StateStore) (*mcp.Server, *gates, func(id string)) {
	srv, g := newServer(&mcp.ServerOptions{Ask: &mcp.AskOptions{InteractionDraft: true, Store: store}})
	mcp.AddTool(srv, &mcp.Tool{Name: "visit"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		_, err := c.Ask(ctx, &mcp.Question{Key: "k", Kind: mcp.AskURL, Message: "Please visit.", URL: "https://x.example/1"})
		return "visited", err
	})
	return srv, g, func(id string) {
		if sent, err := srv.CompleteElicitation(id); !sent || err != nil {
			t.Errorf("complete %s: %v %v", id, sent, err)
		}
	}
}

// byName takes the header for the caller's name.
func byName(r *http.Request) (*mcp.Principal, error) {
	if name := r.Header.Get("Authorization"); name != "" {
		return &mcp.Principal{Subject: name, Person: true}, nil
	}
	return nil, nil //nolint:nilnil // anonymous
}

// Our client against our handler: with sessions the page is asked for on the stream of the call; without, the call is refused until
// the page is finished, which the client hears by tracking it.
func TestInteractionDraftOverHTTP(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		for _, rev := range []mcp.Revision{mcp.Revision20250326, mcp.Revision20250618} {
			srv, g, complete := draftServer(t, mcp.NewMemoryStore(0))
			s := serveServer(t, srv, g, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{Stateless: stateless}})
			asked, completed := 0, make(chan string, 1)
			in := &mcp.Interactor{
				Open: func(_ context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
					if asked++; q.URL != "https://x.example/1" || q.ID == "" || q.Message != "Please visit." || q.Name != "visit" {
						t.Errorf("asked %+v", q)
					}
					complete(q.ID)
					return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
				},
				Completed: func(_ context.Context, q *mcp.OpenQuestion) { completed <- q.ID },
			}
			c, err := mcp.Connect(t.Context(), mcphttp.Dial(s.url), &mcp.ClientOptions{Revisions: []mcp.Revision{rev}, Interactor: in, InteractionDraft: true})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := mcp.CallTool[string](t.Context(), c, "visit", struct{}{}); err != nil || got != "visited" || asked != 1 {
				t.Errorf("%s, stateless %t: %q %v, asked %d times", rev, stateless, got, err, asked)
			}
			select {
			case <-completed:
			case <-time.After(20 * time.Second):
				t.Fatal("completion was not told")
			}
			in.Open = func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) { return nil, mcp.ErrDeclined }
			_, err = mcp.CallTool[string](t.Context(), c, "visit", struct{}{})
			if stateless && !errors.Is(err, mcp.ErrDeclined) || !stateless && (err == nil || !strings.Contains(err.Error(), "the person declined")) {
				t.Errorf("%s, stateless %t, declined: %v", rev, stateless, err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A client of a stateless server: which types it declared, and which interactions are its own, is sealed in its session id.
func TestInteractionDraftStateless(t *testing.T) {
	keys := mcp.NewKeyRing()
	opts := func() *mcphttp.Options {
		return &mcphttp.Options{Authenticate: byName, Sessions: &mcphttp.SessionOptions{Stateless: true, Keys: keys}}
	}
	srv, g, complete := draftServer(t, mcp.NewMemoryStore(0))
	s := serveServer(t, srv, g, opts())
	open := func(who, types string) *legacyClient {
		t.Helper()
		body := strings.Replace(initBody("2025-06-18"), `"capabilities":{}`, `"capabilities":{"userInteraction":{"types":`+types+`}}`, 1)
		return &legacyClient{site: s, rev: "2025-06-18", auth: who, id: s.ask(plainPost(body).with("Authorization", who)).header.Get("Mcp-Session-Id")}
	}
	alice, again, mallory := open("alice", `["ua"]`), open("alice", `["ua"]`), open("mallory", `["ua"]`)
	refused := s.ask(alice.call("1", "visit", `{}`))
	_, rest, found := strings.Cut(refused.body, `"data":{"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if !found || !strings.Contains(refused.body, `"code":-32003`) {
		t.Fatalf("%d %s", refused.status, refused.body)
	}
	complete(id)
	track := func(c *legacyClient) *request {
		return c.post(`{"jsonrpc":"2.0","id":2,"method":"interaction/track","params":{"id":"` + id + `","_meta":{"progressToken":"p"}}}`)
	}
	for name, r := range map[string]*request{
		"another session of hers":      track(again),
		"somebody else":                track(mallory),
		"somebody with her session id": track(alice).with("Authorization", "mallory"),
		"nobody, without a session":    plainPost(`{"jsonrpc":"2.0","id":2,"method":"interaction/track","params":{"id":"` + id + `","_meta":{"progressToken":"p"}}}`),
	} {
		if a := s.ask(r); !strings.Contains(a.body, `"error"`) || strings.Contains(a.body, "progress") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := s.ask(track(alice)); strings.Count(a.body, "notifications/progress") != 2 || !strings.Contains(a.body, `"result":{}`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, c := range []*legacyClient{again, mallory} { // her consent is not theirs
		if a := s.ask(c.call("3", "visit", `{}`)); !strings.Contains(a.body, "-32003") || strings.Contains(a.body, id) {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if a := s.ask(alice.call("3", "visit", `{}`)); !strings.Contains(a.body, "visited") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.ask(alice.call("4", "visit", `{}`)); !strings.Contains(a.body, "-32003") { // a replay begins anew
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, types := range []string{`["oob"]`, `["prompt"]`, `[]`, `"ua"`} {
		if a := s.ask(open("bob", types).call("1", "visit", `{}`)); strings.Contains(a.body, "x.example") {
			t.Errorf("types %s: %s", types, a.body)
		}
	}
	plain, g := newServer(nil) // a replica without the option, and with the same keys
	s = serveServer(t, plain, g, opts())
	mcp.AddTool(plain, &mcp.Tool{Name: "visit"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		_, err := c.Ask(ctx, &mcp.Question{Key: "k", Kind: mcp.AskURL, URL: "https://x.example/1"})
		return "visited", err
	})
	alice.site = s
	if a := s.ask(alice.call("1", "visit", `{}`)); a.status != 200 || strings.Contains(a.body, "x.example") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.ask(track(alice)); !strings.Contains(a.body, "-32601") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
