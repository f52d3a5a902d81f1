// Command mcpgo is a server on standard input and output with tools of distinct types, made with github.com/mark3labs/mcp-go.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/seed38e7925c/parley/bench/internal/distinct"
	"github.com/seed38e7925c/parley/bench/internal/tool"
)

func main() {
	n := flag.Int("tools", 1000, "number of tools, at most 1000")
	flag.Parse()
	srv := server.NewMCPServer(tool.Server, tool.Version, server.WithToolCapabilities(true))
	r := &registrar{left: *n}
	thousand(r)
	srv.AddTools(r.srv...)
	if err := server.ServeStdio(srv); err != nil {
		log.Fatal(err)
	}
}

// registrar registers tools until there are enough.
type registrar struct {
	srv  []server.ServerTool
	left int
}

func one[A, B, C any](r *registrar) {
	if r.left == 0 {
		return
	}
	r.left--
	r.srv = append(r.srv, server.ServerTool{
		Tool: mcp.NewTool(tool.Extra(r.left), mcp.WithDescription(tool.ExtraText(r.left)),
			mcp.WithInputSchema[distinct.In[A, B, C]](), mcp.WithOutputSchema[distinct.Out[A, B, C]]()),
		Handler: mcp.NewStructuredToolHandler(
			func(_ context.Context, _ mcp.CallToolRequest, in distinct.In[A, B, C]) (distinct.Out[A, B, C], error) {
				return distinct.Do(in), nil
			}),
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
