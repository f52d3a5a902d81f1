package mcp

import (
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/seed38e7925c/parley/internal/era"
)

// questionFacts are what need be found out only once about a form that is declared, because it says the same in every call.
type questionFacts struct {
	digest func() (string, error)
	linked bool // a client might turn something in its words into a link
	params [era.Latest + 1]atomic.Pointer[json.RawMessage]
}

// declare returns copies of declared questions, which have passed checkDeclared, with room for facts.
func declare(qs []*Question) []*Question {
	if len(qs) == 0 {
		return nil
	}
	own := make([]*Question, len(qs))
	for i, q := range qs {
		d := *q
		own[i] = &d
		if d.Kind != AskForm {
			continue
		}
		_, linked := d.clickable()
		d.facts = &questionFacts{digest: sync.OnceValues(d.digest), linked: linked}
	}
	return own
}

// facts returns what is known of a question that is asked as it was declared, or nil.
func (a *asking) facts(q *Question) *questionFacts {
	for _, d := range a.declared {
		if d.Key != q.Key {
			continue
		}
		if d.facts != nil && q.Kind == AskForm && q.Message == d.Message && q.Form == d.Form && q.URL == d.URL && q.Sample == nil {
			return d.facts
		}
		return nil
	}
	return nil
}

// wording returns the method and params that put a question at the revision of the call; problem is what was wrong with the answer
// before, if there was one, and id names a URL question.
func (c *Call) wording(q *Question, problem error, id string) (method string, params json.RawMessage, err error) {
	if q.Kind == AskForm && problem == nil {
		params, err = c.formParams(q)
		return MethodElicit, params, err
	}
	return c.questionRequest(q, reworded(q.Message, problem), id)
}

// formParams returns the params that put a form at the revision of the call, with the message that it was declared with.
func (c *Call) formParams(q *Question) (json.RawMessage, error) {
	f := c.asking.facts(q)
	if f == nil {
		_, params, err := c.questionRequest(q, q.Message, "")
		return params, err
	}
	if p := f.params[c.rev].Load(); p != nil {
		return *p, nil
	}
	_, params, err := c.questionRequest(q, q.Message, "")
	if err == nil {
		f.params[c.rev].Store(&params)
	}
	return params, err
}
