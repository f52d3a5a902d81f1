package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/mcp"
)

type Class string

type Seat struct {
	Class Class `json:"class" enum:"first=First class,second=Second class" default:"second"`
	Back  Class `json:"back,omitempty" enum:"first,second"`
	Quiet bool  `json:"quiet,omitempty" title:"Quiet coach"`
	Count int64 `json:"count" minimum:"1" default:"1"`
}

// answers plays a person who gives these answers, by key; an error is a refusal.
func answers(by map[string]any) func(context.Context, *mcp.Question) (*mcp.Answer, error) {
	return func(_ context.Context, q *mcp.Question) (*mcp.Answer, error) {
		switch a := by[q.Key].(type) {
		case nil:
			return nil, fmt.Errorf("no answer for %q", q.Key)
		case error:
			return nil, a
		case string:
			return &mcp.Answer{Content: json.RawMessage(a)}, nil
		case *mcp.Answer:
			return a, nil
		}
		return nil, fmt.Errorf("what is %v", by[q.Key])
	}
}

// bothWays runs the handler as old and as new revisions do, and compares.
func bothWays(t *testing.T, by map[string]any, handler mcp.Handler) (any, error) {
	t.Helper()
	var results []any
	var errs []error
	for _, rev := range []mcp.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		result, _, err := mcp.RunCall(context.Background(), &mcp.CallOptions{Revision: rev, Answer: answers(by)}, handler)
		results, errs = append(results, result), append(errs, err)
	}
	single, err := handler(context.Background(), mcp.NewCall(&mcp.CallOptions{Answer: answers(by)}))
	if !reflect.DeepEqual(results[0], results[1]) || (errs[0] == nil) != (errs[1] == nil) {
		t.Fatalf("the revisions differ: %v, %v and %v, %v", results[0], errs[0], results[1], errs[1])
	}
	if !reflect.DeepEqual(results[0], single) && err == nil {
		t.Fatalf("a single run differs: %v and %v", results[0], single)
	}
	return results[1], errs[1]
}

func TestForm(t *testing.T) {
	h := func(ctx context.Context, call *mcp.Call) (any, error) {
		return ask.Form[Seat](ctx, call, "seat", "Where?")
	}
	for _, tc := range []struct {
		answer string
		want   Seat
	}{
		{`{"class":"first","count":3,"quiet":true}`, Seat{Class: "first", Count: 3, Quiet: true}},
		{`{}`, Seat{Class: "second", Count: 1}},
		{`{"count":9007199254740993,"back":"first"}`, Seat{Class: "second", Count: 9007199254740993, Back: "first"}},
	} {
		got, err := bothWays(t, map[string]any{"seat": tc.answer}, h)
		if err != nil || got != any(tc.want) {
			t.Errorf("%s: %+v, %v", tc.answer, got, err)
		}
	}
	for want, refusal := range map[error]any{ask.ErrDeclined: ask.ErrDeclined, ask.ErrCanceled: &mcp.Answer{Action: mcp.ActionCancel}} {
		if _, err := bothWays(t, map[string]any{"seat": refusal}, h); !errors.Is(err, want) {
			t.Errorf("%v: %v", want, err)
		}
	}
	if _, err := bothWays(t, map[string]any{"seat": `{"class":"third"}`}, h); err == nil {
		t.Error("an answer that never fits is taken")
	}
}

func TestCaseF22NestedForms(t *testing.T) {
	nested := func(ctx context.Context, call *mcp.Call) (any, error) {
		return ask.Form[struct{ Nested struct{ X int } }](ctx, call, "x", "?")
	}
	list := func(ctx context.Context, call *mcp.Call) (any, error) {
		return ask.Form[struct{ Nested []struct{ X int } }](ctx, call, "x", "?")
	}
	for _, handler := range []mcp.Handler{nested, list} {
		if _, err := bothWays(t, nil, handler); err == nil || !strings.Contains(err.Error(), "Nested") {
			t.Errorf("a type that is no form: %v", err)
		}
	}
}

// F01: what generated forms look like on the wire.
func TestCaseF01EnumsAreInline(t *testing.T) {
	q, err := ask.FormItem[Seat]("seat", "Where?").Question()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := q.Form.Schema(form.Modern)
	if err != nil || strings.Contains(string(schema), "$ref") || strings.Contains(string(schema), "$defs") || !strings.Contains(string(schema), `"First class"`) {
		t.Errorf("%s, %v", schema, err)
	}
}

func TestConfirm(t *testing.T) {
	h := func(ctx context.Context, call *mcp.Call) (any, error) {
		ok, err := ask.Confirm(ctx, call, "sure", "Sure?")
		if err != nil || !ok {
			return "nothing done", errors.Unwrap(err)
		}
		return "done", nil
	}
	for answer, want := range map[any]string{`{}`: "done", ask.ErrDeclined: "nothing done"} {
		if got, err := bothWays(t, map[string]any{"sure": answer}, h); got != want || err != nil {
			t.Errorf("%v: %v, %v", answer, got, err)
		}
	}
	_, err := bothWays(t, map[string]any{"sure": ask.ErrCanceled}, func(ctx context.Context, call *mcp.Call) (any, error) {
		return ask.Confirm(ctx, call, "sure", "Sure?")
	})
	if !errors.Is(err, ask.ErrCanceled) {
		t.Errorf("dismissed: %v", err)
	}
}

func TestChoose(t *testing.T) {
	got, err := bothWays(t, map[string]any{"c": `{"choice":"b"}`, "m": `{"choice":["x","z"]}`, "n": `{"choice":[]}`},
		func(ctx context.Context, call *mcp.Call) (any, error) {
			one, err := ask.Choose(ctx, call, "c", "Which?", "a", "b=The B")
			if err != nil {
				return nil, err
			}
			many, err := ask.ChooseMany(ctx, call, "m", "Which ones?", "x", "y", "z=Zed")
			if err != nil {
				return nil, err
			}
			none, err := ask.ChooseMany(ctx, call, "n", "Which ones?", "x")
			return fmt.Sprint(one, many, none), err
		})
	if got != "b[x z] []" || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := bothWays(t, nil, func(ctx context.Context, call *mcp.Call) (any, error) { return ask.Choose(ctx, call, "c", "?") }); err == nil {
		t.Error("a choice of nothing")
	}
}

func TestAll(t *testing.T) {
	handler := func(ctx context.Context, call *mcp.Call) (any, error) {
		seat, sure, page := ask.FormItem[Seat]("seat", "Where?"), ask.ConfirmItem("sure", "Sure?"), ask.OpenItem("page", "See", "https://a.example/x").Named("id-1")
		roots, sample := ask.RootsItem("roots").Optional(), ask.SampleItem("s", &mcp.CreateMessageParams{MaxTokens: 1}).Optional()
		if _, err := seat.Get(); err == nil {
			t.Error("a result before All")
		}
		if err := ask.All(ctx, call, seat, sure, page, roots, sample); err != nil {
			return nil, err
		}
		s, err := seat.Get()
		if err != nil {
			return nil, err
		}
		ok, err1 := sure.Get()
		_, err2 := page.Get()
		r, err3 := roots.Get()
		m, err4 := sample.Get()
		return fmt.Sprintf("%s %v,%v,%v,%d,%v,%s,%v", s.Class, ok, err1 == nil, errors.Is(err2, ask.ErrCanceled), len(r), err3 == nil, m.Model, err4 == nil), nil
	}
	got, err := bothWays(t, map[string]any{
		"seat": `{"class":"first"}`, "sure": ask.ErrDeclined, "page": ask.ErrCanceled,
		"roots": &mcp.Answer{Action: mcp.ActionAccept, Roots: []mcp.Root{{URI: "file:///a"}}},
		"s":     &mcp.Answer{Action: mcp.ActionAccept, Sample: &mcp.CreateMessageResult{Role: mcp.RoleUser, Model: "m", Content: mcp.SamplingContent{&mcp.TextContent{Text: "x"}}}},
	}, handler)
	if got != "first false,true,true,1,true,m,true" || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	_, err = bothWays(t, nil, func(ctx context.Context, call *mcp.Call) (any, error) {
		return nil, ask.All(ctx, call, ask.FormItem[int]("x", "?"))
	})
	if err == nil {
		t.Error("an item that is no question is asked")
	}
}

func TestSingles(t *testing.T) {
	f, err := form.New(form.Field{Name: "n", Kind: form.Integer, Required: true})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]any{
		"f": `{"n":5}`, "o": &mcp.Answer{Action: mcp.ActionAccept},
		"r": &mcp.Answer{Action: mcp.ActionAccept, Roots: []mcp.Root{{URI: "file:///a"}}},
		"s": &mcp.Answer{Action: mcp.ActionAccept, Sample: &mcp.CreateMessageResult{Role: mcp.RoleUser, Model: "m", Content: mcp.SamplingContent{&mcp.TextContent{Text: "x"}}}},
	}
	got, err := bothWays(t, by, func(ctx context.Context, call *mcp.Call) (any, error) {
		content, err := ask.Fields(ctx, call, "f", "?", f)
		if err != nil {
			return nil, err
		}
		if err := ask.Open(ctx, call, "o", "See", "https://a.example/"); err != nil {
			return nil, err
		}
		roots, err := ask.Roots(ctx, call, "r")
		if err != nil {
			return nil, err
		}
		sample, err := ask.Sample(ctx, call, "s", &mcp.CreateMessageParams{MaxTokens: 1})
		if err != nil {
			return nil, err
		}
		return string(content) + roots[0].URI + sample.Model, nil
	})
	if got != `{"n":5}file:///am` || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ask.FieldsItem("f", "?", nil).Question(); err == nil {
		t.Error("no form is a question")
	}
}

func TestNobodyThere(t *testing.T) {
	for _, rev := range mcp.Revisions() {
		_, _, err := mcp.RunCall(context.Background(), &mcp.CallOptions{Revision: rev, Capabilities: &mcp.ClientCapabilities{}}, func(ctx context.Context, call *mcp.Call) (any, error) {
			ok, err := ask.Confirm(ctx, call, "sure", "Sure?")
			if ok || !errors.Is(err, ask.ErrUnavailable) {
				t.Errorf("%v: %v, %v", rev, ok, err)
			}
			return nil, err
		})
		if err == nil {
			t.Errorf("%v: no error", rev)
		}
	}
}

func TestDeclare(t *testing.T) {
	qs := ask.Declare(ask.FormItem[Seat]("seat", "Where?"), ask.ConfirmItem("sure", "Sure?").Optional(), ask.OpenItem("page", "See", ""))
	if len(qs) != 3 || qs[0].Key != "seat" || !qs[1].Optional || qs[2].Kind != mcp.AskURL {
		t.Errorf("%+v", qs)
	}
	defer func() {
		if recover() == nil {
			t.Error("a form that is none is declared")
		}
	}()
	ask.Declare(ask.FormItem[int]("x", "?"))
}
