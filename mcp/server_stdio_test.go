//go:build linux || darwin

package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

// stdioChild is the environment variable that makes the test binary the server of TestCaseS03ServerStrayPrints.
const stdioChild = "PARLEY_STDIO_CHILD"

func init() {
	if os.Getenv(stdioChild) != "" {
		os.Exit(serveStrayPrints())
	}
}

// serveStrayPrints is a server whose tool prints to standard output in every way there is.
func serveStrayPrints() int {
	s := mcp.NewServer("child", "1", nil)
	mcp.AddTool(s, &mcp.Tool{Name: "print"}, func(context.Context, *mcp.Call, struct{}) (string, error) {
		fmt.Println("stray print")
		cmd := exec.Command("sh", "-c", "echo stray child") // inherits what os.Stdout is now
		cmd.Stdout = os.Stdout
		f := os.NewFile(1, "fd1") // what C code would print to
		if _, err := io.WriteString(f, "stray fd\n"); err != nil {
			return "", err
		}
		return "ok", cmd.Run()
	})
	if err := s.ServeStdio(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "served:", err)
		return 3
	}
	fmt.Fprintln(os.Stderr, "served well")
	return 0
}

func TestCaseS03ServerStrayPrints(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), stdioChild+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, modernLine(1, "tools/call", `"name":"print"`)+"\n"); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	want(t, line, `"id":1`, `"text":"ok"`)
	if err := in.Close(); err != nil { // S12: the process ends by itself
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil || len(rest) > 0 {
		t.Errorf("more on stdout: %q, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr.String())
	}
	for _, stray := range []string{"stray print", "stray child", "stray fd", "served well"} {
		if !strings.Contains(stderr.String(), stray) {
			t.Errorf("%q is not on stderr: %s", stray, stderr.String())
		}
	}
}
