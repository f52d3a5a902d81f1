package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed38e7925c/parley/interop/internal/fixture"
	"github.com/seed38e7925c/parley/interop/internal/play"
	"github.com/seed38e7925c/parley/mcp"
)

// The checks, which are the columns.
const (
	Connect     = "connect"
	Tools       = "tools"
	Resources   = "resources"
	Prompts     = "prompts"
	Completion  = "completion"
	Progress    = "progress"
	Cancel      = "cancel"
	ListChanged = "list"
	Updated     = "updated"
	Logging     = "logging"
	Form        = "form"
	URL         = "url"
	Int64       = "int64"
	Errors      = "errors"
)

// Columns are the checks in the order in which they are printed.
var Columns = []string{Connect, Tools, Resources, Prompts, Completion, Progress, Cancel, ListChanged, Updated, Logging, Form, URL, Int64, Errors}

// FixtureChecks are what every pair goes through whose server has the fixture.
var FixtureChecks = []Check{
	{Connect, checkConnect},
	{Tools, checkTools},
	{Resources, checkResources},
	{Prompts, checkPrompts},
	{Completion, checkCompletion},
	{Progress, checkProgress},
	{Cancel, checkCancel},
	{ListChanged, checkListChanged},
	{Updated, checkUpdated},
	{Logging, checkLogging},
	{Form, checkForm},
	{URL, checkURL},
	{Int64, checkInt64},
	{Errors, checkErrors},
}

// checkConnect wants the era that was asked for, and, of our client, that it finds a way by itself too.
func checkConnect(ctx context.Context, s *Session) error {
	rev, ok := mcp.ParseRevision(s.Hello.Revision)
	if !ok || rev.Modern() != s.target.Modern() || s.pair.older() && s.Hello.Revision != s.pair.Era {
		return fmt.Errorf("asked for %s, got revision %q", s.pair.Era, s.Hello.Revision)
	}
	if s.pair.Client != Ours {
		return nil
	}
	auto := *s.target
	auto.Era = play.Auto
	c, _, err := s.dial(ctx, &auto, func(play.Event) {})
	if err != nil {
		return fmt.Errorf("without a given era: %w", err)
	}
	_, err = c.Do(ctx, &play.Op{Do: play.Tools})
	return errors.Join(err, c.Close())
}

func checkTools(ctx context.Context, s *Session) error {
	if err := s.lists(ctx, play.Tools, fixture.Tools...); err != nil {
		return err
	}
	return s.says(ctx, fixture.Echo, `{"text":"grüezi \u2028 \ud83d\ude80"}`, "grüezi \u2028 🚀")
}

func checkResources(ctx context.Context, s *Session) error {
	return errors.Join(
		s.lists(ctx, play.Resources, fixture.ResourceURI),
		s.lists(ctx, play.Templates, fixture.Template),
		s.reads(ctx, fixture.ResourceURI, fixture.Resource),
		s.reads(ctx, fixture.ItemURI, fixture.Item),
	)
}

func checkPrompts(ctx context.Context, s *Session) error {
	if err := s.lists(ctx, play.Prompts, fixture.Prompt); err != nil {
		return err
	}
	r, err := s.Client.Do(ctx, &play.Op{Do: play.Prompt, Name: fixture.Prompt, Args: []byte(`{"name":"Zoë"}`)})
	if err != nil {
		return err
	}
	if r.Text != fixture.Greeting("Zoë") {
		return fmt.Errorf("the prompt says %q", r.Text)
	}
	return nil
}

func checkCompletion(ctx context.Context, s *Session) error {
	for _, op := range []*play.Op{
		{Do: play.Complete, Ref: "prompt", Name: fixture.Prompt, Arg: "name", Value: "a"},
		{Do: play.Complete, Ref: "resource", Name: fixture.Template, Arg: "id", Value: "a"},
	} {
		r, err := s.Client.Do(ctx, op)
		if err != nil {
			return fmt.Errorf("%s: %w", op.Ref, err)
		}
		if got := strings.Join(r.Names, " "); got != "ada alan" {
			return fmt.Errorf("%s: proposed %q", op.Ref, got)
		}
	}
	return nil
}

func checkProgress(ctx context.Context, s *Session) error {
	r, err := s.Client.Do(ctx, &play.Op{Do: play.Call, Name: fixture.Progress, Args: []byte(`{}`), Progress: true})
	if err != nil {
		return err
	}
	if r.IsError {
		return fmt.Errorf("the tool failed: %s", r.Text)
	}
	return s.await(ctx, "progress", func(got []string) bool { return strings.Join(got, " ") == "1/3 2/3 3/3" })
}

// counts reads the state of slow.
func counts(ctx context.Context, s *Session) (started, cancelled int, err error) {
	r, err := s.call(ctx, fixture.State, `{}`)
	if err != nil {
		return 0, 0, err
	}
	_, err = fmt.Sscanf(r.Text, "started=%d cancelled=%d", &started, &cancelled)
	return started, cancelled, err
}

func checkCancel(ctx context.Context, s *Session) error {
	started, cancelled, err := counts(ctx, s)
	if err != nil {
		return err
	}
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := s.call(callCtx, fixture.Slow, `{}`)
		done <- err
	}()
	err = s.poll(ctx, "the call to begin", func() (bool, error) {
		n, _, err := counts(ctx, s)
		return n > started, err
	})
	cancel()
	select {
	case e := <-done:
		if e == nil {
			err = errors.Join(err, errors.New("the cancelled call succeeded"))
		}
	case <-ctx.Done():
		return errors.Join(err, errors.New("the cancelled call did not return"))
	}
	if err != nil {
		return err
	}
	return s.poll(ctx, "the server to cancel its handler", func() (bool, error) {
		_, n, err := counts(ctx, s)
		return n > cancelled, err
	})
}

func checkListChanged(ctx context.Context, s *Session) error {
	if _, err := s.Client.Do(ctx, &play.Op{Do: play.Subscribe}); err != nil {
		return fmt.Errorf("subscribing: %w", err)
	}
	r, err := s.call(ctx, fixture.Change, `{}`)
	if err != nil {
		return err
	}
	if err := s.again(ctx, fixture.Change, "tools", any1); err != nil {
		return err
	}
	return s.lists(ctx, play.Tools, r.Text)
}

func checkUpdated(ctx context.Context, s *Session) error {
	if _, err := s.Client.Do(ctx, &play.Op{Do: play.Subscribe, Name: fixture.ResourceURI}); err != nil {
		return fmt.Errorf("subscribing: %w", err)
	}
	if err := s.says(ctx, fixture.Touch, `{}`, "touched"); err != nil {
		return err
	}
	return s.again(ctx, fixture.Touch, "updated", has(fixture.ResourceURI))
}

// again waits for the events that a tool causes. Clients of peers do not wait for their subscription to be acknowledged, and open their
// standing stream in the background: with them the tool is called until the event is there.
func (s *Session) again(ctx context.Context, tool, kind string, enough func([]string) bool) error {
	if s.pair.Client == Ours && s.target.Modern() {
		return s.await(ctx, kind, enough)
	}
	return s.poll(ctx, "an event "+kind, func() (bool, error) {
		if enough(s.texts(kind)) {
			return true, nil
		}
		_, err := s.call(ctx, tool, `{}`)
		return false, err
	})
}

func checkLogging(ctx context.Context, s *Session) error {
	if _, err := s.Client.Do(ctx, &play.Op{Do: play.Level, Name: "info"}); err != nil {
		return fmt.Errorf("setting the level: %w", err)
	}
	if err := s.says(ctx, fixture.Log, `{}`, "logged"); err != nil {
		return err
	}
	if err := s.await(ctx, "log", has(`warning `+fixture.Logger+` "`+fixture.LogText+`"`)); err != nil {
		return err
	}
	if _, err := s.Client.Do(ctx, &play.Op{Do: play.Level, Name: "error"}); err != nil {
		return fmt.Errorf("setting the level higher: %w", err)
	}
	before := len(s.texts("log"))
	if err := s.says(ctx, fixture.Log, `{}`, "logged"); err != nil {
		return err
	}
	// What comes on the same stream as the answer of a second call has had its chance by then.
	if err := s.says(ctx, fixture.Echo, `{"text":"x"}`, "x"); err != nil {
		return err
	}
	if n := len(s.texts("log")); n != before {
		return errors.New("a warning arrived although only errors were asked for")
	}
	return nil
}

func checkForm(ctx context.Context, s *Session) error {
	if err := s.says(ctx, fixture.Ask, `{}`, fixture.Hello(fixture.Person, fixture.Seats)); err != nil {
		return err
	}
	if err := s.says(ctx, fixture.Ask, `{"decline":true}`, fixture.Declined); err != nil {
		return err
	}
	if got := s.texts("form"); !slices.Equal(got, []string{fixture.AskMessage, fixture.Refuse}) {
		return fmt.Errorf("the person was asked %q", got)
	}
	return nil
}

func checkURL(ctx context.Context, s *Session) error {
	if err := s.says(ctx, fixture.Visit, `{}`, fixture.Visited); err != nil {
		return err
	}
	if got := s.texts("url"); len(got) != 1 || got[0] != fixture.VisitURL {
		return fmt.Errorf("the person was sent to %q", got)
	}
	return nil
}

// checkInt64 wants an integer beyond 2^53 back with all its digits; of JavaScript, which has no such number, the largest that it has.
func checkInt64(ctx context.Context, s *Session) error {
	n := "9007199254740993"
	if s.pair.JavaScript() {
		n = "9007199254740991"
	}
	r, err := s.call(ctx, fixture.Big, `{"n":`+n+`}`)
	if err != nil {
		return err
	}
	got := string(r.Structured)
	if got == "" {
		got = r.Text // before 2025-06-18
	}
	if got != `{"n":`+n+`}` {
		return fmt.Errorf("sent %s, got %s %s", n, got, r.Text)
	}
	return nil
}

func checkErrors(ctx context.Context, s *Session) error {
	return errors.Join(ownError(ctx, s), unknownTool(ctx, s), unknownResource(ctx, s))
}

func ownError(ctx context.Context, s *Session) error {
	r, err := s.call(ctx, fixture.Fail, `{}`)
	if err != nil {
		return fmt.Errorf("a tool's failure came as %w", err)
	}
	if !r.IsError || !strings.Contains(r.Text, fixture.Failure) {
		return fmt.Errorf("a tool's failure came as isError=%v %q", r.IsError, r.Text)
	}
	return nil
}

func unknownTool(ctx context.Context, s *Session) error {
	r, err := s.call(ctx, "no-such-tool", `{}`)
	if err == nil {
		return fmt.Errorf("an unknown tool: a result with isError=%v %q", r.IsError, r.Text)
	}
	return errCode("an unknown tool", err, -32602)
}

func unknownResource(ctx context.Context, s *Session) error {
	code := []int64{-32602}
	if s.target.Handshake() {
		code[0] = -32002
		if s.pair.Client == TSv2 {
			code = append(code, -32602) // which this client makes of -32002
		}
	}
	_, err := s.Client.Do(ctx, &play.Op{Do: play.Read, Name: fixture.Missing})
	return errCode("an unknown resource", err, code...)
}
