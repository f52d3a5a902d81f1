package mcp

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
)

// stdioInUse guards against two servers that would read one input.
var stdioInUse atomic.Bool

// ServeStdio serves the client that started this process over standard input and output, like [Server.ServeConn]. It returns when the
// client closes the input (nil) or ctx ends; a program then exits.
//
// While it runs, os.Stdout is the standard error stream, and where the system allows it so is file descriptor 1: what code prints by
// mistake does not end up among the messages. Logs belong on standard error.
func (s *Server) ServeStdio(ctx context.Context) error {
	if !stdioInUse.CompareAndSwap(false, true) {
		return errors.New("mcp: ServeStdio is running already")
	}
	defer stdioInUse.Store(false)
	out, restore, err := guardStdout()
	if err != nil {
		return err
	}
	defer restore()
	return s.serveStream(ctx, os.Stdin, out)
}
