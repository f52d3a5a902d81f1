//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package mcp

import (
	"fmt"
	"os"
	"syscall"
)

// guardStdout returns the real standard output, under another descriptor, and sends everything else that is printed to standard
// error until restore is called.
func guardStdout() (out *os.File, restore func(), err error) {
	old := os.Stdout
	fd := int(old.Fd())
	own, err := syscall.Dup(fd)
	if err != nil {
		return nil, nil, fmt.Errorf("mcp: standard output cannot be used: %w", err)
	}
	syscall.CloseOnExec(own)
	back, err := syscall.Dup(own)
	if err != nil {
		return nil, nil, fmt.Errorf("mcp: standard output cannot be used: %w", err)
	}
	syscall.CloseOnExec(back)
	if err := dup2(int(os.Stderr.Fd()), fd); err != nil {
		return nil, nil, fmt.Errorf("mcp: standard output cannot be guarded: %w", err)
	}
	os.Stdout = os.Stderr
	return os.NewFile(uintptr(own), old.Name()), func() {
		os.Stdout = old
		if err := dup2(back, fd); err != nil {
			fmt.Fprintln(os.Stderr, "mcp: standard output cannot be restored:", err)
		}
		if err := syscall.Close(back); err != nil {
			fmt.Fprintln(os.Stderr, "mcp:", err)
		}
	}, nil
}
