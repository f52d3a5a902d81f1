package mcptest_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

type Booking struct{ From, To string }

type Seat struct {
	Class string `json:"class" enum:"first=First class,second=Second class" default:"second"`
	Quiet bool   `json:"quiet,omitempty"`
}

type Ticket struct {
	Seat  Seat
	Offer string
	Line  string
}

func book(ctx context.Context, call *mcp.Call, in Booking) (Ticket, error) {
	seat, err := ask.Form[Seat](ctx, call, "seat", "Where would you like to sit?")
	if err != nil {
		return Ticket{}, err
	}
	offer, err := mcp.Once(ctx, call, "offer", func() (string, error) { return "10 EUR", nil })
	if err != nil {
		return Ticket{}, err
	}
	ok, err := ask.Confirm(ctx, call, "pay", "Pay "+offer+"?")
	if err != nil {
		return Ticket{}, err
	}
	if !ok {
		return Ticket{Line: "nothing booked"}, nil
	}
	return Ticket{Seat: seat, Offer: offer, Line: in.From + "-" + in.To}, nil
}

func ExampleRun() {
	t := exampleT{}
	ticket, err := mcptest.Run(t, &mcptest.Script{Answers: mcptest.Answers{
		"seat": Seat{Class: "first"},
		"pay":  true,
	}}, book, Booking{From: "Bern", To: "Wien"})
	fmt.Println(ticket.Line, ticket.Seat.Class, ticket.Offer, err)
	// Output: Bern-Wien first 10 EUR <nil>
}

func TestRun(t *testing.T) {
	mcptest.CheckLeaks(t)
	in := Booking{"Bern", "Wien"}
	for name, tc := range map[string]struct {
		answers mcptest.Answers
		line    string
		err     error
	}{
		"yes":      {mcptest.Answers{"seat": mcptest.Accept, "pay": true}, "Bern-Wien", nil},
		"no":       {mcptest.Answers{"seat": map[string]any{"class": "first", "quiet": true}, "pay": false}, "nothing booked", nil},
		"declined": {mcptest.Answers{"seat": mcptest.Decline}, "", ask.ErrDeclined},
		"canceled": {mcptest.Answers{"seat": mcptest.Accept, "pay": mcptest.Cancel}, "", ask.ErrCanceled},
		"second try": {mcptest.Answers{"seat": mcptest.Sequence{Seat{Class: "third"}, Seat{Class: "first"}},
			"pay": func(q *mcp.Question) any { return strings.Contains(q.Message, "10 EUR") }}, "Bern-Wien", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := mcptest.Run(t, &mcptest.Script{Answers: tc.answers}, book, in)
			if got.Line != tc.line || !errors.Is(err, tc.err) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	call := mcptest.NewCall(t, &mcptest.Script{Answers: mcptest.Answers{"seat": &mcp.Answer{Content: []byte(`{}`)}, "pay": mcptest.Accept}})
	if got, err := book(t.Context(), call, in); err != nil || got.Seat.Class != "second" {
		t.Errorf("%+v, %v", got, err)
	}
	one := &mcptest.Script{Answers: mcptest.Answers{"seat": mcptest.Accept, "pay": true}, Call: mcp.CallOptions{Revision: mcp.Revision20250618}}
	if got, err := mcptest.Run(t, one, book, in); err != nil || got.Line != "Bern-Wien" {
		t.Errorf("%+v, %v", got, err)
	}
}

// exampleT is a testing.TB for an example.
type exampleT struct{ testing.TB }

func (exampleT) Helper()                  {}
func (exampleT) Context() context.Context { return context.Background() }
func (exampleT) Output() io.Writer        { return io.Discard }

// failing is a testing.TB that keeps what it is told.
type failing struct {
	exampleT
	said     []string
	cleanups []func()
	failed   bool
	out      bytes.Buffer
}

func (f *failing) Errorf(format string, args ...any) {
	f.failed = true
	f.said = append(f.said, fmt.Sprintf(format, args...))
}
func (f *failing) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}
func (f *failing) Fail()             { f.failed = true }
func (f *failing) Failed() bool      { return f.failed }
func (f *failing) Output() io.Writer { return &f.out }

// run runs a test to its end, which Fatalf may be.
func (f *failing) run(test func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		test()
	}()
	<-done
}

func (f *failing) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }

func (f *failing) finish() string {
	for _, c := range f.cleanups {
		c()
	}
	return strings.Join(f.said, "\n")
}

// What Run is for: it finds handlers that behave in one way at one revision and in another at the next.
func TestRunFindsFaults(t *testing.T) {
	runs := 0
	ask1 := func(ctx context.Context, call *mcp.Call, message string) (string, error) {
		return ask.Choose(ctx, call, "q", message, "a", "b")
	}
	for name, tc := range map[string]struct {
		handler func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error)
		answers mcptest.Answers
		want    string
	}{
		"swallows the error": {func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
			v, err := ask1(ctx, call, "?")
			if err != nil {
				return "nothing done", nil
			}
			return v, nil
		}, mcptest.Answers{"q": "a"}, "must return that error"},
		"repeats a step": {func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
			runs++
			v, err := ask1(ctx, call, "?")
			return fmt.Sprint(v, runs), err
		}, mcptest.Answers{"q": "a"}, "belong into mcp.Once"},
		"changes its words": {func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
			runs++
			return ask1(ctx, call, fmt.Sprint("Is it ", min(runs, 9), "?"))
		}, mcptest.Answers{"q": "a"}, "must not depend on the run"},
		"asks more": {func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) { return ask1(ctx, call, "?") },
			mcptest.Answers{}, "not in the script"},
		"asks less": {func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) { return "", nil },
			mcptest.Answers{"q": "a"}, "not asked for"},
		"differs": {func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
			if call.Revision() == mcp.Revision20251125 {
				return "", errors.New("old")
			}
			return "", nil
		}, nil, "outcomes differ"},
		"no content": {func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
			return "", ask.Open(ctx, call, "q", "m", "https://a.example")
		},
			mcptest.Answers{"q": "a"}, "no answer to a question of kind url"},
		"too many fields": {func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
			_, err := ask.Form[Seat](ctx, call, "q", "m")
			return "", err
		}, mcptest.Answers{"q": "a"}, "no content for a form of 2 fields"},
		"empty sequence": {func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) { return ask1(ctx, call, "?") },
			mcptest.Answers{"q": mcptest.Sequence{}}, "sequence is empty"},
		"no reply": {func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) { return ask1(ctx, call, "?") },
			mcptest.Answers{"q": mcptest.Reply(9)}, "no Reply 9"},
		"no JSON": {func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) { return ask1(ctx, call, "?") },
			mcptest.Answers{"q": func() {}}, "marshal"},
	} {
		runs = 0
		f := &failing{}
		f.run(func() { _, _ = mcptest.Run(f, &mcptest.Script{Answers: tc.answers}, tc.handler, struct{}{}) })
		if len(f.said) != 1 && tc.want != "must not depend on the run" {
			t.Errorf("%s: one cause is reported %d times: %q", name, len(f.said), f.said)
		}
		if said := f.finish(); !strings.Contains(said, tc.want) {
			t.Errorf("%s: Run says %q, want %q", name, said, tc.want)
		}
	}
	f := &failing{}
	mcptest.NewCall(f, &mcptest.Script{Answers: mcptest.Answers{"q": "a"}})
	if said := f.finish(); !strings.Contains(said, "not asked for") {
		t.Errorf("NewCall says %q", said)
	}
}

func TestCheckLeaksFindsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // its five seconds pass at once
		f := &failing{}
		mcptest.CheckLeaks(f)
		stop := make(chan struct{})
		go func() { <-stop }()
		said := f.finish()
		close(stop)
		if !strings.Contains(said, "TestCheckLeaksFindsOne") {
			t.Errorf("a goroutine is not found: %q", said)
		}
	})
}

// The same tools with a real client and a real server, at every revision.
func TestConnect(t *testing.T) {
	mcptest.CheckLeaks(t)
	for _, rev := range mcp.NewServer("travel", "1", nil).Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			srv := mcp.NewServer("travel", "1", nil)
			mcp.AddTool(srv, &mcp.Tool{Name: "book"}, book)
			c := mcptest.Connect(t, srv, &mcp.ClientOptions{
				Revisions: []mcp.Revision{rev},
				Interactor: mcptest.Interactor(t, mcptest.Answers{
					"Where would you like to sit?": Seat{Class: "first"},
					"Pay 10 EUR?":                  true,
				}),
			})
			ticket, err := mcp.CallTool[Ticket](t.Context(), c, "book", Booking{"Bern", "Wien"})
			if !rev.Rules().Elicitation.Form {
				if err == nil {
					t.Errorf("a client of %v was asked: %+v", rev, ticket)
				}
				return
			}
			if err != nil || ticket.Line != "Bern-Wien" || ticket.Seat.Class != "first" {
				t.Errorf("%+v, %v", ticket, err)
			}
		})
	}
}

func TestTranscript(t *testing.T) {
	newServer := func() *mcp.Server {
		srv := mcp.NewServer("travel", "1", nil)
		mcp.AddTool(srv, &mcp.Tool{Name: "book"}, book)
		return srv
	}
	file := filepath.Join(t.TempDir(), "t.txt")
	play := func(text string) string {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := &failing{}
		f.run(func() { mcptest.Transcript(f, file, newServer()) })
		return f.finish()
	}
	const answered = "# A line that is no message is answered.\nC> nonsense\nS> " +
		`{"jsonrpc":"2.0","error":{"code":-32700,"message":` + "X"
	if said := play("C> nonsense\n"); !strings.Contains(said, "does not say what it shows") || !strings.Contains(said, "answers otherwise") {
		t.Errorf("no prose, no answer: %q", said)
	}
	if said := play(answered + "\n"); !strings.Contains(said, "line 3") {
		t.Errorf("another answer: %q", said)
	}
	const discover = "# meta\nC> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":{${meta %s}},\"name\":\"book\",\"arguments\":{\"From\":\"a\",\"To\":\"b\"}}}\n"
	if said := play(strings.Replace(discover, " %s", "", 1)); !strings.Contains(said, "-32021") {
		t.Errorf("without capabilities: %q", said)
	}
	if said := play(fmt.Sprintf(discover, "form, url,sampling,sampling.tools,roots")); !strings.Contains(said, `"inputRequests":{"seat"`) {
		t.Errorf("with capabilities: %q", said)
	}
	if said := play(fmt.Sprintf(discover, "forms")); !strings.Contains(said, `there is no "forms"`) {
		t.Errorf("with a capability that is none: %q", said)
	}
	if err := flag.Set("mcptest.update", "true"); err != nil {
		t.Fatal(err)
	}
	said := play(answered + "\n# The end.")
	if err := flag.Set("mcptest.update", "false"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || said != "" || !strings.Contains(string(text), "\n# The end.\n") {
		t.Errorf("update: %q, %v, %s", said, err, text)
	}
	mcptest.Transcripts(t, file, newServer)
}
