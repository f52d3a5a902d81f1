//go:build !unix && !windows

package mcp

import (
	"errors"
	"os"
	"os/exec"
)

// A processGroup is only the process itself where the system has no groups.
type processGroup struct{}

func (processGroup) prepare(*exec.Cmd) {}

func (processGroup) started(*exec.Cmd) error { return nil }

func (processGroup) terminate(*exec.Cmd) error { return nil }

func (processGroup) kill(cmd *exec.Cmd) error {
	if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
