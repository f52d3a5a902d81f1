//go:build !linux && !windows

package pgtest

import "syscall"

// unprivileged says as whom to run: as ourselves, who are not root on other systems than those of CI.
func unprivileged() (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{}, nil }
