package mcp

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A TimeoutError says which timeout ended a request. It wraps [context.DeadlineExceeded].
type TimeoutError struct {
	What  string        // what took too long: the method, or "connecting"
	Limit string        // the option that set the limit
	After time.Duration // the limit
}

// Error says what took too long, how long was allowed, and by which option.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("mcp: %s took longer than the %v that %s allows", e.What, e.After, e.Limit)
}

// Unwrap returns [context.DeadlineExceeded].
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// Timeout reports true, as for [net.Error].
func (e *TimeoutError) Timeout() bool { return true }

// A callTimer bounds one call: each of its legs (one request and its response) by the idle limit, all together by the total limit.
// Both stand still while a question of the call is with the person.
type callTimer struct {
	mu     sync.Mutex
	idle   stopwatch
	total  stopwatch
	paused int
	inLeg  bool
}

// A stopwatch counts down while it runs and keeps what is left while it does not.
type stopwatch struct {
	limit, left time.Duration // limit <= 0: never fires
	started     time.Time
	timer       *time.Timer
	fire        func()
}

func (w *stopwatch) run() {
	if w.limit <= 0 || w.timer != nil {
		return
	}
	w.started = time.Now()
	w.timer = time.AfterFunc(w.left, w.fire)
}

func (w *stopwatch) halt() {
	if w.timer == nil {
		return
	}
	w.timer.Stop()
	w.timer = nil
	w.left = max(0, w.left-time.Since(w.started))
}

// newCallTimer makes a timer whose limits end the context behind cancel. Negative limits are none.
func newCallTimer(method string, idle, total time.Duration, cancel context.CancelCauseFunc) *callTimer {
	t := &callTimer{idle: stopwatch{limit: idle, left: idle}, total: stopwatch{limit: total, left: total}}
	t.idle.fire = func() { cancel(&TimeoutError{What: method, Limit: "RequestTimeout", After: idle}) }
	t.total.fire = func() { cancel(&TimeoutError{What: method, Limit: "TotalTimeout", After: total}) }
	t.total.run()
	return t
}

// beginLeg starts the idle limit anew.
func (t *callTimer) beginLeg() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inLeg = true
	t.idle.left = t.idle.limit
	if t.paused == 0 {
		t.idle.run()
	}
}

func (t *callTimer) endLeg() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inLeg = false
	t.idle.halt()
}

// reset starts the idle limit anew within a leg.
func (t *callTimer) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.inLeg {
		return
	}
	t.idle.halt()
	t.idle.left = t.idle.limit
	if t.paused == 0 {
		t.idle.run()
	}
}

// pause stops both limits until resume was called as often.
func (t *callTimer) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused++
	t.idle.halt()
	t.total.halt()
}

func (t *callTimer) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused--
	if t.paused > 0 {
		return
	}
	t.total.run()
	if t.inLeg {
		t.idle.run()
	}
}

// stop ends the timer for good.
func (t *callTimer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused = 1 << 30
	t.idle.halt()
	t.total.halt()
}

// HoldTimeouts stops the clocks of [ClientOptions] and [RequestOptions] for the request that a [Link] was given ctx for, or for the
// connection that is being made with it, until release is called. It is for links, and what they are made of, that have to ask a person
// something before the request can go on, such as to log in: the server is not to be blamed for the time that takes. Where ctx comes
// from elsewhere it does nothing. A deadline of the caller's own context holds all the same. release may be called once.
func HoldTimeouts(ctx context.Context) (release func()) {
	var held []*callTimer
	for {
		c, ok := ctx.Value(heldKey{}).(*heldContext)
		if !ok {
			break
		}
		c.timer.pause()
		held = append(held, c.timer)
		ctx = c.Context
	}
	return func() {
		for _, t := range held {
			t.resume()
		}
	}
}

type heldKey struct{}

// A heldContext is a context that knows its timer. That of a call is part of the call, so that it costs nothing.
type heldContext struct {
	context.Context //nolint:containedctx // it is one
	timer           *callTimer
}

// Value returns the context itself to HoldTimeouts.
func (c *heldContext) Value(key any) any {
	if key == (heldKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// withTimer returns a context with a clock that can be held, which does something when the limit is over. stop ends the clock alone.
func withTimer(ctx context.Context, limit time.Duration, fire func()) (held context.Context, stop func()) {
	t := &callTimer{total: stopwatch{limit: limit, left: limit, fire: fire}}
	t.total.run()
	return &heldContext{Context: ctx, timer: t}, t.stop
}

// withTimeout is [context.WithTimeoutCause] with such a clock.
func withTimeout(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	held, stop := withTimer(ctx, limit, func() { cancel(cause) })
	return held, func() {
		stop()
		cancel(nil)
	}
}
