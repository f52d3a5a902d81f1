package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/mcp"
)

// Options adjust an interactor. Nil and the zero value mean the defaults.
type Options struct {
	// Visit is called with a URL whose answer is accept, as reviewed by package consent. It may open or fetch it; an error makes the
	// question one that nobody could be asked. Default: nothing is opened, the answer alone says that the page will be visited.
	Visit func(ctx context.Context, q *mcp.OpenQuestion, url string) error
	// Roots are the directories to tell servers about; nil declares no roots.
	Roots []mcp.Root
}

// Interactor returns an interactor that answers forms and URLs from the script. Interactors of one script share its answers.
//
// A URL that package consent refuses is never accepted, whatever the script says: the question is then cancelled.
func (s *Script) Interactor(o *Options) *mcp.Interactor {
	if o == nil {
		o = &Options{}
	}
	in := &mcp.Interactor{Form: s.form}
	visit := o.Visit
	in.Open = func(ctx context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		return s.open(ctx, q, visit)
	}
	if o.Roots != nil {
		roots := slices.Clone(o.Roots)
		in.Roots = func(context.Context) ([]mcp.Root, error) { return slices.Clone(roots), nil }
	}
	return in
}

func (s *Script) form(_ context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
	if q.Problem != nil {
		return nil, s.fail("the answer to %s was not accepted: %s", about(q.Asked, q.Message), consent.Line(q.Problem.Error(), 500))
	}
	a := s.take(&question{Asked: q.Asked, kind: KindForm, message: q.Message})
	if a == nil {
		return nil, s.fail("no answer for the form %s; one would be %s", about(q.Asked, q.Message), example(q))
	}
	if a.Action != mcp.ActionAccept {
		return &mcp.ElicitResult{Action: a.Action}, nil
	}
	content, err := fill(q.Form, a.Values)
	if err != nil {
		return nil, s.fail("the answer to %s does not fit: %s", about(q.Asked, q.Message), consent.Line(err.Error(), 500))
	}
	return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: content}, nil
}

func (s *Script) open(ctx context.Context, q *mcp.OpenQuestion, visit func(context.Context, *mcp.OpenQuestion, string) error) (*mcp.ElicitResult, error) {
	review := consent.Review(q.URL, &consent.Options{Server: q.Origin})
	a := s.take(&question{Asked: q.Asked, kind: KindURL, message: q.Message, host: review.Host})
	if a == nil {
		return nil, s.fail(`no answer for the URL %s of %s; one would be {"kind":"url","host":%q,"action":"accept"}`,
			review.Display, about(q.Asked, q.Message), review.Host)
	}
	if a.Action != mcp.ActionAccept {
		return &mcp.ElicitResult{Action: a.Action}, nil
	}
	if review.Refused {
		_ = s.fail("the URL %s must not be opened: %s", review.Display, review.Findings[0].Message) // for the record; the answer is cancel
		return &mcp.ElicitResult{Action: mcp.ActionCancel}, nil
	}
	if visit != nil {
		if err := visit(ctx, q, review.URL); err != nil {
			return nil, s.fail("visiting %s: %w", review.Display, err)
		}
	}
	return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
}

// fill makes the content of a form's answer of the values of a script.
func fill(f *form.Form, values map[string]json.RawMessage) (json.RawMessage, error) {
	content := make(map[string]jsontext.Value, len(values))
	for name, value := range values {
		field := f.Field(name)
		if field == nil {
			return nil, fmt.Errorf("the form has no field %q; it has %s", name, names(f))
		}
		if text, ok := textOf(value); ok && field.Kind != form.String {
			parsed, err := field.ParseText(text)
			if err != nil {
				return nil, err
			}
			if parsed == nil {
				continue
			}
			value = parsed
		}
		content[name] = jsontext.Value(value)
	}
	raw, err := jsonv2.Marshal(content, jsonv2.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return f.Normalize(json.RawMessage(raw))
}

func textOf(raw json.RawMessage) (s string, ok bool) {
	return s, len(raw) > 0 && raw[0] == '"' && jsonv2.Unmarshal(raw, &s) == nil
}

func names(f *form.Form) string {
	if len(f.Fields) == 0 {
		return "none"
	}
	var out []string
	for i := range f.Fields {
		out = append(out, f.Fields[i].Name)
	}
	return strings.Join(out, ", ")
}

// about names a question for whoever wrote the script.
func about(a mcp.Asked, message string) string {
	text := fmt.Sprintf("%q", consent.Line(message, 0))
	if a.Name != "" {
		text += " of " + consent.Line(a.Method+" "+a.Name, 0)
	}
	if a.Key != "" {
		text += " (key " + consent.Line(a.Key, 0) + ")"
	}
	return text
}

// example is an answer that would fit, ready to be copied into the script.
func example(q *mcp.FormQuestion) string {
	a := Answer{Key: q.Key}
	switch q.Method {
	case mcp.MethodToolsCall:
		a.Tool = q.Name
	case mcp.MethodPromptsGet:
		a.Prompt = q.Name
	case mcp.MethodResourcesRead:
		a.Resource = q.Name
	}
	if len(q.Form.Fields) == 0 {
		a.Action = mcp.ActionAccept
	} else {
		a.Values = map[string]json.RawMessage{}
	}
	for i := range q.Form.Fields {
		a.Values[q.Form.Fields[i].Name] = sample(&q.Form.Fields[i])
	}
	raw, err := jsonv2.Marshal(&a, jsonv2.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return consent.Line(string(raw), 2000)
}

func sample(f *form.Field) json.RawMessage {
	switch {
	case f.Default != nil:
		return f.Default
	case f.Kind == form.Boolean:
		return json.RawMessage("true")
	case f.Kind == form.Integer || f.Kind == form.Number:
		return json.RawMessage("1")
	case f.Kind == form.Choice:
		raw, err := jsonv2.Marshal(f.Options[0].Value)
		if err == nil {
			return json.RawMessage(raw)
		}
	case f.Kind == form.MultiChoice:
		return json.RawMessage("[]")
	}
	switch f.Format {
	case "email":
		return json.RawMessage(`"somebody@example.com"`)
	case "uri":
		return json.RawMessage(`"https://example.com/"`)
	case "date":
		return json.RawMessage(`"2026-01-31"`)
	case "date-time":
		return json.RawMessage(`"2026-01-31T18:30:00Z"`)
	}
	return json.RawMessage(`"…"`)
}
