package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
)

// The kinds of questions an Answer can be for.
const (
	KindForm = "form"
	KindURL  = "url"
)

// An Answer is one answer, and which question it is for. What is empty matches every question; at least one answer that names nothing
// at all is legal too, and fits whatever is asked.
type Answer struct {
	// Tool, Prompt and Resource name the call that caused the question; at most one of them is set.
	Tool     string `json:"tool,omitempty"`
	Prompt   string `json:"prompt,omitempty"`
	Resource string `json:"resource,omitempty"`
	// Key is the server's name for the question. Revisions before 2026-07-28 carry no keys: there it is not compared.
	Key string `json:"key,omitempty"`
	// Message is a part of the question's text, in any case.
	Message string `json:"message,omitempty"`
	// Kind is form or url.
	Kind string `json:"kind,omitempty"`
	// Host is the host of a URL, exactly: of "https://pay.example.com:8443/x" it is "pay.example.com".
	Host string `json:"host,omitempty"`

	// Action is accept, decline or cancel. Empty means accept for an answer with Values, and is an error for one without.
	Action mcp.Action `json:"action,omitempty"`
	// Values are what is filled in, by the name of the field. A text is also understood where the field wants something else, as if a
	// person had typed it: "yes" for a boolean, "42" for a number, a label for an option.
	Values map[string]json.RawMessage `json:"values,omitempty"`
	// Repeat lets the answer be used more than once, and not at all.
	Repeat bool `json:"repeat,omitzero"`
}

// A Script is a list of answers, and a record of what was asked. It is safe for concurrent use.
type Script struct {
	mu      sync.Mutex
	answers []Answer
	used    []int
	failed  []error
}

// New makes a script of answers. An answer that contradicts itself is an error.
func New(answers ...Answer) (*Script, error) {
	for i := range answers {
		if err := answers[i].check(); err != nil {
			return nil, fmt.Errorf("scripted: answer %d: %w", i+1, err)
		}
	}
	return &Script{answers: append([]Answer{}, answers...), used: make([]int, len(answers))}, nil
}

// Parse reads a script as described at the top of the package. Members that mean nothing are errors, so that a typing mistake is found.
func Parse(data []byte) (*Script, error) {
	var file struct {
		Answers []Answer `json:"answers"`
	}
	if err := jsonv2.Unmarshal(data, &file, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf(`scripted: want {"answers": [{"tool": …, "values": {…}}, …]}: %w`, err)
	}
	return New(file.Answers...)
}

// Load reads a script from a file.
func Load(name string) (*Script, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("scripted: %w", err)
	}
	s, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func (a *Answer) check() error { //nolint:gocyclo // a list of what can be wrong
	callers := 0
	for _, name := range []string{a.Tool, a.Prompt, a.Resource} {
		if name != "" {
			callers++
		}
	}
	switch {
	case callers > 1:
		return errors.New("tool, prompt and resource exclude each other")
	case a.Kind != "" && a.Kind != KindForm && a.Kind != KindURL:
		return fmt.Errorf("kind %q; want form or url", a.Kind)
	case a.Kind == KindForm && a.Host != "":
		return errors.New("a form has no host")
	case (a.Kind == KindURL || a.Host != "") && a.Values != nil:
		return errors.New("a url has no values: what is done at the page is not the client's")
	}
	switch a.Action {
	case mcp.ActionAccept:
	case mcp.ActionDecline, mcp.ActionCancel:
		if a.Values != nil {
			return fmt.Errorf("values and action %q exclude each other", a.Action)
		}
	case "":
		if a.Values == nil {
			return errors.New("it says neither action nor values")
		}
		a.Action = mcp.ActionAccept
	default:
		return fmt.Errorf("action %q; want accept, decline or cancel", a.Action)
	}
	return nil
}

// A question is what answers are matched with.
type question struct {
	mcp.Asked
	kind, message, host string
}

func (a *Answer) fits(q *question) bool { //nolint:gocyclo // one condition for each member
	caller := func(want, method string) bool { return want == "" || q.Method == method && q.Name == want }
	return caller(a.Tool, mcp.MethodToolsCall) && caller(a.Prompt, mcp.MethodPromptsGet) && caller(a.Resource, mcp.MethodResourcesRead) &&
		(a.Key == "" || q.Key == "" || a.Key == q.Key) &&
		(a.Message == "" || strings.Contains(strings.ToLower(q.message), strings.ToLower(a.Message))) &&
		(a.Kind == "" || a.Kind == q.kind) &&
		(a.Host == "" || q.kind == KindURL && strings.EqualFold(a.Host, q.host)) &&
		(a.Values == nil || q.kind == KindForm)
}

// take returns the answer for a question and marks it as used.
func (s *Script) take(q *question) *Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.answers {
		if a := &s.answers[i]; (a.Repeat || s.used[i] == 0) && a.fits(q) {
			s.used[i]++
			return a
		}
	}
	return nil
}

// fail records why a question could not be answered and returns it as an error of the interactor.
func (s *Script) fail(format string, args ...any) error {
	err := fmt.Errorf("scripted: "+format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, err)
	return fmt.Errorf("%w: %w", mcp.ErrUnavailable, err)
}

// Missing returns why questions could not be answered, in the order in which they were asked; nil when all of them were. Its texts are
// safe to display.
func (s *Script) Missing() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.failed...)
}

// Unused returns the answers that no question has used, but for those with Repeat. Each is named by its place in the list, from 1.
func (s *Script) Unused() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []error
	for i := range s.answers {
		if s.used[i] == 0 && !s.answers[i].Repeat {
			out = append(out, fmt.Errorf("scripted: answer %d (%s) was not used: no such question was asked", i+1, s.answers[i].describe()))
		}
	}
	return out
}

// Err returns everything in Missing and Unused as one error, nil when there is nothing. Call it after the last call.
func (s *Script) Err() error { return errors.Join(append(s.Missing(), s.Unused()...)...) }

func (a *Answer) describe() string {
	var parts []string
	for _, p := range [][2]string{{"tool", a.Tool}, {"prompt", a.Prompt}, {"resource", a.Resource}, {"key", a.Key},
		{"message", a.Message}, {"kind", a.Kind}, {"host", a.Host}} {
		if p[1] != "" {
			parts = append(parts, p[0]+" "+p[1])
		}
	}
	return consent.Line(strings.Join(append(parts, string(a.Action)), ", "), 0)
}

// Answers returns a copy of the answers, in order.
func (s *Script) Answers() []Answer { return append([]Answer{}, s.answers...) }
