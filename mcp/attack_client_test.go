//go:build !mcp_modern_only

package mcp_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// eager answers whatever it is asked, and counts.
func eager(asked *atomic.Int32) *mcp.Interactor {
	return &mcp.Interactor{
		Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			asked.Add(1)
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
		},
		Open: func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			asked.Add(1)
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
		},
		Wait: func(context.Context, *mcp.OpenQuestion) error { return nil },
	}
}

// A server must not bury a person in questions, whatever way it asks them (threat 26).
func TestThreat26QuestionFloods(t *testing.T) {
	const most = 200
	elicit := func(i int) string {
		return fmt.Sprintf(`{"method":"elicitation/create","params":{"message":"m%d","requestedSchema":{"type":"object","properties":{}}}}`, i)
	}
	for name, flood := range map[string]func() *fakeServer{
		"one round": func() *fakeServer {
			f := modernFake(t)
			f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
				var b []string
				for i := range 10_000 {
					b = append(b, fmt.Sprintf(`"k%d":%s`, i, elicit(i)))
				}
				p.result(m, `{"resultType":"input_required","inputRequests":{`+strings.Join(b, ",")+`}}`)
			}
			return f
		},
		"pages before a call": func() *fakeServer {
			f := legacyFake(t, "2025-11-25")
			f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
				var b []string
				for i := range 10_000 {
					b = append(b, fmt.Sprintf(`{"mode":"url","message":"m","url":"https://a.test/%d","elicitationId":"e%d"}`, i, i))
				}
				p.fail(m, -32042, "first", `{"elicitations":[`+strings.Join(b, ",")+`]}`)
			}
			return f
		},
		"requests during a call": func() *fakeServer {
			f := legacyFake(t, "2025-11-25")
			f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
				for i := range 2_000 {
					id := jsonrpc.IntID(int64(1000 + i))
					answered := make(chan *jsonrpc.Message, 1)
					p.calls.Store(id, answered)
					p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, 1000+i) + elicit(i)[1:])
					select {
					case <-answered:
					case <-time.After(5 * time.Second):
						return
					}
				}
				p.result(m, `{"content":[]}`)
			}
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			c := flood().connect(&mcp.ClientOptions{Interactor: eager(&asked)})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "x"})
			if n := asked.Load(); n > most {
				t.Errorf("the person was asked %d times (%v)", n, err)
			}
		})
	}
}

// A page of a list with millions of entries costs no more than it must, and nothing is logged for each.
func TestAttackFatList(t *testing.T) {
	f := modernFake(t)
	f.on["tools/list"] = func(p *fakePeer, m *jsonrpc.Message) {
		p.result(m, `{"resultType":"complete","tools":[`+strings.TrimSuffix(strings.Repeat("1,", 4<<20), ",")+`]}`)
	}
	var logged atomic.Int32
	c := f.connect(&mcp.ClientOptions{Logger: countLog(&logged)})
	before := alloc()
	_, err := c.ListTools(t.Context(), nil)
	if grown := (alloc() - before) >> 20; logged.Load() > 1000 || grown > 300 || err == nil || !strings.Contains(err.Error(), "100000 entries") {
		t.Errorf("%d log lines, %d MiB allocated for 8 MiB, %v", logged.Load(), grown, err)
	}
}

func alloc() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

type countHandler struct {
	slog.Handler
	n *atomic.Int32
}

func (h countHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (h countHandler) Handle(context.Context, slog.Record) error { h.n.Add(1); return nil }

func countLog(n *atomic.Int32) *slog.Logger { return slog.New(countHandler{slog.DiscardHandler, n}) }
