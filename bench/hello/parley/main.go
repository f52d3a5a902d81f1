// Command parley is the smallest useful server on standard input and output.
package main

import (
	"context"
	"log"

	"github.com/seed38e7925c/parley/mcp"
)

type who struct {
	Name string `json:"name"`
}

func main() {
	srv := mcp.NewServer("hello", "1.0.0", nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "greet", Description: "Greet somebody."},
		func(_ context.Context, _ *mcp.Call, in who) (string, error) { return "Hello, " + in.Name + "!", nil })
	if err := srv.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
