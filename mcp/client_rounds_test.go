package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// formAsk is a form question as it stands in inputRequests.
const formAsk = `{"method":"elicitation/create","params":{"mode":"form","message":"Where to?","requestedSchema":` +
	`{"type":"object","properties":{"to":{"type":"string"},"class":{"type":"string","enum":["first","second"],"default":"second"}},"required":["to"]}}}`

func inputRequired(requests, state string) string {
	out := `{"resultType":"input_required"`
	if requests != "" {
		out += `,"inputRequests":` + requests
	}
	if state != "" {
		out += `,"requestState":` + state
	}
	return out + `}`
}

// accepting answers every form with content.
func accepting(content string) *mcp.Interactor {
	return &mcp.Interactor{Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(content)}, nil
	}}
}

func acting(a mcp.Action) *mcp.Interactor {
	return &mcp.Interactor{Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: a, Content: json.RawMessage(`{"x":1}`)}, nil
	}}
}

func TestRoundOfQuestions(t *testing.T) {
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		if memberIn(t, m.Params, "inputResponses") == "" {
			p.result(m, inputRequired(`{"z":`+formAsk+`,"a":`+formAsk+`}`, `"s1"`))
			return
		}
		p.result(m, textResult("done"))
	}
	var asked []string
	in := &mcp.Interactor{Form: func(_ context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
		asked = append(asked, fmt.Sprint(q.Key, q.Round, q.Method, q.Name, q.Server.Name, q.Origin, q.Message, len(q.Form.Fields)))
		return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{"to":"Wien","extra":1}`)}, nil
	}}
	c := f.connect(&mcp.ClientOptions{Interactor: in})
	if s, err := mcp.CallTool[string](t.Context(), c, "book", map[string]any{"n": 1}); err != nil || s != "done" {
		t.Fatalf("%q %v", s, err)
	}
	if len(asked) != 2 || !strings.HasPrefix(asked[0], "z1 tools/call book fake in-process Where to? 2") && !strings.HasPrefix(asked[0], "z") {
		t.Errorf("asked %v; want the server's order", asked)
	}
	calls := f.received("tools/call")
	want := `{"z":{"action":"accept","content":{"to":"Wien","class":"second"}},"a":{"action":"accept","content":{"to":"Wien","class":"second"}}}`
	if got := memberIn(t, calls[1].Params, "inputResponses"); got != want {
		t.Errorf("inputResponses %s", got)
	}
}

// Who turns one question of a round down is not bothered with the others, but a list of directories bothers nobody. A question that was
// not put may be asked again.
func TestDeclineEndsTheRound(t *testing.T) {
	for action, want := range map[mcp.Action]string{
		mcp.ActionDecline: `{"a":{"action":"accept","content":{"to":"Wien","class":"second"}},"b":{"action":"decline"},"c":{"action":"cancel"},"r":{"roots":[]}}`,
		mcp.ActionCancel:  `{"a":{"action":"accept","content":{"to":"Wien","class":"second"}},"b":{"action":"cancel"},"c":{"action":"cancel"},"r":{"roots":[]}}`,
	} {
		f := modernFake(t)
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			switch len(f.received("tools/call")) {
			case 1:
				question := func(key string) string { return strings.Replace(formAsk, "Where to?", key, 1) }
				p.result(m, inputRequired(`{"a":`+question("a")+`,"b":`+question("b")+`,"c":`+question("c")+`,"r":{"method":"roots/list"}}`, ""))
			case 2:
				p.result(m, inputRequired(`{"c":`+strings.Replace(formAsk, "Where to?", "c", 1)+`}`, ""))
			default:
				p.result(m, textResult("done"))
			}
		}
		var asked []string
		in := accepting(`{"to":"Wien"}`)
		accept := in.Form
		in.Roots = func(context.Context) ([]mcp.Root, error) { return nil, nil }
		in.Form = func(ctx context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			asked = append(asked, q.Key)
			if q.Key == "b" {
				return &mcp.ElicitResult{Action: action}, nil
			}
			return accept(ctx, q)
		}
		c := f.connect(&mcp.ClientOptions{Interactor: in})
		if s, err := mcp.CallTool[string](t.Context(), c, "book", nil); err != nil || s != "done" {
			t.Fatalf("%q %v", s, err)
		}
		if got := memberIn(t, f.received("tools/call")[1].Params, "inputResponses"); got != want || strings.Join(asked, "") != "abc" {
			t.Errorf("%s: inputResponses %s; asked %v", action, got, asked)
		}
	}
}

// The retry is the same request but for id, answers, state and a fresh _meta; the state is echoed byte for byte, or left out.
func TestCaseM01StateIsEchoed(t *testing.T) {
	states := []string{`""`, `" a\n"`, `"` + strings.Repeat("x", 64<<10) + `"`, `"😀 \u0000"`, `"{\"a\":1.0}"`}
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		round := memberIn(t, m.Params, "arguments", "n")
		if got := memberIn(t, m.Params, "inputResponses"); got == "" {
			var i int
			json.Unmarshal([]byte(round), &i)
			p.result(m, inputRequired(`{"q":`+formAsk+`}`, states[i]))
			return
		}
		if memberIn(t, m.Params, "requestState") == "" {
			p.result(m, textResult("no state"))
			return
		}
		p.result(m, inputRequired(`{"q2":`+formAsk+`}`, ""))
	}
	c := f.connect(&mcp.ClientOptions{Interactor: accepting(`{"to":"x"}`)})
	var wg sync.WaitGroup
	for i := range states {
		wg.Go(func() {
			if s, err := mcp.CallTool[string](t.Context(), c, "x", map[string]int{"n": i}); err != nil || s != "no state" {
				t.Errorf("%q %v", s, err)
			}
		})
	}
	wg.Wait()
	ids := map[jsonrpc.ID]bool{}
	echoed := 0
	for _, m := range f.received("tools/call") {
		if ids[m.ID] {
			t.Errorf("id %v was used twice", m.ID)
		}
		ids[m.ID] = true
		if state := memberIn(t, m.Params, "requestState"); state != "" {
			echoed++
			var i int
			json.Unmarshal([]byte(memberIn(t, m.Params, "arguments", "n")), &i)
			var want, got string
			json.Unmarshal([]byte(states[i]), &want)
			if json.Unmarshal([]byte(state), &got); got != want {
				t.Errorf("state %d came back as %q", i, got)
			}
		}
		if memberIn(t, m.Params, "_meta", mcp.MetaProtocolVersion) == "" {
			t.Errorf("no _meta: %s", m.Params)
		}
	}
	if echoed != len(states) {
		t.Errorf("%d states came back", echoed)
	}
}

func TestCaseM03RoundsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			n := len(f.received("tools/call"))
			switch memberIn(t, m.Params, "name") {
			case `"endless"`:
				p.result(m, inputRequired(fmt.Sprintf(`{"q%d":%s}`, n, formAsk), ""))
			case `"wizard"`:
				if n <= 6 {
					p.result(m, inputRequired(fmt.Sprintf(`{"q%d":%s}`, n, formAsk), ""))
					return
				}
				p.result(m, textResult("done"))
			case `"polls"`:
				p.result(m, inputRequired(``, `"s"`))
			}
		}
		c := f.connect(&mcp.ClientOptions{Interactor: accepting(`{"to":"x"}`), MaxPolls: 20})
		if s, err := mcp.CallTool[string](t.Context(), c, "wizard", nil); err != nil || s != "done" {
			t.Errorf("six steps: %q %v", s, err)
		}
		before := len(f.received("tools/call"))
		_, err := mcp.CallTool[string](t.Context(), c, "endless", nil)
		if !errors.Is(err, mcp.ErrTooManyRounds) || !strings.Contains(err.Error(), "MaxRounds") {
			t.Errorf("endless: %v", err)
		}
		if n := len(f.received("tools/call")) - before; n != 11 {
			t.Errorf("%d calls", n)
		}
		start := time.Now()
		_, err = mcp.CallTool[string](t.Context(), c, "polls", nil)
		if !errors.Is(err, mcp.ErrTooManyRounds) || !strings.Contains(err.Error(), "MaxPolls") {
			t.Errorf("polls: %v", err)
		}
		if d := time.Since(start); d < time.Minute || d > 2*time.Minute {
			t.Errorf("20 polls took %v", d)
		}
	})
}

// Declines and cancellations are told to the server, once; asking the same again ends the call.
func TestCaseM10DeclineIsToldOnce(t *testing.T) {
	for action, want := range map[mcp.Action]error{mcp.ActionDecline: mcp.ErrDeclined, mcp.ActionCancel: mcp.ErrCanceled} {
		f := modernFake(t)
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			if memberIn(t, m.Params, "name") == `"stubborn"` || memberIn(t, m.Params, "inputResponses") == "" {
				p.result(m, inputRequired(`{"q":`+formAsk+`}`, ""))
				return
			}
			p.result(m, textResult(memberIn(t, m.Params, "inputResponses", "q")))
		}
		c := f.connect(&mcp.ClientOptions{Interactor: acting(action)})
		s, err := mcp.CallTool[string](t.Context(), c, "polite", nil)
		if err != nil || s != fmt.Sprintf(`{"action":%q}`, action) {
			t.Errorf("%s: %q %v; want no content", action, s, err)
		}
		if _, err := mcp.CallTool[string](t.Context(), c, "stubborn", nil); !errors.Is(err, want) {
			t.Errorf("%s: asked again: %v", action, err)
		}
		if n := len(f.received("tools/call")); n != 4 {
			t.Errorf("%s: %d calls", action, n)
		}
	}
}

// An interactor that cannot ask anybody ends the call; nobody is told of a decline.
func TestCaseF10NobodyAskedIsNotADecline(t *testing.T) {
	gone := errors.New("no terminal")
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, inputRequired(`{"q":`+formAsk+`}`, "")) }
	tests := map[string]struct {
		in   *mcp.Interactor
		want error
	}{
		"unavailable":   {&mcp.Interactor{Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) { return nil, mcp.ErrUnavailable }}, mcp.ErrUnavailable},
		"failing":       {&mcp.Interactor{Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) { return nil, gone }}, gone},
		"undeclared":    {nil, mcp.ErrUnavailable},
		"other mode":    {&mcp.Interactor{Open: func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) { return nil, gone }}, mcp.ErrUnavailable},
		"no answer":     {&mcp.Interactor{Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) { return nil, nil }}, nil},
		"odd action":    {acting("perhaps"), nil},
		"never fitting": {accepting(`{"class":"third"}`), nil},
		"panicking":     {&mcp.Interactor{Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) { panic("x") }}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := len(f.received("tools/call"))
			_, err := mcp.CallTool[string](t.Context(), f.connect(&mcp.ClientOptions{Interactor: tt.in}), "x", nil)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || errors.Is(err, mcp.ErrDeclined) {
				t.Errorf("%v", err)
			}
			if n := len(f.received("tools/call")) - before; n != 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// An answer that does not fit the form is asked for again, with what was wrong, three times in all.
func TestCaseF05AnswersAreChecked(t *testing.T) {
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		if memberIn(t, m.Params, "inputResponses") == "" {
			p.result(m, inputRequired(`{"q":`+formAsk+`}`, ""))
			return
		}
		p.result(m, textResult(memberIn(t, m.Params, "inputResponses", "q", "content")))
	}
	var problems []error
	answers := []string{`{"to":5}`, ``, `{"to":"Wien"}`}
	in := &mcp.Interactor{Form: func(_ context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
		problems = append(problems, q.Problem)
		return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(answers[len(problems)-1])}, nil
	}}
	s, err := mcp.CallTool[string](t.Context(), f.connect(&mcp.ClientOptions{Interactor: in}), "x", nil)
	if err != nil || s != `{"to":"Wien","class":"second"}` {
		t.Errorf("%q %v", s, err)
	}
	if len(problems) != 3 || problems[0] != nil || problems[1] == nil || !strings.Contains(problems[1].Error(), "to") || problems[2] == nil {
		t.Errorf("problems %v", problems)
	}
}

// Secrets must not be asked for in a form; the client does not show such a form.
func TestThreat20SecretsAskedByForm(t *testing.T) {
	ask := `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"api_key":{"type":"string"}}}}}`
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		if memberIn(t, m.Params, "inputResponses") == "" {
			p.result(m, inputRequired(`{"q":`+ask+`}`, ""))
			return
		}
		p.result(m, textResult("got it"))
	}
	_, err := mcp.CallTool[string](t.Context(), f.connect(&mcp.ClientOptions{Interactor: accepting(`{"api_key":"x"}`)}), "x", nil)
	if err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	c := f.connect(&mcp.ClientOptions{Interactor: accepting(`{"api_key":"x"}`), AllowSecretForms: true})
	if _, err := mcp.CallTool[string](t.Context(), c, "x", nil); err != nil {
		t.Errorf("with the option: %v", err)
	}
}

func TestCaseM13UnknownResultType(t *testing.T) {
	f := modernFake(t)
	for _, m := range []string{"tools/call", "prompts/get"} {
		f.on[m] = func(p *fakePeer, m *jsonrpc.Message) {
			p.result(m, `{"resultType":"task","taskId":"t1","content":[],"messages":[]}`)
		}
	}
	f.on["tools/list"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, inputRequired(`{"q":`+formAsk+`}`, "")) }
	c := f.connect(&mcp.ClientOptions{Interactor: accepting(`{}`)})
	var re *mcp.ResultError
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.As(err, &re) || !strings.Contains(err.Error(), `"task"`) {
		t.Errorf("tools/call: %v", err)
	}
	if _, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "x"}); !errors.As(err, &re) {
		t.Errorf("prompts/get: %v", err)
	}
	if _, err := c.ListTools(t.Context(), nil); !errors.As(err, &re) {
		t.Errorf("tools/list that asks: %v", err)
	}
	d := f.connect(&mcp.ClientOptions{ResultTypes: map[string]mcp.ResultResolver{
		"task": func(ctx context.Context, c *mcp.Client, r *mcp.ClientRequest, res json.RawMessage) (json.RawMessage, error) {
			if r.Method != "tools/call" {
				return nil, errors.New("not here")
			}
			return json.RawMessage(textResult(memberIn(t, res, "taskId"))), nil
		}}})
	if s, err := mcp.CallTool[string](t.Context(), d, "x", nil); err != nil || s != `"t1"` {
		t.Errorf("resolved: %q %v", s, err)
	}
	if _, err := d.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "x"}); err == nil || err.Error() != "not here" {
		t.Errorf("not resolved: %v", err)
	}
}

func TestMalformedResults(t *testing.T) {
	for name, res := range map[string]string{
		"nothing to do":     `{"resultType":"input_required"}`,
		"null requests":     `{"resultType":"input_required","inputRequests":null}`,
		"requests in array": `{"resultType":"input_required","inputRequests":[]}`,
		"request a number":  `{"resultType":"input_required","inputRequests":{"q":5}}`,
		"unknown request":   `{"resultType":"input_required","inputRequests":{"q":{"method":"tools/list"}}}`,
		"a number":          `5`,
		"null":              `null`,
		"type a number":     `{"resultType":5}`,
		"content a number":  `{"content":5}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := modernFake(t)
			f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, res) }
			c := f.connect(&mcp.ClientOptions{Interactor: accepting(`{}`)})
			if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err == nil {
				t.Error("accepted")
			}
			if n := len(f.received("tools/call")); n != 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
	t.Run("no resultType is complete", func(t *testing.T) {
		f := modernFake(t)
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
			p.result(m, `{"content":[],"inputRequests":{"q":`+formAsk+`}}`)
		}
		c := f.connect(&mcp.ClientOptions{Interactor: accepting(`{}`)})
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
			t.Error(err)
		}
	})
}

// Dangerous links are refused before the person is asked.
func TestCaseU07DangerousLinks(t *testing.T) {
	opened, finished := map[string]bool{}, make(chan string, 20)
	in := &mcp.Interactor{Completed: func(_ context.Context, q *mcp.OpenQuestion) { finished <- q.URL }, Open: func(_ context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		opened[q.URL] = true
		return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{"leak":1}`)}, nil
	}}
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		if r := memberIn(t, m.Params, "inputResponses"); r != "" {
			p.result(m, textResult(r))
			return
		}
		p.result(m, inputRequired(`{"q":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":`+memberIn(t, m.Params, "arguments", "u")+`}}}`, ""))
	}
	c := f.connect(&mcp.ClientOptions{Interactor: in})
	for _, bad := range []string{
		"file:///C:/x.hta", "javascript:alert(1)", "data:text/html,x", "smb://h/s", "search-ms:q", "vscode://x", "HTTP://a.test", " https://a.test",
		"https:a.test", "//a.test", "http://10.0.0.1/", "https://u:p@a.test/", "https://", "", "https://a.test/\n", "https://a.test\\@b", "http://localhost.a.test/", "%zz://",
	} {
		if _, err := mcp.CallTool[string](t.Context(), c, "x", map[string]string{"u": bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if len(opened) != 0 {
		t.Errorf("asked about %v", opened)
	}
	for _, good := range []string{"https://a.test/x?y=1#z", "http://localhost:1/", "http://127.0.0.1:8080/", "http://[::1]/"} {
		s, err := mcp.CallTool[string](t.Context(), c, "x", map[string]string{"u": good})
		if err != nil || !opened[good] || s != `{"q":{"action":"accept"}}` { // case U11: no content
			t.Errorf("%q: %q %v", good, s, err)
		}
		if url := <-finished; url != good { // the end of the call is the end of its pages
			t.Errorf("%q is finished, want %q", url, good)
		}
	}
	d := f.connect(&mcp.ClientOptions{Interactor: in, AllowInsecureURLs: true})
	if _, err := mcp.CallTool[string](t.Context(), d, "x", map[string]string{"u": "http://10.0.0.1/"}); err != nil {
		t.Errorf("with the option: %v", err)
	}
}

func TestSampleAndRoots(t *testing.T) {
	sample := `{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}}`
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		if r := memberIn(t, m.Params, "inputResponses"); r != "" {
			p.result(m, textResult(r))
			return
		}
		p.result(m, inputRequired(`{"s":`+sample+`,"r":{"method":"roots/list"}}`, ""))
	}
	in := &mcp.Interactor{
		Sample: func(_ context.Context, q *mcp.SampleQuestion) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.SamplingContent{&mcp.TextContent{Text: "ho"}}}, nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil },
	}
	s, err := mcp.CallTool[string](t.Context(), f.connect(&mcp.ClientOptions{Interactor: in}), "x", nil)
	if err != nil || s != `{"s":{"role":"assistant","content":{"type":"text","text":"ho"},"model":"m"},"r":{"roots":[]}}` {
		t.Errorf("%s %v", s, err)
	}
	for name, in := range map[string]*mcp.Interactor{
		"declined": {Sample: func(context.Context, *mcp.SampleQuestion) (*mcp.CreateMessageResult, error) {
			return nil, mcp.ErrDeclined
		}},
		"nothing":       {Sample: func(context.Context, *mcp.SampleQuestion) (*mcp.CreateMessageResult, error) { return nil, nil }},
		"no roots":      {Sample: in.Sample},
		"failing roots": {Sample: in.Sample, Roots: func(context.Context) ([]mcp.Root, error) { return nil, errors.New("x") }},
	} {
		if _, err := mcp.CallTool[string](t.Context(), f.connect(&mcp.ClientOptions{Interactor: in}), "x", nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Questions to one person are put one at a time, in order, also from several clients; the timers of their calls stand still meanwhile.
func TestQuestionsAreQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		open, most := 0, 0
		in := &mcp.Interactor{Form: func(ctx context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			mu.Lock()
			open++
			most = max(most, open)
			mu.Unlock()
			time.Sleep(50 * time.Second)
			mu.Lock()
			open--
			mu.Unlock()
			return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{"to":"x"}`)}, nil
		}}
		var wg sync.WaitGroup
		for range 3 {
			f := modernFake(t)
			f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
				if memberIn(t, m.Params, "inputResponses") == "" {
					p.result(m, inputRequired(`{"q":`+formAsk+`}`, ""))
					return
				}
				time.Sleep(30 * time.Second)
				p.result(m, textResult("done"))
			}
			c := f.connect(&mcp.ClientOptions{Interactor: in, TotalTimeout: 40 * time.Second})
			for range 2 {
				wg.Go(func() {
					if _, err := mcp.CallTool[string](t.Context(), c, "x", nil); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		if most != 1 {
			t.Errorf("%d questions at once", most)
		}
	})
}

// A question is withdrawn when its call ends, also one that still waits for its turn.
func TestCaseF16QuestionEndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := modernFake(t)
		f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, inputRequired(`{"q":`+formAsk+`}`, "")) }
		withdrawn := make(chan error, 2)
		in := &mcp.Interactor{Form: func(ctx context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			<-ctx.Done()
			withdrawn <- context.Cause(ctx)
			return nil, ctx.Err()
		}}
		c := f.connect(&mcp.ClientOptions{Interactor: in})
		first, stop := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := mcp.CallTool[string](first, c, "x", nil); !errors.Is(err, gone) {
				t.Errorf("first: %v", err)
			}
		})
		synctest.Wait()
		second, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := mcp.CallTool[string](second, c, "x", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("second: %v", err)
		}
		stop(gone)
		if err := <-withdrawn; !errors.Is(err, gone) {
			t.Errorf("withdrawn for %v", err)
		}
		wg.Wait()
	})
}

// One call can bring an interactor of its own; what is declared follows from it.
func TestInteractorPerCall(t *testing.T) {
	f := modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		if memberIn(t, m.Params, "inputResponses") == "" {
			if memberIn(t, m.Params, "_meta", mcp.MetaClientCapabilities) == `{}` {
				p.fail(m, -32021, "cannot ask", `{"requiredCapabilities":{"elicitation":{"form":{}}}}`)
				return
			}
			p.result(m, inputRequired(`{"q":`+formAsk+`}`, ""))
			return
		}
		p.result(m, textResult("asked"))
	}
	c := f.connect(nil)
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); !errors.Is(err, &mcp.Error{Code: mcp.CodeMissingCapability}) {
		t.Errorf("without: %v", err)
	}
	if s, err := mcp.CallTool[string](t.Context(), c, "x", nil, &mcp.RequestOptions{Interactor: accepting(`{"to":"x"}`)}); err != nil || s != "asked" {
		t.Errorf("with: %q %v", s, err)
	}
}
