package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/mcp"
)

// A sheet is a form while it is filled in.
type sheet struct {
	*person
	form   *form.Form
	values []json.RawMessage // by field; nil is no answer
}

func (p *person) form(ctx context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
	if err := p.begin(ctx); err != nil {
		return p.result(nil, err)
	}
	s := &sheet{person: p, form: q.Form, values: make([]json.RawMessage, len(q.Form.Fields))}
	wants := "asks you something"
	if n := len(q.Form.Fields); n > 1 {
		wants = fmt.Sprintf("asks you %d things", n)
	}
	text := p.header(q.Asked, wants, q.Message)
	if field, reason, bad := q.Form.LooksSecret(); bad {
		text += p.indented("! ", fmt.Sprintf("Careful: %q looks like a secret (%s). What you type here passes through this program, and a model may see it.",
			consent.Line(field, 80), consent.Line(reason, 0)))
	}
	if q.Problem != nil {
		text += p.indented("! ", "The last answer was not accepted: "+q.Problem.Error())
	}
	if err := p.write(text + p.end()); err != nil {
		return nil, err
	}
	return p.result(s.run(ctx))
}

func (s *sheet) run(ctx context.Context) (*mcp.ElicitResult, error) {
	if len(s.form.Fields) == 0 {
		return s.confirm(ctx)
	}
	hint := "Enter alone takes the default or leaves an optional answer out. Esc and Enter: menu (change, decline, cancel). Ctrl-D: cancel."
	if err := s.write(s.quiet(s.fit(hint, 1)) + "\n"); err != nil {
		return nil, err
	}
	for i := range s.form.Fields {
		err := s.fill(ctx, i)
		if errors.Is(err, errMenu) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return s.review(ctx)
}

// confirm asks for a yes or no: a form without fields.
func (s *sheet) confirm(ctx context.Context) (*mcp.ElicitResult, error) {
	for {
		line, err := s.ask(ctx, keys("y", "yes", "n", "no", "c", "cancel"))
		if err != nil && !errors.Is(err, errMenu) {
			return nil, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage("{}")}, nil
		case "n", "no", "d", "decline":
			return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
		case "c", "cancel":
			return &mcp.ElicitResult{Action: mcp.ActionCancel}, nil
		}
	}
}

// fill asks for one field until there is an answer that fits.
func (s *sheet) fill(ctx context.Context, i int) error {
	fd := &s.form.Fields[i]
	if err := s.write(s.field(i)); err != nil {
		return err
	}
	for {
		line, err := s.ask(ctx, fmt.Sprintf("%d of %d", i+1, len(s.form.Fields)))
		if err != nil {
			return err
		}
		if strings.TrimSpace(line) == "" && s.values[i] != nil {
			return nil // as it was
		}
		if strings.TrimSpace(line) == "" && fd.Default != nil {
			s.values[i] = fd.Default
			return nil
		}
		value, matches, err := json.RawMessage(nil), []int(nil), error(nil)
		if strings.TrimSpace(line) == "" {
			value, err = fd.ParseText("")
		} else {
			value, matches, err = parse(fd, line)
		}
		if err == nil {
			s.values[i] = value
			return nil
		}
		problem := s.indented("! ", sentence(err))
		if len(matches) > 0 {
			problem += s.bar("Did you mean:") + s.listOptions(fd, matches)
		}
		if err := s.write(problem); err != nil {
			return err
		}
	}
}

// sentence is the first problem of an error without the name of its field and without what was typed, which the person has before their
// eyes.
func sentence(err error) string {
	var ve *form.ValidationError
	if errors.As(err, &ve) && len(ve.Problems) > 0 {
		message, _, _ := strings.Cut(ve.Problems[0].Message, "; found ")
		return "That " + message
	}
	return err.Error()
}

// field describes one field.
func (s *sheet) field(i int) string {
	fd := &s.form.Fields[i]
	name := label(fd)
	if fd.Required {
		name += " (required)"
	}
	b := s.quiet(strings.TrimSpace(bar)) + "\n" + s.indented(fmt.Sprintf("%d  ", i+1), name)
	if help := consent.Text(fd.Description, 1000); help != "" && help != label(fd) {
		b += s.indented("   ", help)
	}
	b += s.indented("   ", "("+hint(fd)+")")
	if len(fd.Options) > 0 {
		b += s.listOptions(fd, nil)
	}
	switch {
	case s.values[i] != nil:
		b += s.indented("   Enter keeps: ", show(fd, s.values[i]))
	case fd.Default != nil:
		b += s.indented("   Enter takes: ", show(fd, fd.Default))
	}
	return b
}

// review shows what was answered and lets it be sent, changed, declined or cancelled.
func (s *sheet) review(ctx context.Context) (*mcp.ElicitResult, error) {
	if err := s.write(s.summary()); err != nil {
		return nil, err
	}
	for {
		line, err := s.ask(ctx, s.commands())
		if err != nil && !errors.Is(err, errMenu) {
			return nil, err
		}
		switch word := strings.ToLower(strings.TrimSpace(line)); word {
		case "":
			continue
		case "d", "decline":
			return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
		case "c", "cancel":
			return &mcp.ElicitResult{Action: mcp.ActionCancel}, nil
		case "s", "send":
			content, err := s.content()
			if err == nil {
				return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: content}, nil
			}
			if err := s.write(s.indented("! ", "This cannot be sent yet: "+err.Error())); err != nil {
				return nil, err
			}
		default:
			if err := s.edit(ctx, word); err != nil {
				return nil, err
			}
		}
	}
}

func (s *sheet) commands() string {
	if n := len(s.form.Fields); n > 1 {
		return keys("s", "send", fmt.Sprintf("1-%d", n), "change", fmt.Sprintf("x1-x%d", n), "clear", "d", "decline", "c", "cancel")
	}
	return keys("s", "send", "1", "change", "x1", "clear", "d", "decline", "c", "cancel")
}

// edit changes or clears one answer.
func (s *sheet) edit(ctx context.Context, word string) error {
	number, clear := strings.CutPrefix(word, "x")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(s.form.Fields) {
		return s.write(s.bar("That is none of the commands."))
	}
	if clear {
		s.values[n-1] = nil
	} else if err := s.fill(ctx, n-1); err != nil && !errors.Is(err, errMenu) {
		return err
	}
	return s.write(s.summary())
}

func (s *sheet) summary() string {
	b := s.quiet(strings.TrimSpace(bar)) + "\n" + s.bar("Your answers:")
	for i := range s.form.Fields {
		fd := &s.form.Fields[i]
		value := "(left out)"
		switch {
		case s.values[i] != nil:
			value = show(fd, s.values[i])
		case fd.Required:
			value = "(missing)"
		case fd.Default != nil:
			value = show(fd, fd.Default) + " (default)"
		}
		b += s.indented(fmt.Sprintf("%4d  ", i+1), label(fd)+": "+value)
	}
	return b
}

// content is the answer to the whole form, checked.
func (s *sheet) content() (json.RawMessage, error) {
	answer := make(map[string]jsontext.Value, len(s.values))
	for i, v := range s.values {
		if v != nil {
			answer[s.form.Fields[i].Name] = jsontext.Value(v)
		}
	}
	raw, err := jsonv2.Marshal(answer, jsonv2.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return s.form.Normalize(json.RawMessage(raw))
}
