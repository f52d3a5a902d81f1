package mcp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

func TestServerServeModernEcho(t *testing.T) {
	s := newServer(t, nil)
	addEcho(s.Server)
	got := s.modern(t, "tools/call", `"name":"echo","arguments":{"text":"hi","n":9007199254740993}`)
	want(t, got, `"structuredContent":{"text":"hi","n":9007199254740993}`, `"resultType":"complete"`,
		`"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1.0"}`, `"id":1`)
	if text := at(t, got, "result", "content", 0, "text"); text != `"{\"text\":\"hi\",\"n\":9007199254740993}"` {
		t.Errorf("text content is %s", text)
	}
	list := s.modern(t, "tools/list", "")
	want(t, list, `"name":"echo"`, `"inputSchema":{`, `"outputSchema":{`, `"ttlMs":0,"cacheScope":"private"`, `"resultType":"complete"`)
	if again := s.modern(t, "tools/list", ""); again != list {
		t.Error("the list is not the same the second time")
	}
}

func BenchmarkServe(b *testing.B) {
	for _, bc := range []struct {
		name string
		text string
	}{{"100B", strings.Repeat("x", 100)}, {"64KiB", strings.Repeat("x", 64<<10)}} {
		b.Run(bc.name, func(b *testing.B) {
			s := newServer(b, nil)
			addEcho(s.Server)
			line := modernLine(7, "tools/call", `"name":"echo","arguments":{"text":"`+bc.text+`"}`)
			x := exchange(b, line)
			b.ReportAllocs()
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				one := &mcp.Exchange{Message: x.Message}
				if adm := s.Admit(one); adm.Err != nil {
					b.Fatal(adm.Err)
				}
				if reply, _ := s.Serve(context.Background(), one); reply == nil || reply.Error != nil {
					b.Fatal(reply)
				}
			}
		})
	}
}

func BenchmarkList1000(b *testing.B) {
	s := newServer(b, nil)
	for i := range 1000 {
		mcp.AddTool(s.Server, &mcp.Tool{Name: "echo" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + strings.Repeat("y", i/50)},
			func(_ context.Context, _ *mcp.Call, in echoIn) (echoOut, error) { return echoOut(in), nil })
	}
	x := exchange(b, modernLine(7, "tools/list", ""))
	b.ReportAllocs()
	for b.Loop() {
		one := &mcp.Exchange{Message: x.Message}
		if reply, _ := s.Serve(context.Background(), one); reply == nil || reply.Error != nil {
			b.Fatal(reply)
		}
	}
}
