package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed38e7925c/parley/mcp"
)

// A flight is one attempt to get a token. It belongs to the transport; requests that need a token meanwhile share its outcome.
type flight struct {
	done   chan struct{}
	asking chan struct{} // closed when a person is asked
	asks   func()        // closes asking
	cancel context.CancelCauseFunc
	after  *credential // what it replaces
	got    *credential // what was in force at its end; read after done, as err
	err    error
}

var errClosed = errors.New("mcpauth: the Transport was closed")

// alone has do, which replaces a credential, run by one flight, unless that is being done or has been done: then it waits, and returns
// what came of it, with what was in force then.
func (t *Transport) alone(ctx context.Context, after *credential, do func(ctx context.Context) error) (*credential, error) {
	for {
		f, mine, err := t.board(ctx, after, do)
		if err != nil {
			return nil, err
		}
		if err := f.wait(ctx); err != nil {
			return nil, err
		}
		if mine || f.after == after && (f.err != nil || f.got != after) {
			return f.got, f.err
		}
	}
}

// board returns the flight under way, or begins one.
func (t *Transport) board(ctx context.Context, after *credential, do func(ctx context.Context) error) (f *flight, mine bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flight != nil {
		return t.flight, false, nil
	}
	if t.closed {
		return nil, false, errClosed
	}
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	f = &flight{done: make(chan struct{}), asking: make(chan struct{}), cancel: cancel, after: after}
	f.asks = sync.OnceFunc(func() { close(f.asking) })
	t.flight = f
	t.flights.Go(func() { t.fly(own, f, do) })
	return f, true, nil
}

func (t *Transport) fly(ctx context.Context, f *flight, do func(ctx context.Context) error) {
	ctx, stop := context.WithTimeoutCause(ctx, t.opts.LoginTimeout, fmt.Errorf("the login took longer than the %v of ClientOptions.LoginTimeout", t.opts.LoginTimeout))
	defer stop()
	defer f.cancel(nil)
	f.err = do(ctx)
	f.got = t.cred.Load()
	t.mu.Lock()
	t.flight = nil
	t.mu.Unlock()
	close(f.done)
}

// wait waits for the end of a flight. While a person is asked, the timeouts of the client whose request waits stand still.
func (f *flight) wait(ctx context.Context) error {
	asking := f.asking
	for {
		select {
		case <-f.done:
			return nil
		case <-asking:
			asking = nil
			defer mcp.HoldTimeouts(ctx)() //nolint:gocritic // once: asking is nil from now on
		case <-ctx.Done():
			if asking == nil {
				return fmt.Errorf("mcpauth: the request ended while somebody was asked to log in; the login goes on, try again when it is done: %w", context.Cause(ctx))
			}
			return context.Cause(ctx)
		}
	}
}

// personAsked tells those who wait for the flight under way that it is a person that they wait for.
func (t *Transport) personAsked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flight != nil {
		t.flight.asks()
	}
}

// Close ends a login that is under way, waits for a renewal that is, whose answer must not be lost, and closes idle connections. Programs
// call it before they end. Requests that need another token fail afterwards. It always returns nil.
func (t *Transport) Close() error {
	t.mu.Lock()
	t.closed = true
	if t.flight != nil {
		t.flight.cancel(errClosed)
	}
	t.mu.Unlock()
	t.flights.Wait()
	t.CloseIdleConnections()
	return nil
}

// CloseIdleConnections closes connections that are not in use, those of the base too. [net/http.Client] calls it.
func (t *Transport) CloseIdleConnections() {
	t.fetch.gets.CloseIdleConnections()
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
