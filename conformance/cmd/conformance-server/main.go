// Command conformance-server is the server that the official conformance suite tests. It has the tools, resources and prompts that the
// suite asks for, and nothing else: one server on one endpoint in one configuration serves every revision, and whatever the suite tests
// beyond the fixtures themselves (validation, sealed state, capability checks, sessions, headers) is the library's doing.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "`address` to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "conformance-server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string) error {
	l, err := mcphttp.Listen(ctx, addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s%s\n", l.Addr(), mcphttp.DefaultPath)
	return mcphttp.Serve(ctx, l, newServer(), nil)
}

func newServer() *mcp.Server {
	srv := mcp.NewServer("parley-conformance", "1.0.0", &mcp.ServerOptions{
		Title:  "Parley conformance server",
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	addTools(srv)
	addAsking(srv)
	addResources(srv)
	addPrompts(srv)
	return srv
}
