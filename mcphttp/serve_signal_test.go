//go:build unix

package mcphttp_test

import (
	"log/slog"
	"net/http"
	"os"
	"syscall"
	"testing"

	"github.com/seed38e7925c/parley/mcphttp"
)

func TestListenAndServeEndsOnSIGTERM(t *testing.T) {
	l, err := mcphttp.Listen(t.Context(), ":0") // for a free port
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	srv, g := newServer(nil)
	done := make(chan error, 1)
	go func() {
		done <- mcphttp.ListenAndServe(addr, srv, &mcphttp.Options{Logger: slog.New(slog.DiscardHandler)})
	}()
	s := &site{t: t, srv: srv, url: "http://" + addr + "/mcp", gates: g, client: &http.Client{Transport: &http.Transport{}}}
	within(t, "the server", func() {
		for {
			if resp, err := s.try(t.Context(), callTool("1", "echo", `{"text":"x"}`)); err == nil {
				resp.Body.Close()
				break
			}
		}
	})
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	within(t, "the end", func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
