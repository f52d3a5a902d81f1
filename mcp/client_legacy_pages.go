//go:build !mcp_modern_only

package mcp

import (
	"context"
	"fmt"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// maxPagesKept bounds the opened pages of a connection whose completion may still be reported.
const maxPagesKept = 256

// A pageWait is a page that a person was asked to open, until the server reports that they are done there.
type pageWait struct {
	question *OpenQuestion
	asker    *Interactor
	call     *outCall      // that waits until the interactor was told; may be nil
	done     chan struct{} // closed when completion is reported
	over     bool          // done is closed; guarded by the connection
	reported bool          // progress of it was reported; guarded by the connection
}

// A pageLoop remembers which pages a call was refused for, so that it does not go in circles.
type pageLoop struct {
	attempts int
	finished map[string]bool // by URL: the person was there and is done
}

// visitPages deals with a call that was refused because the person must visit pages first (2025-11-25, -32042): it asks for consent
// to each, waits until the server or the person says that it is done, and returns nil for the call to be repeated.
func (c *Client) visitPages(ctx context.Context, conn *connection, call *outCall, loop *pageLoop, refusal *jsonrpc.Error) error {
	var data URLElicitationRequiredData
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %w", refusal, &ResultError{Method: call.req.Method, Result: refusal.Data, Err: fmt.Errorf(format, args...)})
	}
	if len(refusal.Data) == 0 {
		return bad("it names no pages")
	}
	if err := unmarshalJSON(refusal.Data, &data); err != nil {
		return bad("%w", err)
	}
	if len(data.Elicitations) == 0 {
		return bad("it names no pages")
	}
	loop.attempts++
	if loop.attempts > maxURLRequiredAttempts {
		return fmt.Errorf("%w: %s was refused %d times until pages were visited: %w", ErrTooManyRounds, call.what(), maxURLRequiredAttempts, refusal)
	}
	for _, p := range data.Elicitations {
		switch {
		case p == nil || p.Mode != ElicitURL:
			return bad("it has an entry that is not of mode url")
		case p.ElicitationID == "":
			return bad("an entry has no elicitationId")
		case loop.finished[p.URL]:
			return fmt.Errorf("%w: the server wants a page visited again that was just finished: %w", ErrTooManyRounds, refusal)
		}
	}
	if err := c.admitQuestions(call, len(data.Elicitations)); err != nil {
		return err
	}
	call.timer.pause()
	defer call.timer.resume()
	call.nextQuestion()
	for _, p := range data.Elicitations {
		if err := c.visitPage(ctx, conn, call, p); err != nil {
			return fmt.Errorf("mcp: %s needs a page to be visited: %w", call.what(), localError(err))
		}
		loop.finish(p.URL)
	}
	return nil
}

// finish notes that the person is done with a page.
func (l *pageLoop) finish(url string) {
	if l.finished == nil {
		l.finished = make(map[string]bool)
	}
	l.finished[url] = true
}

// visitPage asks for consent to one page and waits until it is finished.
func (c *Client) visitPage(ctx context.Context, conn *connection, call *outCall, p *ElicitParams) error {
	params, err := marshalJSON(p)
	if err != nil {
		return err
	}
	q := &inquiry{
		conn: conn, asker: call.asker, rules: conn.agreed().rules, method: MethodElicit, params: params,
		about: Asked{Method: call.req.Method, Name: callName(call.req), Round: int(call.round.Load())},
	}
	wait := conn.expectCompletion(&OpenQuestion{
		Asked: q.about, Message: p.Message, URL: p.URL, ID: p.ElicitationID,
	}, call.asker, call) // before asking: the report may come first
	defer conn.forgetPage(p.ElicitationID)
	q.join()
	a, err := q.put(ctx)
	if err != nil {
		return err
	}
	switch a.action {
	case ActionDecline:
		return ErrDeclined
	case ActionCancel:
		return ErrCanceled
	}
	wait.question.Asked = q.about
	return c.awaitPage(ctx, wait)
}

// awaitPage waits until the server reports completion, the person says that they are done, or the wait has lasted too long.
func (c *Client) awaitPage(ctx context.Context, w *pageWait) error {
	limit := c.opts.CompletionWait
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &TimeoutError{What: "finishing the page", Limit: "CompletionWait", After: limit})
	defer cancel()
	if w.asker.Wait == nil {
		select {
		case <-w.done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	waiting, reported := context.WithCancel(ctx)
	defer reported()
	stop := make(chan struct{})
	finished := make(chan struct{})
	go func() { // ends with stop, and is waited for
		defer close(finished)
		select {
		case <-w.done:
			reported()
		case <-stop:
		}
	}()
	err := c.contain("interactor", func() error { return w.asker.Wait(waiting, w.question) })
	close(stop)
	<-finished
	select {
	case <-w.done:
		return nil
	default:
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// expectCompletion notes that completion of a page may be reported. It is only noted once.
func (n *connection) expectCompletion(q *OpenQuestion, asker *Interactor, call *outCall) *pageWait {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := n.pages[q.ID]; w != nil {
		return w
	}
	w := &pageWait{question: q, asker: asker, call: call, done: make(chan struct{})}
	if len(n.pages) < maxPagesKept {
		n.pages[q.ID] = w
	}
	return w
}

func (n *connection) forgetPage(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.pages, id)
}

// completed deals with notifications/elicitation/complete. Ids that are unknown, or reported before, mean nothing.
func (n *connection) completed(id string) {
	n.mu.Lock()
	w := n.pages[id]
	delete(n.pages, id)
	n.mu.Unlock()
	if w != nil {
		n.finish(w)
	}
}

// finish notes that the server has reported a page as finished.
func (n *connection) finish(w *pageWait) {
	n.mu.Lock()
	over := w.over
	w.over = true
	n.mu.Unlock()
	if over {
		return
	}
	close(w.done)
	if f := w.asker.Completed; f != nil {
		n.client.tellCompleted(w.call, func(ctx context.Context) { f(ctx, w.question) })
	}
}
