package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/mcp"
)

// A ToolHandler is a handler as mcp.AddTool takes it.
type ToolHandler[In, Out any] = func(ctx context.Context, call *mcp.Call, in In) (Out, error)

// Run runs a handler as servers do and returns what it returns. Unless the script names a revision, the handler is run twice: waiting
// for its answers, as at 2025-11-25, and run again for each round of questions, as at 2026-07-28. The test fails when
//
//   - the input is none that a server would hand to the handler: it is encoded, checked, completed by its defaults and decoded as the
//     arguments of a call are. Fields of a struct that have a default and hold their zero value are left to it; to send a zero all the
//     same, set Script.Call.Arguments, which stands for the input;
//   - the two ask different questions, or the results differ, which they do when the handler does something before a question that
//     belongs into mcp.Once;
//   - the handler returns something else than the error of a question that waits for its answer;
//   - a question is not in the script, an answer of the script does not fit its question, or is not asked for.
//
// It is stopped at the first cause, which is reported at the line that calls Run, and once; only differences let it go on. Run must
// therefore be called by the goroutine of the test.
//
// The result and the error are those of the last run; errors of asking are as a server would answer them, so that a question that
// [Nobody] can be asked ends in an *mcp.Error at 2026-07-28 and in an *mcp.ToolError before. What the handler does, it does at least
// twice: give it stores of its own.
func Run[In, Out any](t testing.TB, s *Script, handler ToolHandler[In, Out], in In) (Out, error) {
	t.Helper()
	if s == nil {
		s = &Script{}
	}
	revisions := []mcp.Revision{mcp.Revision20251125, mcp.Revision20260728}
	if s.Call.Revision != 0 {
		revisions = []mcp.Revision{s.Call.Revision}
	}
	args, err := argumentsOf(s.Call.Arguments, in)
	if err != nil {
		t.Fatalf("no server would call the handler with this input: %v", err)
	}
	runs := make([]*played[Out], 0, len(revisions))
	for _, rev := range revisions {
		r, problem := play(t, s, rev, args, handler)
		if problem != "" {
			t.Fatalf("at %v %s", rev, problem)
		}
		runs = append(runs, r)
	}
	for _, other := range runs[1:] {
		compare(t, runs[0], other)
	}
	last := runs[len(runs)-1]
	return last.out, last.err
}

// played is how a run went.
type played[Out any] struct {
	rev    mcp.Revision
	out    Out
	err    error
	report *mcp.CallReport
}

// play runs the handler at one revision. The problem is the first that there was, empty if there was none.
func play[In, Out any](t testing.TB, s *Script, rev mcp.Revision, args json.RawMessage, handler ToolHandler[In, Out]) (r *played[Out], problem string) {
	p := newPlayer(t, s)
	o := p.options()
	o.Revision, o.Arguments = rev, args
	result, report, err := mcp.RunCall(t.Context(), o, func(ctx context.Context, call *mcp.Call) (any, error) {
		var in In
		if err := decodeArguments(args, &in); err != nil {
			return nil, err
		}
		return handler(ctx, call, in)
	})
	r = &played[Out]{rev: rev, err: err, report: report}
	if err == nil {
		r.out, _ = result.(Out) // an Out that is an interface may be nil
	}
	if cause := p.failure(); cause != nil {
		return r, cause.Error()
	}
	if len(report.Overruled) > 0 {
		return r, fmt.Sprintf("the handler returned something else than the error of its question (%v); it must return that error, or call Abandon",
			report.Overruled)
	}
	if keys := p.unasked(); len(keys) > 0 {
		problem = fmt.Sprintf("the script has answers that were not asked for: %v", keys)
		if err != nil {
			problem += fmt.Sprintf("; the handler ended with: %v", err)
		}
	}
	return r, problem
}

// compare fails the test where two runs differ.
func compare[Out any](t testing.TB, a, b *played[Out]) {
	t.Helper()
	qa, qb := words(a.report), words(b.report)
	if !slices.Equal(qa, qb) {
		t.Errorf("the questions differ: at %v %q, at %v %q; what a question says must not depend on the run", a.rev, qa, b.rev, qb)
	}
	if (a.err == nil) != (b.err == nil) {
		t.Errorf("the outcomes differ: at %v %v, at %v %v", a.rev, a.err, b.rev, b.err)
		return
	}
	ra, errA := jsonv2.Marshal(a.out, jsonv2.Deterministic(true))
	rb, errB := jsonv2.Marshal(b.out, jsonv2.Deterministic(true))
	if errA == nil && errB == nil && string(ra) != string(rb) {
		t.Errorf("the results differ: at %v %s, at %v %s; steps that must not be repeated belong into mcp.Once", a.rev, ra, b.rev, rb)
	}
}

// words lists what was asked, without repetitions, in an order of its own: what is asked in one round at one revision is asked in
// several at another.
func words(r *mcp.CallReport) []string {
	var list []string
	for _, q := range r.Questions() {
		list = append(list, fmt.Sprintf("%s: %s %s", q.Key, q.Message, q.URL))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// logger logs to the test.
func logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
