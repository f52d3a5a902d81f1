package headless_test

import (
	"context"
	"errors"
	"testing"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/interactor/headless"
	"github.com/seed38e7925c/parley/mcp"
)

func TestNothingIsDeclaredByDefault(t *testing.T) {
	for name, o := range map[string]*headless.Options{"nil": nil, "zero": {}, "unavailable": {Policy: headless.Unavailable}} {
		in := headless.New(o)
		if in.Form != nil || in.Open != nil || in.Sample != nil || in.Roots != nil {
			t.Errorf("%s: %+v declares something that nobody can answer", name, in)
		}
	}
}

func TestPolicies(t *testing.T) {
	f, err := form.New(form.Field{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for policy, want := range map[headless.Policy]mcp.Action{headless.Cancel: mcp.ActionCancel, headless.Decline: mcp.ActionDecline} {
		in := headless.New(&headless.Options{Policy: policy})
		if res, err := in.Form(t.Context(), &mcp.FormQuestion{Form: f}); err != nil || res.Action != want || res.Content != nil {
			t.Errorf("%v: form %+v %v", policy, res, err)
		}
		if res, err := in.Open(t.Context(), &mcp.OpenQuestion{URL: "https://example.com"}); err != nil || res.Action != want {
			t.Errorf("%v: url %+v %v", policy, res, err)
		}
	}
}

func TestDecide(t *testing.T) {
	var seen []headless.Question
	in := headless.New(&headless.Options{Decide: func(_ context.Context, q *headless.Question) headless.Policy {
		seen = append(seen, *q)
		if q.URL != "" {
			return headless.Decline
		}
		return headless.Unavailable
	}})
	_, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: mcp.Asked{Key: "k"}, Message: "m", Form: new(form.Form)})
	if !errors.Is(err, mcp.ErrUnavailable) || errors.Is(err, mcp.ErrDeclined) {
		t.Errorf("form: %v; nobody declined", err)
	}
	res, err := in.Open(t.Context(), &mcp.OpenQuestion{Message: "go", URL: "https://example.com"})
	if err != nil || res.Action != mcp.ActionDecline {
		t.Errorf("url: %+v %v", res, err)
	}
	if len(seen) != 2 || seen[0].Key != "k" || seen[0].Form == nil || seen[1].URL != "https://example.com" || seen[1].Message != "go" {
		t.Errorf("the policy saw %+v", seen)
	}
}

func TestRootsAndNames(t *testing.T) {
	roots := []mcp.Root{{URI: "file:///a"}}
	in := headless.New(&headless.Options{Roots: roots})
	got, err := in.Roots(t.Context())
	if err != nil || len(got) != 1 || got[0].URI != "file:///a" {
		t.Errorf("%v %v", got, err)
	}
	got[0].URI = "changed"
	if again, _ := in.Roots(t.Context()); again[0].URI != "file:///a" {
		t.Error("what a caller does to the roots must not stay")
	}
	names := headless.Unavailable.String() + headless.Cancel.String() + headless.Decline.String() + headless.Policy(9).String()
	if names != "unavailablecanceldeclinePolicy(9)" {
		t.Error(names)
	}
}
