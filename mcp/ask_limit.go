package mcp

import (
	"fmt"
	"sync"
	"time"
)

// askLimiter bounds how often one caller is asked by one tool. It counts in windows of a minute.
type askLimiter struct {
	perMinute int // no bound when negative

	mu sync.Mutex
	// The callers in two generations: those that asked since the last turn, and those that asked in the one before. One who asks moves
	// to the recent ones; at the next turn the older ones are forgotten. So what is forgotten before its minute is over is what has not
	// asked for longest.
	recent, older map[string]*askWindow
	turned        time.Time
}

type askWindow struct {
	begin time.Time
	asked int
}

// maxAskWindows bounds the callers that are counted at the same time.
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
	w := l.window(key, now)
	if w.asked+n > l.perMinute {
		return &ToolError{
			Text: fmt.Sprintf("too many questions: this asks the person more than %d times a minute; try again later", l.perMinute),
			Err:  fmt.Errorf("%w: AskOptions.MaxPerMinute (%d) reached by %s %q", ErrTooManyRounds, l.perMinute, c.method, c.name),
		}
	}
	w.asked += n
	return nil
}

// window returns what a caller has asked within its minute.
func (l *askLimiter) window(key string, now time.Time) *askWindow {
	if l.recent == nil || now.Sub(l.turned) >= time.Minute || len(l.recent) >= maxAskWindows/2 {
		l.older, l.recent, l.turned = l.recent, make(map[string]*askWindow), now
	}
	w := l.recent[key]
	if w == nil {
		if w = l.older[key]; w == nil {
			w = &askWindow{begin: now}
		}
		delete(l.older, key)
		l.recent[key] = w
	}
	if now.Sub(w.begin) >= time.Minute {
		*w = askWindow{begin: now}
	}
	return w
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
