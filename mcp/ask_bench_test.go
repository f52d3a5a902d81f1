package mcp_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// BenchmarkAskRounds is a call of a tool that asks one question, without a transport: the question and the answer.
func BenchmarkAskRounds(b *testing.B) {
	type form struct {
		Yes bool `json:"yes" jsonschema:"whether to go on"`
	}
	type subject struct {
		Subject string `json:"subject"`
	}
	s := mcp.NewServer("bench", "1", &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler), Ask: &mcp.AskOptions{MaxPerMinute: 1 << 30}})
	mcp.AddTool(s, &mcp.Tool{Name: "approve", Asks: ask.Declare(ask.FormItem[form]("ok", "Go on?"))},
		func(ctx context.Context, c *mcp.Call, in subject) (string, error) {
			f, err := ask.Form[form](ctx, c, "ok", "Go on?")
			if err != nil || !f.Yes {
				return "", err
			}
			return "done: " + in.Subject, nil
		})
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`
	const head = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"approve","arguments":{"subject":"launch"},`
	serve := func(line string) string {
		m, err := jsonrpc.Decode([]byte(line))
		if err != nil {
			b.Fatal(err)
		}
		x := &mcp.Exchange{Message: &m}
		if adm := s.Admit(x); adm.Err != nil {
			b.Fatal(adm.Err)
		}
		reply, _ := s.Serve(b.Context(), x)
		return string(jsonrpc.Append(nil, reply))
	}
	b.ReportAllocs()
	for b.Loop() {
		first := serve(head + meta + "}}")
		state := between(first, `"requestState":"`, `"`)
		last := serve(head + `"inputResponses":{"ok":{"action":"accept","content":{"yes":true}}},"requestState":"` + state + `",` + meta + "}}")
		if between(last, "done: ", `"`) != "launch" {
			b.Fatal(first, last)
		}
	}
}

// between returns what stands between two texts.
func between(s, start, end string) string {
	_, s, _ = strings.Cut(s, start)
	s, _, _ = strings.Cut(s, end)
	return s
}
