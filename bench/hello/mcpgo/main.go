// Command mcpgo is the smallest useful server on standard input and output.
package main

import (
	"context"
	"log"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type who struct {
	Name string `json:"name"`
}

func main() {
	srv := server.NewMCPServer("hello", "1.0.0")
	srv.AddTool(mcp.NewTool("greet", mcp.WithDescription("Greet somebody."), mcp.WithInputSchema[who]()),
		mcp.NewTypedToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in who) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("Hello, " + in.Name + "!"), nil
		}))
	if err := server.ServeStdio(srv); err != nil {
		log.Fatal(err)
	}
}
