// Hello is the smallest useful server: one typed tool on standard input and output.
package main

import (
	"context"
	"log"

	"github.com/seed38e7925c/parley/mcp"
)

type person struct {
	Name string `json:"name" jsonschema:"whom to greet"`
}

type greeting struct {
	Text string `json:"text"`
}

func main() {
	srv := mcp.NewServer("hello", "1.0.0", nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "greet", Description: "Greet somebody."}, greet)
	if err := srv.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func greet(_ context.Context, _ *mcp.Call, in person) (greeting, error) {
	return greeting{Text: "Hello, " + in.Name + "."}, nil
}
