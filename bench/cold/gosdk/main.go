// Command gosdk is a server on standard input and output with tools of distinct types, made with github.com/modelcontextprotocol/go-sdk.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed38e7925c/parley/bench/internal/distinct"
	"github.com/seed38e7925c/parley/bench/internal/tool"
)

func main() {
	n := flag.Int("tools", 1000, "number of tools, at most 1000")
	flag.Parse()
	srv := mcp.NewServer(&mcp.Implementation{Name: tool.Server, Version: tool.Version}, nil)
	r := &registrar{srv: srv, left: *n}
	thousand(r)
	if err := srv.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

// registrar registers tools until there are enough.
type registrar struct {
	srv  *mcp.Server
	left int
}

func one[A, B, C any](r *registrar) {
	if r.left == 0 {
		return
	}
	r.left--
	mcp.AddTool(r.srv, &mcp.Tool{Name: tool.Extra(r.left), Description: tool.ExtraText(r.left)},
		func(_ context.Context, _ *mcp.CallToolRequest, in distinct.In[A, B, C]) (*mcp.CallToolResult, distinct.Out[A, B, C], error) {
			return nil, distinct.Do(in), nil
		})
}

func ten[A, B any](r *registrar) {
	one[A, B, distinct.D0](r)
	one[A, B, distinct.D1](r)
	one[A, B, distinct.D2](r)
	one[A, B, distinct.D3](r)
	one[A, B, distinct.D4](r)
	one[A, B, distinct.D5](r)
	one[A, B, distinct.D6](r)
	one[A, B, distinct.D7](r)
	one[A, B, distinct.D8](r)
	one[A, B, distinct.D9](r)
}

func hundred[A any](r *registrar) {
	ten[A, distinct.D0](r)
	ten[A, distinct.D1](r)
	ten[A, distinct.D2](r)
	ten[A, distinct.D3](r)
	ten[A, distinct.D4](r)
	ten[A, distinct.D5](r)
	ten[A, distinct.D6](r)
	ten[A, distinct.D7](r)
	ten[A, distinct.D8](r)
	ten[A, distinct.D9](r)
}

func thousand(r *registrar) {
	hundred[distinct.D0](r)
	hundred[distinct.D1](r)
	hundred[distinct.D2](r)
	hundred[distinct.D3](r)
	hundred[distinct.D4](r)
	hundred[distinct.D5](r)
	hundred[distinct.D6](r)
	hundred[distinct.D7](r)
	hundred[distinct.D8](r)
	hundred[distinct.D9](r)
}
