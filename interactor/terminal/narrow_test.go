package terminal_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/interactor/terminal"
	"github.com/seed38e7925c/parley/mcp"
)

// In a narrow window lines fit, what can be typed stands beside what it does, and a host is in one piece.
func TestNarrowWindow(t *testing.T) {
	const columns = 34
	var out bytes.Buffer
	o := &terminal.Options{Width: columns, Open: func(context.Context, *consent.Result) error { return nil }}
	f, err := form.New(class, quiet, age, name, extras, form.Field{Name: "zip", Title: "Postal code", Pattern: "^[0-9]{4}$", Required: true})
	if err != nil {
		t.Fatal(err)
	}
	q := &mcp.FormQuestion{Asked: about, Message: "Where would you like to sit? We have seats in every carriage, and the sleeper is half empty.", Form: f}
	if _, err := terminal.New(strings.NewReader("5\n1\n\n42\nBob\n1\n1\n1234\ns\n"), &out, o).Form(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	const url = "https://tickets.example.com/pay?order=17&seat=4"
	open := &mcp.OpenQuestion{Asked: about, Message: "Please pay.", URL: url}
	if _, err := terminal.New(strings.NewReader("y\n"), &out, o).Open(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	if err := terminal.New(strings.NewReader("\n"), &out, o).Wait(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > columns && !strings.HasPrefix(line, url) {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	for _, whole := range []string{"s = send,", "x1-x6 = clear,", "c = cancel ›", "s = I open it myself,", "n or Enter = no,", "https://tickets.example.com"} {
		if !strings.Contains(text, whole) {
			t.Errorf("%q is not in one piece", whole)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// What does not fit is said in words for whoever typed it, as soon as it was typed.
func TestProblemsOfOneField(t *testing.T) {
	for want, tt := range map[string]struct {
		typed string
		field form.Field
	}{
		"! that is none of the options: type 1 to 3, or a label": {"5\n1\ns\n", class},
		"! That must have at most 2 items\n":                     {"1,2,3\n1\ns\n", extras},
		"! mail must be an e-mail address like":                  {"x\n\ns\n", form.Field{Name: "mail", Format: "email"}},
		"! zip must match the pattern ^[0-9]{4}$\n":              {"123\n\ns\n", form.Field{Name: "zip", Pattern: "^[0-9]{4}$"}},
		"! Name must have at most 10 characters\n":               {"somebody else\nBob\ns\n", name},
		"! w must be at most 2.5\n":                              {"3\n\ns\n", form.Field{Name: "w", Kind: form.Number, Maximum: "2.5"}},
	} {
		if _, out, err := ask(t, tt.typed, tt.field); err != nil || !strings.Contains(out, want) {
			t.Errorf("no %q (%v) in\n%s", want, err, out)
		}
	}
}
