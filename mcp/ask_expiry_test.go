package mcp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestThreat31AwaitEndsWithTheToken: what happened while the token expired is not acted upon before its holder comes with another one.
func TestThreat31AwaitEndsWithTheToken(t *testing.T) {
	for _, rev := range []Revision{Revision20251125, Revision20260728} {
		for name, happens := range map[string]time.Duration{"in time": 10 * time.Second, "just then": 20 * time.Second, "late": time.Hour} {
			t.Run(rev.String()+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := newDesk(t, nil)
					begin := time.Now()
					p := &Principal{Issuer: "i", Subject: "alice", ClientID: "c", Expiry: begin.Add(20 * time.Second)}
					r := round{CallOptions: CallOptions{Revision: rev, Principal: p}}
					acted := 0
					h := func(ctx context.Context, c *Call) (any, error) {
						err := c.Await(ctx, "login", "", func(ctx context.Context) error {
							select {
							case <-time.After(time.Until(begin.Add(happens))):
								return nil
							case <-ctx.Done():
								return ctx.Err()
							}
						})
						if err != nil {
							return nil, err
						}
						acted++
						return "done", nil
					}
					result, err := d.serve(r, h)
					switch {
					case name == "in time":
						d.text(result, err, "done")
						return
					case time.Since(begin) != 20*time.Second || acted != 0:
						t.Fatalf("after %v: %v, %v", time.Since(begin), result, err)
					case rev == Revision20251125:
						if !errors.Is(err, errTokenOver) {
							t.Fatalf("%v, %v", result, err)
						}
						return
					}
					in := d.input(result, err)
					renewed := *p
					renewed.Expiry = begin.Add(2 * time.Hour)
					r.Principal, r.State = &renewed, in.RequestState
					if result, err = d.serve(r, h); name == "just then" {
						d.text(result, err, "done")
					} else if in := d.input(result, err); in == nil || acted != 0 {
						t.Error("acted upon what has not happened")
					}
				})
			})
		}
	}
}
