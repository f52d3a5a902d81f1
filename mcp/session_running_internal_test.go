//go:build !mcp_modern_only

package mcp

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
)

type valueKey struct{}

// The context of a request is one like any other, whether somebody has looked at it before it ends or not.
func TestRunningIsAContext(t *testing.T) {
	why := errors.New("why")
	for name, look := range map[string]func(ctx context.Context){
		"unseen":  func(context.Context) {},
		"waited":  func(ctx context.Context) { ctx.Done() },
		"derived": func(ctx context.Context) { _, cancel := context.WithTimeout(ctx, time.Hour); cancel() },
	} {
		for end, do := range map[string]struct {
			end   func(r *running, parent context.CancelCauseFunc)
			cause error
		}{
			"cancelled": {func(r *running, _ context.CancelCauseFunc) { r.cancel(why); r.end() }, why},
			"finished":  {func(r *running, _ context.CancelCauseFunc) { r.end(); r.cancel(why) }, context.Canceled},
			"parent":    {func(_ *running, parent context.CancelCauseFunc) { parent(why) }, why},
		} {
			parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), valueKey{}, name))
			ss := &Session{}
			r := ss.begin(parent, jsonrpc.IntID(1))
			look(r)
			if r.Err() != nil || whyEnded(r) != nil || ss.Idle() {
				t.Errorf("%s, %s: ended before its time: %v", name, end, whyEnded(r))
			}
			do.end(r, cancel)
			if !errors.Is(r.Err(), context.Canceled) || whyEnded(r) != do.cause {
				t.Errorf("%s, %s: %v because of %v", name, end, r.Err(), whyEnded(r))
			}
			child, stop := context.WithCancel(r)
			<-child.Done()
			<-r.Done()
			if context.Cause(child) != do.cause || context.Cause(r) != do.cause || r.Value(valueKey{}) != name {
				t.Errorf("%s, %s: %v, and of its child %v", name, end, context.Cause(r), context.Cause(child))
			}
			stop()
			cancel(nil)
			r.end()
			if !ss.Idle() {
				t.Errorf("%s, %s: still in its session", name, end)
			}
		}
	}
}

// Of two requests with one id the first is meant, then the second; and a closed session has no more.
func TestRunningInOrder(t *testing.T) {
	ss := &Session{server: NewServer("s", "1", nil)}
	ss.feed.wake = make(chan struct{}, 1)
	one, two, three := ss.begin(t.Context(), jsonrpc.IntID(1)), ss.begin(t.Context(), jsonrpc.IntID(2)), ss.begin(t.Context(), jsonrpc.IntID(1))
	for _, want := range []*running{one, three} {
		if r := ss.running.find(jsonrpc.IntID(1)); r != want {
			t.Error("the wrong request is meant")
		}
		want.end()
	}
	if ss.running.find(jsonrpc.IntID(1)) != nil || ss.running.find(jsonrpc.IntID(2)) != two {
		t.Error("the wrong requests are left")
	}
	if err := ss.Close(); err != nil {
		t.Fatal(err)
	}
	if late := ss.begin(t.Context(), jsonrpc.IntID(3)); whyEnded(two) != ErrClosed || whyEnded(late) != ErrClosed || !ss.Idle() {
		t.Errorf("after the end: %v and %v", whyEnded(two), whyEnded(late))
	}
}
