package matrix_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/mcp"
)

const firstClass = `{"action":"accept","content":{"class":"first"}}`

// F05, F07: an answer that does not fit is no answer: the person is asked again, and nothing is made up.
func TestCaseF05F07UnfitAnswers(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field, `{"elicitation":{}}`)
		for i, unfit := range []string{
			`{"action":"accept","content":{"class":5}}`, `{"action":"accept","content":{"class":"third"}}`,
			`{"action":"accept"}`, `{"action":"accept","content":null}`, `{"action":"accept","content":{}}`,
		} {
			d := &dialog{replies: []string{unfit, firstClass}}
			d.talk(t, w, fmt.Sprint(i), "tools/call", `"name":"seat","arguments":{}`).Has(t, "seat in first")
			if len(d.asked) != 2 || !strings.Contains(d.asked[1], "could not be used") {
				t.Errorf("%s: asked %v", unfit, d.asked)
			}
		}
	}, forms)
}

// F06: a refusal is a refusal, whatever comes with it.
func TestCaseF06Refusals(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field, `{"elicitation":{}}`)
		i := 0
		for reply, want := range map[string]string{
			`{"action":"cancel"}`: "dismissed", `{"action":"decline","content":null}`: "declined",
			`{"action":"cancel","content":{}}`: "dismissed", `{"action":"decline","content":{"x":1}}`: "declined",
		} {
			i++
			d := &dialog{replies: []string{reply}}
			d.talk(t, w, fmt.Sprint(i), "tools/call", `"name":"seat","arguments":{}`).Has(t, "outcome: "+want)
			if len(d.asked) != 1 {
				t.Errorf("%s: asked %d times", reply, len(d.asked))
			}
		}
	}, forms)
}

// F08: a form without fields is a yes or no.
func TestCaseF08Confirm(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field, `{"elicitation":{}}`)
		for i, reply := range []string{`{"action":"accept"}`, `{"action":"accept","content":{}}`} {
			(&dialog{replies: []string{reply}}).talk(t, w, fmt.Sprint(i), "tools/call", `"name":"sure","arguments":{}`).Has(t, "sure: true")
		}
		c := l.Client(t, field, &mcp.ClientOptions{Interactor: doing(&mcp.ElicitResult{Action: mcp.ActionAccept}, nil)})
		if got := called(t, c, "sure"); got != "sure: true" {
			t.Error(got)
		}
	}, forms)
}

// F09, F10: the three honest answers, and that nobody could be asked, all reach the handler as what they are.
func TestCaseF09F10HonestAnswers(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		for name, tc := range map[string]struct {
			result *mcp.ElicitResult
			err    error
			want   string
		}{
			"accept":  {&mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{"class":"first"}`)}, nil, "seat in first"},
			"decline": {&mcp.ElicitResult{Action: mcp.ActionDecline}, nil, "outcome: declined"},
			"cancel":  {&mcp.ElicitResult{Action: mcp.ActionCancel}, nil, "outcome: dismissed"},
		} {
			c := l.Client(t, field, &mcp.ClientOptions{Interactor: doing(tc.result, tc.err)})
			if got := called(t, c, "seat"); got != tc.want {
				t.Errorf("%s: %s", name, got)
			}
		}
		c := l.Client(t, field, &mcp.ClientOptions{Interactor: doing(nil, mcp.ErrUnavailable)})
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "seat"})
		if errors.Is(err, mcp.ErrDeclined) || err == nil && !strings.Contains(r.Content.Text(), "nobody to ask") {
			t.Errorf("nobody there: %s, %v", r.Content.Text(), err)
		}
		if l.Modern() && !errors.Is(err, mcp.ErrUnavailable) {
			t.Errorf("nobody there: %v", err)
		}
	}, forms)
}

// F11: what a client declares follows from whom it can ask, and from nothing else.
func TestCaseF11DeclaredCapabilities(t *testing.T) {
	form := func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) { return nil, mcp.ErrUnavailable }
	open := func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) { return nil, mcp.ErrUnavailable }
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		for _, tc := range []struct {
			in        *mcp.Interactor
			form, url bool
		}{{nil, false, false}, {&mcp.Interactor{}, false, false}, {&mcp.Interactor{Form: form}, true, false}, {&mcp.Interactor{Open: open}, false, true},
			{&mcp.Interactor{Form: form, Open: open}, true, true}} {
			c := l.Client(t, field, &mcp.ClientOptions{Interactor: tc.in})
			var caps mcp.ClientCapabilities
			if err := json.Unmarshal([]byte(called(t, c, "capabilities")), &caps); err != nil {
				t.Fatal(err)
			}
			wantForm, wantURL := tc.form && forms(l), tc.url && pages(l)
			gotForm := caps.Elicitation != nil && caps.Elicitation.HasForm()
			gotURL := caps.Elicitation != nil && caps.Elicitation.HasURL()
			if gotForm != wantForm || gotURL != wantURL {
				t.Errorf("form %v, url %v: declared %+v", tc.form, tc.url, caps.Elicitation)
			}
		}
	})
}

// F12, F13, M07: what the client did not declare is not asked, and the handler, or the client, learns why.
func TestCaseF12F13M07Undeclared(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		for _, tc := range []struct {
			caps      string
			form, url bool
		}{
			{`{}`, false, false}, {`{"elicitation":null}`, false, false}, {`{"elicitation":{}}`, true, false}, {`{"elicitation":{"form":{}}}`, true, false},
			{`{"elicitation":{"url":{}}}`, false, true}, {`{"elicitation":{"form":{},"url":{}}}`, true, true},
		} {
			w := l.Wire(t, field, tc.caps)
			for tool, able := range map[string]bool{"form": tc.form && forms(l), "page": tc.url && pages(l)} {
				d := &dialog{replies: []string{firstClass}}
				h := d.call(t, w, tool)
				switch {
				case able != (len(d.asked) > 0):
					t.Errorf("%s, %s: asked %v", tc.caps, tool, d.asked)
				case able && tool == "form":
					h.Has(t, `first`)
				case able:
					h.Has(t, `opened`)
				case l.Modern():
					h.WantError(t, -32021, 400)
					mode := map[string]string{"form": "form", "page": "url"}[tool]
					if _, _, data := h.Error(t); data != `{"requiredCapabilities":{"elicitation":{"`+mode+`":{}}}}` {
						t.Errorf("data %s", data)
					}
				default:
					h.Has(t, `"isError":true`, "nobody can be asked")
				}
			}
		}
	})
}

// F14, F15: people take the time they take, and the timer of the call stands still meanwhile.
func TestCaseF14F15PeopleTakeTime(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		synctest.Test(t, func(t *testing.T) {
			in := &mcp.Interactor{Form: func(ctx context.Context, _ *mcp.FormQuestion) (*mcp.ElicitResult, error) {
				select {
				case <-time.After(90 * time.Second):
				case <-ctx.Done():
					t.Errorf("the question was withdrawn: %v", context.Cause(ctx))
				}
				return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{"class":"first"}`)}, nil
			}}
			c := l.Client(t, field, &mcp.ClientOptions{Interactor: in})
			for _, o := range []*mcp.RequestOptions{nil, {Timeout: 2 * time.Second}, {Timeout: 2 * time.Second, TotalTimeout: 3 * time.Second}} {
				got, err := mcp.CallTool[string](t.Context(), c, "seat", nil, o)
				if err != nil || got != "seat in first" {
					t.Errorf("%+v: %q, %v", o, got, err)
				}
			}
		})
	}, forms, matrix.Is(matrix.Pipe))
}

// F16: a question goes away with its call, and with the server's patience.
func TestCaseF16QuestionGoesAway(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		withdrawn := make(chan error, 1)
		asked := make(chan struct{}, 1)
		in := &mcp.Interactor{Form: func(ctx context.Context, _ *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			asked <- struct{}{}
			<-ctx.Done()
			withdrawn <- context.Cause(ctx)
			return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{"class":"first"}`)}, nil
		}}
		c := l.Client(t, field, &mcp.ClientOptions{Interactor: in})
		ctx, cancel := context.WithCancelCause(t.Context())
		escape := errors.New("escape")
		go func() { <-asked; cancel(escape) }()
		if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "seat"}); !errors.Is(err, escape) && !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if err := <-withdrawn; err == nil {
			t.Error("withdrawn without a reason")
		}
		if !l.Modern() { // where the server waits for the answer
			if got := called(t, c, "impatient"); got != "gave up: true" {
				t.Error(got)
			}
			<-asked
			if err := <-withdrawn; err == nil {
				t.Error("withdrawn without a reason")
			}
		}
		if got := called(t, c, "read_note"); got != "read_note" {
			t.Error(got)
		}
	}, forms)
}

// F19: whom a client asks is settled when it connects; setting it later changes nothing.
func TestCaseF19HandlersAreFixed(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		o := &mcp.ClientOptions{Interactor: answering(`{"class":"first"}`)}
		c := l.Client(t, field, o)
		if got := called(t, c, "seat"); got != "seat in first" { // the very first request
			t.Error(got)
		}
		bare := &mcp.ClientOptions{}
		c = l.Client(t, field, bare)
		bare.Interactor = o.Interactor
		if got := called(t, c, "capabilities"); strings.Contains(got, "elicitation") {
			t.Errorf("declared %s", got)
		}
	}, forms)
}

// F25, U10: both kinds of question pass the same person, who sees what asks.
func TestCaseF25OnePolicy(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		var seen []string
		yes := true
		decide := func(kind string, a mcp.Asked, message string) mcp.Action {
			seen = append(seen, fmt.Sprint(kind, " ", a.Server.Name, " ", a.Name, " ", message))
			if yes {
				return mcp.ActionAccept
			}
			return mcp.ActionCancel
		}
		in := &mcp.Interactor{
			Form: func(_ context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: decide("form", q.Asked, q.Message), Content: json.RawMessage(`{"class":"first"}`)}, nil
			},
			Open: func(_ context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: decide("page", q.Asked, q.Message)}, nil
			},
		}
		c := l.Client(t, field, &mcp.ClientOptions{Interactor: in})
		if got := called(t, c, "chain"); got != "first, opened" {
			t.Error(got)
		}
		want := "form field chain Which class?; page field chain Please sign in."
		if got := strings.Join(seen, "; "); got != want {
			t.Errorf("asked %s; want %s", got, want)
		}
		yes = false
		if got := called(t, c, "chain"); got != "outcome: dismissed" {
			t.Error(got)
		}
	}, pages)
}
