//go:build !mcp_modern_only

package mcphttp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcphttp"
)

// follow opens a GET stream and returns its events and a way to drop the connection.
func (c *legacyClient) follow(lastID string) (*events, context.CancelFunc) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	c.t.Cleanup(cancel)
	resp := c.do(ctx, c.get(lastID))
	return eventsOf(c.t, resp), cancel
}

func TestCaseE11GetAnswersAtOnce(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-11-25")
	within(t, "the beginning of the stream", func() {
		ev, _ := c.follow("")
		first := ev.next()
		if !first.HasID || len(first.Data) != 0 || first.Retry <= 0 {
			t.Errorf("priming event %+v", first)
		}
		c.srv.Notify("notifications/custom", nil)
		if got := ev.want("notifications/custom"); !got.HasID {
			t.Error("no event id")
		}
	})
	old := s.open("2025-06-18")
	within(t, "the beginning of the stream", func() {
		resp := old.do(t.Context(), old.get(""))
		resp.Body.Close()
	})
}

func TestCaseE13AnswerIsReplayed(t *testing.T) {
	for _, rev := range []string{"2025-03-26", "2025-11-25"} {
		s := serveSite(t, nil)
		c := s.open(rev)
		ctx, drop := context.WithCancel(t.Context())
		ev := eventsOf(t, s.do(ctx, c.call("5", "stepwait", `{}`)))
		last := ev.want(`"message":"before"`).ID
		drop()
		<-s.entered
		close(s.gates.open)
		for range 2 { // also a second time: nobody knows whether the first one arrived
			ev, _ = c.follow(last)
			ev.want(`"message":"after"`)
			end := ev.want(`"id":5`, "waited")
			ev.end()
			ev, _ = c.follow(end.ID)
			ev.end()
		}
	}
}

func TestCaseE12OnlyTheStreamsOwnMessages(t *testing.T) {
	s := serveSite(t, nil)
	a, b := s.open("2025-11-25"), s.open("2025-11-25")
	var first, second []string // ids of two streams of a
	read := func(id string) (ids []string) {
		ev := eventsOf(t, s.do(t.Context(), a.call(id, "progress", `{}`)))
		for range 4 {
			ids = append(ids, ev.message().ID)
		}
		ev.end()
		return ids
	}
	first, second = read("1"), read("2")
	seen := map[string]bool{}
	for _, id := range append(first, second...) {
		if seen[id] || id == "" {
			t.Errorf("event id %q is not unique", id)
		}
		seen[id] = true
	}
	ev, _ := a.follow(first[0])
	for _, want := range first[1:] {
		if got := ev.message(); got.ID != want {
			t.Errorf("replayed %s, want %s", got.ID, want)
		}
	}
	ev.end()
	for _, id := range []string{first[0], "nonsense", "1-1", "-", strings.Replace(first[0], ".1-", ".99-", 1), first[0] + "0x",
		strings.Replace(first[0], ".1-", ".01-", 1)} {
		if got := s.ask(b.get(id)); got.status != 400 || strings.Contains(got.body, "step") {
			t.Errorf("id %q in another session: %d %s", id, got.status, got.body)
		}
	}
	if got := s.ask(a.get("nonsense")); got.status != 400 {
		t.Errorf("unknown id: %d %s", got.status, got.body)
	}
}

func TestCaseE10SecondGetTakesOver(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-11-25")
	first, _ := c.follow("")
	first.next()
	s.srv.Notify("notifications/custom", map[string]int{"n": 1})
	id := first.want(`"n":1`).ID
	second, dropSecond := c.follow("") // the first is still open
	second.next()
	first.end()
	s.srv.Notify("notifications/custom", map[string]int{"n": 2})
	second.want(`"n":2`)
	dropSecond()
	third, _ := c.follow(id) // comes back for what it may have missed
	third.want(`"n":2`)
	s.srv.Notify("notifications/custom", map[string]int{"n": 3})
	third.want(`"n":3`)
}

func TestPollingAfterCloseStream(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-11-25")
	ev := eventsOf(t, s.do(t.Context(), c.call("5", "poll", `{}`)))
	prime := ev.next()
	if !prime.HasID || prime.ID == "" || len(prime.Data) != 0 || prime.Retry <= 0 {
		t.Errorf("priming event %+v", prime)
	}
	ev.end() // closed while the tool is held
	<-s.entered
	again, drop := c.follow(prime.ID)
	again.next()
	drop()
	close(s.gates.open)
	again, _ = c.follow(prime.ID)
	again.want(`"id":5`, "closed: true")
	again.end()
}

func TestCloseStreamElsewhereDoesNothing(t *testing.T) {
	s := serveSite(t, nil)
	close(s.gates.open)
	for _, r := range []*request{s.open("2025-06-18").call("5", "poll", `{}`), callTool("5", "poll", `{}`)} {
		if a := s.ask(r); !strings.Contains(a.body, "closed: false") {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	off := serveSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{ReplayBytes: -1}})
	close(off.gates.open)
	c := off.open("2025-11-25")
	if a := off.ask(c.call("5", "poll", `{}`)); !strings.Contains(a.body, "closed: false") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := off.ask(c.call("6", "progress", `{}`)); strings.Contains(a.body, "id: ") || !strings.Contains(a.body, "done") {
		t.Errorf("ids without a store: %s", a.body)
	}
}

func TestReplayIsBounded(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{ReplayBytes: 600}})
	c := s.open("2025-11-25")
	ids := make([]string, 0, 4)
	for i := range 4 {
		ev := eventsOf(t, s.do(t.Context(), c.call(string(rune('1'+i)), "progress", `{}`)))
		ids = append(ids, ev.next().ID)
		for range 4 {
			ev.message()
		}
		ev.end()
	}
	ev, _ := c.follow(ids[3])
	n := 0
	for {
		m, err := ev.r.Next()
		if err != nil {
			break
		}
		if len(m.Data) > 0 {
			n++
		}
	}
	if n == 0 || n > 4 {
		t.Errorf("%d messages of the newest stream", n)
	}
	if a := s.ask(c.get(ids[0])); a.status != 400 { // dropped for the newer ones
		t.Errorf("the oldest stream: %d %s", a.status, a.body)
	}
}

func TestCaseE17QueuedUntilTheStreamOpens(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-11-25")
	s.srv.Notify("notifications/custom", map[string]int{"n": 7})
	ev, _ := c.follow("")
	ev.want(`"n":7`)
}

func TestGetEndsWithItsSession(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-11-25")
	get, _ := c.follow("")
	get.next()
	post := eventsOf(t, s.do(t.Context(), c.call("5", "poll", `{}`)))
	resumed, _ := c.follow(post.next().ID)
	resumed.next()
	s.ask(c.del())
	within(t, "the end of the streams", func() {
		get.end()
		resumed.end()
	})
}

func TestReplayIsBoundedInTotal(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{ReplayTotalBytes: 1}})
	c := s.open("2025-11-25")
	if a := s.ask(c.call("4", "progress", `{}`)); strings.Count(a.body, "data: {") != 4 {
		t.Errorf("a connected client lost messages: %s", a.body)
	}
	ev := eventsOf(t, s.do(t.Context(), c.call("5", "poll", `{}`)))
	id := ev.next().ID
	ev.end()
	close(s.gates.open)
	again, _ := c.follow(id)
	within(t, "the end of the stream", func() { // the answer may have come too early to be had, but nobody waits for it for ever
		for {
			if _, err := again.r.Next(); err != nil {
				return
			}
		}
	})
}

func TestEndedStreamsAreBounded(t *testing.T) {
	s := serveSite(t, nil)
	c := s.open("2025-11-25")
	var first, kept, last string
	for i := range 300 {
		ev := eventsOf(t, s.do(t.Context(), c.call("1", "progress", `{}`)))
		if last = ev.next().ID; i == 0 {
			first = last
		}
		if i == 300-256 {
			kept = last
		}
		for range 4 {
			ev.message()
		}
		ev.end()
	}
	for range 20 {
		s.ask(c.call("1", "echo", `{"text":"takes no place"}`))
	}
	ev, _ := c.follow(kept)
	for range 4 {
		ev.message()
	}
	ev.end()
	if a := s.ask(c.get(first)); a.status != 400 {
		t.Errorf("the first of 300 streams: %d", a.status)
	}
	ev, _ = c.follow(last)
	for range 4 {
		ev.message()
	}
	ev.end()
}
