package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
)

func TestCaseM03RoundsAreBounded(t *testing.T) {
	d := newDesk(t, &AskOptions{MaxRounds: 3, MaxPerMinute: -1})
	n := 0
	h := func(ctx context.Context, c *Call) (any, error) {
		n++
		_, err := c.Ask(ctx, nameQuestion(t, fmt.Sprint("q", n)))
		return nil, err
	}
	r := round{}
	for range 3 {
		result, err := d.serve(r, h)
		r.State = d.input(result, err, fmt.Sprint("q", n)).RequestState
	}
	_, err := d.serve(r, h)
	if !errors.Is(err, ErrTooManyRounds) || !strings.Contains(errors.Unwrap(err).Error(), "AskOptions.MaxRounds") {
		t.Errorf("round 4: %v", err)
	}
	wizard := newDesk(t, nil) // six steps pass with the defaults
	h = asksFor(t, "a", "b", "c", "d", "e", "f")
	r = round{}
	for _, k := range []string{"a", "b", "c", "d", "e", "f"} {
		result, err := wizard.serve(r, h)
		r.State, r.Answers = wizard.input(result, err, k).RequestState, accept(k, k)
	}
	result, err := wizard.serve(r, h)
	wizard.text(result, err, "a,b,c,d,e,f")
}

func TestQuestionsOfARoundAreBounded(t *testing.T) {
	d := newDesk(t, &AskOptions{MaxQuestions: 2})
	_, err := d.serve(round{}, func(ctx context.Context, c *Call) (any, error) {
		return c.AskAll(ctx, nameQuestion(t, "a"), nameQuestion(t, "b"), nameQuestion(t, "c"))
	})
	if !errors.Is(err, ErrTooManyRounds) {
		t.Errorf("three questions: %v", err)
	}
}

func TestThreat26Flooding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, &AskOptions{MaxPerMinute: 2})
		h := asksFor(t, "a")
		ask := func(r round) error { _, err := d.serve(r, h); return err }
		alice := round{CallOptions: CallOptions{Principal: &Principal{Issuer: "i", Subject: "alice"}}}
		bob := round{CallOptions: CallOptions{Principal: &Principal{Issuer: "i", Subject: "bob"}}}
		// new calls each time: the bound is on the person, not on a state that a client may drop
		for range 2 {
			if err := ask(alice); err != nil {
				t.Fatal(err)
			}
		}
		if err := ask(alice); !errors.Is(err, ErrTooManyRounds) {
			t.Errorf("third question within a minute: %v", err)
		}
		if err := ask(bob); err != nil {
			t.Errorf("somebody else: %v", err)
		}
		other := alice
		other.Name = "other"
		if err := ask(other); err != nil {
			t.Errorf("another tool: %v", err)
		}
		time.Sleep(time.Minute)
		if err := ask(alice); err != nil {
			t.Errorf("a minute later: %v", err)
		}
		for range 2 {
			_ = ask(round{})
		}
		if err := ask(round{}); !errors.Is(err, ErrTooManyRounds) {
			t.Errorf("the one client of a stream: %v", err)
		}
	})
	d := newDesk(t, nil)
	c := newScriptedCall(nil, d.rt, nil, nil)
	c.exchange.Headers = new(Headers)
	if _, known := c.caller(); known {
		t.Error("anonymous callers over HTTP are taken for one")
	}
}

// However many callers there are, who keeps asking is not forgotten, and neither is who has just asked.
func TestAskLimitForgetsWhoHasNotAskedForLongest(t *testing.T) {
	var l askLimiter
	now := time.Now()
	l.window("busy", now).asked = 7
	l.window("idle", now).asked = 7
	for i := range 3 * maxAskWindows {
		l.window(strconv.Itoa(i), now)
		if w := l.window("busy", now); w.asked != 7 {
			t.Fatalf("after %d others the busy one has asked %d times", i, w.asked)
		}
		if n := len(l.recent) + len(l.older); n > maxAskWindows {
			t.Fatalf("%d windows", n)
		}
		if i == maxAskWindows/2-10 {
			if w := l.window("idle", now); w.asked != 7 {
				t.Fatalf("after %d others the idle one has asked %d times", i, w.asked)
			}
		}
	}
	if w := l.window("idle", now); w.asked != 0 {
		t.Error("the idle one is remembered for ever")
	}
	// A window lasts a minute, and those that are over do not stay.
	l = askLimiter{}
	l.window("a", now).asked = 1
	if l.window("a", now.Add(59*time.Second)).asked != 1 || l.window("a", now.Add(60*time.Second)).asked != 0 {
		t.Error("a window lasts no minute")
	}
	l.window("b", now.Add(90*time.Second)).asked = 2
	if l.window("b", now.Add(121*time.Second)).asked != 2 { // the generation has turned meanwhile
		t.Error("a window was forgotten early")
	}
	l.window("c", now.Add(5*time.Minute))
	l.window("c", now.Add(7*time.Minute))
	if n := len(l.recent) + len(l.older); n != 1 {
		t.Errorf("%d windows are left", n)
	}
}

func TestCaseF12AndM07Capabilities(t *testing.T) {
	page, sample, tools, roots := urlQuestion("q"), &Question{Key: "q", Kind: AskSample, Sample: &CreateMessageParams{MaxTokens: 5}},
		&Question{Key: "q", Kind: AskSample, Sample: &CreateMessageParams{Tools: []*Tool{{Name: "t"}}}}, &Question{Key: "q", Kind: AskRoots}
	for _, tc := range []struct {
		caps string
		q    *Question
		need string // requiredCapabilities, empty when the question can be asked
	}{
		{`{}`, nameQuestion(t, "q"), `{"elicitation":{"form":{}}}`},
		{`{"elicitation":null}`, nameQuestion(t, "q"), `{"elicitation":{"form":{}}}`},
		{`{"elicitation":{}}`, nameQuestion(t, "q"), ``},
		{`{"elicitation":{"form":{}}}`, nameQuestion(t, "q"), ``},
		{`{"elicitation":{"url":{}}}`, nameQuestion(t, "q"), `{"elicitation":{"form":{}}}`},
		{`{"elicitation":{"form":{},"url":{}}}`, nameQuestion(t, "q"), ``},
		{`{}`, page, `{"elicitation":{"url":{}}}`},
		{`{"elicitation":{}}`, page, `{"elicitation":{"url":{}}}`},
		{`{"elicitation":{"form":{}}}`, page, `{"elicitation":{"url":{}}}`},
		{`{"elicitation":{"url":{}}}`, page, ``},
		{`{}`, sample, `{"sampling":{}}`},
		{`{"sampling":{}}`, sample, ``},
		{`{"sampling":{}}`, tools, `{"sampling":{"tools":{}}}`},
		{`{"sampling":{"tools":{}}}`, tools, ``},
		{`{"elicitation":{"form":{}}}`, roots, `{"roots":{}}`},
		{`{"roots":{}}`, roots, ``},
	} {
		caps := new(ClientCapabilities)
		if err := unmarshalJSON([]byte(tc.caps), caps); err != nil {
			t.Fatal(err)
		}
		d := newDesk(t, nil)
		r := round{CallOptions: CallOptions{Capabilities: caps}}
		asked := func(ctx context.Context, c *Call) (any, error) {
			_, err := c.Ask(ctx, tc.q)
			return "done", err
		}
		// asked without being declared, declared, and declared as optional
		result, err := d.serve(r, asked)
		checkNeed(t, d, tc.caps, result, err, tc.need)
		r.Asks = []*Question{tc.q}
		ran := false
		result, err = d.serve(r, func(ctx context.Context, c *Call) (any, error) { ran = true; return asked(ctx, c) })
		checkNeed(t, d, tc.caps, result, err, tc.need)
		if ran != (tc.need == "") {
			t.Errorf("%s, %v declared: handler ran %v", tc.caps, tc.q.Kind, ran)
		}
		optional := *tc.q
		optional.Optional = true
		r.Asks = []*Question{&optional}
		result, err = d.serve(r, func(ctx context.Context, c *Call) (any, error) {
			if _, err := c.Ask(ctx, &optional); errors.Is(err, ErrUnavailable) {
				return "without", nil
			}
			return "with", nil
		})
		if tc.need != "" {
			d.text(result, err, "without")
		}
	}
}

func checkNeed(t *testing.T, d *desk, caps string, result any, err error, need string) {
	t.Helper()
	if need == "" {
		d.input(result, err, "q")
		return
	}
	var wire *Error
	if !errors.As(err, &wire) || wire.Code != CodeMissingCapability || string(wire.Data) != `{"requiredCapabilities":`+need+`}` {
		t.Errorf("%s: %v; want -32021 with %s", caps, err, need)
	}
}

func TestCaseF13OlderRevisionsWithoutAWayBack(t *testing.T) {
	for _, rev := range []Revision{Revision20241105, Revision20250326, Revision20250618, Revision20251125} {
		d := newDesk(t, nil)
		c := newScriptedCall(&CallOptions{Revision: rev, Name: "book"}, d.rt, nil, nil)
		script := c.asking.script
		c.asking.script = nil
		c.server = &Server{asks: script.rt}
		_, err := c.asked(context.Background(), nil, func(ctx context.Context) (any, error) { return asksFor(t, "a")(ctx, c) })
		var tool *ToolError
		if !errors.Is(err, ErrUnavailable) || !errors.As(err, &tool) || !strings.Contains(tool.Text, "nobody can be asked") {
			t.Errorf("%v: %v", rev, err)
		}
	}
}

func TestThreat20SecretsAreRefused(t *testing.T) {
	secret := &Question{Key: "a", Kind: AskForm, Message: "m", Form: mustForm(t, `{"type":"object","properties":{"password":{"type":"string"}}}`)}
	if err := checkDeclared([]*Question{secret}); err == nil || !strings.Contains(err.Error(), "password") || !strings.Contains(err.Error(), "a page of your own") {
		t.Errorf("declared: %v", err)
	}
	d := newDesk(t, nil)
	result, err := d.serve(round{Answers: `{"a":{"action":"accept","content":{"password":"hunter2"}}}`}, func(ctx context.Context, c *Call) (any, error) {
		_, _ = c.Ask(ctx, secret)
		return "went on", nil // even a handler that swallows the error does not get away with it
	})
	if err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("asked: %v, %v", result, err)
	}
}

func TestCaseF23LinksInText(t *testing.T) {
	for _, text := range []string{"See https://evil.example/x", "(http://a.b)", "visit WWW.EVIL.example", "mailto:x@y", "x javascript:alert(1)", "ftp://a"} {
		q := nameQuestion(t, "a")
		q.Message = text
		h := func(ctx context.Context, c *Call) (any, error) { _, err := c.Ask(ctx, q); return nil, err }
		strict := newDesk(t, &AskOptions{Strict: true})
		if _, err := strict.serve(round{}, h); err == nil || !strings.Contains(err.Error(), "link") {
			t.Errorf("%q: %v", text, err)
		}
		lax := newDesk(t, nil)
		for range 2 {
			result, err := lax.serve(round{}, h)
			lax.input(result, err, "a")
		}
		if lax.logged("has a link in its text") != 1 {
			t.Errorf("%q: log\n%s", text, lax.log)
		}
	}
	for _, text := range []string{"Pay 10:30 // now", "a:b", "http", "Which of :// is it?"} {
		if link, found := findLink(text); found {
			t.Errorf("%q: %q", text, link)
		}
	}
	described := nameQuestion(t, "a")
	described.Form = mustForm(t, `{"type":"object","properties":{"name":{"type":"string","description":"as on https://x.example"}}}`)
	if _, found := described.clickable(); !found {
		t.Error("a link in a description is not found")
	}
}

func TestQuestionChecks(t *testing.T) {
	for name, q := range map[string]*Question{
		"no key":      {Kind: AskRoots},
		"long key":    {Key: strings.Repeat("k", 129), Kind: AskRoots},
		"bad key":     {Key: "a\nb", Kind: AskRoots},
		"no kind":     {Key: "a"},
		"no form":     {Key: "a", Kind: AskForm},
		"no sample":   {Key: "a", Kind: AskSample},
		"not UTF-8":   {Key: "a", Kind: AskRoots, Message: "\xff"},
		"no url":      {Key: "a", Kind: AskURL},
		"script":      {Key: "a", Kind: AskURL, URL: "javascript:alert(1)"},
		"file":        {Key: "a", Kind: AskURL, URL: "file:///C:/x.hta"},
		"data":        {Key: "a", Kind: AskURL, URL: "data:text/html,x"},
		"no host":     {Key: "a", Kind: AskURL, URL: "https:a.test"},
		"no scheme":   {Key: "a", Kind: AskURL, URL: "//a.test"},
		"user":        {Key: "a", Kind: AskURL, URL: "https://user@a.test/"},
		"plain http":  {Key: "a", Kind: AskURL, URL: "http://a.test/"},
		"private":     {Key: "a", Kind: AskURL, URL: "http://10.0.0.1/"},
		"not v4":      {Key: "a", Kind: AskURL, URL: "http://127.0.0.evil/"},
		"look-alike":  {Key: "a", Kind: AskURL, URL: "http://localhost.evil.example/"},
		"broken":      {Key: "a", Kind: AskURL, URL: "https://a.test/\x1b"},
		"space first": {Key: "a", Kind: AskURL, URL: " https://a.test"},
	} {
		if err := q.check(false); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	for _, u := range []string{"https://a.test", "http://localhost:8080/x", "http://127.0.0.1/", "http://[::1]:5/", "HTTPS://a.test"} {
		if err := (&Question{Key: "a", Kind: AskURL, URL: u}).check(false); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	if err := checkDeclared([]*Question{{Key: "a", Kind: AskURL}, {Key: "b", Kind: AskSample}, {Key: "c", Kind: AskRoots}}); err != nil {
		t.Errorf("what is known only later may be left out of a declaration: %v", err)
	}
	for name, qs := range map[string][]*Question{"nil": {nil}, "twice": {{Key: "a", Kind: AskRoots}, {Key: "a", Kind: AskRoots}}} {
		if err := checkDeclared(qs); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	if s := QuestionKind(9).String() + AskURL.String() + AskSample.String() + AskRoots.String(); s != "QuestionKind(9)urlsamplingroots" {
		t.Error(s)
	}
}

func TestUndeclaredQuestionsAreLoggedOnce(t *testing.T) {
	d := newDesk(t, nil)
	for range 3 {
		result, err := d.serve(round{CallOptions: CallOptions{Asks: []*Question{}}}, asksFor(t, "a"))
		d.input(result, err, "a")
	}
	if d.logged("not declared in Asks") != 1 {
		t.Errorf("log:\n%s", d.log)
	}
	declared := newDesk(t, nil)
	result, err := declared.serve(round{CallOptions: CallOptions{Asks: []*Question{nameQuestion(t, "a")}}}, asksFor(t, "a"))
	declared.input(result, err, "a")
	if declared.logged("not declared in Asks") != 0 {
		t.Errorf("log:\n%s", declared.log)
	}
	var l onceLog
	said := 0
	for i := range maxOnceLog + 10 {
		l.do(fmt.Sprint(i), func() { said++ })
	}
	if said != maxOnceLog+10 || len(l.said) > maxOnceLog {
		t.Error("the memory of what was logged is not bounded")
	}
}

func TestCaseU11AndTheOtherKinds(t *testing.T) {
	d := newDesk(t, nil)
	h := func(ctx context.Context, c *Call) (any, error) {
		out, err := c.AskAll(ctx,
			&Question{Key: "s", Kind: AskSample, Sample: &CreateMessageParams{MaxTokens: 5, Messages: []*SamplingMessage{}}},
			&Question{Key: "r", Kind: AskRoots}, urlQuestion("u"))
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(out[0].Answer.Sample.Model, out[1].Answer.Roots[0].URI, out[2].Answer.Content == nil), nil
	}
	result, err := d.serve(round{}, h)
	in := d.input(result, err, "s", "r", "u")
	if in.InputRequests["s"].Method != MethodCreateMessage || in.InputRequests["r"].Method != MethodRootsList || len(in.InputRequests["r"].Params) != 0 {
		t.Errorf("%+v", in.InputRequests)
	}
	if u := string(in.InputRequests["u"].Params); u != `{"mode":"url","message":"Please sign in.","url":"https://travel.example/connect/1"}` {
		t.Errorf("U10: %s", u)
	}
	result, err = d.serve(round{State: in.RequestState, Answers: `{
		"s":{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m","stopReason":"endTurn"},
		"r":{"roots":[{"uri":"file:///home"}]},
		"u":{"action":"accept","content":{"password":"U11"}}}`}, h)
	d.text(result, err, "mfile:///hometrue")
	for _, bad := range []string{`{"r":{"roots":{}}}`, `{"r":{}}`, `{"r":{"roots":[{"name":"x"}]}}`, `{"r":{"roots":[1]}}`, `{"s":{"role":"assistant"}}`} {
		if _, err := d.serve(round{State: in.RequestState, Answers: bad}, h); !errors.Is(err, &Error{Code: jsonrpc.CodeInvalidParams}) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestAskOptionsAreChecked(t *testing.T) {
	for field, o := range map[string]*AskOptions{
		"Keys": {Keys: new(KeyRing)}, "MaxRounds": {MaxRounds: -1}, "MaxWaits": {MaxWaits: -1}, "MaxQuestions": {MaxQuestions: -1},
		"MaxState": {MaxState: -1}, "Lifetime": {Lifetime: -1}, "Hold": {Hold: -1}, "longer than Hold": {Lifetime: time.Second},
	} {
		rt, err := newAskRuntime("x", o, nil)
		if err == nil || !strings.Contains(err.Error(), field) || rt == nil {
			t.Errorf("%s: %v", field, err)
		}
	}
}
