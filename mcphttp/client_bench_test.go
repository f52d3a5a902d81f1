package mcphttp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// BenchmarkClientCall is what a call costs the client itself: the network and net/http's transport are left out, http.Client is not.
func BenchmarkClientCall(b *testing.B) {
	for name, typ := range map[string]string{"json": "application/json", "stream": typeEvents} {
		b.Run(name, func(b *testing.B) {
			var n int64
			client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					return nil, err
				}
				body := []byte(`{"jsonrpc":"2.0","id":` + strconv.FormatInt(n, 10) + `,"result":{"content":[{"type":"text","text":"hello"}],"resultType":"complete"}}`)
				if typ == typeEvents {
					body = append(append([]byte("data: "), body...), "\n\n"...)
				}
				return &http.Response{
					StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
					Header: http.Header{"Content-Type": {typ}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
				}, nil
			})}
			l, err := mcphttp.Dial("http://h.test/mcp", &mcphttp.DialOptions{Client: client}).Open(b.Context(), newCatcher())
			if err != nil {
				b.Fatal(err)
			}
			params := json.RawMessage(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"echo","arguments":{"text":"hello"}}`)
			b.ReportAllocs()
			for b.Loop() {
				n++
				req := mcp.Outgoing{ID: jsonrpc.IntID(n), Method: mcp.MethodToolsCall, Name: "echo", Params: params, Revision: mcp.Revision20260728}
				if _, err := l.RoundTrip(b.Context(), &req); err != nil {
					b.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
