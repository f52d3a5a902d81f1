package scripted_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/interactor/scripted"
	"github.com/seed38e7925c/parley/mcp"
)

func parse(t *testing.T, text string) *scripted.Script {
	t.Helper()
	s, err := scripted.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func seat(t *testing.T) *form.Form {
	t.Helper()
	f, err := form.New(
		form.Field{Name: "class", Kind: form.Choice, Required: true, Options: []form.Option{{Value: "first", Title: "First class"}, {Value: "second"}}},
		form.Field{Name: "quiet", Kind: form.Boolean},
		form.Field{Name: "age", Kind: form.Integer},
		form.Field{Name: "note"},
		form.Field{Name: "extras", Kind: form.MultiChoice, Options: []form.Option{{Value: "bike"}, {Value: "meal"}}},
		form.Field{Name: "weight", Kind: form.Number},
	)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func asked(key string) mcp.Asked {
	return mcp.Asked{Method: mcp.MethodToolsCall, Name: "book", Key: key, Round: 1, Origin: "https://travel.example/mcp"}
}

func TestAnswersByWhatTheyName(t *testing.T) {
	s := parse(t, `{"answers":[
		{"tool":"other","values":{}},
		{"prompt":"book","values":{}},
		{"resource":"book","values":{}},
		{"tool":"book","key":"wrong","values":{"class":"first"}},
		{"kind":"url","action":"accept"},
		{"host":"example.com","action":"accept"},
		{"tool":"book","key":"seat","message":"LIKE to sit","kind":"form","values":{"class":"First Class","quiet":"yes","age":"42","note":"12"}},
		{"tool":"book","key":"seat","action":"decline"}
	]}`)
	in := s.Interactor(nil)
	q := &mcp.FormQuestion{Asked: asked("seat"), Message: "Where would you like to sit?", Form: seat(t)}
	res, err := in.Form(t.Context(), q)
	if err != nil || res.Action != mcp.ActionAccept || string(res.Content) != `{"age":42,"class":"first","note":"12","quiet":true}` {
		t.Fatalf("%+v %s %v", res, res.Content, err)
	}
	if res, err = in.Form(t.Context(), q); err != nil || res.Action != mcp.ActionDecline || res.Content != nil {
		t.Errorf("the second time: %+v %v", res, err)
	}
	if got := len(s.Unused()); got != 6 || len(s.Missing()) != 0 {
		t.Errorf("%d unused; %v", got, s.Err())
	}
	if !strings.Contains(s.Err().Error(), "answer 1 (tool other, accept) was not used") {
		t.Error(s.Err())
	}
}

// Revisions before 2026-07-28 have no keys: answers that name one are used in order.
func TestKeysWhereThereAreNone(t *testing.T) {
	s := parse(t, `{"answers":[{"key":"a","values":{"class":"first"}},{"key":"b","values":{"class":"second"}}]}`)
	in := s.Interactor(nil)
	for _, want := range []string{`{"class":"first"}`, `{"class":"second"}`} {
		res, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: asked(""), Form: seat(t)})
		if err != nil || string(res.Content) != want {
			t.Errorf("%s %v", res.Content, err)
		}
	}
	if err := s.Err(); err != nil {
		t.Error(err)
	}
}

func TestMissingIsNeverDeclined(t *testing.T) {
	s := parse(t, `{"answers":[]}`)
	in := s.Interactor(nil)
	_, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: asked("seat"), Message: "Where\x1b[2J?", Form: seat(t)})
	if !errors.Is(err, mcp.ErrUnavailable) || errors.Is(err, mcp.ErrDeclined) || errors.Is(err, mcp.ErrCanceled) {
		t.Errorf("%v", err)
	}
	want := `{"tool":"book","key":"seat","values":{"age":1,"class":"first","extras":[],"note":"…","quiet":true,"weight":1}}`
	if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%q does not help with %s", err, want)
	}
	if _, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: mcp.Asked{Method: mcp.MethodPromptsGet, Name: "p"}, Form: new(form.Form)}); !strings.Contains(err.Error(), `{"prompt":"p","action":"accept"}`) {
		t.Error(err)
	}
	if _, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: mcp.Asked{Method: mcp.MethodResourcesRead, Name: "a:b"}, Form: new(form.Form)}); !strings.Contains(err.Error(), `{"resource":"a:b","action":"accept"}`) {
		t.Error(err)
	}
	if _, err := in.Open(t.Context(), &mcp.OpenQuestion{Asked: asked("pay"), URL: "https://pay.example.com/x"}); !errors.Is(err, mcp.ErrUnavailable) || !strings.Contains(err.Error(), `"host":"pay.example.com"`) {
		t.Error(err)
	}
	if len(s.Missing()) != 4 {
		t.Error(s.Missing())
	}
}

func TestValuesThatDoNotFit(t *testing.T) {
	for values, want := range map[string]string{
		`{"class":"third"}`:                `class must be one of First class, second`,
		`{"klass":"first"}`:                `no field \"klass\"; it has class, quiet`,
		`{}`:                               `class`,
		`{"class":"first","age":1.5}`:      `age`,
		`{"class":"first","quiet":"hm"}`:   `quiet must be yes or no`,
		`{"class":"first","extras":"car"}`: `extras must be one of`,
	} {
		s := parse(t, `{"answers":[{"values":`+values+`}]}`)
		_, err := s.Interactor(nil).Form(t.Context(), &mcp.FormQuestion{Asked: asked("k"), Form: seat(t)})
		if !errors.Is(err, mcp.ErrUnavailable) || !strings.Contains(err.Error(), strings.ReplaceAll(want, `\"`, `"`)) {
			t.Errorf("%s: %v; want %s", values, err, want)
		}
	}
	s := parse(t, `{"answers":[{"values":{"class":"first","age":""}}]}`)
	if res, err := s.Interactor(nil).Form(t.Context(), &mcp.FormQuestion{Form: seat(t)}); err != nil || string(res.Content) != `{"class":"first"}` {
		t.Errorf("an empty text is no answer: %v %v", res, err)
	}
	if _, err := s.Interactor(nil).Form(t.Context(), &mcp.FormQuestion{Form: seat(t), Problem: errors.New("wrong")}); !strings.Contains(err.Error(), "was not accepted: wrong") {
		t.Error(err)
	}
}

func TestURLs(t *testing.T) {
	s := parse(t, `{"answers":[{"host":"pay.example.com","action":"accept","repeat":true},{"host":"no.example.com","action":"cancel"},
		{"message":"userinfo","action":"accept"}]}`)
	var visited []string
	fail := false
	in := s.Interactor(&scripted.Options{Roots: []mcp.Root{{URI: "file:///r"}}, Visit: func(_ context.Context, _ *mcp.OpenQuestion, url string) error {
		visited = append(visited, url)
		if fail {
			return errors.New("no browser")
		}
		return nil
	}})
	for range 2 {
		res, err := in.Open(t.Context(), &mcp.OpenQuestion{URL: "https://pay.example.com/a"})
		if err != nil || res.Action != mcp.ActionAccept {
			t.Fatal(res, err)
		}
	}
	if res, err := in.Open(t.Context(), &mcp.OpenQuestion{URL: "https://no.example.com/a"}); err != nil || res.Action != mcp.ActionCancel {
		t.Error(res, err)
	}
	// Threat 15: what consent refuses is not opened, whatever the script says.
	if res, err := in.Open(t.Context(), &mcp.OpenQuestion{Message: "userinfo", URL: "https://pay.example.com@evil.example/"}); err != nil || res.Action != mcp.ActionCancel {
		t.Error(res, err)
	}
	if len(visited) != 2 || visited[0] != "https://pay.example.com/a" || len(s.Missing()) != 1 {
		t.Error(visited, s.Missing())
	}
	fail = true
	if _, err := in.Open(t.Context(), &mcp.OpenQuestion{URL: "https://pay.example.com/a"}); !errors.Is(err, mcp.ErrUnavailable) {
		t.Error(err)
	}
	if roots, err := in.Roots(t.Context()); err != nil || len(roots) != 1 {
		t.Error(roots, err)
	}
}

func TestScriptsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"answers":[{"tool":"a","prompt":"b","action":"accept"}]}`: "exclude each other",
		`{"answers":[{"kind":"page","action":"accept"}]}`:           `kind "page"`,
		`{"answers":[{"kind":"form","host":"x","values":{}}]}`:      "no host",
		`{"answers":[{"kind":"url","values":{}}]}`:                  "no values",
		`{"answers":[{"action":"decline","values":{}}]}`:            "exclude each other",
		`{"answers":[{"tool":"a"}]}`:                                "neither action nor values",
		`{"answers":[{"action":"maybe"}]}`:                          `action "maybe"`,
		`{"answers":[{"Tool":"a","action":"accept"}]}`:              "Tool",
		`{"answer":[]}`: "answer",
		`[]`:            "want",
	} {
		if _, err := scripted.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

func TestLoad(t *testing.T) {
	name := filepath.Join(t.TempDir(), "answers.json")
	if _, err := scripted.Load(name); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	for text, ok := range map[string]bool{`{"answers":[{"action":"accept"}]}`: true, `{`: false} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := scripted.Load(name); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
