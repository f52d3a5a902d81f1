package load

import (
	"context"

	"github.com/seed38e7925c/parley/bench/internal/peer"
)

// client measures what a call costs the caller. The server is a process of its own: that of the floor, so that every client has the
// same, which the environment names.
func client(r *Run) (err error) {
	path, err := floorProgram()
	if err != nil {
		return err
	}
	c, err := start(path, "-serve", "http", "-mode", string(peer.Modern))
	if err != nil {
		return err
	}
	defer c.stop()
	if err := c.read(&c.host); err != nil {
		return err
	}
	ctx := context.Background()
	caller, err := r.peer.Dial(ctx, "http://"+c.host+"/mcp")
	if err != nil {
		return err
	}
	defer closing(&err, caller.Close)
	return r.measure(1, func(_, _ int) error { return caller.Call(ctx) })
}
