package matrix

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/interop/internal/fixture"
	"github.com/seed38e7925c/parley/interop/internal/play"
)

// A fake is a client without a server, whose answers a test makes up.
type fake struct {
	do func(op *play.Op) (*play.Reply, error)
}

func (f fake) Do(ctx context.Context, op *play.Op) (*play.Reply, error) {
	if op.Name == fixture.Slow {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return f.do(op)
}

func (fake) Close() error { return nil }

// TestRedCells shows that a check fails when something is wrong: with a peer that answers nothing, every cell is red.
func TestRedCells(t *testing.T) {
	row := run(t, &Pair{Client: "fake", Server: "fake", Era: play.Legacy, Checks: slices.DeleteFunc(slices.Clone(FixtureChecks), waits)},
		func(*play.Op) (*play.Reply, error) { return &play.Reply{}, nil })
	for name, c := range row.Cells {
		if c.State != Fail && name != Connect {
			t.Errorf("%s is %s for a peer that answers nothing", name, c.State)
		}
	}
	if !Failed([]*Row{row}) {
		t.Error("a row with red cells has not failed")
	}
}

// waits are the checks that wait for an event for seconds.
func waits(c Check) bool {
	return slices.Contains([]string{Progress, Cancel, ListChanged, Updated, Logging}, c.Name)
}

// TestKnown shows what becomes of cells on the list of known faults.
func TestKnown(t *testing.T) {
	old := AllKnown
	t.Cleanup(func() { AllKnown = old })
	AllKnown = []Known{
		{Client: "fake", Check: Tools, State: Fault, Reason: "why", Rule: "rule", Match: regexp.MustCompile("broken")},
		{Client: "fake", Check: Prompts, State: Fault, Match: regexp.MustCompile("broken")},
		{Client: "fake", Check: Form, State: Fault, Match: regexp.MustCompile("broken")},
		{Client: "fake", Check: URL, State: Fault, Match: regexp.MustCompile("broken"), Sometimes: true},
		{Client: "fake", Check: Errors, State: NA, Reason: "none", Skip: true},
	}
	fails := func(text string) func(context.Context, *Session) error {
		return func(context.Context, *Session) error { return errors.New(text) }
	}
	passes := func(context.Context, *Session) error { return nil }
	row := run(t, &Pair{Client: "fake", Server: "fake", Checks: []Check{
		{Tools, fails("broken")}, {Prompts, fails("different")}, {Form, passes}, {URL, passes}, {Errors, fails("not run")}, {Int64, fails("x")},
	}}, nil)
	want := map[string]State{Tools: Fault, Prompts: Fail, Form: Fail, URL: Fault, Errors: NA, Int64: Fail}
	for name, st := range want {
		if c := row.Cells[name]; c.State != st {
			t.Errorf("%s is %s (%s), not %s", name, c.State, c.Reason, st)
		}
	}
	var b strings.Builder
	if err := Print(&b, []*Row{row}); err != nil || !strings.Contains(b.String(), "passes now") {
		t.Errorf("printed %v:\n%s", err, b.String())
	}
}

func run(t *testing.T, p *Pair, do func(*play.Op) (*play.Reply, error)) *Row {
	t.Helper()
	p.Dial = func(context.Context, *play.Target, func(play.Event)) (play.Client, *play.Hello, error) {
		return fake{do}, &play.Hello{Revision: "2025-11-25"}, nil
	}
	p.Open = func(_ context.Context, era string, tape *play.Tape) (*play.Target, func() error, error) {
		return &play.Target{Era: era, Tape: tape}, func() error { return nil }, nil
	}
	return p.Run(t.Context())
}
