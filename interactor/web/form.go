package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/mcp"
)

// A formPage is a form to be filled in.
type formPage struct {
	q *mcp.FormQuestion
	asker
}

type formData struct {
	asker
	Fields  []fieldData
	Warning string
	Error   string
}

// fieldData is one field as HTML shows it.
type fieldData struct {
	ID, Label, Help, Hint, Error string
	Required                     bool
	Control                      string // text, radio, checkbox, select
	Type, Mode                   string // of a text
	Value                        string
	Options                      []optionData
}

// DescribedBy names the elements that explain the field.
func (f *fieldData) DescribedBy() string {
	var ids []string
	if f.Help != "" {
		ids = append(ids, f.ID+"-help")
	}
	if f.Hint != "" {
		ids = append(ids, f.ID+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.ID+"-error")
	}
	return strings.Join(ids, " ")
}

type optionData struct {
	Value, Label string
	Chosen       bool
}

// radioOptions is up to how many options are all visible at once.
const radioOptions = 7

func (p *formPage) show(w http.ResponseWriter) {
	render(w, http.StatusOK, "form", p.data(p.start(), nil))
}

// start is what the form holds before anything was filled in: the defaults.
func (p *formPage) start() url.Values {
	v := url.Values{}
	for i := range p.q.Form.Fields {
		fd := &p.q.Form.Fields[i]
		var many []string
		var one string
		switch {
		case fd.Default == nil:
		case fd.Kind == form.MultiChoice && jsonv2.Unmarshal(fd.Default, &many) == nil:
			for _, o := range many {
				v.Add(id(i), place(fd, o))
			}
		case fd.Kind == form.Choice && jsonv2.Unmarshal(fd.Default, &one) == nil:
			v.Set(id(i), place(fd, one))
		case fd.Kind == form.String && jsonv2.Unmarshal(fd.Default, &one) == nil:
			v.Set(id(i), consent.Line(one, 4096))
		default:
			v.Set(id(i), string(fd.Default))
		}
	}
	return v
}

func id(i int) string { return "f" + strconv.Itoa(i) }

// place is the number of an option, which stands for it in the page.
func place(fd *form.Field, value string) string {
	for i := range fd.Options {
		if fd.Options[i].Value == value {
			return strconv.Itoa(i)
		}
	}
	return ""
}

func (p *formPage) data(values url.Values, problems map[int]string) *formData {
	d := &formData{asker: p.asker}
	if field, reason, bad := p.q.Form.LooksSecret(); bad {
		d.Warning = fmt.Sprintf("Careful: %q looks like a secret (%s). What you type here passes through this program, and a model may see it.",
			consent.Line(field, 80), consent.Line(reason, 0))
	}
	switch {
	case len(problems) > 0:
		d.Error = "Some answers do not fit yet. They are marked below."
	case p.q.Problem != nil:
		d.Error = "The last answer was not accepted: " + consent.Line(p.q.Problem.Error(), 500)
	}
	for i := range p.q.Form.Fields {
		f := fieldOf(&p.q.Form.Fields[i], id(i), values[id(i)])
		f.Error = problems[i]
		d.Fields = append(d.Fields, f)
	}
	return d
}

func fieldOf(fd *form.Field, id string, values []string) fieldData {
	f := fieldData{ID: id, Label: label(fd), Help: consent.Text(fd.Description, 1000), Hint: hint(fd), Required: fd.Required, Control: "text", Type: "text"}
	if f.Help == f.Label {
		f.Help = ""
	}
	if len(values) > 0 {
		f.Value = values[0]
	}
	switch fd.Kind {
	case form.Boolean, form.Choice, form.MultiChoice:
		f.choices(fd, values)
	case form.Integer:
		f.Mode = "numeric"
	case form.Number:
		f.Mode = "decimal"
	default:
		f.Type, f.Mode = stringType(fd.Format)
	}
	return f
}

// choices makes a field one of options, of which values are chosen.
func (f *fieldData) choices(fd *form.Field, values []string) {
	option := func(value, label string) {
		f.Options = append(f.Options, optionData{Value: value, Label: label, Chosen: slices.Contains(values, value) || value == "" && len(values) == 0})
	}
	f.Control = "radio"
	switch {
	case fd.Kind == form.Boolean:
		option("true", "Yes")
		option("false", "No")
	case fd.Kind == form.MultiChoice:
		f.Control = "checkbox"
	case len(fd.Options) > radioOptions:
		f.Control = "select"
		if fd.Required {
			option("", "Please choose")
		}
	}
	for i := range fd.Options {
		option(strconv.Itoa(i), optionLabel(&fd.Options[i]))
	}
	if f.Control != "checkbox" && !fd.Required && fd.Default == nil { // without an answer the default counts
		option("", "No answer")
	}
}

// stringType chooses the control for a format: what helps to type it on every device, without refusing anything.
func stringType(format string) (kind, mode string) {
	switch format {
	case "email":
		return "text", "email"
	case "uri":
		return "text", "url"
	case "date":
		return "date", ""
	}
	return "text", ""
}

func label(fd *form.Field) string {
	if fd.Title != "" {
		return consent.Line(fd.Title, 0)
	}
	return consent.Line(fd.Name, 0)
}

func optionLabel(o *form.Option) string {
	if o.Title != "" {
		return consent.Line(o.Title, 0)
	}
	return consent.Line(o.Value, 0)
}

func (p *formPage) take(w http.ResponseWriter, r *http.Request) *mcp.ElicitResult {
	choice := r.PostForm.Get("choice")
	if choice != "accept" {
		if res := ended(w, choice); res != nil {
			return res
		}
		d := p.data(r.PostForm, nil)
		d.Error = "Please choose one of the buttons."
		render(w, http.StatusBadRequest, "form", d)
		return nil
	}
	content, problems := read(p.q.Form, r.PostForm)
	if len(problems) > 0 {
		render(w, http.StatusUnprocessableEntity, "form", p.data(r.PostForm, problems))
		return nil
	}
	note(w, http.StatusOK, "Thank you", "Your answer is on its way to the server. You can close this page.")
	return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: content}
}

// read makes the content of an answer of what was posted, or says by field what does not fit.
func read(f *form.Form, posted url.Values) (json.RawMessage, map[int]string) {
	answer := map[string]jsontext.Value{}
	problems := map[int]string{}
	for i := range f.Fields {
		fd := &f.Fields[i]
		value, err := readField(fd, posted[id(i)])
		switch {
		case err != nil:
			problems[i] = consent.Line(err.Error(), 300)
		case value != nil:
			answer[fd.Name] = jsontext.Value(value)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	raw, err := jsonv2.Marshal(answer, jsonv2.Deterministic(true))
	if err != nil {
		return nil, map[int]string{0: err.Error()}
	}
	content, err := f.Normalize(json.RawMessage(raw))
	if err != nil {
		return nil, blame(f, err)
	}
	return content, nil
}

func readField(fd *form.Field, values []string) (json.RawMessage, error) {
	blank := len(values) == 0 || strings.TrimSpace(values[0]) == ""
	if blank && fd.Required && fd.Kind != form.MultiChoice { // the page began with the default: somebody cleared it
		return nil, fmt.Errorf("%s needs an answer", label(fd))
	}
	if blank && (fd.Kind != form.MultiChoice || len(values) == 0 && fd.Default == nil) {
		return fd.ParseText("")
	}
	switch fd.Kind {
	case form.Choice:
		i, err := strconv.Atoi(values[0])
		if err != nil || i < 0 || i >= len(fd.Options) {
			return nil, errors.New("please choose one of the options")
		}
		raw, err := jsonv2.Marshal(fd.Options[i].Value)
		return json.RawMessage(raw), err
	case form.MultiChoice:
		return readSome(fd, values)
	}
	return fd.ParseText(strings.ToValidUTF8(values[0], "\uFFFD"))
}

// readSome reads any number of options. None is an answer, too, where a default would be taken otherwise.
func readSome(fd *form.Field, values []string) (json.RawMessage, error) {
	chosen := []string{}
	for _, v := range values {
		i, err := strconv.Atoi(v)
		if err != nil || i < 0 || i >= len(fd.Options) {
			return nil, errors.New("please choose some of the options")
		}
		chosen = append(chosen, fd.Options[i].Value)
	}
	raw, err := jsonv2.Marshal(chosen)
	return json.RawMessage(raw), err
}

// blame tells which fields an answer as a whole was refused for.
func blame(f *form.Form, err error) map[int]string {
	problems := map[int]string{}
	var ve *form.ValidationError
	if errors.As(err, &ve) {
		for _, p := range ve.Problems {
			name := strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.TrimPrefix(p.Path, "/"))
			for i := range f.Fields {
				if n := f.Fields[i].Name; n == name || strings.HasPrefix(name, n+"/") {
					problems[i] = consent.Line(p.Message, 300)
				}
			}
		}
	}
	if len(problems) == 0 {
		problems[0] = consent.Line(err.Error(), 300)
	}
	return problems
}

// hint says in words what a field takes.
func hint(fd *form.Field) string {
	var parts []string
	switch fd.Kind {
	case form.Integer:
		parts = append(parts, "A whole number"+between(string(fd.Minimum), string(fd.Maximum), ""))
	case form.Number:
		parts = append(parts, "A number"+between(string(fd.Minimum), string(fd.Maximum), ""))
	case form.MultiChoice:
		parts = append(parts, "Any of these"+between(count(fd.MinItems), count(fd.MaxItems), " of them"))
	case form.String:
		if s := map[string]string{"email": "An e-mail address", "uri": "A web address", "date-time": "A date and time, like 2026-01-31T18:30:00Z"}[fd.Format]; s != "" {
			parts = append(parts, s)
		}
		if s := between(count(fd.MinLength), count(fd.MaxLength), " characters"); s != "" {
			parts = append(parts, strings.ToUpper(s[2:3])+s[3:])
		}
		if fd.Pattern != "" {
			parts = append(parts, "Of the form "+consent.Line(fd.Pattern, 100))
		}
	}
	if s := emptied(fd); s != "" {
		parts = append(parts, "If left empty: "+s)
	}
	return strings.Join(parts, ". ")
}

// emptied is what counts when a field that begins with a default is cleared.
func emptied(fd *form.Field) string {
	if fd.Required || fd.Default == nil {
		return ""
	}
	switch fd.Kind {
	case form.String:
		var s string
		if jsonv2.Unmarshal(fd.Default, &s) == nil {
			return consent.Line(s, 100)
		}
	case form.Integer, form.Number:
		return consent.Line(string(fd.Default), 100)
	}
	return ""
}

func count(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func between(low, high, unit string) string {
	switch {
	case (low == "" || low == "0" && unit != "") && high == "":
		return ""
	case high == "":
		return ", at least " + low + unit
	case low == "" || low == "0" && unit != "":
		return ", at most " + high + unit
	}
	return ", " + low + " to " + high + unit
}
