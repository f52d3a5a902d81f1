package jsonrpc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// toolCall returns a tools/call of about size bytes: one long text, or many
// small members.
func toolCall(size int, shape string) []byte {
	const head = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"echo","arguments":{`
	var b strings.Builder
	b.WriteString(head)
	switch shape {
	case "text":
		b.WriteString(`"text":"` + strings.Repeat("x", max(0, size-len(head)-13)) + `"`)
	case "members":
		for i := 0; b.Len() < size-40; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"k%05d":{"n":%d,"s":"some text","b":true}`, i, i)
		}
	case "unicode":
		b.WriteString(`"text":"` + strings.Repeat("grüß dich\\n", max(0, size-len(head)-13)/13) + `"`)
	}
	b.WriteString(`}}}`)
	return []byte(b.String())
}

var benchInputs = []struct {
	size  int
	shape string
}{{300, "text"}, {64 << 10, "text"}, {64 << 10, "members"}, {64 << 10, "unicode"}}

func BenchmarkDecode(b *testing.B) {
	for _, in := range benchInputs {
		data := toolCall(in.size, in.shape)
		b.Run(fmt.Sprintf("%s/%d", in.shape, in.size), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jsonrpc.Decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFloor is what the JSON library alone needs to look at every byte.
func BenchmarkFloor(b *testing.B) {
	for _, in := range benchInputs {
		data := toolCall(in.size, in.shape)
		b.Run(fmt.Sprintf("%s/%d", in.shape, in.size), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if !jsontext.Value(data).IsValid() {
					b.Fatal("invalid")
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, in := range benchInputs {
		m := jsonrpc.Message{ID: jsonrpc.IntID(7), Result: json.RawMessage(toolCall(in.size, in.shape))}
		b.Run(fmt.Sprintf("%s/%d", in.shape, in.size), func(b *testing.B) {
			b.SetBytes(int64(len(m.Result)))
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf = jsonrpc.Append(buf[:0], &m)
			}
		})
	}
}
