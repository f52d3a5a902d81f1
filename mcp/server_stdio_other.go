//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package mcp

import "os"

// guardStdout returns the standard output and sends what Go code prints to standard error until restore is called.
func guardStdout() (out *os.File, restore func(), err error) {
	old := os.Stdout
	os.Stdout = os.Stderr
	return old, func() { os.Stdout = old }, nil
}
