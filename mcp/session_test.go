//go:build !mcp_modern_only

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

var legacyRevisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

func TestServerSessionAtEveryRevision(t *testing.T) {
	for _, rev := range legacyRevisions {
		t.Run(rev, func(t *testing.T) {
			s := newServer(t, &mcp.ServerOptions{Title: "T", Description: "D", Instructions: "be kind"})
			addEcho(s.Server)
			l := s.handshake(t, rev)
			if got := l.session.Revision().String(); got != rev {
				t.Errorf("revision %s", got)
			}
			got := l.call("tools/call", `{"name":"echo","arguments":{"text":"hi"}}`)
			wantNot(t, got, "resultType", "serverInfo")
			list := l.call("tools/list", "")
			wantNot(t, list, "ttlMs", "cacheScope", "resultType")
			structured := strings.Contains(got, "structuredContent")
			output := strings.Contains(list, "outputSchema")
			title := strings.Contains(list, `"title":"Echo"`)
			if modern := rev >= "2025-06-18"; structured != modern || output != modern || title != modern {
				t.Errorf("structured %v, output schema %v, title %v at %s\n%s\n%s", structured, output, title, rev, got, list)
			}
			if pong := l.call("ping", ""); at(t, pong, "result") != "{}" {
				t.Errorf("ping: %s", pong)
			}
			bad := l.call("tools/call", `{"name":"echo","arguments":{"text":5}}`)
			if rev >= "2025-11-25" {
				want(t, bad, `"isError":true`, "/text")
			} else {
				want(t, bad, "-32602", "/text")
			}
			want(t, l.call("server/discover", "{}"), "-32601")
			want(t, l.call("subscriptions/listen", `{"notifications":{}}`), "-32601")
		})
	}
}

func TestCaseV01ServerUnknownVersions(t *testing.T) {
	s := newServer(t, nil)
	for version, right := range map[string]string{
		`"1999-01-01"`: `"protocolVersion":"2025-11-25"`,
		`"2099-01-01"`: `"protocolVersion":"2025-11-25"`,
		`""`:           `"protocolVersion":"2025-11-25"`,
		`"2026-07-28"`: `"protocolVersion":"2025-11-25"`, // V02: initialize never negotiates a modern revision
		`5`:            "-32602",
		`null`:         "-32602",
	} {
		l := &legacy{t: t, s: s, stream: &recorder{}, session: s.NewSession(nil, nil)}
		want(t, l.raw(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":`+version+`,"capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`), right)
	}
	l := &legacy{t: t, s: s, stream: &recorder{}, session: s.NewSession(nil, nil)}
	want(t, l.raw(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`), "-32602")
	want(t, l.raw(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`), "-32602")
}

func TestServerInitializeOnce(t *testing.T) {
	s := newServer(t, nil)
	l := s.handshake(t, "2025-06-18")
	again := `{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	want(t, l.raw(again), "-32600", "before")
	if l.session.Revision().String() != "2025-06-18" {
		t.Error("the second initialize changed the session")
	}
}

func TestServerSessionLogLevel(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "log"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		for _, level := range []mcp.LoggingLevel{mcp.LevelDebug, mcp.LevelInfo, mcp.LevelError} {
			if err := c.Log(ctx, level, "t", map[string]int{"n": 1}); err != nil {
				return "", err
			}
		}
		return "", nil
	})
	l := s.handshake(t, "2025-11-25")
	l.call("tools/call", `{"name":"log"}`)
	if n := len(l.stream.lines()); n != 2 {
		t.Errorf("%d messages by default, want info and error: %v", n, l.stream.lines())
	}
	if got := l.call("logging/setLevel", `{"level":"error"}`); at(t, got, "result") != "{}" {
		t.Error(got)
	}
	l.call("tools/call", `{"name":"log"}`)
	if n := len(l.stream.lines()); n != 3 {
		t.Errorf("%d messages after setLevel error: %v", n, l.stream.lines())
	}
	for _, bad := range []string{`{"level":"loud"}`, `{"level":5}`, `{}`, ``} {
		want(t, l.call("logging/setLevel", bad), "-32602")
	}
	other := s.handshake(t, "2025-11-25")
	other.call("tools/call", `{"name":"log"}`)
	if n := len(other.stream.lines()); n != 2 {
		t.Errorf("the level of one session reached another: %v", other.stream.lines())
	}
}

// gather takes messages from a session until its context ends.
func gather(ctx context.Context, ss *mcp.Session) <-chan []string {
	out := make(chan []string, 1)
	go func() {
		var got []string
		for {
			m, err := ss.Next(ctx)
			if err != nil {
				out <- got
				return
			}
			got = append(got, string(jsonrpc.Append(nil, m)))
		}
	}()
	return out
}

func TestCaseB05ServerStormOfChangesIsOneNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nil)
		addEcho(s.Server)
		early := s.NewSession(nil, nil) // has not finished its handshake
		l := s.handshake(t, "2025-11-25")
		ctx, cancel := context.WithCancel(t.Context())
		got, none := gather(ctx, l.session), gather(ctx, early)
		for i := range 100 {
			mcp.AddTool(s.Server, &mcp.Tool{Name: fmt.Sprintf("t%d", i)}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
		}
		time.Sleep(time.Second)
		s.RemoveTools("t1")
		s.RemoveTools("t1") // not there: no change
		time.Sleep(time.Second)
		cancel()
		if lines := <-got; len(lines) != 2 || lines[0] != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
			t.Errorf("notices: %v", lines)
		}
		if lines := <-none; len(lines) != 0 {
			t.Errorf("notices before the handshake is over: %v", lines)
		}
	})
}

func TestCaseB06ServerSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nil)
		addNotes(s.Server)
		a, b := s.handshake(t, "2025-06-18"), s.handshake(t, "2025-11-25")
		for _, l := range []*legacy{a, a, b} { // a twice: a set
			if got := l.call("resources/subscribe", `{"uri":"note:///a"}`); at(t, got, "result") != "{}" {
				t.Fatal(got)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		gotA, gotB := gather(ctx, a.session), gather(ctx, b.session)
		s.ResourceUpdated("note:///a")
		s.ResourceUpdated("note:///a")
		s.ResourceUpdated("note:///b")
		s.ResourceUpdated("note:///a/part")
		time.Sleep(time.Second)
		a.call("resources/unsubscribe", `{"uri":"note:///a"}`)
		if got := a.call("resources/unsubscribe", `{"uri":"note:///unknown"}`); at(t, got, "result") != "{}" {
			t.Error(got)
		}
		s.ResourceUpdated("note:///a")
		time.Sleep(time.Second)
		cancel()
		if lines := <-gotA; len(lines) != 2 {
			t.Errorf("a was told %v", lines)
		}
		lines := <-gotB
		if len(lines) != 3 {
			t.Fatalf("b was told %v", lines)
		}
		want(t, lines[0], `"uri":"note:///a"`)
		want(t, lines[1], `"uri":"note:///a/part"`)
	})
}

func TestServerSubscriptionsAreBounded(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{MaxSubscriptions: 2})
	addNotes(s.Server)
	l := s.handshake(t, "2025-06-18")
	l.call("resources/subscribe", `{"uri":"note:///1"}`)
	l.call("resources/subscribe", `{"uri":"note:///2"}`)
	want(t, l.call("resources/subscribe", `{"uri":"note:///3"}`), "-32602", "2 subscriptions")
	if got := l.call("resources/subscribe", `{"uri":"note:///2"}`); at(t, got, "result") != "{}" {
		t.Error(got)
	}
}

func TestServerCallClient(t *testing.T) {
	s := newServer(t, nil)
	type in struct {
		Path string `json:"path"`
	}
	type out struct {
		Lines int `json:"lines"`
	}
	mcp.AddTool(s.Server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		got, err := mcp.CallClient[in, out](ctx, c, "com.example/count", in{Path: "x"})
		var e *mcp.Error
		switch {
		case errors.Is(err, mcp.ErrUnavailable):
			return "unavailable", nil
		case errors.As(err, &e):
			return "client says " + e.Message, nil
		case err != nil:
			return "", err
		}
		return fmt.Sprint(got.Lines), nil
	})
	for _, tc := range []struct{ answer, right string }{
		{`"result":{"lines":42}`, `"text":"42"`},
		{`"error":{"code":-32601,"message":"no"}`, "client says no"},
		{`"result":{"lines":"many"}`, "internal error"},
	} {
		l := s.handshake(t, "2025-03-26")
		l.stream.ch = make(chan string, 1)
		done := make(chan string)
		go func() { done <- l.call("tools/call", `{"name":"ask"}`) }()
		sent := <-l.stream.ch
		want(t, sent, `"method":"com.example/count"`, `"params":{"path":"x"}`)
		stray := jsonrpc.Message{ID: jsonrpc.StringID("1"), Result: json.RawMessage(`{}`)}
		l.session.Deliver(&stray) // C03, C04: "1" is not 1
		m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":` + at(t, sent, "id") + `,` + tc.answer + `}`))
		if err != nil {
			t.Fatal(err)
		}
		l.session.Deliver(&m)
		l.session.Deliver(&m) // the same response twice
		want(t, <-done, tc.right)
	}
	want(t, s.modern(t, "tools/call", `"name":"ask"`), "unavailable")
}

func TestServerCallClientIsWithdrawn(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		_, err := mcp.CallClient[map[string]int, map[string]int](ctx, c, "com.example/count", nil)
		return "", err
	})
	l := s.handshake(t, "2025-03-26")
	l.stream.ch = make(chan string, 2)
	done := make(chan string)
	go func() { done <- l.raw(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"ask"}}`) }()
	sent := <-l.stream.ch
	for _, ignored := range []string{`{"requestId":5}`, `{}`, `{"requestId":null}`, `[]`} { // C04
		l.raw(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + ignored + `}`)
	}
	l.raw(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`)
	if got := <-done; got != "" {
		t.Errorf("a cancelled request was answered: %s", got) // C02
	}
	want(t, <-l.stream.ch, "notifications/cancelled", `"requestId":`+at(t, sent, "id"))
}

func TestServerSessionClose(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	l := s.handshake(t, "2025-11-25")
	done := make(chan string)
	go func() { done <- l.call("tools/call", `{"name":"wait"}`) }()
	for l.session.Idle() {
		runtime.Gosched()
	}
	if err := l.session.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
	if err := l.session.Notify("x/y", nil); !errors.Is(err, mcp.ErrClosed) {
		t.Errorf("Notify after Close: %v", err)
	}
	if _, err := l.session.Next(t.Context()); !errors.Is(err, mcp.ErrClosed) {
		t.Errorf("Next after Close: %v", err)
	}
}

func TestServerNotifySessions(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{MaxQueue: 2})
	l := s.handshake(t, "2025-11-25")
	for i := range 4 {
		if err := s.Notify("com.example/tick", map[string]int{"n": i}); err != nil {
			t.Fatal(err)
		}
	}
	for _, right := range []string{`"n":2`, `"n":3`} { // the oldest are lost
		m, err := l.session.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want(t, string(jsonrpc.Append(nil, m)), right)
	}
	want(t, s.log.String(), "lost=2")
	if err := s.Notify("x", []int{1}); err == nil {
		t.Error("params that are an array were accepted")
	}
	if err := s.NewSession(nil, nil).Notify("x", nil); !errors.Is(err, mcp.ErrUnavailable) {
		t.Errorf("Notify before the handshake: %v", err)
	}
}

func TestServerRestoreSession(t *testing.T) {
	s := newServer(t, nil)
	addEcho(s.Server)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		_, err := mcp.CallClient[struct{}, struct{}](ctx, c, "x/y", struct{}{})
		return fmt.Sprint(errors.Is(err, mcp.ErrUnavailable)), nil
	})
	first := s.handshake(t, "2025-06-18")
	st := first.session.State()
	raw, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	var again mcp.SessionState
	if err := json.Unmarshal(raw, &again); err != nil {
		t.Fatal(err)
	}
	ss, err := s.RestoreSession(nil, again)
	if err != nil {
		t.Fatal(err)
	}
	l := &legacy{t: t, s: s, session: ss, stream: &recorder{}}
	want(t, l.call("tools/call", `{"name":"echo","arguments":{"text":"x"}}`), "structuredContent")
	want(t, l.call("tools/call", `{"name":"ask"}`), `"text":"true"`)
	for _, bad := range []mcp.SessionState{{}, {ProtocolVersion: "2026-07-28"}, {ProtocolVersion: "2025-06-18", LogLevel: "x"}} {
		if _, err := s.RestoreSession(nil, bad); err == nil {
			t.Errorf("%v was restored", bad)
		}
	}
}

func TestServerIdleSessionIsSmall(t *testing.T) {
	s := newServer(t, nil)
	const n = 2000
	sessions := make([]*mcp.Session, n)
	var before, after runtime.MemStats
	s.handshake(t, "2025-11-25")
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range sessions {
		ss := s.NewSession(nil, nil)
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		} {
			x := exchange(t, line)
			x.Session = ss
			s.serve(t.Context(), x)
		}
		sessions[i] = ss
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if per := int64(after.HeapAlloc-before.HeapAlloc) / n; per > 1024 {
		t.Errorf("an idle session takes %d bytes, want at most 1024", per)
	}
	for _, ss := range sessions {
		if err := ss.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCaseN13ServerCloseFromInsideAHandler(t *testing.T) {
	s := newServer(t, nil)
	var l *legacy
	mcp.AddTool(s.Server, &mcp.Tool{Name: "close"}, func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		err := l.session.Close()
		return "closed", errors.Join(err, ctx.Err())
	})
	l = s.handshake(t, "2025-11-25")
	next := make(chan error)
	go func() {
		_, err := l.session.Next(context.WithoutCancel(t.Context()))
		next <- err
	}()
	l.call("tools/call", `{"name":"close"}`)
	if err := <-next; !errors.Is(err, mcp.ErrClosed) {
		t.Error(err)
	}
	s.RemoveTools("close")
	if !l.session.Idle() || !l.session.Owner(nil) || l.session.Owner(&mcp.Principal{Subject: "eve"}) {
		t.Error("the closed session is not what it was")
	}
}

func TestSessionRequestsAreBounded(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{MaxPending: 1})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		_, err := mcp.CallClient[struct{}, struct{}](ctx, c, "x/y", struct{}{})
		return "", err
	})
	out := &recorder{ch: make(chan string, 1)}
	l := s.handshake(t, "2025-11-25")
	l.stream = out
	done := make(chan string)
	go func() { done <- l.call("tools/call", `{"name":"ask"}`) }()
	<-out.ch
	x := exchange(t, `{"jsonrpc":"2.0","id":"second","method":"tools/call","params":{"name":"ask"}}`)
	x.Session, x.Stream = l.session, out
	got, _ := s.serve(t.Context(), x)
	want(t, got, `"isError":true`)
	want(t, s.log.String(), "wait for an answer already")
	if err := l.session.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
}

func TestSessionSendsItsOwnRequests(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		_, err := mcp.CallClient[struct{}, struct{}](ctx, c, "x/y", struct{}{})
		return "answered", err
	})
	for _, out := range []*recorder{nil, {ch: make(chan string, 1)}} {
		var stream mcp.Stream
		if out != nil {
			stream = out
		}
		ss := s.NewSession(stream, nil)
		for _, line := range []string{initLine("2025-11-25"), readyLine} {
			x := exchange(t, line)
			x.Session = ss
			s.serve(t.Context(), x)
		}
		done := make(chan string)
		go func() {
			x := exchange(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`)
			x.Session = ss // and no stream
			got, _ := s.serve(context.WithoutCancel(t.Context()), x)
			done <- got
		}()
		var sent string
		if out != nil {
			sent = <-out.ch
		} else {
			m, err := ss.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sent = string(jsonrpc.Append(nil, m))
		}
		m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":` + at(t, sent, "id") + `,"result":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		ss.Deliver(&m)
		want(t, <-done, "answered")
		if err := ss.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
