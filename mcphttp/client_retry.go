package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

const (
	linkFirstPause = 250 * time.Millisecond
	linkLastPause  = 30 * time.Second
)

// repeatable reports whether a request can be sent twice without doing a thing twice: it reads, or sets something to a value.
func repeatable(method string) bool {
	switch method {
	case mcp.MethodDiscover, mcp.MethodInitialize, mcp.MethodPing,
		mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList,
		mcp.MethodResourcesRead, mcp.MethodPromptsGet, mcp.MethodComplete,
		mcp.MethodSetLevel, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe,
		mcp.MethodTasksGet, mcp.MethodTasksList:
		return true
	}
	return false
}

// post sends a message until the server has taken it, as often as it may be sent, and returns the last answer, whatever its status.
func (l *link) post(ctx context.Context, x *linkExchange, p *posting) (*http.Response, error) {
	pause := backoff{}
	for try := 0; ; try++ {
		resp, err := l.client.Do(p.request(ctx))
		if ctx.Err() != nil || try >= l.opts.MaxRetries || !p.unserved(resp, err) {
			return resp, unanswered(err)
		}
		wait := pause.next(0)
		if asked := retryAfter(resp); asked > 0 {
			wait = asked
		}
		if wait > l.opts.MaxRetryAfter || (!x.deadline.IsZero() && time.Until(x.deadline) <= wait) {
			return resp, unanswered(err)
		}
		if resp != nil {
			l.closeBody(resp)
		}
		l.log.Debug("mcphttp: sending a request again", "server", l.String(), "status", statusOf(resp), "err", withoutURL(err), "wait", wait)
		if err := sleepFor(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// unserved reports whether an attempt came to nothing and may be repeated.
func (p *posting) unserved(resp *http.Response, err error) bool {
	if err != nil {
		op := brokenConnection(err)
		return op == "dial" || op != "" && p.safe
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return p.safe || resp.Header.Get("Retry-After") != ""
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return p.safe
	}
	return false
}

// brokenConnection returns what a connection was doing when it broke: "dial" means that nothing was sent. It is empty for failures that
// would only repeat, or that are not the network's: certificates, names that do not exist, a login that was refused.
func brokenConnection(err error) string {
	var name *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return ""
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "read" || op.Op == "write"):
		return op.Op
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "read"
	}
	// net/http has no types for these.
	text := err.Error()
	if strings.Contains(text, "server closed idle connection") || strings.Contains(text, "GOAWAY") {
		return "read"
	}
	return ""
}

// unanswered makes the error of an exchange without an answer.
func unanswered(err error) error {
	if err == nil {
		return nil
	}
	return &mcp.TransportError{Err: withoutURL(err)}
}

// retryAfter returns what an answer asks to wait, zero if it does not say.
func retryAfter(resp *http.Response) time.Duration {
	if resp == nil {
		return 0
	}
	v := resp.Header.Get("Retry-After")
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

func statusOf(resp *http.Response) int {
	if resp == nil {
		return 0
	}
	return resp.StatusCode
}

// A backoff is a growing pause.
type backoff struct{ last time.Duration }

// next returns the pause before the next attempt, with jitter. Where the server named one, it is at least that.
func (b *backoff) next(named time.Duration) time.Duration {
	b.last = min(max(2*b.last, linkFirstPause), linkLastPause)
	if named > 0 {
		return max(named, linkFirstPause) + jitter(named/10)
	}
	return b.last - jitter(b.last/4)
}

// reset makes the next pause a short one.
func (b *backoff) reset() { b.last = 0 }

func jitter(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return rand.N(most)
}

// sleepFor waits.
func sleepFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("mcphttp: waiting to send again: %w", context.Cause(ctx))
	}
}
