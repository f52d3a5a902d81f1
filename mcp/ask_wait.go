package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Await waits for something that happens elsewhere: a person at a web page, a colleague's approval. ready is called with a context
// that says how long to wait now; it returns nil once the thing has happened, the context's error when it has not happened in time,
// and any other error to end the wait with. It is called again by later runs of the handler, and must then find out by itself, from a
// database perhaps, whether the thing has happened in between.
//
// A client of the handshake era is kept waiting as long as the call's ctx lasts. A request of a 2026-07-28 client is held for
// [AskOptions.Hold] at most, or until the server shuts down; then Await returns [ErrInputRequired], which unwinds the handler, and
// the client is asked to send the request again without asking anybody: its inputRequests are empty. Message, if not empty, is sent
// as progress while the wait lasts, every ten seconds.
//
// No wait outlasts the access token of its call: a 2026-07-28 client is asked to come again with another one, the call of an older client
// fails. What happened in the meantime is found by the next call.
//
// Await shares keys with questions. It fails with [ErrTooManyRounds] after [AskOptions.MaxWaits] rounds.
func (c *Call) Await(ctx context.Context, key, message string, ready func(ctx context.Context) error) error {
	run, err := c.admitWait(key)
	if err != nil {
		return err
	}
	hold, cancel := c.holdContext(ctx, run)
	defer cancel()
	stop := c.reportWait(hold, message)
	err = ready(hold)
	stop()
	expired := c.expired()
	switch {
	case err == nil && !expired, ctx.Err() != nil:
		return err
	case err != nil && (hold.Err() == nil || !isContextError(err)):
		return err
	case !c.rev.Rules().AskByResult:
		if expired {
			return errTokenOver
		}
		return err
	}
	a := &c.asking
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.open {
		return errAskedLate
	}
	run.waiting = append(run.waiting, key)
	return fmt.Errorf("%w: still waiting for %q", ErrInputRequired, key)
}

// errTokenOver ends a wait that has outlasted the caller's token.
var errTokenOver = &Error{Code: CodeInvalidRequest, Message: "the access token expired while the call was waiting; call again with a new one"}

// expired reports whether the caller's token is over.
func (c *Call) expired() bool {
	p := c.principal
	return p != nil && !p.Expiry.IsZero() && !time.Now().Before(p.Expiry)
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func (c *Call) admitWait(key string) (*askRun, error) {
	if err := checkKey(key); err != nil {
		return nil, fmt.Errorf("mcp: Await: %w", err)
	}
	a := &c.asking
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.open {
		return nil, fmt.Errorf("%w: Await belongs into handlers of tools/call, prompts/get and resources/read", ErrUnavailable)
	}
	run := c.startRun()
	return run, run.use(key)
}

// holdContext bounds one wait: by the end of the caller's token, and, where the client can be asked to come again, by the longest that
// it is held. A wait has no goroutine but its caller's.
func (c *Call) holdContext(ctx context.Context, run *askRun) (context.Context, context.CancelFunc) {
	asks := c.rev.Rules().AskByResult
	var end time.Time
	if asks {
		end = time.Now().Add(run.rt.hold)
	}
	if p := c.principal; p != nil && !p.Expiry.IsZero() && (!asks || p.Expiry.Before(end)) {
		end = p.Expiry
	}
	if end.IsZero() {
		return context.WithCancel(ctx)
	}
	hold, cancel := context.WithDeadline(ctx, end)
	if !asks {
		return hold, cancel
	}
	stop := context.AfterFunc(run.rt.draining, cancel)
	return hold, func() {
		stop()
		cancel()
	}
}

// waitReport is how often a wait is reported as progress.
const waitReport = 10 * time.Second

// reportWait sends progress, now and then, until the function that it returns is called, which waits for a message that is being sent.
func (c *Call) reportWait(ctx context.Context, message string) (stop func()) {
	if message == "" || !c.wantsProgress() {
		return func() {}
	}
	var (
		mu    sync.Mutex
		over  bool
		count float64
		timer *time.Timer
	)
	report := func() {
		mu.Lock()
		defer mu.Unlock()
		if over || ctx.Err() != nil {
			return
		}
		if count++; c.Progress(ctx, count, 0, message) == nil {
			timer.Reset(waitReport)
		}
	}
	mu.Lock()
	timer = time.AfterFunc(waitReport, report)
	mu.Unlock()
	report()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
	}
}
