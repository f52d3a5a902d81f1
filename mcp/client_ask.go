package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// maxFormTries is how often an interactor may get the answer to one form wrong.
const maxFormTries = 3

// An askQueue lets one question at a time through to a person, in order of arrival.
type askQueue struct {
	mu      sync.Mutex
	waiting []*turn // the first has its turn
}

// A turn is a place in an [askQueue].
type turn struct {
	queue *askQueue
	ready chan struct{}
}

func (q *askQueue) join() *turn {
	t := &turn{queue: q, ready: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, t)
	if len(q.waiting) == 1 {
		close(t.ready)
	}
	return t
}

// wait returns when the turn has come, or with the cause of ctx's end.
func (t *turn) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave gives the place up. It may be called more than once.
func (t *turn) leave() {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	for i, other := range t.queue.waiting {
		if other != t {
			continue
		}
		t.queue.waiting = append(t.queue.waiting[:i], t.queue.waiting[i+1:]...)
		if i == 0 && len(t.queue.waiting) > 0 {
			close(t.queue.waiting[0].ready)
		}
		return
	}
}

// An inquiry is one question of a server on its way to the person.
type inquiry struct {
	conn   *connection
	asker  *Interactor
	rules  *era.Rules
	method string
	params json.RawMessage
	about  Asked
	turn   *turn
	paused []*outCall // calls whose timers stand still meanwhile
	call   *outCall   // the call that asks by its result (2026-07-28)
	of     *outCall   // the call that the question belongs to, in either era; nil when that is not known
	draft  bool       // an interaction of the User Interaction draft
	// opened is told of a page that the person agreed to open, in place of what is done otherwise.
	opened func(*OpenQuestion)

	refused error // why it is not put at all
}

// A reply is what came of an inquiry.
type reply struct {
	result json.RawMessage
	action Action // of an elicitation
}

// join takes a place in the interactor's queue and stops the timers of the calls that wait for the answer.
func (q *inquiry) join() {
	q.turn = q.asker.queue.join()
	for _, call := range q.paused {
		call.timer.pause()
	}
}

// leave undoes join. A nil inquiry has nothing to undo.
func (q *inquiry) leave() {
	if q == nil {
		return
	}
	q.turn.leave()
	for _, call := range q.paused {
		call.timer.resume()
	}
}

// put asks the person and returns the answer as the server wants it. An *[Error] says what was wrong with the question; any other
// error, why nobody could be asked.
func (q *inquiry) put(ctx context.Context) (reply, error) {
	defer q.leave()
	a, err := q.putOnce(ctx)
	if q.of != nil && ctx.Err() == nil {
		q.of.fate.note(a, err, q.call == nil)
	}
	return a, err
}

func (q *inquiry) putOnce(ctx context.Context) (reply, error) {
	q.about.Origin = q.conn.client.origin
	q.about.Server = q.conn.agreed().server.Implementation
	if q.refused != nil {
		return reply{}, q.refused
	}
	run, err := q.prepare()
	if err != nil {
		return reply{}, err
	}
	if err := q.turn.wait(ctx); err != nil {
		return reply{}, err
	}
	var out reply
	err = q.conn.client.contain("interactor", func() (err error) {
		out, err = run(ctx)
		return err
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

// prepare checks the question and returns the function that puts it.
func (q *inquiry) prepare() (func(context.Context) (reply, error), error) {
	if q.draft {
		return q.prepareInteraction()
	}
	if !q.rules.CanAsk(q.method) {
		return nil, methodNotFound(q.method)
	}
	switch q.method {
	case MethodElicit:
		return q.prepareElicit()
	case MethodCreateMessage:
		return q.prepareSample()
	case MethodRootsList:
		if q.asker.Roots == nil {
			return nil, undeclared(q.method)
		}
		return q.roots, nil
	}
	return nil, methodNotFound(q.method)
}

// undeclared answers a request that needs a capability which the client did not declare.
func undeclared(method string) *Error {
	return &Error{Code: CodeMethodNotFound, Message: "this client did not declare that it can do " + method}
}

func (q *inquiry) prepareElicit() (func(context.Context) (reply, error), error) {
	var p ElicitParams
	if err := unmarshalJSON(q.params, &p); err != nil {
		return nil, invalidParams("elicitation/create: %v", err)
	}
	if q.asker.Form == nil && q.asker.Open == nil {
		return nil, undeclared(q.method)
	}
	switch {
	case p.Mode == "" || p.Mode == ElicitForm:
		return q.prepareForm(&p)
	case p.Mode == ElicitURL && q.rules.Elicitation.URL:
		return q.prepareOpen(&p)
	}
	return nil, invalidParams("elicitation/create: mode %q is unknown here", clip(string(p.Mode), 50))
}

func (q *inquiry) prepareForm(p *ElicitParams) (func(context.Context) (reply, error), error) {
	if q.asker.Form == nil {
		return nil, invalidParams("%s: this client did not declare mode form", q.method)
	}
	f, err := form.Parse(p.RequestedSchema)
	if err != nil {
		return nil, invalidParams("%s: requestedSchema: %v", q.method, err)
	}
	if field, reason, bad := f.LooksSecret(); bad && !q.conn.client.opts.AllowSecretForms {
		return nil, invalidParams("%s: a secret must not be asked for in a form: field %q: %s", q.method, field, reason)
	}
	fq := &FormQuestion{Asked: q.about, Message: p.Message, Form: f}
	return func(ctx context.Context) (reply, error) { return q.fill(ctx, fq) }, nil
}

// fill lets the person fill in a form, again if the answer does not fit it.
func (q *inquiry) fill(ctx context.Context, fq *FormQuestion) (reply, error) {
	for range maxFormTries {
		fq.Asked = q.about
		res, err := q.asker.Form(ctx, fq)
		if err != nil {
			return refusal(err)
		}
		if res == nil {
			return reply{}, errors.New("mcp: the interactor's Form returned neither an answer nor an error")
		}
		if res.Action != ActionAccept {
			return elicited(res.Action, nil)
		}
		given := res.Content
		if len(given) == 0 {
			given = emptyObject // a form without required fields is confirmed by the action alone
		}
		content, err := fq.Form.Normalize(given)
		if err == nil {
			return elicited(ActionAccept, content)
		}
		again := *fq // the interactor may have kept the last one
		again.Problem = err
		fq = &again
	}
	return reply{}, fmt.Errorf("%w in %d tries: %w", errNoFit, maxFormTries, fq.Problem)
}

// errNoFit is why a form has no answer although the interactor gave some.
var errNoFit = errors.New("mcp: no answer to the form fitted it")

func (q *inquiry) prepareOpen(p *ElicitParams) (func(context.Context) (reply, error), error) {
	if q.asker.Open == nil {
		return nil, invalidParams("%s: this client did not declare mode url", q.method)
	}
	if q.rules.Elicitation.ID && p.ElicitationID == "" {
		return nil, invalidParams("%s: elicitationId is missing", q.method)
	}
	if err := q.conn.client.checkURL(p.URL); err != nil {
		return nil, invalidParams("%s: %v", q.method, err)
	}
	oq := &OpenQuestion{Asked: q.about, Message: p.Message, URL: p.URL, ID: p.ElicitationID}
	return func(ctx context.Context) (reply, error) { return q.open(ctx, oq) }, nil
}

// open asks for consent to open a page.
func (q *inquiry) open(ctx context.Context, oq *OpenQuestion) (reply, error) {
	oq.Asked = q.about
	res, err := q.asker.Open(ctx, oq)
	if err != nil {
		return refusal(err)
	}
	if res == nil {
		return reply{}, errors.New("mcp: the interactor's Open returned neither an answer nor an error")
	}
	if res.Action == ActionAccept {
		switch {
		case q.call != nil:
			q.call.opened = append(q.call.opened, oq)
		case q.opened != nil:
			q.opened(oq)
		case oq.ID != "":
			q.conn.expectCompletion(oq, q.asker, q.of)
		}
	}
	return elicited(res.Action, nil) // never content: what the person did there is not the client's
}

// refusal turns the sentinels into the answers they mean.
func refusal(err error) (reply, error) {
	switch {
	case errors.Is(err, ErrDeclined):
		return elicited(ActionDecline, nil)
	case errors.Is(err, ErrCanceled):
		return elicited(ActionCancel, nil)
	}
	return reply{}, err
}

func elicited(a Action, content json.RawMessage) (reply, error) {
	switch a {
	case ActionAccept, ActionDecline, ActionCancel:
	default:
		return reply{}, fmt.Errorf("mcp: the interactor answered with action %q; want accept, decline or cancel", a)
	}
	raw, err := marshalJSON(&ElicitResult{Action: a, Content: content})
	return reply{result: raw, action: a}, err
}

func (q *inquiry) prepareSample() (func(context.Context) (reply, error), error) {
	if q.asker.Sample == nil {
		return nil, undeclared(q.method)
	}
	p := new(CreateMessageParams)
	if err := unmarshalJSON(q.params, p); err != nil {
		return nil, invalidParams("sampling/createMessage: %v", err)
	}
	if (len(p.Tools) > 0 || p.ToolChoice != nil) && !q.asker.SampleTools {
		return nil, invalidParams("sampling/createMessage: this client did not declare sampling.tools")
	}
	return func(ctx context.Context) (reply, error) {
		res, err := q.asker.Sample(ctx, &SampleQuestion{Asked: q.about, Params: p})
		if err != nil {
			return reply{}, err
		}
		if res == nil {
			return reply{}, errors.New("mcp: the interactor's Sample returned neither an answer nor an error")
		}
		raw, err := marshalJSON(res)
		return reply{result: raw}, err
	}, nil
}

func (q *inquiry) roots(ctx context.Context) (reply, error) {
	roots, err := q.asker.Roots(ctx)
	if err != nil {
		return reply{}, err
	}
	if roots == nil {
		roots = []Root{}
	}
	raw, err := marshalJSON(map[string]any{"roots": roots})
	return reply{result: raw}, err
}

// contain runs f and turns a panic into an error; its stack goes to the log.
func (c *Client) contain(what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			c.log.Error("mcp: panic contained", "in", what, "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("mcp: the %s panicked: %v", what, v)
		}
	}()
	return f()
}

// checkURL refuses what must not even be shown as something to open. What a person should know about the rest is package consent's.
func (c *Client) checkURL(raw string) error {
	for _, r := range raw {
		if r <= ' ' || r == 0x7F || r == '\\' {
			return errors.New("url has a character that URLs cannot have")
		}
	}
	u, err := url.Parse(raw)
	if err != nil {
		return errors.New("url cannot be parsed")
	}
	host := u.Hostname()
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("url must be https")
	case host == "" || u.Opaque != "":
		return errors.New("url has no host")
	case u.User != nil:
		return errors.New("url must not name a user")
	case u.Scheme == "http" && !isLoopback(host) && !c.opts.AllowInsecureURLs:
		return errors.New("url must be https")
	}
	return nil
}

// isLoopback reports whether a URL's host is this machine.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// wireError turns a failed inquiry into the error response that the server gets. Only deliberate messages cross the wire.
func wireError(err error) *Error {
	var e *jsonrpc.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, ErrDeclined), errors.Is(err, ErrCanceled):
		return &Error{Code: CodeUserRejected, Message: "the person rejected the request"}
	case errors.Is(err, ErrUnavailable): // as from a client that does not know the request: what servers take for "unavailable"
		return &Error{Code: CodeMethodNotFound, Message: "nobody could be asked"}
	case errors.Is(err, errNoFit):
		return &Error{Code: CodeInternalError, Message: "no answer to the form fitted it"}
	}
	return errInternal
}
