package mcp

import (
	"fmt"
	"sync"
	"time"
)

// askLimiter bounds how often one caller is asked by one tool. It counts in windows of a minute.
type askLimiter struct {
	perMinute int // no bound when negative

	mu      sync.Mutex
	windows map[string]*askWindow
	swept   time.Time
}

type askWindow struct {
	begin time.Time
	asked int
}

// maxAskWindows bounds the callers that are counted at the same time. Beyond it the oldest windows are forgotten early.
const maxAskWindows = 100_000

// take counts n questions of the call, or refuses them.
func (l *askLimiter) take(c *Call, n int) error {
	if l.perMinute < 0 || n == 0 {
		return nil
	}
	key, known := c.caller()
	if !known {
		return nil
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	w := l.windows[key]
	if w == nil || now.Sub(w.begin) >= time.Minute {
		w = &askWindow{begin: now}
		l.windows[key] = w
	}
	if w.asked+n > l.perMinute {
		return &ToolError{
			Text: fmt.Sprintf("too many questions: this asks the person more than %d times a minute; try again later", l.perMinute),
			Err:  fmt.Errorf("%w: AskOptions.MaxPerMinute (%d) reached by %s %q", ErrTooManyRounds, l.perMinute, c.method, c.name),
		}
	}
	w.asked += n
	return nil
}

// sweep drops windows that are over, at most once a minute, or all of them when there are too many.
func (l *askLimiter) sweep(now time.Time) {
	if l.windows == nil || len(l.windows) >= maxAskWindows {
		l.windows = make(map[string]*askWindow)
		l.swept = now
		return
	}
	if now.Sub(l.swept) < time.Minute {
		return
	}
	l.swept = now
	for key, w := range l.windows {
		if now.Sub(w.begin) >= time.Minute {
			delete(l.windows, key)
		}
	}
}

// caller names who is asked, and by what; known is false for callers that cannot be told apart.
func (c *Call) caller() (key string, known bool) {
	var who string
	switch {
	case c.principal != nil:
		p := c.principal
		who = "p" + string(appendPart(appendPart(appendPart(nil, p.Issuer), p.Subject), p.ClientID))
	case c.exchange == nil:
		return "", false
	case c.lastingSession() != nil:
		who = fmt.Sprintf("s%p", c.lastingSession())
	case c.exchange.Headers == nil && c.exchange.Session == nil:
		who = "c" // a stream: one client, one person
	default:
		return "", false
	}
	return who + string(appendPart(appendPart(nil, c.method), c.name)), true
}
