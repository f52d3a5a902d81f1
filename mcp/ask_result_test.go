package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestAskRounds(t *testing.T) {
	d := newDesk(t, nil)
	h := asksFor(t, "first", "second", "third")
	result, err := d.serve(round{}, h)
	in := d.input(result, err, "first")
	var req struct {
		Mode            string          `json:"mode"`
		Message         string          `json:"message"`
		RequestedSchema json.RawMessage `json:"requestedSchema"`
	}
	if in.InputRequests["first"].Method != "elicitation/create" {
		t.Errorf("method %s", in.InputRequests["first"].Method)
	}
	if err := unmarshalJSON(in.InputRequests["first"].Params, &req); err != nil || req.Message != "What is your first?" || len(req.RequestedSchema) == 0 {
		t.Errorf("params %s: %v", in.InputRequests["first"].Params, err)
	}
	states := map[string]bool{*in.RequestState: true}
	result, err = d.serve(round{State: in.RequestState, Answers: accept("first", "A")}, h)
	in = d.input(result, err, "second")
	states[*in.RequestState] = true
	result, err = d.serve(round{State: in.RequestState, Answers: accept("second", "B")}, h)
	in = d.input(result, err, "third")
	states[*in.RequestState] = true
	result, err = d.serve(round{State: in.RequestState, Answers: accept("third", "C")}, h)
	d.text(result, err, "A,B,C")
	if len(states) != 3 {
		t.Error("rounds share a state")
	}
	if d.logged("state keys were made for this process only") != 1 {
		t.Errorf("keys of the process are not mentioned once:\n%s", d.log)
	}
}

func TestCaseM06AskEverywhere(t *testing.T) {
	for _, method := range []string{MethodToolsCall, MethodPromptsGet, MethodResourcesRead} {
		d := newDesk(t, nil)
		r := round{CallOptions: CallOptions{Method: method, Name: "x"}}
		in, err := d.serve(r, asksFor(t, "a"))
		r.State, r.Answers = d.input(in, err, "a").RequestState, accept("a", "A")
		result, err := d.serve(r, asksFor(t, "a"))
		d.text(result, err, "A")
	}
	c := newScriptedCall(&CallOptions{Method: "tools/list"}, newDesk(t, nil).rt, nil, nil)
	if _, err := c.Ask(context.Background(), nameQuestion(t, "a")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("asking in tools/list: %v", err)
	}
	if _, err := Once(context.Background(), c, "a", func() (int, error) { return 1, nil }); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Once in tools/list: %v", err)
	}
}

func TestCaseM08PartialExtraMistyped(t *testing.T) {
	d := newDesk(t, nil)
	both := func(ctx context.Context, c *Call) (any, error) {
		out, err := c.AskAll(ctx, nameQuestion(t, "a"), nameQuestion(t, "b"))
		if err != nil {
			return nil, err
		}
		return name(out[0].Answer) + name(out[1].Answer), nil
	}
	result, err := d.serve(round{}, both)
	in := d.input(result, err, "a", "b")
	result, err = d.serve(round{State: in.RequestState, Answers: accept("a", "A")}, both)
	again := d.input(result, err, "b")
	result, err = d.serve(round{State: again.RequestState, Answers: accept("b", "B")}, both)
	d.text(result, err, "AB")

	t.Run("extra", func(t *testing.T) {
		extra := `{"x":{"action":"accept"},"y":5,"b":{"action":"accept","content":{"name":"B","more":1}}}`
		if result, err := d.serve(round{State: again.RequestState, Answers: extra}, both); err != nil && result == nil {
			t.Logf("content with unknown members: %v", err)
		}
		result, err := d.serve(round{State: again.RequestState, Answers: `{"x":{"action":"accept"},"y":5,"b":{"action":"accept","content":{"name":"B"}}}`}, both)
		d.text(result, err, "AB")
	})
	t.Run("missing", func(t *testing.T) {
		for _, answers := range []string{"", "{}", `{"zzz":{"action":"accept"}}`} {
			result, err := d.serve(round{State: in.RequestState, Answers: answers}, both)
			d.input(result, err, "a", "b")
		}
	})
	for _, tc := range []struct{ name, answers string }{
		{"number", `{"a":12345}`}, {"null", `null`}, {"array", `[]`}, {"string", `{"a":"yes"}`}, {"null entry", `{"a":null}`},
		{"sampling", `{"a":{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}}`},
		{"roots", `{"a":{"roots":[]}}`}, {"action", `{"a":{"action":"ACCEPT"}}`}, {"action type", `{"a":{"action":1}}`},
		{"content", `{"a":{"action":"accept","content":[1]}}`}, {"case", `{"a":{"Action":"accept"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, state := range []*string{nil, in.RequestState} {
				_, err := d.serve(round{State: state, Answers: tc.answers}, both)
				var wire *Error
				if !errors.As(err, &wire) || wire.Code != CodeInvalidParams || !strings.Contains(wire.Message, "inputResponses") {
					t.Errorf("%s: %v; want -32602", tc.answers, err)
				}
			}
		})
	}
	t.Run("state type", func(t *testing.T) {
		c := newScriptedCall(&CallOptions{Name: "book"}, d.rt, nil, nil)
		c.exchange.params.set(paramRequestState, `5`)
		if _, err := c.asked(context.Background(), nil, func(context.Context) (any, error) { return "x", nil }); err == nil {
			t.Error("a number is a state")
		}
	})
}

// A retry that lost its state, or a client that knows what will be asked, is served as a first call that brings answers.
func TestAnswersWithoutState(t *testing.T) {
	d := newDesk(t, nil)
	result, err := d.serve(round{Answers: `{"a":{"action":"accept","content":{"name":"A"}},"unknown":{"roots":[]}}`}, asksFor(t, "a"))
	d.text(result, err, "A")
	result, err = d.serve(round{Answers: accept("a", "A")}, asksFor(t, "a", "b"))
	in := d.input(result, err, "b")
	result, err = d.serve(round{State: in.RequestState, Answers: accept("b", "B")}, asksFor(t, "a", "b"))
	d.text(result, err, "A,B")
	// with a state, what was not asked is no answer
	result, err = d.serve(round{State: in.RequestState, Answers: `{"b":{"action":"accept","content":{"name":"B"}},"c":{"action":"accept","content":{"name":"C"}}}`},
		asksFor(t, "a", "b", "c"))
	d.input(result, err, "c")
}

func TestCaseF05AndF07InvalidAnswersAreAskedAgain(t *testing.T) {
	d := newDesk(t, nil)
	yes := &Question{Key: "ok", Kind: AskForm, Message: "Sure?", Form: mustForm(t,
		`{"type":"object","properties":{"approved":{"type":"boolean"},"age":{"type":"integer"}},"required":["approved"]}`)}
	ran := false
	h := func(ctx context.Context, c *Call) (any, error) {
		_, err := c.Ask(ctx, yes)
		if err == nil {
			ran = true
		}
		return "done", err
	}
	result, err := d.serve(round{}, h)
	first := d.input(result, err, "ok")
	for _, tc := range []struct{ name, reply string }{
		{"F05 string for boolean", `{"action":"accept","content":{"approved":"true"}}`},
		{"F05 string for integer", `{"action":"accept","content":{"approved":true,"age":"42"}}`},
		{"F07 no content", `{"action":"accept"}`},
		{"F07 null content", `{"action":"accept","content":null}`},
		{"F07 empty content", `{"action":"accept","content":{}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result, err := d.serve(round{State: first.RequestState, Answers: `{"ok":` + tc.reply + `}`}, h)
			in := d.input(result, err, "ok")
			if params := string(in.InputRequests["ok"].Params); !strings.Contains(params, "Sure?") || !strings.Contains(params, "could not be used") {
				t.Errorf("the problem is not in the message: %s", params)
			}
			result, err = d.serve(round{State: in.RequestState, Answers: `{"ok":{"action":"accept","content":{"approved":false}}}`}, h)
			d.text(result, err, "done")
			if !ran {
				t.Error("the handler did not see the answer")
			}
		})
	}
}

func TestCaseF06RefusalsAreNotValidated(t *testing.T) {
	d := newDesk(t, nil)
	for reply, want := range map[string]error{
		`{"action":"cancel"}`:                       ErrCanceled,
		`{"action":"cancel","content":{}}`:          ErrCanceled,
		`{"action":"decline","content":null}`:       ErrDeclined,
		`{"action":"decline","content":{"x":1}}`:    ErrDeclined,
		`{"action":"decline","content":{"name":1}}`: ErrDeclined,
	} {
		var got error
		var ans *Answer
		_, err := d.serve(round{Answers: `{"a":` + reply + `}`}, func(ctx context.Context, c *Call) (any, error) {
			ans, got = c.Ask(ctx, nameQuestion(t, "a"))
			return nil, got
		})
		if !errors.Is(got, want) || ans == nil || ans.Content != nil {
			t.Errorf("%s: %+v, %v; want %v", reply, ans, got, want)
		}
		var tool *ToolError
		if !errors.As(err, &tool) || !errors.Is(err, want) || !strings.Contains(tool.Text, "the person") {
			t.Errorf("%s: the caller gets %v", reply, err)
		}
	}
}

func TestCaseF08EmptyForm(t *testing.T) {
	d := newDesk(t, nil)
	q := &Question{Key: "ok", Kind: AskForm, Message: "Go on?", Form: mustForm(t, `{"type":"object","properties":{}}`)}
	for _, reply := range []string{`{"action":"accept"}`, `{"action":"accept","content":{}}`} {
		result, err := d.serve(round{Answers: `{"ok":` + reply + `}`}, func(ctx context.Context, c *Call) (any, error) {
			a, err := c.Ask(ctx, q)
			if err != nil {
				return nil, err
			}
			return string(a.Content), nil
		})
		d.text(result, err, "{}")
	}
}

// A refusal is an answer: it is remembered, whatever the words of the question become, and nobody is asked again in the call.
func TestCaseM10RefusalIsRemembered(t *testing.T) {
	for _, action := range []Action{ActionDecline, ActionCancel} {
		d := newDesk(t, nil)
		words := "first words"
		h := func(ctx context.Context, c *Call) (any, error) {
			q := nameQuestion(t, "a")
			q.Message = words
			if _, err := c.Ask(ctx, q); !errors.Is(err, ErrDeclined) && !errors.Is(err, ErrCanceled) {
				return nil, err
			}
			a, err := c.Ask(ctx, nameQuestion(t, "b"))
			if err != nil {
				return nil, err
			}
			return name(a), nil
		}
		result, err := d.serve(round{}, h)
		in := d.input(result, err, "a")
		words = "other words"
		result, err = d.serve(round{State: in.RequestState, Answers: fmt.Sprintf(`{"a":{"action":%q}}`, action)}, h)
		in = d.input(result, err, "b")
		words = "pretty please"
		result, err = d.serve(round{State: in.RequestState, Answers: accept("b", "B")}, h)
		d.text(result, err, "B")
	}
	d := newDesk(t, nil)
	_, err := d.serve(round{CallOptions: CallOptions{Method: MethodPromptsGet}, Answers: `{"a":{"action":"decline"}}`}, asksFor(t, "a"))
	var wire *Error
	if !errors.As(err, &wire) || wire.Code != CodeUserRejected {
		t.Errorf("a prompt whose question is declined: %v", err)
	}
}

func TestPendingAsksWin(t *testing.T) {
	for name, returned := range map[string]func(error) (any, error){
		"a result":      func(error) (any, error) { return "nothing done", nil },
		"another error": func(error) (any, error) { return nil, errors.New("could not ask") },
		"formatted":     func(err error) (any, error) { return nil, fmt.Errorf("asking: %v", err) },
		"wrapped":       func(err error) (any, error) { return nil, fmt.Errorf("asking: %w", err) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			h := func(ctx context.Context, c *Call) (any, error) {
				a, err := c.Ask(ctx, nameQuestion(t, "a"))
				if err != nil {
					return returned(err)
				}
				return a.Action, nil
			}
			result, err := d.serve(round{}, h)
			d.input(result, err, "a")
			if logged := d.logged("should return the error of Ask") == 1; logged == (name == "wrapped") {
				t.Errorf("log:\n%s", d.log)
			}
		})
	}
	d := newDesk(t, nil)
	result, err := d.serve(round{}, func(ctx context.Context, c *Call) (any, error) {
		_, _ = c.Ask(ctx, nameQuestion(t, "a"))
		c.Abandon("other")
		c.Abandon("a")
		return "nothing done", nil
	})
	d.text(result, err, "nothing done")
}

func TestKeyTwiceIsAnError(t *testing.T) {
	d := newDesk(t, nil)
	h := asksFor(t, "a", "a")
	result, err := d.serve(round{Answers: accept("a", "A")}, h)
	if err == nil || !strings.Contains(err.Error(), "asked twice") {
		t.Errorf("%v, %v", result, err)
	}
	_, err = d.serve(round{}, func(ctx context.Context, c *Call) (any, error) {
		_, _ = c.AskAll(ctx, nameQuestion(t, "a"), nameQuestion(t, "a"))
		return "x", nil
	})
	if err == nil || !strings.Contains(err.Error(), "asked twice") {
		t.Errorf("AskAll: %v", err)
	}
	for name, h := range map[string]func(ctx context.Context, c *Call) (any, error){
		"nil":        func(ctx context.Context, c *Call) (any, error) { return c.Ask(ctx, nil) },
		"nil in set": func(ctx context.Context, c *Call) (any, error) { return c.AskAll(ctx, nil) },
		"bad in set": func(ctx context.Context, c *Call) (any, error) {
			_, _ = c.AskAll(ctx, nameQuestion(t, "a"), &Question{Key: "b", Kind: AskURL, URL: "file:///etc/passwd"})
			return "went on", nil
		},
		"over": func(ctx context.Context, c *Call) (any, error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return c.Ask(ctx, nameQuestion(t, "a"))
		},
	} {
		if result, err := d.serve(round{}, h); err == nil {
			t.Errorf("%s: %v", name, result)
		}
	}
}

// An answer counts for the very question it was given to.
func TestChangedQuestionIsAskedAgain(t *testing.T) {
	d := newDesk(t, nil)
	price := "10"
	h := func(ctx context.Context, c *Call) (any, error) {
		q := nameQuestion(t, "a")
		q.Message = "Pay " + price + "?"
		a, err := c.Ask(ctx, q)
		if err != nil {
			return nil, err
		}
		if _, err := c.Ask(ctx, nameQuestion(t, "b")); err != nil {
			return nil, err
		}
		return name(a), nil
	}
	result, err := d.serve(round{}, h)
	in := d.input(result, err, "a")
	price = "1000"
	result, err = d.serve(round{State: in.RequestState, Answers: accept("a", "A")}, h)
	in = d.input(result, err, "a")
	result, err = d.serve(round{State: in.RequestState, Answers: accept("a", "A")}, h)
	in = d.input(result, err, "b")
	price = "2000" // after it was answered and sealed
	result, err = d.serve(round{State: in.RequestState, Answers: accept("b", "B")}, h)
	in = d.input(result, err, "a")
	result, err = d.serve(round{State: in.RequestState, Answers: accept("a", "A")}, h)
	d.text(result, err, "A")
	if d.logged("is not the same as when it was asked before") != 2 || d.logged("changed=2") != 1 {
		t.Errorf("changes are not counted:\n%s", d.log)
	}
}

func TestAskAllOutcomes(t *testing.T) {
	d := newDesk(t, nil)
	optional := urlQuestion("page")
	optional.Optional = true
	caps := &ClientCapabilities{Elicitation: &ElicitationCapability{}}
	var got []Outcome
	h := func(ctx context.Context, c *Call) (any, error) {
		var err error
		got, err = c.AskAll(ctx, nameQuestion(t, "a"), optional, nameQuestion(t, "b"), nameQuestion(t, "c"))
		return "done", err
	}
	r := round{CallOptions: CallOptions{Capabilities: caps}}
	result, err := d.serve(r, h)
	r.State = d.input(result, err, "a", "b", "c").RequestState
	r.Answers = `{"a":{"action":"accept","content":{"name":"A"}},"b":{"action":"decline"},"c":{"action":"cancel"}}`
	result, err = d.serve(r, h)
	d.text(result, err, "done")
	want := []error{nil, ErrUnavailable, ErrDeclined, ErrCanceled}
	for i, w := range want {
		if !errors.Is(got[i].Err, w) || got[i].Question == nil {
			t.Errorf("outcome %d is %v, want %v", i, got[i].Err, w)
		}
	}
	required := urlQuestion("page")
	_, err = d.serve(round{CallOptions: r.CallOptions}, func(ctx context.Context, c *Call) (any, error) {
		_, err := c.AskAll(ctx, nameQuestion(t, "a"), required)
		return nil, err
	})
	var wire *Error
	if !errors.As(err, &wire) || wire.Code != CodeMissingCapability {
		t.Errorf("a required question that cannot be asked: %v", err)
	}
}
