package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// CallOptions describe a scripted call: one that no client has sent. The zero value of each field is its default.
type CallOptions struct {
	Method    string          // the default is tools/call
	Name      string          // tool or prompt, or the URI of a resource
	Arguments json.RawMessage // as a client would send them
	// Revision is the revision the call appears to come in at. The default is the latest.
	Revision   Revision
	Principal  *Principal      // nil is the anonymous caller
	ClientInfo *Implementation // nil is a client that does not say what it is
	// Capabilities are those of the client. nil means everything that can be asked; an empty value means nothing.
	Capabilities *ClientCapabilities
	// LogLevel is the lowest level of log messages that the client wants. Empty means none.
	LogLevel LoggingLevel
	// Answer plays the person: it is given each question and returns the answer. An error that is or wraps [ErrDeclined] or
	// [ErrCanceled] counts as that answer. With one that is or wraps [ErrUnavailable] the question is one that the client did not
	// declare: Ask returns ErrUnavailable. Any other error is what Ask returns, or what ends [RunCall]. nil: every question is
	// dismissed.
	Answer func(ctx context.Context, q *Question) (*Answer, error)
	// Notify takes the notifications that the handler sends: progress and log messages. nil drops them.
	Notify func(method string, params json.RawMessage)
	// Asks are the questions that the handler is declared to ask, as in [Tool.Asks].
	Asks []*Question
	// Ask are the options for questions. nil means the defaults.
	Ask *AskOptions
	// Logger takes what the library has to say about the handler. nil means slog.Default().
	Logger *slog.Logger
}

// NewCall makes a call for a handler that is run without a server, as in a unit test: [Call.Ask] returns what o.Answer does. The call
// stays open; whatever the revision, the handler is run once and sees every answer at once. [RunCall] runs it as a server would.
func NewCall(o *CallOptions) *Call {
	c := newScriptedCall(o, nil, nil, nil)
	c.asking.script.suspend = true
	c.asking.open = true
	return c
}

// A CallReport says how a scripted call went.
type CallReport struct {
	// Rounds are the questions that were asked, in the rounds that they were asked in. Where the handler is suspended for its
	// questions, as before 2026-07-28, each is a round of its own.
	Rounds [][]*Question
	// Runs is how often the handler ran.
	Runs int
	// Overruled are the keys of questions that were unanswered when the handler returned something else than the error of Ask.
	Overruled []string
}

// Questions returns what was asked, in order.
func (r *CallReport) Questions() []*Question {
	var all []*Question
	for _, round := range r.Rounds {
		all = append(all, round...)
	}
	return all
}

// RunCall runs a handler for a scripted call as a server of that revision would, and returns what the client would get: at
// 2026-07-28 the handler runs again for each round of questions, with its state sealed and opened in between; at older ones it runs
// once and waits for the answers. Errors of asking come back as the server would send them.
func RunCall(ctx context.Context, o *CallOptions, handler Handler) (any, *CallReport, error) {
	report := &CallReport{}
	if o == nil {
		o = &CallOptions{}
	}
	rt, err := newScriptRuntime(o)
	if err != nil {
		return nil, report, err
	}
	var state *string
	var responses InputResponses
	absent := make(map[string]bool)
	for {
		c := newScriptedCall(o, rt, state, responses)
		c.asking.script.absent = absent
		report.Runs++
		result, err := c.asked(ctx, o.Asks, func(ctx context.Context) (any, error) { return handler(ctx, c) })
		c.asking.script.report(report)
		input, more := result.(*InputRequiredResult)
		if err != nil || !more {
			return result, report, err
		}
		if responses, err = c.scriptedRound(ctx, report); err != nil {
			return nil, report, err
		}
		state = input.RequestState
	}
}

// scriptedRound answers what the run left pending.
func (c *Call) scriptedRound(ctx context.Context, report *CallReport) (InputResponses, error) {
	var round []*Question
	responses := make(InputResponses)
	for _, p := range c.asking.run.pending {
		round = append(round, p.Question)
	}
	if len(round) > 0 {
		report.Rounds = append(report.Rounds, round)
	}
	for _, p := range c.asking.run.pending {
		ans, err := c.asking.script.answer(ctx, p.Question)
		if errors.As(err, new(*unavailableError)) {
			continue // the next run is told
		}
		if err != nil {
			return nil, err
		}
		if responses[p.Key], err = replyOf(p.Question, ans); err != nil {
			return nil, err
		}
	}
	return responses, ctx.Err()
}

// replyOf is what a client would send for an answer.
func replyOf(q *Question, ans *Answer) (json.RawMessage, error) {
	switch {
	case q.Kind == AskSample && ans.Sample != nil:
		return marshalJSON(ans.Sample)
	case q.Kind == AskRoots && ans.Action == ActionAccept:
		return marshalJSON(&ListRootsResult{Roots: append([]Root{}, ans.Roots...)})
	}
	res := &ElicitResult{Action: ans.Action}
	if ans.Action == ActionAccept {
		res.Content = ans.Content
	}
	return marshalJSON(res)
}

// everything is what a client that can do everything declares.
func everything() *ClientCapabilities {
	return &ClientCapabilities{
		Roots:       &RootsCapability{},
		Sampling:    &SamplingCapability{Tools: &Supported{}, Context: &Supported{}},
		Elicitation: &ElicitationCapability{Form: &Supported{}, URL: &Supported{}},
	}
}

// newScriptRuntime is what a server would have. A script needs no keys that others know.
func newScriptRuntime(o *CallOptions) (*askRuntime, error) {
	var options AskOptions
	if o.Ask != nil {
		options = *o.Ask
	}
	if options.Keys == nil {
		ring, err := KeyRingOf(NewKey())
		if err != nil {
			return nil, err
		}
		options.Keys = ring
	}
	return newAskRuntime("scripted", &options, o.Logger)
}

func newScriptedCall(o *CallOptions, rt *askRuntime, state *string, responses InputResponses) *Call {
	if o == nil {
		o = &CallOptions{}
	}
	if rt == nil {
		rt, _ = newScriptRuntime(o) // the runtime is usable whatever the error; RunCall reports it
	}
	c := &Call{
		method: o.Method, name: o.Name, rev: o.Revision, principal: o.Principal,
		client: clientFacts{info: o.ClientInfo, caps: o.Capabilities, logLevel: o.LogLevel},
	}
	if c.method == "" {
		c.method = MethodToolsCall
	}
	if c.rev == 0 {
		c.rev = LatestRevision
	}
	if c.client.caps == nil {
		c.client.caps = everything()
	}
	c.asking.script = &askScript{rt: rt, play: o.Answer}
	c.exchange = scriptedExchange(c, o, state, responses)
	return c
}

// scriptedExchange is the message that a client would have sent.
func scriptedExchange(c *Call, o *CallOptions, state *string, responses InputResponses) *Exchange {
	params := struct {
		Name           string          `json:"name,omitzero"`
		Arguments      json.RawMessage `json:"arguments,omitzero"`
		InputResponses InputResponses  `json:"inputResponses,omitzero"`
		RequestState   *string         `json:"requestState,omitzero"`
		Meta           Meta            `json:"_meta"`
	}{c.name, o.Arguments, responses, state, Meta{MetaProgressToken: json.RawMessage(`"scripted"`)}}
	raw, err := marshalJSON(&params)
	if err != nil { // arguments that are not JSON: leave them out of the message, and let the handler's decoding complain
		raw = []byte(`{}`)
	}
	x := &Exchange{
		Message: &jsonrpc.Message{ID: jsonrpc.IntID(1), Method: c.method, Params: raw}, Principal: o.Principal,
		admitted: true, revision: c.rev,
	}
	if o.Notify != nil {
		x.Stream = scriptedStream{o.Notify}
	}
	x.params.read(raw)
	return x
}

// scriptedStream hands notifications to a function.
type scriptedStream struct {
	notify func(method string, params json.RawMessage)
}

// Send implements [Stream].
func (s scriptedStream) Send(_ context.Context, m *jsonrpc.Message) error {
	s.notify(m.Method, append(json.RawMessage(nil), m.Params...))
	return nil
}

// askScript plays the person behind a scripted call.
type askScript struct {
	rt      *askRuntime
	play    func(ctx context.Context, q *Question) (*Answer, error)
	suspend bool // answer at once, whatever the revision

	mu       sync.Mutex
	asked    []*Question
	unspoken []string
	absent   map[string]bool // questions that nobody can be asked, by key; shared by the runs of a call
}

// lacks reports whether nobody can be asked the question, as far as the script has said so. A call without a script has none.
func (s *askScript) lacks(key string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.absent[key]
}

// nobody notes that nobody can be asked the question.
func (s *askScript) nobody(q *Question) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.absent == nil {
		s.absent = make(map[string]bool)
	}
	s.absent[q.Key] = true
	return capabilityLacking(q)
}

func (s *askScript) ask(ctx context.Context, c *Call, q *Question) (*Answer, error) {
	s.mu.Lock()
	s.asked = append(s.asked, q)
	s.mu.Unlock()
	var problem error
	for range 1 + scriptRefills {
		ans, err := s.answer(ctx, q)
		if err != nil {
			return nil, err
		}
		raw, err := replyOf(q, ans)
		if err != nil {
			return nil, err
		}
		checked, err := q.answer(raw)
		if err == nil {
			return checked, nil
		}
		if problem = err; !errors.As(err, new(*badContent)) {
			return nil, fmt.Errorf("mcp: the scripted answer to %q cannot be used: %w", q.Key, err)
		}
	}
	return nil, &ToolError{
		Text: fmt.Sprintf("the answers to question %q never fitted its form", q.Key),
		Err:  fmt.Errorf("mcp: question %q: the scripted answers do not fit the form: %w", q.Key, problem),
	}
}

// scriptRefills is how often a script is asked again whose answer does not fit the form.
const scriptRefills = 3

// answer asks the script.
func (s *askScript) answer(ctx context.Context, q *Question) (*Answer, error) {
	if s.play == nil {
		return &Answer{Action: ActionCancel}, nil
	}
	ans, err := s.play(ctx, q)
	switch {
	case errors.Is(err, ErrDeclined):
		return &Answer{Action: ActionDecline}, nil
	case errors.Is(err, ErrCanceled):
		return &Answer{Action: ActionCancel}, nil
	case errors.Is(err, ErrUnavailable):
		return nil, s.nobody(q)
	case err != nil:
		return nil, err
	case ans == nil:
		return nil, fmt.Errorf("mcp: the script has no answer to %q", q.Key)
	case ans.Action == "":
		given := *ans
		given.Action = ActionAccept
		return &given, nil
	}
	return ans, nil
}

func (s *askScript) overruled(keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unspoken = append(s.unspoken, keys...)
}

// report adds what this run asked. Rounds of 2026-07-28 are added by RunCall, since only it knows what went out.
func (s *askScript) report(r *CallReport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.asked {
		r.Rounds = append(r.Rounds, []*Question{q})
	}
	r.Overruled = append(r.Overruled, s.unspoken...)
}
