package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/mcp"
)

// A Script plays the person in a test of a handler.
type Script struct {
	// Answers are what the person answers, by key of the question. A question that is not there, and an answer that is not asked for,
	// fail the test.
	Answers Answers
	// Call describes the call: revision, principal, capabilities, arguments and so on. Its Answer is left to the script. The zero value
	// is a call of a tool by an anonymous client that can do everything.
	Call mcp.CallOptions
}

// Answers are answers by key of the question. An answer that does not fit its question (a value that the form does not allow, a field
// that it does not have) fails the test at once, and the failure names the field; only in a [Sequence], an answer before the last may
// be wrong, to see it asked for again. An answer is one of
//
//   - [Accept], [Decline], [Cancel] or [Nobody];
//   - for a form, a value whose JSON is the content: a struct, a map, a json.RawMessage. Fields of a struct that have a default and
//     hold their zero value are left to it; a map says them all the same;
//   - for a form with one field, as of ask.Choose and ask.ChooseMany, also a string, []string, number or bool that is its value;
//   - for a form without fields, as of ask.Confirm, true or false;
//   - a *mcp.CreateMessageResult or a []mcp.Root, for sampling and roots;
//   - an *mcp.Answer, as it is;
//   - a [Sequence] of these, for a question that is asked more than once;
//   - a func(q *mcp.Question) any that returns one of these.
type Answers map[string]any

// A Reply is an answer without content.
type Reply int

// The replies.
const (
	Accept  Reply = iota + 1 // yes, with the form's defaults; to a page, that it will be visited
	Decline                  // no
	Cancel                   // the question is dismissed
	Nobody                   // nobody can be asked: as at a client that did not declare the capability
)

// String returns the reply's name.
func (r Reply) String() string {
	switch r {
	case Accept:
		return "Accept"
	case Decline:
		return "Decline"
	case Cancel:
		return "Cancel"
	case Nobody:
		return "Nobody"
	}
	return fmt.Sprintf("Reply(%d)", int(r))
}

// A Sequence answers a question that is asked more than once, each time with its next element; the last one is repeated.
type Sequence []any

// player is a script being played.
type player struct {
	t      testing.TB
	script *Script
	at     string // where to report a failure at once; empty to leave that to the caller
	mu     sync.Mutex
	asked  map[string]int
	cause  error // the first failure, which is the only one to be reported
}

func newPlayer(t testing.TB, s *Script) *player {
	if s == nil {
		s = &Script{}
	}
	return &player{t: t, script: s, asked: make(map[string]int)}
}

// caller returns the line of the test that called this package, as the testing package writes it.
func caller() string {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "github.com/seed38e7925c/parley/mcptest.") || !more {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
	}
}

// fail notes why the test fails, and returns it. The library asks from its own frames and goroutines, where neither the line that
// testing reports nor FailNow would be right.
func (p *player) fail(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if p.cause != nil {
		return err
	}
	p.cause = err
	if p.at != "" {
		p.t.Fail()
		_, _ = fmt.Fprintf(p.t.Output(), "%s: %v\n", p.at, err) // the test has failed, whether that can be written or not
	}
	return err
}

// failure returns why the test fails, nil if it does not.
func (p *player) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause
}

func (p *player) options() *mcp.CallOptions {
	o := p.script.Call
	o.Answer = p.answer
	if o.Logger == nil {
		o.Logger = logger(p.t)
	}
	return &o
}

// answer is mcp.CallOptions.Answer.
func (p *player) answer(_ context.Context, q *mcp.Question) (*mcp.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	given, ok := p.script.Answers[q.Key]
	if !ok {
		return nil, p.fail("question %q (%v: %s) is not in the script, which answers %v", q.Key, q.Kind, q.Message, p.keys())
	}
	n := p.asked[q.Key]
	p.asked[q.Key]++
	ans, err := reply(q, given, n)
	switch {
	case err == nil:
		err = fits(q, ans)
	case isRefusal(err):
		return nil, err
	}
	if seq, ok := given.(Sequence); ok && n < len(seq)-1 && ans != nil {
		return ans, nil // it may be wrong: there is another
	}
	if err != nil {
		return nil, p.fail("answer %q does not fit: %w", q.Key, err)
	}
	return ans, nil
}

// fits checks an accepted answer to a form.
func fits(q *mcp.Question, ans *mcp.Answer) error {
	switch {
	case ans == nil:
		return errors.New("it is nil")
	case q.Kind != mcp.AskForm || q.Form == nil || ans.Action != "" && ans.Action != mcp.ActionAccept:
		return nil
	}
	return q.Form.Check(ans.Content)
}

func (p *player) keys() []string { return slices.Sorted(maps.Keys(p.script.Answers)) }

// unasked returns the answers that nobody asked for.
func (p *player) unasked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var keys []string
	for _, k := range p.keys() {
		if p.asked[k] == 0 {
			keys = append(keys, k)
		}
	}
	return keys
}

// NewCall makes a call for a handler under test; [mcp.Call.Ask] returns the script's answers. A question that is not in the script and
// an answer that does not fit fail the test at once, at the line that calls NewCall. When the test ends it fails if an answer was not
// asked for, unless it has failed anyway. [Run] tests more.
func NewCall(t testing.TB, s *Script) *mcp.Call {
	t.Helper()
	p := newPlayer(t, s)
	p.at = caller()
	t.Cleanup(func() {
		t.Helper()
		if keys := p.unasked(); len(keys) > 0 && !t.Failed() {
			t.Errorf("the script has answers that were not asked for: %v", keys)
		}
	})
	return mcp.NewCall(p.options())
}

func isRefusal(err error) bool {
	return errors.Is(err, mcp.ErrDeclined) || errors.Is(err, mcp.ErrCanceled) || errors.Is(err, errNobody)
}

var errNobody = fmt.Errorf("the script has nobody there: %w", mcp.ErrUnavailable)

// reply makes an answer of what a script gives; n counts how often it was given before.
func reply(q *mcp.Question, given any, n int) (*mcp.Answer, error) {
	switch v := given.(type) {
	case Sequence:
		if len(v) == 0 {
			return nil, fmt.Errorf("the sequence is empty")
		}
		return reply(q, v[min(n, len(v)-1)], n)
	case func(q *mcp.Question) any:
		return reply(q, v(q), n)
	case Reply:
		return v.answer(q)
	case *mcp.Answer:
		return v, nil
	case *mcp.CreateMessageResult:
		return &mcp.Answer{Action: mcp.ActionAccept, Sample: v}, nil
	case []mcp.Root:
		return &mcp.Answer{Action: mcp.ActionAccept, Roots: v}, nil
	}
	if q.Kind != mcp.AskForm {
		return nil, fmt.Errorf("%T is no answer to a question of kind %v", given, q.Kind)
	}
	return formReply(q, given)
}

func (r Reply) answer(q *mcp.Question) (*mcp.Answer, error) {
	switch r {
	case Accept:
		ans := &mcp.Answer{Action: mcp.ActionAccept}
		if q.Kind == mcp.AskForm {
			ans.Content = q.Form.Defaults()
		}
		return ans, nil
	case Decline:
		return nil, mcp.ErrDeclined
	case Cancel:
		return nil, mcp.ErrCanceled
	case Nobody:
		return nil, errNobody
	}
	return nil, fmt.Errorf("there is no Reply %d", int(r))
}

// formReply makes the content of a form.
func formReply(q *mcp.Question, given any) (*mcp.Answer, error) {
	if yes, ok := given.(bool); ok && len(q.Form.Fields) == 0 {
		if !yes {
			return nil, mcp.ErrDeclined
		}
		return Accept.answer(q)
	}
	raw, err := answerOf(q.Form, given)
	if err != nil {
		return nil, err
	}
	if len(raw) > 0 && raw[0] != '{' {
		if len(q.Form.Fields) != 1 {
			return nil, fmt.Errorf("%s is no content for a form of %d fields", raw, len(q.Form.Fields))
		}
		if raw, err = jsonv2.Marshal(map[string]json.RawMessage{q.Form.Fields[0].Name: raw}); err != nil {
			return nil, err
		}
	}
	return &mcp.Answer{Action: mcp.ActionAccept, Content: raw}, nil
}
