//go:build !mcp_modern_only

package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// person is the stream of a call, with somebody behind it who answers requests.
type person struct {
	session *mcp.Session
	answer  func(method, params string) string // the response's result or error member; "" is silence

	mu    sync.Mutex
	asked []string
	told  []string // notifications
	wg    sync.WaitGroup
}

func (p *person) Send(_ context.Context, m *jsonrpc.Message) error {
	line := string(jsonrpc.Append(nil, m))
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Kind() != jsonrpc.Request {
		p.told = append(p.told, line)
		return nil
	}
	p.asked = append(p.asked, line)
	id, method, params := m.ID, m.Method, string(m.Params)
	p.wg.Go(func() {
		got := p.answer(method, params)
		if got == "" {
			return
		}
		raw := `{"jsonrpc":"2.0","id":` + string(id.AppendJSON(nil)) + `,` + got + `}`
		reply, err := jsonrpc.Decode([]byte(raw))
		if err != nil {
			panic(raw)
		}
		p.session.Deliver(&reply)
	})
	return nil
}

func (p *person) questions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

// openAsked opens a session whose client declares caps and answers like answer.
func openAsked(t testing.TB, s *testServer, revision, caps string, who *mcp.Principal, answer func(method, params string) string) (*legacy, *person) {
	t.Helper()
	ss := s.NewSession(nil, who)
	l := &legacy{t: t, s: s, stream: &recorder{}, session: ss}
	got := l.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"c","version":"0"}}}`,
		revision, caps))
	if v := at(t, got, "result", "protocolVersion"); v != `"`+revision+`"` {
		t.Fatalf("negotiated %s, want %s", v, revision)
	}
	l.raw(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p := &person{session: ss, answer: answer}
	t.Cleanup(func() { _ = ss.Close(); p.wg.Wait() })
	return l, p
}

// callTool calls a tool with the person's stream.
func (l *legacy) callTool(p *person, name string) string {
	l.id++
	x := exchange(l.t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"a":1}}}`, l.id, name))
	x.Session, x.Principal = l.session, l.principal()
	if p != nil {
		x.Stream = p
	}
	got, _ := l.s.serve(l.t.Context(), x)
	return got
}

func (l *legacy) principal() *mcp.Principal { return principals[l.session] }

// principals of sessions, for calls in them.
var principals = map[*mcp.Session]*mcp.Principal{}

type seatForm struct {
	Class string   `json:"class" enum:"first=First class,second=Second class" default:"second"`
	Count int      `json:"count" default:"1" minimum:"1"`
	Extra []string `json:"extra,omitempty" enum:"wifi,meal"`
}

func addAskers(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "name"}, func(ctx context.Context, c *mcp.Call, _ any) (string, error) {
		v, err := ask.Form[simpleForm](ctx, c, "name", "Your name?")
		return "hello " + v.Name, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "seat"}, func(ctx context.Context, c *mcp.Call, _ any) (string, error) {
		v, err := ask.Form[seatForm](ctx, c, "seat", "Where?")
		return fmt.Sprint(v), err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "page"}, func(ctx context.Context, c *mcp.Call, _ any) (string, error) {
		n, err := mcp.Once(ctx, c, "step", func() (int64, error) { return time.Now().UnixNano(), nil })
		if err != nil {
			return "", err
		}
		err = ask.Open(ctx, c, "page", "Sign in.", "https://travel.example/connect")
		return fmt.Sprint("opened ", n), err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "sample"}, func(ctx context.Context, c *mcp.Call, _ any) (string, error) {
		v, err := ask.Sample(ctx, c, "s", &mcp.CreateMessageParams{MaxTokens: 9, Messages: []*mcp.SamplingMessage{}})
		if err != nil {
			return "", err
		}
		return v.Model, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "roots"}, func(ctx context.Context, c *mcp.Call, _ any) (string, error) {
		v, err := ask.Roots(ctx, c, "r")
		return fmt.Sprint(len(v)), err
	})
}

func TestCaseM09AskInSessions(t *testing.T) {
	const full = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`
	for _, tc := range []struct {
		revision, caps, tool, answer string
		asked, got                   string // parts of the request, and of the result
	}{
		{"2025-11-25", full, "name", `"result":{"action":"accept","content":{"name":"Ann"}}`, `"default":"nobody"`, "hello Ann"},
		{"2025-11-25", full, "name", `"result":{"action":"accept"}`, `"message":"Your name?"`, "hello nobody"},
		{"2025-06-18", `{"elicitation":{}}`, "name", `"result":{"action":"accept","content":{"name":"Ann"}}`, `"requestedSchema"`, "hello Ann"},
		{"2025-11-25", full, "seat", `"result":{"action":"accept","content":{"class":"first","extra":["meal"]}}`, `"const":"first"`, "{first 1 [meal]}"},
		{"2025-11-25", full, "name", `"result":{"action":"decline"}`, ``, "the person declined"},
		{"2025-06-18", `{"elicitation":{}}`, "name", `"result":{"action":"cancel","content":{}}`, ``, "the person dismissed"},
		{"2025-11-25", full, "page", `"result":{"action":"accept","content":{"x":1}}`, `"elicitationId":"`, "opened "},
		{"2025-11-25", full, "sample", `"result":{"role":"assistant","content":{"type":"text","text":"t"},"model":"m"}`, `"maxTokens":9`, `"text":"m"`},
		{"2024-11-05", `{"sampling":{},"roots":{}}`, "sample", `"result":{"role":"assistant","content":{"type":"text","text":"t"},"model":"m"}`, `"maxTokens":9`, `"text":"m"`},
		{"2025-11-25", full, "sample", `"error":{"code":-1,"message":"no"}`, ``, "the person declined"},
		{"2024-11-05", `{"roots":{}}`, "roots", `"result":{"roots":[{"uri":"file:///a"}]}`, `"method":"roots/list"`, `"text":"1"`},
		// what cannot be asked is not sent
		{"2025-06-18", `{"elicitation":{}}`, "page", ``, `!`, "nobody can be asked"},
		{"2025-06-18", `{"elicitation":{}}`, "seat", ``, `!`, "nobody can be asked"},
		{"2025-03-26", `{}`, "name", ``, `!`, "nobody can be asked"},
		{"2025-11-25", `{"elicitation":{"url":{}}}`, "name", ``, `!`, "nobody can be asked"},
		{"2025-11-25", `{"elicitation":{"form":{}}}`, "page", ``, `!`, "nobody can be asked"},
		{"2025-11-25", `{}`, "roots", ``, `!`, "nobody can be asked"},
		// replies that are none
		{"2025-11-25", full, "name", `"error":{"code":-32601,"message":"Method not found"}`, ``, "nobody can be asked"},
		{"2025-11-25", full, "name", `"error":{"code":5,"message":"odd"}`, ``, "could not get an answer (error 5: odd)"},
		{"2025-11-25", full, "name", `"result":{"action":"maybe"}`, ``, "could not be understood"},
		{"2025-11-25", full, "roots", `"result":{"roots":[{}]}`, ``, "could not be understood"},
		{"2025-11-25", full, "name", `"result":{"action":"accept","content":{"name":7}}`, `could not be used`, "never fitted"},
	} {
		t.Run(tc.revision+" "+tc.tool+" "+tc.got, func(t *testing.T) {
			s := newServer(t, nil)
			addAskers(s.Server)
			l, p := openAsked(t, s, tc.revision, tc.caps, nil, func(string, string) string { return tc.answer })
			want(t, l.callTool(p, tc.tool), tc.got)
			asked := strings.Join(p.questions(), "\n")
			if (tc.asked == "!") != (asked == "") {
				t.Errorf("asked %q", asked)
			}
			if tc.asked != "!" {
				want(t, asked, tc.asked)
			}
		})
	}
}

// U10: what belongs to one revision is not sent at another.
func TestCaseU01ElicitationID(t *testing.T) {
	s := newServer(t, nil)
	addAskers(s.Server)
	var ids []string
	l, p := openAsked(t, s, "2025-11-25", `{"elicitation":{"url":{}}}`, nil, func(_, params string) string {
		ids = append(ids, at(t, params, "elicitationId"))
		return `"result":{"action":"accept"}`
	})
	for range 2 {
		want(t, l.callTool(p, "page"), "opened")
	}
	if len(ids) != 2 || ids[0] == ids[1] || len(ids[0]) < 20 {
		t.Errorf("ids %v", ids)
	}
	// the completion is told to the session that was asked, once
	id := strings.Trim(ids[0], `"`)
	other := s.handshake(t, "2025-11-25")
	for i, wantSent := range []bool{true, false} {
		sent, err := s.CompleteElicitation(id)
		if sent != wantSent || err != nil {
			t.Errorf("completion %d: %v, %v", i, sent, err)
		}
	}
	if sent, _ := s.CompleteElicitation("unknown"); sent {
		t.Error("an unknown id is completed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	m, err := l.session.Next(ctx)
	if err != nil || m.Method != "notifications/elicitation/complete" || at(t, string(m.Params), "elicitationId") != ids[0] {
		t.Errorf("%+v, %v", m, err)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	if m, err := other.session.Next(gone); err == nil {
		t.Errorf("another session is told: %+v", m)
	}
	_ = l.session.Close()
	if sent, err := s.CompleteElicitation(strings.Trim(ids[1], `"`)); sent && err == nil {
		t.Error("a closed session is told")
	}
}

// F16: the question is withdrawn when the call ends, and its own deadline is the only one (F14).
func TestCaseF16QuestionsAreWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nil)
		mcp.AddTool(s.Server, &mcp.Tool{Name: "name"}, func(ctx context.Context, c *mcp.Call, _ any) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			_, err := ask.Form[simpleForm](ctx, c, "name", "Your name?")
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after an hour: %v", err)
			}
			return "gave up", nil
		})
		l, p := openAsked(t, s, "2025-11-25", `{"elicitation":{}}`, nil, func(string, string) string { return "" })
		begin := time.Now()
		want(t, l.callTool(p, "name"), "gave up")
		if time.Since(begin) != time.Hour {
			t.Errorf("gave up after %v", time.Since(begin))
		}
		want(t, strings.Join(p.told, ""), "notifications/cancelled")
	})
}

func TestCaseF20StatelessSessions(t *testing.T) {
	s := newServer(t, nil)
	addAskers(s.Server)
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		first, _ := openAsked(t, s, revision, `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`, nil, nil)
		ss, err := s.RestoreSession(nil, first.session.State())
		if err != nil {
			t.Fatal(err)
		}
		l := &legacy{t: t, s: s, session: ss}
		for _, tool := range []string{"name", "sample", "roots"} {
			want(t, l.callTool(&person{session: ss}, tool), "nobody can be asked", "stateless")
		}
	}
}

func TestCaseU02URLElicitationRequired(t *testing.T) {
	store := mcp.NewMemoryStore(0)
	s := newServer(t, &mcp.ServerOptions{Ask: &mcp.AskOptions{Store: store}})
	addAskers(s.Server)
	who := &mcp.Principal{Issuer: "i", Subject: "alice", ClientID: "c"}
	first, _ := openAsked(t, s, "2025-11-25", `{"elicitation":{"url":{}}}`, who, nil)
	call := func(p *mcp.Principal) string {
		ss, err := s.RestoreSession(p, first.session.State())
		if err != nil {
			t.Fatal(err)
		}
		principals[ss] = p
		defer delete(principals, ss)
		return (&legacy{t: t, s: s, session: ss}).callTool(nil, "page")
	}
	got := call(who)
	want(t, got, `"code":-32042`, `"mode":"url"`, `"url":"https://travel.example/connect"`, `"message":"Sign in."`)
	if id := at(t, got, "error", "data", "elicitations", 0, "elicitationId"); len(id) < 20 {
		t.Errorf("elicitationId %s", id)
	}
	// somebody else, and nobody in particular, begin anew; the caller's own retry is recognised
	for _, other := range []*mcp.Principal{{Issuer: "i", Subject: "bob", ClientID: "c"}, nil, nil} {
		want(t, call(other), `"code":-32042`)
	}
	want(t, call(who), "opened")
	// it has ended: the next call is a new one
	want(t, call(who), `"code":-32042`)
	if !strings.Contains(s.log.String(), "takes AskOptions.Store and a verified principal") {
		t.Errorf("log:\n%s", s.log)
	}
}

// The 2026-07-28 side of the same tools, by the messages themselves.
func TestCaseU10ModernHasNoOldSignals(t *testing.T) {
	s := newServer(t, nil)
	addAskers(s.Server)
	meta := strings.Replace(metaText, `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}`, 1)
	line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"page"}}`
	got, status := s.serve(t.Context(), exchange(t, line))
	want(t, got, `"resultType":"input_required"`, `"mode":"url"`, `"requestState":"`)
	wantNot(t, got, "elicitationId", "32042")
	if status != 200 {
		t.Errorf("status %d", status)
	}
	got, status = s.serve(t.Context(), exchange(t, modernLine(2, "tools/call", `"name":"page"`)))
	want(t, got, `"code":-32021`, `"requiredCapabilities":{"elicitation":{"url":{}}}`)
	if status != 400 {
		t.Errorf("status %d", status)
	}
}

// A question goes out on the stream of the call that asks it, and nowhere else.
func TestCaseF21EachQuestionOnItsOwnStream(t *testing.T) {
	s := newServer(t, nil)
	addAskers(s.Server)
	l, one := openAsked(t, s, "2025-11-25", `{"elicitation":{}}`, nil, func(string, string) string { return `"result":{"action":"accept"}` })
	two := &person{session: l.session, answer: one.answer}
	quiet := &legacy{t: t, s: s, session: l.session, id: 100}
	var wg sync.WaitGroup
	wg.Go(func() { l.callTool(one, "name") })
	wg.Go(func() { quiet.callTool(two, "name") })
	wg.Wait()
	two.wg.Wait()
	if a, b := len(one.questions()), len(two.questions()); a != 1 || b != 1 {
		t.Errorf("%d and %d questions on the two streams", a, b)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := l.session.Next(ctx); err == nil {
		t.Errorf("on the session's own stream: %+v", m)
	}
}
