package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/seed38e7925c/parley/form"
)

// This file turns questions into what the wire carries, and replies into answers.

// request returns the method and params that put the question at the revision of the call.
func (c *Call) questionRequest(q *Question, message, id string) (method string, params json.RawMessage, err error) {
	rules := c.rev.Rules()
	switch q.Kind {
	case AskForm:
		p := &ElicitParams{Message: message}
		if p.RequestedSchema, err = q.Form.Schema(dialectOf(c.rev)); err != nil {
			return "", nil, err
		}
		params, err = marshalJSON(p)
		return MethodElicit, params, err
	case AskURL:
		p := &ElicitParams{Mode: ElicitURL, Message: message, URL: q.URL}
		if rules.Elicitation.ID {
			p.ElicitationID = id
		}
		params, err = marshalJSON(p)
		return MethodElicit, params, err
	case AskSample:
		p := *q.Sample
		if !rules.Fields.AskMeta {
			p.Meta, p.Task = nil, nil
		}
		params, err = marshalJSON(&p)
		return MethodCreateMessage, params, err
	case AskRoots:
		return MethodRootsList, nil, nil
	}
	return "", nil, fmt.Errorf("mcp: there is no %v", q.Kind)
}

// badReply is a reply that is none: not an answer of the person, but a fault of the client.
type badReply struct{ problem string }

func (e *badReply) Error() string { return e.problem }

// badContent is an answer that does not fit the form: the person is asked again.
type badContent struct {
	form *form.Form
	err  error
}

// Error names the fields as the person sees them.
func (e *badContent) Error() string {
	var bad *form.ValidationError
	if !errors.As(e.err, &bad) || len(bad.Problems) == 0 {
		return e.err.Error()
	}
	texts := make([]string, 0, len(bad.Problems))
	for _, p := range bad.Problems {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.TrimPrefix(p.Path, "/"))
		if field := e.form.Field(name); field != nil {
			name = field.Label()
		}
		texts = append(texts, strings.TrimSpace(name+" "+p.Message))
	}
	return strings.Map(visible, strings.Join(texts, "; "))
}

// visible drops what acts on a terminal or changes how text reads: what was typed may be quoted here.
func visible(r rune) rune {
	if !unicode.IsPrint(r) {
		return -1
	}
	return r
}

func (e *badContent) Unwrap() error { return e.err }

// answer reads the reply to the question. The error is a *badReply or a *badContent.
func (q *Question) answer(raw json.RawMessage) (*Answer, error) {
	said, err := readElicitResult(raw)
	return q.answerOf(raw, said, err)
}

// answerOf is answer for a reply that was read as the result of an elicitation; malformed says why it is none.
func (q *Question) answerOf(raw json.RawMessage, said elicitReply, malformed error) (*Answer, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, &badReply{"it must be an object"}
	}
	switch q.Kind {
	case AskSample:
		return sampleAnswer(raw)
	case AskRoots:
		return rootsAnswer(raw)
	}
	if malformed != nil {
		return nil, &badReply{errElicitResult.Error()}
	}
	switch said.action {
	case ActionDecline, ActionCancel:
		return &Answer{Action: said.action}, nil
	case ActionAccept:
	case "":
		return nil, &badReply{"it is not the result of an elicitation: there is no action"}
	default:
		return nil, &badReply{fmt.Sprintf("action %q is none of accept, decline and cancel", clip(string(said.action), 40))}
	}
	if q.Kind == AskURL {
		return &Answer{Action: ActionAccept}, nil // content has no place here, and is not looked at
	}
	content, err := q.content(said.content)
	if err != nil {
		return nil, err
	}
	return &Answer{Action: ActionAccept, Content: content}, nil
}

// content checks what was filled in, and fills in what was left to its default.
func (q *Question) content(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage(`{}`)
	}
	if raw[0] != '{' {
		return nil, &badReply{"content must be an object"}
	}
	content, err := q.Form.Normalize(raw)
	if err != nil {
		return nil, &badContent{q.Form, err}
	}
	return content, nil
}

func sampleAnswer(raw json.RawMessage) (*Answer, error) {
	var res CreateMessageResult
	if err := unmarshalJSON(raw, &res); err != nil || res.Role == "" || res.Model == "" || len(res.Content) == 0 {
		return nil, &badReply{"it is not the result of a sampling request"}
	}
	return &Answer{Action: ActionAccept, Sample: &res}, nil
}

func rootsAnswer(raw json.RawMessage) (*Answer, error) {
	var res struct {
		Roots json.RawMessage `json:"roots"`
	}
	if err := unmarshalJSON(raw, &res); err != nil || len(res.Roots) == 0 || res.Roots[0] != '[' {
		return nil, &badReply{"it is not a list of roots"}
	}
	ans := &Answer{Action: ActionAccept, Roots: []Root{}}
	if err := unmarshalJSON(res.Roots, &ans.Roots); err != nil {
		return nil, &badReply{"it is not a list of roots"}
	}
	for _, r := range ans.Roots {
		if r.URI == "" {
			return nil, &badReply{"a root has no URI"}
		}
	}
	return ans, nil
}

// reworded adds to a message what was wrong with the answer before. The person sees it; it may quote what they typed.
func reworded(message string, problem error) string {
	if problem == nil {
		return message
	}
	return message + "\n(The answer before could not be used: " + clip(problem.Error(), maxProblem) + ")"
}

// maxProblem bounds what is said about an answer that does not fit.
const maxProblem = 300

// refused turns the refusal of a reply into the protocol error of 2026-07-28.
func refusedReply(key string, err error) *Error {
	var bad *badReply
	if errors.As(err, &bad) {
		return invalidParams("inputResponses[%q]: %s", key, bad.problem)
	}
	return invalidParams("inputResponses[%q] cannot be used", key)
}
