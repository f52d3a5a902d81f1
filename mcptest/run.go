package mcptest

import (
	"context"
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
//   - the two ask different questions, or the results differ, which they do when the handler does something before a question that
//     belongs into mcp.Once;
//   - the handler returns something else than the error of a question that waits for its answer;
//   - a question is not in the script, or an answer of the script is not asked for.
//
// The result and the error are those of the last run; errors are as a server would answer them. What the handler does, it does at
// least twice: give it stores of its own.
func Run[In, Out any](t testing.TB, s *Script, handler ToolHandler[In, Out], in In) (Out, error) {
	t.Helper()
	if s == nil {
		s = &Script{}
	}
	revisions := []mcp.Revision{mcp.Revision20251125, mcp.Revision20260728}
	if s.Call.Revision != 0 {
		revisions = []mcp.Revision{s.Call.Revision}
	}
	runs := make([]*played[Out], 0, len(revisions))
	for _, rev := range revisions {
		runs = append(runs, play(t, s, rev, handler, in))
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

// play runs the handler at one revision.
func play[In, Out any](t testing.TB, s *Script, rev mcp.Revision, handler ToolHandler[In, Out], in In) *played[Out] {
	t.Helper()
	p := newPlayer(t, s)
	o := p.options()
	o.Revision = rev
	if o.Arguments == nil {
		raw, err := jsonv2.Marshal(in)
		if err != nil {
			t.Fatalf("the arguments cannot be encoded: %v", err)
		}
		o.Arguments = raw
	}
	result, report, err := mcp.RunCall(t.Context(), o, func(ctx context.Context, call *mcp.Call) (any, error) {
		return handler(ctx, call, in)
	})
	r := &played[Out]{rev: rev, err: err, report: report}
	if err == nil {
		r.out, _ = result.(Out) // an Out that is an interface may be nil
	}
	if len(report.Overruled) > 0 {
		t.Errorf("at %v the handler returned something else than the error of its question (%v); it must return that error, or call Abandon",
			rev, report.Overruled)
	}
	if keys := p.unasked(); len(keys) > 0 {
		t.Errorf("at %v the script has answers that were not asked for: %v", rev, keys)
	}
	return r
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
