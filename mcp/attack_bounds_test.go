//go:build !mcp_modern_only

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

// heap returns the live heap in bytes.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// What a client says of itself is kept for as long as its session: it must not fill the memory.
func TestAttackFatHandshake(t *testing.T) {
	s := newServer(t, nil)
	before := heap()
	fat := `{"a":[` + strings.TrimSuffix(strings.Repeat(`"0123456789",`, 50_000), ",") + `]}`
	var kept []*mcp.Session
	for i := range 20 {
		for _, params := range []string{
			`"capabilities":{"experimental":{"x":` + fat + `}},"clientInfo":{"name":"c","version":"0"}`,
			`"capabilities":{},"clientInfo":{"name":"` + strings.Repeat("c", 600_000) + `","version":"0"}`,
		} {
			ss := s.NewSession(nil, nil)
			x := exchange(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-11-25",%s}}`, i, params))
			x.Session = ss
			s.serve(t.Context(), x)
			kept = append(kept, ss)
		}
	}
	if grown := int64(heap()) - int64(before); grown > 8<<20 {
		t.Errorf("40 sessions hold %d MiB", grown>>20)
	}
	runtime.KeepAlive(kept)
	runtime.KeepAlive(s)
}

// Neither must its subscriptions.
func TestAttackFatSubscriptions(t *testing.T) {
	s := newServer(t, nil)
	addNotes(s.Server)
	l := s.handshake(t, "2025-11-25")
	before := heap()
	for i := range 50 {
		l.call("resources/subscribe", fmt.Sprintf(`{"uri":"note:///%d/%s"}`, i, strings.Repeat("x", 500_000)))
	}
	if grown := int64(heap()) - int64(before); grown > 4<<20 {
		t.Errorf("one session's subscriptions hold %d MiB", grown>>20)
	}
	runtime.KeepAlive(l)
}

// A progress token is repeated in each report: a long one makes the server send what it never received.
func TestAttackFatProgressToken(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "t"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		for i := range 100 {
			if err := c.Progress(ctx, float64(i), 0, ""); err != nil {
				return "", err
			}
		}
		return "", nil
	})
	line := strings.Replace(modernLine(1, "tools/call", `"name":"t"`), `"_meta":{`, `"_meta":{"progressToken":"`+strings.Repeat("p", 1<<20)+`",`, 1)
	x := exchange(t, line)
	r := &recorder{}
	x.Stream = r
	s.serve(t.Context(), x)
	n := 0
	for _, m := range r.lines() {
		n += len(m)
	}
	if n > 4<<20 {
		t.Errorf("a request of 1 MiB was answered with %d MiB", n>>20)
	}
}

// Arguments that a handler keeps are its own: they must not turn into those of the next request.
func TestAttackKeptArguments(t *testing.T) {
	s := newServer(t, nil)
	var kept []json.RawMessage
	mcp.AddTool(s.Server, &mcp.Tool{Name: "raw"}, func(_ context.Context, _ *mcp.Call, in json.RawMessage) (string, error) {
		kept = append(kept, in)
		return "", nil
	})
	type withRaw struct {
		Any json.RawMessage            `json:"any"`
		Map map[string]json.RawMessage `json:"map"`
	}
	mcp.AddTool(s.Server, &mcp.Tool{Name: "typed"}, func(_ context.Context, _ *mcp.Call, in withRaw) (string, error) {
		kept = append(kept, in.Any, in.Map["a"])
		return "", nil
	})
	for _, name := range []string{"raw", "typed"} {
		kept = nil
		x := exchange(t, modernLine(1, "tools/call", fmt.Sprintf(`"name":%q,"arguments":{"any":{"s":"SECRET"},"map":{"a":"SECRET"}}`, name)))
		s.serve(t.Context(), x)
		raw := x.Message.Params
		for i := range raw { // what happens when a transport uses its buffer again
			raw[i] = '#'
		}
		if len(kept) == 0 {
			t.Fatalf("%s was not called", name)
		}
		for _, k := range kept {
			if strings.Contains(string(k), "#") {
				t.Errorf("%s: what the handler kept is now %.60s", name, k)
			}
		}
	}
}

// Numbers with enormous exponents must not be written out.
func TestAttackNumbers(t *testing.T) {
	s := newServer(t, nil)
	type in struct {
		N float64 `json:"n" multipleOf:"0.1"`
		I int64   `json:"i"`
	}
	mcp.AddTool(s.Server, &mcp.Tool{Name: "typed"}, func(ctx context.Context, c *mcp.Call, _ in) (string, error) { return "", nil })
	mcp.AddTool(s.Server, &mcp.Tool{Name: "raw", InputSchema: []byte(`{"type":"object","properties":{"n":{"type":"number","multipleOf":0.01,"enum":[1,2]},"i":{"type":"integer"},"u":{"type":"array","uniqueItems":true}}}`)},
		func(ctx context.Context, c *mcp.Call, _ json.RawMessage) (string, error) { return "", nil })
	for _, n := range []string{"1e999999999", "1e-999999999", "1e9999999999999999999999", "-0.1e-99999999", strings.Repeat("9", 1<<20), "0." + strings.Repeat("0", 1<<20) + "1", "1e" + strings.Repeat("9", 1<<20)} {
		for _, tool := range []string{"typed", "raw"} {
			for _, args := range []string{`{"n":` + n + `}`, `{"i":` + n + `}`, `{"u":[` + n + `,` + n + `1]}`} {
				begin := time.Now()
				s.modern(t, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args))
				s.modern(t, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s,"requestState":"x"`, tool, args))
				if d := time.Since(begin); d > slack*time.Second {
					t.Errorf("%s %.30s: %v", tool, args, d)
				}
			}
		}
	}
	begin := time.Now()
	u := strings.TrimSuffix(strings.Repeat(`{"a":[1,{"b":2}]},`, 50_000), ",")
	s.modern(t, "tools/call", `"name":"raw","arguments":{"u":[`+u+`]}`)
	var distinct []string
	for i := range 30_000 {
		distinct = append(distinct, fmt.Sprintf(`{"a":[%d,{"b":2}]}`, i))
	}
	s.modern(t, "tools/call", `"name":"raw","arguments":{"u":[`+strings.Join(distinct, ",")+`]}`)
	if d := time.Since(begin); d > slack*3*time.Second {
		t.Errorf("uniqueItems: %v", d)
	}
}

// A hundred thousand answers and a state of many megabytes are refused or ignored, not worked on for long.
func TestAttackFatRetry(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "t"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) { return "", nil })
	var answers []string
	for i := range 100_000 {
		answers = append(answers, fmt.Sprintf(`"k%d":{"action":"accept"}`, i))
	}
	begin := time.Now()
	s.modern(t, "tools/call", `"name":"t","arguments":{},"inputResponses":{`+strings.Join(answers, ",")+`}`)
	s.modern(t, "tools/call", `"name":"t","arguments":{},"requestState":"`+strings.Repeat("A", 16<<20)+`"`)
	if d := time.Since(begin); d > slack*3*time.Second {
		t.Errorf("it took %v", d)
	}
}
