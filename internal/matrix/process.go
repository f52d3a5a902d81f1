package matrix

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// serveFixture serves a fixture on standard input and output, and ends the process.
func serveFixture(name string) {
	f := fixtures[name]
	if f == nil {
		fmt.Fprintf(os.Stderr, "matrix: no fixture is called %q\n", name)
		os.Exit(2)
	}
	if err := f.make().ServeStdio(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// start runs a process that serves f, and ends it with the test.
func (f *Fixture) start(t *testing.T) *lineConn {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	cmd.Env, cmd.Stderr = f.env(), t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &lineConn{
		in:  in,
		out: bufio.NewReader(out),
		wait: func() {
			if err := cmd.Wait(); err != nil {
				t.Errorf("the server process: %v", err)
			}
		},
	}
}
