package mcptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcptest"
)

// A zero value of a field that has a default is an answer left to it; every other answer must fit.
func TestZeroValuesAreLeftToDefaults(t *testing.T) {
	quiet := mcptest.Answers{"seat": Seat{Quiet: true}, "pay": true, "Where would you like to sit?": &Seat{Quiet: true}, "Pay 10 EUR?": true}
	got, err := mcptest.Run(t, &mcptest.Script{Answers: mcptest.Answers{"seat": Seat{Quiet: true}, "pay": true}}, book, Booking{"Bern", "Wien"})
	if err != nil || got.Seat != (Seat{Class: "second", Quiet: true}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, rev := range []mcp.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		srv := mcp.NewServer("travel", "1", nil)
		mcp.AddTool(srv, &mcp.Tool{Name: "book"}, book)
		if !slices.Contains(srv.Revisions(), rev) {
			continue
		}
		c := mcptest.Connect(t, srv, &mcp.ClientOptions{Revisions: []mcp.Revision{rev}, Interactor: mcptest.Interactor(t, quiet)})
		if got, err := mcp.CallTool[Ticket](t.Context(), c, "book", Booking{"Bern", "Wien"}); err != nil || got.Seat.Class != "second" {
			t.Errorf("%v: %+v, %v", rev, got, err)
		}
	}
}

// An answer that does not fit fails the test at once, names field and reason, and is the only failure.
func TestAnswersThatDoNotFit(t *testing.T) {
	form := func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		_, err := ask.Form[Seat](ctx, c, "q", "m")
		return "", err
	}
	choice := func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return ask.Choose(ctx, c, "q", "m", "a", "b")
	}
	confirm := func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		ok, err := ask.Confirm(ctx, c, "q", "m")
		return fmt.Sprint(ok), err
	}
	for name, tc := range map[string]struct {
		handler mcptest.ToolHandler[struct{}, string]
		answer  any
		want    string
	}{
		"form":          {form, map[string]any{"class": "third"}, "/class must be one of"},
		"form, typo":    {form, map[string]any{"klass": "first"}, "/klass "},
		"form, answer":  {form, &mcp.Answer{Content: []byte(`{"quiet":"yes"}`)}, "/quiet must be true or false"},
		"form, last":    {form, mcptest.Sequence{Seat{Class: "third"}, Seat{Class: "fourth"}}, "/class must be one of"},
		"choice":        {choice, "c", "must be one of"},
		"confirm":       {confirm, "yes", "no content for a form of 0 fields"},
		"confirm, JSON": {confirm, map[string]any{"ok": true}, "/ok "},
	} {
		t.Run(name, func(t *testing.T) {
			by := mcptest.Answers{"q": tc.answer, "m": tc.answer, "later": true}
			f := &failing{}
			f.run(func() { _, _ = mcptest.Run(f, &mcptest.Script{Answers: by}, tc.handler, struct{}{}) })
			if said := f.finish(); len(f.said) != 1 || !strings.Contains(said, `answer "q" does not fit: `) || !strings.Contains(said, tc.want) {
				t.Errorf("Run says %q", f.said)
			}

			f = &failing{}
			_, err := tc.handler(t.Context(), mcptest.NewCall(f, &mcptest.Script{Answers: by}), struct{}{})
			f.finish()
			atOnce(t, f, `answer "q" does not fit: `, tc.want)
			if err == nil || errors.Is(err, mcp.ErrDeclined) || len(f.said) != 0 {
				t.Errorf("the handler gets %v, NewCall says %q too", err, f.said)
			}

			f = &failing{}
			srv := mcp.NewServer("travel", "1", nil)
			mcp.AddTool(srv, &mcp.Tool{Name: "ask"}, tc.handler)
			c := mcptest.Connect(t, srv, &mcp.ClientOptions{Interactor: mcptest.Interactor(f, by)})
			if _, err := mcp.CallTool[string](t.Context(), c, "ask", struct{}{}); err == nil {
				t.Error("the call succeeds")
			}
			atOnce(t, f, `answer "q" does not fit: `, tc.want)
		})
	}
}

// atOnce checks a failure that is reported while the test goes on: once, and at a line of this file.
func atOnce(t *testing.T, f *failing, want ...string) {
	t.Helper()
	out := f.out.String()
	for _, w := range append(want, "answers_test.go:") {
		if !f.failed || strings.Count(out, "does not fit") != 1 || !strings.Contains(out, w) {
			t.Errorf("the test says %q, want %q", out, w)
		}
	}
}

// The input goes the way of arguments: defaults, bounds, and the names of what is wrong.
func TestRunDecodesItsInput(t *testing.T) {
	type leg struct {
		Class string `json:"class" default:"second"`
	}
	type in struct {
		N    int    `json:"n" default:"7" maximum:"9"`
		To   string `json:"to" minLength:"1"`
		Legs []leg  `json:"legs,omitempty"`
	}
	handler := func(_ context.Context, _ *mcp.Call, v in) (string, error) { return fmt.Sprint(v), nil }
	for _, tc := range []struct {
		in   in
		raw  string
		want string
	}{
		{in: in{To: "Wien", Legs: []leg{{}}}, want: "{7 Wien [{second}]}"},
		{raw: `{"to":"Wien","n":0}`, want: "{0 Wien []}"},
		{in: in{N: 3, To: "Wien"}, want: "{3 Wien []}"},
	} {
		s := &mcptest.Script{}
		if tc.raw != "" {
			s.Call.Arguments = json.RawMessage(tc.raw)
		}
		if got, err := mcptest.Run(t, s, handler, tc.in); err != nil || got != tc.want {
			t.Errorf("%q, %v; want %q", got, err, tc.want)
		}
	}
	for want, v := range map[string]in{"/to ": {}, "/n ": {N: 10, To: "Wien"}} {
		f := &failing{}
		f.run(func() { _, _ = mcptest.Run(f, nil, handler, v) })
		if said := f.finish(); len(f.said) != 1 || !strings.Contains(said, want) {
			t.Errorf("%+v: %q, want %q", v, said, want)
		}
	}
	raw := func(_ context.Context, _ *mcp.Call, v json.RawMessage) (string, error) { return string(v), nil }
	if got, err := mcptest.Run(t, nil, raw, json.RawMessage(`{"a":1}`)); err != nil || got != `{"a":1}` {
		t.Errorf("%q, %v", got, err)
	}
	f := &failing{}
	f.run(func() { _, _ = mcptest.Run(f, nil, raw, json.RawMessage(`[]`)) })
	if said := f.finish(); !strings.Contains(said, "must be an object") {
		t.Errorf("%q", said)
	}
}

// Nobody is a client that cannot be asked: the handler learns it at every revision, and left alone it is what a server answers.
func TestNobody(t *testing.T) {
	nobody := &mcptest.Script{Answers: mcptest.Answers{"seat": mcptest.Nobody}}
	handle := func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		_, err := ask.Form[Seat](ctx, c, "seat", "m")
		if errors.Is(err, ask.ErrUnavailable) {
			return "any seat", nil
		}
		return "", err
	}
	if got, err := mcptest.Run(t, nobody, handle, struct{}{}); err != nil || got != "any seat" {
		t.Errorf("%q, %v", got, err)
	}
	nobody.Call.Revision = mcp.Revision20260728
	_, err := mcptest.Run(t, nobody, book, Booking{"Bern", "Wien"})
	var wire *mcp.Error
	if !errors.As(err, &wire) || wire.Code != mcp.Revision20260728.Rules().CodeMissingCapability {
		t.Errorf("2026-07-28: %v", err)
	}
	nobody.Call.Revision = mcp.Revision20251125
	_, err = mcptest.Run(t, nobody, book, Booking{"Bern", "Wien"})
	var tool *mcp.ToolError
	if !errors.As(err, &tool) || strings.Contains(tool.Text, "script") {
		t.Errorf("2025-11-25: %v", err)
	}
	for r, want := range map[mcptest.Reply]string{mcptest.Accept: "Accept", mcptest.Decline: "Decline", mcptest.Cancel: "Cancel",
		mcptest.Nobody: "Nobody", 9: "Reply(9)"} {
		if r.String() != want {
			t.Errorf("%q, want %q", r, want)
		}
	}
}
