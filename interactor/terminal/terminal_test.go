package terminal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/interactor/terminal"
	"github.com/seed38e7925c/parley/mcp"
)

var about = mcp.Asked{Server: mcp.Implementation{Name: "travel", Title: "Travel desk", Version: "1.4.0"}, Origin: "https://travel.example/mcp",
	Method: mcp.MethodToolsCall, Name: "book", Round: 1, Key: "seat"}

func n(i int) *int { return &i }

// ask puts a form to somebody who types the given lines, and returns what was shown.
func ask(t *testing.T, typed string, fields ...form.Field) (*mcp.ElicitResult, string, error) {
	t.Helper()
	f, err := form.New(fields...)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	res, err := terminal.New(strings.NewReader(typed), &out).Form(t.Context(), &mcp.FormQuestion{Asked: about, Message: "Where would you like to sit?", Form: f})
	return res, out.String(), err
}

var (
	class = form.Field{Name: "class", Title: "Class", Description: "of the carriage", Kind: form.Choice, Required: true,
		Options: []form.Option{{Value: "first", Title: "First class"}, {Value: "second", Title: "Second class"}, {Value: "sleeper", Title: "Sleeper"}}}
	quiet  = form.Field{Name: "quiet", Title: "Quiet coach", Kind: form.Boolean, Default: []byte("true")}
	age    = form.Field{Name: "age", Kind: form.Integer, Minimum: "0", Maximum: "120"}
	name   = form.Field{Name: "name", Title: "Name", Required: true, MinLength: n(2), MaxLength: n(10)}
	extras = form.Field{Name: "extras", Kind: form.MultiChoice, MaxItems: n(2), Options: []form.Option{{Value: "bike", Title: "Bicycle, folded"}, {Value: "meal"}, {Value: "dog"}}}
)

func TestForms(t *testing.T) {
	for title, tt := range map[string]struct {
		typed  string
		fields []form.Field
		want   string   // content; or decline, cancel
		shown  []string // in this order
	}{
		"by mark":                   {"1\ns\n", []form.Field{class}, `{"class":"first"}`, []string{"https://travel.example/mcp asks you something", "It calls itself  Travel desk (travel) 1.4.0", "Because of       tools/call book", "│ Where would you like to sit?", "│ 1  Class (required)", "of the carriage", "1  First class", "1 of 1 › ", "Your answers:", "1  Class: First class", "s = send"}},
		"by label":                  {"second CLASS\nsend\n", []form.Field{class}, `{"class":"second"}`, nil},
		"by value":                  {"sleeper\ns\n", []form.Field{class}, `{"class":"sleeper"}`, nil},
		"part of a label":           {"class\n2\ns\n", []form.Field{class}, `{"class":"second"}`, []string{"! that is none of the options", "Did you mean:", "1  First class", "2  Second class"}},
		"required":                  {"\nBob\ns\n", []form.Field{name}, `{"name":"Bob"}`, []string{"! Name needs an answer"}},
		"bounds":                    {"x\nsomebody else\nBob\ns\n", []form.Field{name}, `{"name":"Bob"}`, []string{"2 to 10 characters", "! Name", "! Name"}},
		"default":                   {"\ns\n", []form.Field{quiet}, `{"quiet":true}`, []string{"(yes or no)", "Enter takes: yes", "Quiet coach: yes"}},
		"not the default":           {"no\ns\n", []form.Field{quiet}, `{"quiet":false}`, []string{"Quiet coach: no"}},
		"optional":                  {"\ns\n", []form.Field{age}, `{}`, []string{"a whole number, 0 to 120", "(left out)"}},
		"number":                    {"abc\n200\n42\ns\n", []form.Field{age}, `{"age":42}`, []string{"! age must be a whole number", "! age", "age: 42"}},
		"several":                   {"3, meal\ns\n", []form.Field{extras}, `{"extras":["dog","meal"]}`, []string{"any of these", "at most 2 of", "extras: dog, meal"}},
		"label, comma":              {"Bicycle, folded\ns\n", []form.Field{extras}, `{"extras":["bike"]}`, nil},
		"too many":                  {"1,2,3\n1\ns\n", []form.Field{extras}, `{"extras":["bike"]}`, []string{"! "}},
		"not one of many":           {"1,cat\nmea\n2\ns\n", []form.Field{extras}, `{"extras":["meal"]}`, []string{`! "cat": that is none of the options`, "Did you mean:", "2  meal"}},
		"change":                    {"1\nBob\n1\n2\ns\n", []form.Field{class, name}, `{"class":"second","name":"Bob"}`, []string{"asks you 2 things", "Enter keeps: First class", "Class: Second class"}},
		"change, keep":              {"1\nBob\n2\n\ns\n", []form.Field{class, name}, `{"class":"first","name":"Bob"}`, nil},
		"clear":                     {"42\nBob\nx1\ns\n", []form.Field{age, name}, `{"name":"Bob"}`, []string{"age: 42", "age: (left out)"}},
		"menu by escape":            {"\x1b\ns\n2\nBob\n1\n2\ns\n", []form.Field{class, name}, `{"class":"second","name":"Bob"}`, []string{"Class: (missing)", "! This cannot be sent yet", "Name: Bob"}},
		"escape in edit":            {"1\nBob\n2\n\x1b\ns\n", []form.Field{class, name}, `{"class":"first","name":"Bob"}`, nil},
		"decline":                   {"1\nd\n", []form.Field{class}, "decline", []string{"Declined."}},
		"cancel":                    {"\x1b\nc\n", []form.Field{class}, "cancel", []string{"Cancelled."}},
		"nothing is sent by Enter":  {"1\n\n\n\ncancel\n", []form.Field{class}, "cancel", nil},
		"unknown command":           {"1\n9\nwhat\ns\n", []form.Field{class}, `{"class":"first"}`, []string{"none of the commands"}},
		"command words are answers": {"s\nd\ncancel\ns\n", []form.Field{{Name: "a"}, {Name: "b"}, {Name: "c"}}, `{"a":"s","b":"d","c":"cancel"}`, nil},
		"control characters":        {"a\x1b[Db\nab\ns\n", []form.Field{name}, `{"name":"ab"}`, []string{"! that has characters which cannot be seen"}},
		"confirm":                   {"\n\x1b\ny\n", nil, `{}`, []string{"y = yes, n = no, c = cancel › "}},
		"confirm, no":               {"n\n", nil, "decline", nil},
		"confirm, cancel":           {"c\n", nil, "cancel", nil},
		"format":                    {"nobody\na@b.example\ns\n", []form.Field{{Name: "mail", Format: "email"}}, `{"mail":"a@b.example"}`, []string{"an e-mail address"}},
		"pattern":                   {"x\n12\ns\n", []form.Field{{Name: "zip", Pattern: "^[0-9]+$"}}, `{"zip":"12"}`, []string{"of the form ^[0-9]+$"}},
		"fraction":                  {"1.5\ns\n", []form.Field{{Name: "w", Kind: form.Number, Minimum: "1"}}, `{"w":1.5}`, []string{"a number, at least 1"}},
		"too long a line":           {strings.Repeat("x", 70000) + "\nBob\ns\n", []form.Field{name}, `{"name":"Bob"}`, []string{"too long"}},
		"last line without its end": {"1\ns", []form.Field{class}, `{"class":"first"}`, nil},
	} {
		t.Run(title, func(t *testing.T) {
			res, out, err := ask(t, tt.typed, tt.fields...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got := string(res.Content)
			if res.Action != mcp.ActionAccept {
				got = string(res.Action)
			}
			if got != tt.want {
				t.Errorf("%s, want %s\n%s", got, tt.want, out)
			}
			rest := out
			for _, s := range tt.shown {
				_, after, found := strings.Cut(rest, s)
				if !found {
					t.Errorf("no %q (in order) in\n%s", s, out)
				}
				rest = after
			}
		})
	}
}

// The mark on the screen is what counts: a value that reads like the number of another option must not take its place.
func TestMarksDoNotLie(t *testing.T) {
	liar := form.Field{Name: "pay", Kind: form.Choice, Required: true, Options: []form.Option{{Value: "no", Title: "Do not pay"}, {Value: "1", Title: "Pay everything"}}}
	res, out, err := ask(t, "a\ns\n", liar)
	if err != nil || string(res.Content) != `{"pay":"no"}` || !strings.Contains(out, "a  Do not pay") {
		t.Errorf("%s %v\n%s", res.Content, err, out)
	}
	letters := form.Field{Name: "pay", Kind: form.Choice, Required: true, Options: []form.Option{{Value: "2", Title: "b"}, {Value: "1", Title: "a"}}}
	res, out, err = ask(t, "#1\ns\n", letters)
	if err != nil || string(res.Content) != `{"pay":"2"}` {
		t.Errorf("%s %v\n%s", res.Content, err, out)
	}
}

func TestManyOptions(t *testing.T) {
	many := form.Field{Name: "town", Kind: form.Choice, Required: true}
	for i := range 200 {
		many.Options = append(many.Options, form.Option{Value: "v" + strings.Repeat("x", i), Title: fmt.Sprintf("Town number %d!", i+1)})
	}
	res, out, err := ask(t, "number 200\n200\ns\n", many)
	if err != nil || len(res.Content) != len(`{"town":"v"}`)+199 || !strings.Contains(out, "and 170 more") || !strings.Contains(out, "200  Town number") {
		t.Errorf("%s %v\n%s", res.Content, err, out)
	}
}

func TestEndOfInputIsNobody(t *testing.T) {
	for _, typed := range []string{"", "1\n"} {
		res, _, err := ask(t, typed, class, name)
		if res != nil || !errors.Is(err, mcp.ErrUnavailable) || errors.Is(err, mcp.ErrDeclined) || errors.Is(err, mcp.ErrCanceled) {
			t.Errorf("%q: %v %v", typed, res, err)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (broken) Read([]byte) (int, error)  { return 0, io.ErrClosedPipe }

func TestBrokenTerminal(t *testing.T) {
	f, _ := form.New(class)
	q := &mcp.FormQuestion{Asked: about, Form: f}
	for name, in := range map[string]*mcp.Interactor{"out": terminal.New(strings.NewReader("1\ns\n"), broken{}), "in": terminal.New(broken{}, io.Discard)} {
		if _, err := in.Form(t.Context(), q); !errors.Is(err, mcp.ErrUnavailable) {
			t.Errorf("%s: form: %v", name, err)
		}
		if _, err := in.Open(t.Context(), &mcp.OpenQuestion{URL: "https://example.com"}); !errors.Is(err, mcp.ErrUnavailable) {
			t.Errorf("%s: open: %v", name, err)
		}
	}
}

// syncBuffer can be read while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	b   bytes.Buffer
	saw map[string]chan struct{}
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Write(p)
	for text, ch := range s.saw {
		if strings.Contains(s.b.String(), text) {
			close(ch)
			delete(s.saw, text)
		}
	}
	return len(p), nil
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestWithdrawnQuestionEnds(t *testing.T) {
	pr, pw := io.Pipe()
	defer pw.Close()
	shown := make(chan struct{})
	out := &syncBuffer{saw: map[string]chan struct{}{"1 of 1 › ": shown}}
	in := terminal.New(pr, out)
	f, _ := form.New(class)
	ctx, cancel := context.WithCancelCause(t.Context())
	withdrawn := errors.New("the server gave up")
	done := make(chan error, 1)
	go func() {
		_, err := in.Form(ctx, &mcp.FormQuestion{Asked: about, Form: f})
		done <- err
	}()
	<-shown
	cancel(withdrawn)
	if err := <-done; !errors.Is(err, withdrawn) || errors.Is(err, mcp.ErrDeclined) {
		t.Errorf("%v", err)
	}
	if !strings.Contains(out.String(), "The question was taken back. Nothing was sent.") {
		t.Error(out.String())
	}
	// The read goes on for the next question.
	go func() { _, _ = io.WriteString(pw, "2\ns\n") }()
	res, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: about, Form: f})
	if err != nil || string(res.Content) != `{"class":"second"}` {
		t.Errorf("%v %v", res, err)
	}
}

func TestProblemAndSecretsAreShown(t *testing.T) {
	f, _ := form.New(form.Field{Name: "api_key", Title: "API key", Required: true})
	var out bytes.Buffer
	in := terminal.New(strings.NewReader("x\ns\n"), &out)
	if _, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: about, Form: f, Problem: errors.New("too short")}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{`! Careful: "api_key" looks like a secret`, "! The last answer was not accepted: too short"} {
		if !strings.Contains(out.String(), s) {
			t.Errorf("no %q in\n%s", s, out.String())
		}
	}
}

func open(t *testing.T, typed, url string, o *terminal.Options) (*mcp.ElicitResult, string, error) {
	t.Helper()
	var out bytes.Buffer
	res, err := terminal.New(strings.NewReader(typed), &out, o).Open(t.Context(), &mcp.OpenQuestion{Asked: about, Message: "Please pay.", URL: url})
	return res, out.String(), err
}

func TestURLs(t *testing.T) {
	var opened []string
	works := func(_ context.Context, r *consent.Result) error { opened = append(opened, r.URL); return nil }
	fails := func(context.Context, *consent.Result) error { return consent.ErrNoBrowser }
	for title, tt := range map[string]struct {
		typed, url string
		open       func(context.Context, *consent.Result) error
		want       mcp.Action
		opened     bool
		shown      []string
	}{
		"yes":         {"y\n", "https://pay.example.com/a?b=1", works, mcp.ActionAccept, true, []string{"asks you to open a page", "│ Please pay.", "Address   https://pay.example.com/a?b=1", "Site      example.com", "n or Enter = no", "c = cancel › ", "Opened in your browser", "\nhttps://pay.example.com/a?b=1\n", "Now waiting for the server"}},
		"no browser":  {"yes\n", "https://pay.example.com/a", fails, mcp.ActionAccept, false, []string{"No browser could be opened", "\nhttps://pay.example.com/a\n"}},
		"self":        {"s\n", "https://pay.example.com/a", works, mcp.ActionAccept, false, []string{"Open this address in your browser:", "\nhttps://pay.example.com/a\n"}},
		"Enter is no": {"\n", "https://pay.example.com/a", works, mcp.ActionDecline, false, []string{"Declined."}},
		"no":          {"what\n\x1b\nn\n", "https://pay.example.com/a", works, mcp.ActionDecline, false, nil},
		"cancel":      {"c\n", "https://pay.example.com/a", works, mcp.ActionCancel, false, nil},
		"refused":     {"y\n", "https://pay.example.com@evil.example/", works, mcp.ActionCancel, false, []string{"refusal: ", "must not be opened"}},
		"trick, sure": {"y\ntraveI.example\ny\nxn--trvel-5ve.example\n", "https://tr\u0430vel.example/", works, mcp.ActionAccept, true, []string{"danger: ", "looks like a trick"}},
		"trick, Esc":  {"y\n\x1b\nn\n", "https://tr\u0430vel.example/", works, mcp.ActionDecline, false, nil},
	} {
		t.Run(title, func(t *testing.T) {
			opened = nil
			res, out, err := open(t, tt.typed, tt.url, &terminal.Options{Open: tt.open})
			if err != nil || res.Action != tt.want || res.Content != nil || (len(opened) > 0) != tt.opened {
				t.Errorf("%v %v opened %v\n%s", res, err, opened, out)
			}
			for _, s := range tt.shown {
				if !strings.Contains(out, s) {
					t.Errorf("no %q in\n%s", s, out)
				}
			}
		})
	}
	if _, _, err := open(t, "", "https://example.com", nil); !errors.Is(err, mcp.ErrUnavailable) {
		t.Error("end of input:", err)
	}
}
