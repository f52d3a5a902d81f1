package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// Answers are answers by key of the question. An answer is one of
//
//   - [Accept], [Decline], [Cancel] or [Nobody];
//   - for a form, a value whose JSON is the content: a struct, a map, a json.RawMessage;
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
	Nobody                   // nobody could be asked
)

// A Sequence answers a question that is asked more than once, each time with its next element; the last one is repeated.
type Sequence []any

// player is a script being played.
type player struct {
	t      testing.TB
	script *Script
	mu     sync.Mutex
	asked  map[string]int
}

func newPlayer(t testing.TB, s *Script) *player {
	if s == nil {
		s = &Script{}
	}
	return &player{t: t, script: s, asked: make(map[string]int)}
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
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	given, ok := p.script.Answers[q.Key]
	if !ok {
		p.t.Errorf("question %q (%v: %s) is not in the script, which answers %v", q.Key, q.Kind, q.Message, p.keys())
		return nil, fmt.Errorf("mcptest: question %q is not in the script: %w", q.Key, mcp.ErrUnavailable)
	}
	n := p.asked[q.Key]
	p.asked[q.Key]++
	ans, err := reply(q, given, n)
	if err != nil && ans == nil && !isRefusal(err) {
		p.t.Errorf("the scripted answer to %q: %v", q.Key, err)
	}
	return ans, err
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

// NewCall makes a call for a handler under test; [mcp.Call.Ask] returns the script's answers. When the test ends it fails if an answer
// was not asked for. [Run] tests more.
func NewCall(t testing.TB, s *Script) *mcp.Call {
	t.Helper()
	p := newPlayer(t, s)
	t.Cleanup(func() {
		if keys := p.unasked(); len(keys) > 0 {
			t.Errorf("the script has answers that were not asked for: %v", keys)
		}
	})
	return mcp.NewCall(p.options())
}

func isRefusal(err error) bool {
	return errors.Is(err, mcp.ErrDeclined) || errors.Is(err, mcp.ErrCanceled) || errors.Is(err, errNobody)
}

var errNobody = fmt.Errorf("mcptest: the script has nobody there: %w", mcp.ErrUnavailable)

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
	raw, err := jsonv2.Marshal(given)
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
