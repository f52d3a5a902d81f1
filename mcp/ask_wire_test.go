package mcp_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// rawClient speaks 2026-07-28 by hand, to whichever replica it is told to.
type rawClient struct {
	t    testing.TB
	id   int
	who  *mcp.Principal
	args string
}

const askMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` +
	`{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}}`

// call calls the tool "pay"; state and answers are left out when empty.
func (c *rawClient) call(s *testServer, state, answers string) string {
	c.t.Helper()
	c.id++
	params := askMeta + `,"name":"pay","arguments":` + c.args
	if state != "" {
		params += `,"requestState":` + state
	}
	if answers != "" {
		params += `,"inputResponses":` + answers
	}
	x := exchange(c.t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}`, c.id, params))
	x.Principal = c.who
	got, _ := s.serve(c.t.Context(), x)
	return strings.Replace(got, fmt.Sprintf(`"id":%d`, c.id), `"id":0`, 1)
}

type payIn struct {
	To     string `json:"to"`
	Amount int64  `json:"amount"`
}

// replica is one process of a server that asks twice before it pays.
func replica(t testing.TB, o *mcp.AskOptions, paid *atomic.Int32) *testServer {
	s := newServer(t, &mcp.ServerOptions{Ask: o})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "pay", Asks: ask.Declare(ask.ConfirmItem("sure", "Sure?"), ask.ConfirmItem("really", "Really?"))},
		func(ctx context.Context, c *mcp.Call, in payIn) (string, error) {
			for _, key := range []string{"sure", "really"} {
				message := map[string]string{"sure": "Sure?", "really": "Really?"}[key]
				if ok, err := ask.Confirm(ctx, c, key, message); err != nil || !ok {
					return "nothing paid", err
				}
			}
			n, err := mcp.Once(ctx, c, "pay", func() (int32, error) { return paid.Add(1), nil })
			return fmt.Sprintf("paid %d to %s, %d", in.Amount, in.To, n), err
		})
	return s
}

const yes = `{"action":"accept","content":{}}`

func TestReplicasCarryACall(t *testing.T) {
	before, after := mcp.NewKey(), mcp.NewKey()
	ring := func(keys ...mcp.Key) *mcp.AskOptions {
		r, err := mcp.KeyRingOf(keys...)
		if err != nil {
			t.Fatal(err)
		}
		return &mcp.AskOptions{Keys: r}
	}
	var paid atomic.Int32
	one, two, three := replica(t, ring(before, after), &paid), replica(t, ring(after, before), &paid), replica(t, ring(after), &paid)
	c := &rawClient{t: t, who: &mcp.Principal{Issuer: "i", Subject: "s"}, args: `{"to":"Ann","amount":9007199254740993}`}
	got := c.call(one, "", "")
	want(t, got, `"resultType":"input_required"`, `"sure":{"method":"elicitation/create"`, `"message":"Sure?"`, `"io.modelcontextprotocol/serverInfo"`)
	got = c.call(two, at(t, got, "result", "requestState"), `{"sure":`+yes+`}`)
	want(t, got, `"really":{"method"`)
	wantNot(t, got, `"sure"`)
	got = c.call(three, at(t, got, "result", "requestState"), `{"really":`+yes+`}`)
	want(t, got, "paid 9007199254740993 to Ann, 1", `"resultType":"complete"`)
}

// A retry with other arguments than those that were agreed to is refused, not served.
func TestThreat28ChangedAction(t *testing.T) {
	var paid atomic.Int32
	s := replica(t, nil, &paid)
	c := &rawClient{t: t, args: `{"to":"Ann","amount":1}`}
	got := c.call(s, "", "")
	got = c.call(s, at(t, got, "result", "requestState"), `{"sure":`+yes+`}`)
	state := at(t, got, "result", "requestState")
	for _, args := range []string{`{"to":"Mallory","amount":1}`, `{"to":"Ann","amount":1000}`} {
		mallory := &rawClient{t: t, args: args}
		want(t, mallory.call(s, state, `{"really":`+yes+`}`), `"code":-32602`, "requestState is not valid for this request")
	}
	if paid.Load() != 0 {
		t.Error("paid")
	}
	again := &rawClient{t: t, args: `{ "amount" : 1.0, "to" : "Ann" }`}
	want(t, again.call(s, state, `{"really":`+yes+`}`), "paid 1 to Ann, 1")
}

// With a store, what a client gets for a retry that was lost is what it would have got.
func TestThreat04ReplayOnTheWire(t *testing.T) {
	var paid atomic.Int32
	s := replica(t, &mcp.AskOptions{Store: mcp.NewMemoryStore(0)}, &paid)
	c := &rawClient{t: t, args: `{"to":"Ann","amount":1}`}
	first := c.call(s, "", "")
	state := at(t, first, "result", "requestState")
	second := c.call(s, state, `{"sure":`+yes+`}`)
	want(t, second, `"resultType":"input_required"`)
	if again := c.call(s, state, `{"sure":`+yes+`}`); again != second {
		t.Errorf("a lost round is answered\n%s, not\n%s", again, second)
	}
	state = at(t, second, "result", "requestState")
	var wg sync.WaitGroup
	answers := make([]string, 10)
	for i := range answers {
		wg.Go(func() {
			c := &rawClient{t: t, id: 100 * (i + 1), args: c.args}
			answers[i] = c.call(s, state, `{"really":`+yes+`}`)
		})
	}
	wg.Wait()
	for _, got := range answers {
		if got != answers[0] {
			t.Errorf("answers differ:\n%s\n%s", got, answers[0])
		}
		want(t, got, "paid 1 to Ann, 1", `"resultType":"complete"`)
	}
	want(t, c.call(s, state, `{"really":{"action":"decline"}}`), `"code":-32602`)
	if paid.Load() != 1 {
		t.Errorf("paid %d times", paid.Load())
	}
}

// Nothing is kept for a client that never comes back.
func TestCaseM05NothingIsParked(t *testing.T) {
	var paid atomic.Int32
	s := replica(t, &mcp.AskOptions{MaxPerMinute: -1}, &paid)
	x := func() {
		c := &rawClient{t: t, args: `{"to":"Ann","amount":1}`}
		want(t, c.call(s, "", ""), "input_required")
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for range 100 {
		x()
	}
	goroutines, before := runtime.NumGoroutine(), heap()
	for range 1000 {
		x()
	}
	if after := heap(); after > before+256<<10 {
		t.Errorf("1000 calls without a retry keep %d bytes", after-before)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
}

func TestSecretsAreRefusedAtRegistration(t *testing.T) {
	s := newServer(t, nil)
	type login struct {
		Password string `json:"password"`
	}
	asks := ask.Declare(ask.FormItem[login]("login", "Sign in"))
	handler := func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }
	if err := mcp.RegisterTool(s.Server, &mcp.Tool{Name: "x", Asks: asks}, handler); err == nil || !strings.Contains(err.Error(), "password") {
		t.Errorf("a tool that asks for a password: %v", err)
	}
	if err := mcp.NewServer("x", "1", &mcp.ServerOptions{Ask: &mcp.AskOptions{MaxRounds: -1}}).Err(); err == nil || !strings.Contains(err.Error(), "AskOptions.MaxRounds") {
		t.Errorf("bad options: %v", err)
	}
}

func BenchmarkToolCallThatMayAsk(b *testing.B) {
	s := newServer(b, nil)
	addEcho(s.Server)
	m, err := jsonrpc.Decode([]byte(modernLine(1, "tools/call", `"name":"echo","arguments":{"text":"x"}`)))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		x := &mcp.Exchange{Message: &m}
		if adm := s.Admit(x); adm.Err != nil {
			b.Fatal(adm.Err)
		}
		s.Serve(context.Background(), x)
	}
}

func BenchmarkRound(b *testing.B) {
	var paid atomic.Int32
	s := replica(b, &mcp.AskOptions{MaxPerMinute: -1}, &paid)
	c := &rawClient{t: b, args: `{"to":"Ann","amount":1}`}
	state := at(b, c.call(s, "", ""), "result", "requestState")
	b.ReportAllocs()
	for b.Loop() {
		c.call(s, state, `{"sure":`+yes+`}`)
	}
}
