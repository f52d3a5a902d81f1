//go:build !windows

package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// command makes the program as a process of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), "PARLEY_BE_THE_COMMAND=1")
	return cmd
}

func TestProcess(t *testing.T) {
	out, err := command(t, "demo", "--auto", "--era", "modern").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "The key never passed the client") {
		t.Errorf("%v\n%s", err, out)
	}
	cmd := command(t, "call", serve(t), "fail")
	out, _ = cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != exitTool || string(out) != "the line is busy\n" {
		t.Errorf("exit code %d: %q", code, out)
	}
}

func TestProcessIsInterrupted(t *testing.T) {
	cmd := command(t, "call", "-v", serve(t), "slow")
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(errs)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"method":"tools/call"`) {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	for lines.Scan() { // to the end
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
}
