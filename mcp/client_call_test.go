package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

func TestCallToolTyped(t *testing.T) {
	f := modernFake(t)
	answers := map[string]string{
		"structured": `{"content":[],"structuredContent":{"price":12,"class":"first"}}`,
		"text":       `{"resultType":"complete","content":[{"type":"text","text":"{\"price\":13}"}]}`,
		"words":      textResult("hello"),
		"failed":     `{"content":[{"type":"text","text":"no such train"}],"isError":true}`,
		"silent":     `{"content":[],"isError":true}`,
		"wrong":      `{"content":[],"structuredContent":{"price":"many"}}`,
		"string":     `{"content":[],"structuredContent":"s"}`,
	}
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		var params struct{ Name string }
		json.Unmarshal(m.Params, &params)
		p.result(m, answers[params.Name])
	}
	c := f.connect(nil)
	type ticket struct {
		Price int    `json:"price"`
		Class string `json:"class"`
	}
	ctx := t.Context()
	args := struct {
		From string `json:"from"`
	}{"Bern"}
	if got, err := mcp.CallTool[ticket](ctx, c, "structured", args); err != nil || got != (ticket{12, "first"}) {
		t.Errorf("structured: %v %v", got, err)
	}
	if v := memberIn(t, f.received("tools/call")[0].Params, "arguments"); v != `{"from":"Bern"}` {
		t.Errorf("arguments %s", v)
	}
	if got, err := mcp.CallTool[ticket](ctx, c, "text", nil); err != nil || got.Price != 13 {
		t.Errorf("text: %v %v", got, err)
	}
	if got, err := mcp.CallTool[string](ctx, c, "words", nil); err != nil || got != "hello" {
		t.Errorf("words: %q %v", got, err)
	}
	if got, err := mcp.CallTool[string](ctx, c, "string", nil); err != nil || got != "s" {
		t.Errorf("string: %q %v", got, err)
	}
	if got, err := mcp.CallTool[mcp.ContentBlocks](ctx, c, "words", nil); err != nil || got.Text() != "hello" {
		t.Errorf("content: %v %v", got, err)
	}
	if got, err := mcp.CallTool[*mcp.CallToolResult](ctx, c, "structured", nil); err != nil || got.StructuredContent == nil {
		t.Errorf("result: %v %v", got, err)
	}
	if got, err := mcp.CallTool[json.RawMessage](ctx, c, "structured", nil); err != nil || string(got) != `{"price":12,"class":"first"}` {
		t.Errorf("raw: %s %v", got, err)
	}
	var failed *mcp.ToolResultError
	if _, err := mcp.CallTool[ticket](ctx, c, "failed", nil); !errors.As(err, &failed) || !strings.Contains(err.Error(), "no such train") {
		t.Errorf("failed: %v", err)
	}
	if _, err := mcp.CallTool[ticket](ctx, c, "silent", nil); !errors.As(err, &failed) || !failed.Result.IsError {
		t.Errorf("silent: %v", err)
	}
	var wrong *mcp.OutputError
	for _, name := range []string{"wrong", "words"} {
		if _, err := mcp.CallTool[ticket](ctx, c, name, nil); !errors.As(err, &wrong) || wrong.Result == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []any{[]int{1}, "x", json.RawMessage(`[`), func() {}} {
		if _, err := mcp.CallTool[string](ctx, c, "words", bad); err == nil {
			t.Errorf("arguments %v were accepted", bad)
		}
	}
	if _, err := c.CallTool(ctx, nil); err == nil {
		t.Error("a call without a name was accepted")
	}
}

func TestCaseJ13LargeNumbersKeepTheirDigits(t *testing.T) {
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.result(m, `{"content":[],"structuredContent":{"id":9007199254740993,"d":0.10,"e":1e400}}`)
	}
	c := f.connect(nil)
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"})
	if err != nil || string(res.StructuredContent) != `{"id":9007199254740993,"d":0.10,"e":1e400}` {
		t.Errorf("%s %v", res.StructuredContent, err)
	}
	typed, err := mcp.CallTool[struct {
		ID int64 `json:"id"`
	}](t.Context(), c, "x", nil)
	if err != nil || typed.ID != 9007199254740993 {
		t.Errorf("%v %v", typed, err)
	}
	loose, err := mcp.CallTool[map[string]any](t.Context(), c, "x", nil)
	if err != nil || loose["id"] != json.Number("9007199254740993") || loose["e"] != json.Number("1e400") {
		t.Errorf("%v %v", loose, err)
	}
}

// A client never writes into what its caller gave it, and one value can be used for many calls at once.
func TestParamsOfTheCallerAreLeftAlone(t *testing.T) {
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, textResult("")) }
	old := legacyOrModern(t)
	c, d := f.connect(nil), old.connect(nil)
	p := &mcp.CallToolParams{Name: "x", Arguments: json.RawMessage(`{ "b": 1.0, "a": 9007199254740993 }`), Meta: mcp.Meta{"com.example/trace": json.RawMessage(`"t"`)}}
	o := &mcp.RequestOptions{Meta: map[string]json.RawMessage{"com.example/more": json.RawMessage(`1`), mcp.MetaProtocolVersion: json.RawMessage(`"1999"`)}}
	var wg sync.WaitGroup
	for range 20 {
		for _, client := range []*mcp.Client{c, d} {
			wg.Go(func() {
				if _, err := client.CallTool(t.Context(), p, o); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if len(p.Meta) != 1 || len(o.Meta) != 2 || string(o.Meta[mcp.MetaProtocolVersion]) != `"1999"` {
		t.Errorf("the client wrote into %v or %v", p.Meta, o.Meta)
	}
	m := f.received("tools/call")[0]
	if memberIn(t, m.Params, "_meta", "com.example/trace") != `"t"` || memberIn(t, m.Params, "_meta", "com.example/more") != `1` {
		t.Errorf("the caller's _meta is lost: %s", m.Params)
	}
	if memberIn(t, m.Params, "_meta", mcp.MetaProtocolVersion) != `"2026-07-28"` {
		t.Errorf("the caller's _meta beats the protocol's: %s", m.Params)
	}
	if a := memberIn(t, m.Params, "arguments"); !strings.Contains(a, "9007199254740993") || !strings.Contains(a, "1.0") {
		t.Errorf("arguments %s", a)
	}
}

func TestCaseS14TimeoutPerCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			if memberIn(t, m.Params, "name") == `"fast"` {
				p.result(m, textResult("ok"))
			}
		}
		c := f.connect(nil)
		start := time.Now()
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "silent"}, &mcp.RequestOptions{Timeout: time.Second})
		var te *mcp.TimeoutError
		if !errors.As(err, &te) || te.Limit != "RequestTimeout" || !te.Timeout() || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		synctest.Wait()
		call, n := f.received("tools/call")[0], f.received("notifications/cancelled")
		if len(n) != 1 || memberIn(t, n[0].Params, "requestId") != call.ID.String() || memberIn(t, n[0].Params, "reason") != `"timed out"` {
			t.Errorf("cancellation: %v", n)
		}
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "fast"}); err != nil {
			t.Errorf("the next call: %v", err)
		}
		// The default holds, and cancelling works too.
		start = time.Now()
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "silent"}); !errors.As(err, &te) || time.Since(start) != time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		mine := errors.New("mine")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(mine) })
		if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "silent"}); !errors.Is(err, mine) {
			t.Errorf("cancelled: %v", err)
		}
		if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "silent"}); !errors.Is(err, mine) {
			t.Errorf("cancelled before: %v", err)
		}
	})
}

func TestCaseC03J06LateAndUnknownResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		var held *jsonrpc.Message
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			if held == nil {
				held = m
				return
			}
			p.result(m, textResult("two"))
			p.result(m, textResult("again"))
		}
		c := f.connect(nil)
		c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}, &mcp.RequestOptions{Timeout: time.Second})
		synctest.Wait() // held is written by now
		p := f.last()
		p.result(held, textResult("late"))
		p.raw(`{"jsonrpc":"2.0","id":999,"result":{}}`)
		p.raw(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"x"}}`) // case J06
		p.raw(`{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`)
		for range 2 {
			if s, err := mcp.CallTool[string](t.Context(), c, "x", nil); err != nil || s != "two" {
				t.Errorf("%q %v", s, err)
			}
		}
	})
}

// A peer that does not read must not hold up a caller's deadline, nor Close.
func TestCaseC05DeadlineWithAPeerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		reading := make(chan struct{})
		c, err := mcp.Connect(t.Context(), mcp.Pipe(func(ctx context.Context, rwc io.ReadWriteCloser) error {
			return f.serve(ctx, &stalling{ReadWriteCloser: rwc, until: reading, after: 1})
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		big := json.RawMessage(fmt.Sprintf("%q", strings.Repeat("x", 4<<20)))
		for range 3 {
			start := time.Now()
			_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x", Meta: mcp.Meta{"com.example/x": big}}, &mcp.RequestOptions{Timeout: 100 * time.Millisecond})
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 100*time.Millisecond {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		}
		start := time.Now()
		c.Close() // the peer will not take what is queued, which may be an error
		if time.Since(start) > 15*time.Second {
			t.Errorf("Close took %v", time.Since(start))
		}
		close(reading)
	})
}

// stalling reads the first lines and then nothing until a channel is closed.
type stalling struct {
	io.ReadWriteCloser
	until chan struct{}
	after int
	once  bool
}

func (s *stalling) Read(p []byte) (int, error) {
	if s.once {
		<-s.until
	}
	s.once = true
	return s.ReadWriteCloser.Read(p)
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			tok := memberIn(t, m.Params, "_meta", "progressToken")
			for _, v := range []string{`"progress":1,"total":4`, `"progress":2,"message":"half"`, `"progress":2`, `"progress":1`, `"progress":3.5`} {
				p.notify("notifications/progress", `{"progressToken":`+tok+`,`+v+`}`)
			}
			p.notify("notifications/progress", `{"progressToken":"unknown","progress":9}`)
			p.notify("notifications/progress", `{"progressToken":{},"progress":9}`)
			p.notify("notifications/progress", ``)
			p.result(m, textResult(""))
			time.Sleep(time.Minute)
			p.notify("notifications/progress", `{"progressToken":`+tok+`,"progress":4}`)
		}
		c := f.connect(nil)
		var got []mcp.Progress
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}, &mcp.RequestOptions{Progress: func(p mcp.Progress) {
			time.Sleep(time.Second) // a slow function loses nothing, and the call returns after it
			got = append(got, p)
		}})
		time.Sleep(2 * time.Minute)
		want := []mcp.Progress{{Done: 1, Total: 4}, {Done: 2, Message: "half"}, {Done: 3.5}}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	})
}

func TestCaseC06ResetOnProgressAsksForProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			tok := memberIn(t, m.Params, "_meta", "progressToken")
			for i := range 100 {
				time.Sleep(time.Second)
				if tok != "" {
					p.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, tok, i))
				}
			}
			p.result(m, textResult("done"))
		}
		c := f.connect(&mcp.ClientOptions{ResetOnProgress: true})
		if s, err := mcp.CallTool[string](t.Context(), c, "x", nil); err != nil || s != "done" {
			t.Errorf("%q %v", s, err)
		}
		d := f.connect(nil)
		if _, err := mcp.CallTool[string](t.Context(), d, "x", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without the option: %v", err)
		}
		time.Sleep(time.Minute)
	})
}

func TestCaseC07ProgressCannotKeepACallAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		stop := make(chan struct{})
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			tok := memberIn(t, m.Params, "_meta", "progressToken")
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
					p.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, tok, i))
				}
			}
		}
		c := f.connect(nil)
		start := time.Now()
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"},
			&mcp.RequestOptions{Timeout: time.Second, TotalTimeout: 5 * time.Second, ResetOnProgress: true})
		var te *mcp.TimeoutError
		if !errors.As(err, &te) || te.Limit != "TotalTimeout" || time.Since(start) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		close(stop)
	})
}

func TestCaseJ14ParamsAsArray(t *testing.T) {
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.raw(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":[]}`)
		p.result(m, textResult("ok"))
	}
	heard := make(chan mcp.Notice, 1)
	c := f.connect(&mcp.ClientOptions{OnNotice: func(_ context.Context, n mcp.Notice) { heard <- n }})
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if n := <-heard; n.Kind != mcp.NoticeTools {
		t.Errorf("heard %v", n)
	}
}

func TestMiddleware(t *testing.T) {
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, textResult(memberIn(t, m.Params, "name"))) }
	var order []string
	named := func(name string) mcp.ClientMiddleware {
		return func(next mcp.SendFunc) mcp.SendFunc {
			return func(ctx context.Context, r *mcp.ClientRequest) (json.RawMessage, error) {
				order = append(order, name+" "+r.Method)
				return next(ctx, r)
			}
		}
	}
	rename := func(next mcp.SendFunc) mcp.SendFunc {
		return func(ctx context.Context, r *mcp.ClientRequest) (json.RawMessage, error) {
			return next(ctx, &mcp.ClientRequest{Method: r.Method, Params: json.RawMessage(`{"name":"other"}`), Options: r.Options})
		}
	}
	c := f.connect(&mcp.ClientOptions{Middleware: []mcp.ClientMiddleware{named("a"), named("b"), rename}})
	if s, err := mcp.CallTool[string](t.Context(), c, "x", nil); err != nil || s != `"other"` {
		t.Errorf("%q %v", s, err)
	}
	if !slices.Equal(order, []string{"a tools/call", "b tools/call"}) {
		t.Errorf("order %v", order)
	}
}

func TestCustomMethods(t *testing.T) {
	f := modernFake(t)
	f.on["com.example/add"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.notify("com.example/hello", `{"who":"you"}`)
		p.notify("com.example/hello", `{"who":5}`)
		p.result(m, `{"sum":3}`)
	}
	heard := make(chan string, 2)
	o := &mcp.ClientOptions{}
	mcp.HandleServerNotification(o, "com.example/hello", func(_ context.Context, p struct {
		Who string `json:"who"`
	}) error {
		heard <- p.Who
		return nil
	})
	c := f.connect(o)
	type nums struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	got, err := mcp.CallMethod[nums, struct {
		Sum int `json:"sum"`
	}](t.Context(), c, "com.example/add", nums{1, 2})
	if err != nil || got.Sum != 3 || <-heard != "you" {
		t.Errorf("%v %v", got, err)
	}
	if v := memberIn(t, f.received("com.example/add")[0].Params, "_meta", mcp.MetaProtocolVersion); v != `"2026-07-28"` {
		t.Errorf("_meta is missing: %s", v)
	}
	if _, err := mcp.CallMethod[any, json.RawMessage](t.Context(), c, "com.example/none", nil); !errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
		t.Errorf("unknown method: %v", err)
	}
	if err := c.Notify(t.Context(), "com.example/bye", map[string]int{"n": 1}); err != nil {
		t.Error(err)
	}
	if err := c.Notify(t.Context(), "com.example/bye", 5); err == nil {
		t.Error("params that are a number were accepted")
	}
	for len(f.received("com.example/bye")) == 0 {
		if err := c.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestClosedClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["tools/call"] = func(*fakePeer, *jsonrpc.Message) {}
		c := f.connect(nil)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.Is(err, mcp.ErrClosed) {
					t.Errorf("a call under way: %v", err)
				}
			})
		}
		synctest.Wait()
		for range 2 {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		wg.Wait()
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("a call afterwards: %v", err)
		}
		if c.Server().Implementation.Name != "fake" {
			t.Error("Server() forgot")
		}
		if _, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{}, func(context.Context, mcp.Notice) {}); !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("Subscribe afterwards: %v", err)
		}
		if err := c.Notify(t.Context(), "x/y", nil); !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("Notify afterwards: %v", err)
		}
	})
}

// A lost connection fails what is under way, with the reason, and the next request opens a new one.
func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			if p.n == 0 {
				p.rwc.Close()
				return
			}
			p.result(m, textResult("back"))
		}
		lost := 0
		c := f.connect(&mcp.ClientOptions{OnStateLost: func() { lost++ }})
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.Is(err, mcp.ErrClosed) || !strings.Contains(err.Error(), "ended its output") {
			t.Errorf("a call that kills the server: %v", err)
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if s, err := mcp.CallTool[string](t.Context(), c, "x", nil); err != nil || s != "back" {
					t.Errorf("%q %v", s, err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if len(f.peers) != 2 || lost != 1 {
			t.Errorf("%d connections, %d times told", len(f.peers), lost)
		}
	})
}

// Close does not wait for ever for a handler that does not return.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		release := make(chan struct{})
		c, err := mcp.Connect(t.Context(), mcp.Pipe(f.serve), &mcp.ClientOptions{CloseTimeout: time.Second, OnNotice: func(context.Context, mcp.Notice) { <-release }})
		if err != nil {
			t.Fatal(err)
		}
		f.last().notify("notifications/tools/list_changed", "")
		synctest.Wait()
		start := time.Now()
		if err := c.Close(); err == nil || time.Since(start) != time.Second {
			t.Errorf("Close after %v: %v", time.Since(start), err)
		}
		close(release)
	})
}

// Handlers that panic do no harm.
func TestCaseP04PanicInClientHandlers(t *testing.T) {
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.notify("notifications/tools/list_changed", "")
		p.notify("notifications/message", `{"level":"info","data":"x"}`)
		p.result(m, textResult("ok"))
	}
	heard := make(chan bool, 1)
	book := &clientLog{}
	c := f.connect(&mcp.ClientOptions{
		Logger:   book.logger(),
		OnNotice: func(context.Context, mcp.Notice) { panic("notice") },
		OnLog:    func(context.Context, *mcp.LogMessage) { heard <- true },
	})
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	<-heard
	if !strings.Contains(book.String(), "panic contained") {
		t.Errorf("log: %s", book)
	}
}

func TestLogTo(t *testing.T) {
	book := &clientLog{}
	log := mcp.LogTo(book.logger())
	for _, m := range []*mcp.LogMessage{
		{Level: mcp.LevelWarning, Logger: "db", Data: json.RawMessage(`"slow"`)},
		{Level: mcp.LevelEmergency, Data: json.RawMessage(`{"n":1}`)},
		{Level: mcp.LevelDebug, Data: json.RawMessage(`"d"`)}, {Level: mcp.LevelNotice, Data: json.RawMessage(`"n"`)},
		{Level: mcp.LevelError, Data: json.RawMessage(`"e"`)}, {Level: mcp.LevelCritical, Data: json.RawMessage(`"c"`)},
		{Level: mcp.LevelAlert, Data: json.RawMessage(`"a"`)}, {Level: "odd", Data: json.RawMessage(`"o"`)},
	} {
		log(t.Context(), m)
	}
	for _, want := range []string{`level=WARN msg=slow logger=db`, `level=ERROR+12 msg="server log" data="{\"n\":1}"`, `level=INFO+2 msg=n`, `level=INFO msg=o`} {
		if !strings.Contains(book.String(), want) {
			t.Errorf("log lacks %s:\n%s", want, book)
		}
	}
}
