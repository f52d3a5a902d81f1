//go:build unix

package mcp

import (
	"errors"
	"os/exec"
	"syscall"
)

// A processGroup is a process with all its children: on POSIX a process group.
type processGroup struct{}

// prepare makes the process the leader of a group of its own.
func (processGroup) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// started is called once the process runs.
func (processGroup) started(*exec.Cmd) error { return nil }

// terminate asks the group to end.
func (processGroup) terminate(cmd *exec.Cmd) error { return signalGroup(cmd, syscall.SIGTERM) }

// kill ends the group.
func (processGroup) kill(cmd *exec.Cmd) error { return signalGroup(cmd, syscall.SIGKILL) }

// signalGroup signals the group; that there is nobody left in it is fine.
func signalGroup(cmd *exec.Cmd, sig syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, sig)
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) { // EPERM: only zombies are left (Darwin)
		return nil
	}
	return err
}
