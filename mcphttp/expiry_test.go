//go:build !mcp_modern_only

package mcphttp_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/mcphttp"
)

func TestCaseN04IdleSessionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := bubbleSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{IdleTimeout: 10 * time.Minute, MaxSessions: 2}}, nil)
		defer end()
		unused := s.ask(plainPost(initBody("2025-11-25"))) // its client never comes back
		used := s.site.open("2025-11-25")
		if a := s.ask(plainPost(initBody("2025-11-25"))); a.status != 503 {
			t.Errorf("beyond the cap: %d", a.status)
		}
		time.Sleep(61 * time.Second)
		late := s.site.open("2025-11-25") // in the place of the unused one
		s.ask(used.call("1", "echo", `{"text":"x"}`))
		dead := &legacyClient{site: &s.site, rev: "2025-11-25", id: unused.header.Get("Mcp-Session-Id")}
		if a := s.ask(dead.call("1", "echo", `{"text":"x"}`)); a.status != 404 {
			t.Errorf("unused session: %d", a.status)
		}
		for range 3 {
			time.Sleep(9 * time.Minute)
			if a := s.ask(used.call("1", "echo", `{"text":"x"}`)); a.status != 200 {
				t.Errorf("used session: %d", a.status)
			}
		}
		if a := s.ask(late.call("1", "echo", `{"text":"x"}`)); a.status != 404 {
			t.Errorf("idle session: %d", a.status)
		}
	})
}

func TestOpenStreamsAndRunningCallsAreUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := bubbleSite(t, &mcphttp.Options{KeepAlive: -1, Sessions: &mcphttp.SessionOptions{IdleTimeout: time.Minute}}, nil)
		defer end()
		streaming, calling := s.site.open("2025-11-25"), s.site.open("2025-11-25")
		ev, drop := streaming.follow("")
		ev.next()
		got := make(chan *answer, 1)
		go func() { got <- s.ask(calling.call("1", "wait", `{}`)) }()
		<-s.entered
		time.Sleep(time.Hour)
		for _, c := range []*legacyClient{streaming, calling} {
			if a := s.ask(c.call("2", "echo", `{"text":"x"}`)); a.status != 200 {
				t.Errorf("a session in use expired: %d", a.status)
			}
		}
		s.gates.open <- struct{}{}
		if a := <-got; !strings.Contains(a.body, "waited") {
			t.Errorf("%d %s", a.status, a.body)
		}
		drop()
		time.Sleep(2 * time.Minute)
		for _, c := range []*legacyClient{streaming, calling} {
			if a := s.ask(c.call("2", "echo", `{"text":"x"}`)); a.status != 404 {
				t.Errorf("a session out of use lives: %d", a.status)
			}
		}
	})
}

func TestReplayIsForgottenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := bubbleSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{ReplayFor: time.Minute}}, nil)
		defer end()
		c := s.site.open("2025-11-25")
		ev := eventsOf(t, s.do(t.Context(), c.call("1", "progress", `{}`)))
		id := ev.next().ID
		for range 4 {
			ev.message()
		}
		ev.end()
		time.Sleep(30 * time.Second)
		again, _ := c.follow(id)
		for range 4 {
			again.message()
		}
		again.end()
		time.Sleep(90 * time.Second)
		if a := s.ask(c.get(id)); a.status != 400 {
			t.Errorf("after the time: %d %s", a.status, a.body)
		}
	})
}

func TestStuckReaderDoesNotHoldUpItsSuccessor(t *testing.T) {
	s, end := bubbleSite(t, &mcphttp.Options{WriteTimeout: time.Hour}, nil) // in real time: who waits for a mutex stops a bubble's clock
	defer end()
	c := s.site.open("2025-11-25")
	conn, err := s.pn.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	req := "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: " + c.id + "\r\n\r\n"
	if _, err := conn.Write([]byte(req)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil { // the server is writing, and nothing more is ever read
		t.Fatal(err)
	}
	within(t, "the second stream", func() {
		ev, drop := c.follow("")
		ev.next()
		s.srv.Notify("notifications/custom", nil)
		ev.want("notifications/custom")
		drop()
	})
}

func TestCaseN08SessionChurnLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("makes thousands of sessions")
	}
	s := serveSite(t, nil)
	churn := func(n int) uint64 {
		for range n {
			c := s.open("2025-11-25")
			s.ask(c.call("1", "progress", `{}`))
			s.ask(c.del())
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := churn(200)
	after := churn(2000)
	if after > before+(1<<20) {
		t.Errorf("heap grew from %d to %d bytes", before, after)
	}
}

func TestIdleSessionIsSmall(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{MaxSessions: 5000, MaxSessionsPerPeer: 5000}})
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	open := func(n int) {
		for range n {
			h := s.openDirect()
			if h == "" {
				t.Fatal("no session")
			}
		}
	}
	open(100)
	before, goroutines := heap(), runtime.NumGoroutine()
	const n = 2000
	open(n)
	per := (int64(heap()) - int64(before)) / n
	t.Logf("%d bytes per idle session", per)
	if per > 1200 {
		t.Errorf("an idle session takes %d bytes", per)
	}
	if g := runtime.NumGoroutine(); g > goroutines+5 {
		t.Errorf("%d goroutines for %d sessions", g-goroutines, n)
	}
}
