package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/connect/internal/pages"
	"github.com/seed38e7925c/parley/mcp"
)

// A SecretSpec describes something that a person types on a page of the desk, such as an API key. It never passes through the client or
// a model.
type SecretSpec struct {
	// Name tells it from what else the desk asks for: 1 to 64 letters, digits, dots, dashes and underscores. It must not change.
	Name string
	// Title is what it is, for people: "Maps API key".
	Title string
	// Reason is what it is needed for. It may be empty.
	Reason string
	// Hint helps to type the right thing: "40 characters, begins with mk_". It may be empty.
	Hint string
	// HelpURL is where a person finds it: https, or http on loopback. It may be empty.
	HelpURL string
	// MaxLength bounds it, in bytes. The default is 4096.
	MaxLength int
	// Validate tries it before it is saved, at the service that it is for perhaps. The person reads the text of an error made with
	// [Refuse]; any other error is logged, without the secret, and the person is asked to try again. It has 15 seconds. nil: whatever is
	// typed is saved.
	Validate func(ctx context.Context, v Value) error
}

const (
	defaultMaxSecret = 4096
	validateTimeout  = 15 * time.Second
)

// A SecretSource has people hand over one secret, and gives it to handlers. Its methods may be called concurrently.
type SecretSource struct {
	desk *Desk
	spec SecretSpec
	help *pages.Link
}

// Secret makes a secret known that tools may ask for. It is called when the program starts. A bad spec is a mistake of the program, and
// panics.
func (d *Desk) Secret(spec *SecretSpec) *SecretSource {
	s := &SecretSource{desk: d, spec: *spec}
	if strings.TrimSpace(spec.Title) == "" {
		panic(fmt.Sprintf("connect: SecretSpec.Title of %q is empty", spec.Name))
	}
	if s.spec.MaxLength <= 0 {
		s.spec.MaxLength = defaultMaxSecret
	}
	if spec.HelpURL != "" {
		u, err := url.Parse(spec.HelpURL)
		if err != nil || named("HelpURL", spec.HelpURL) != nil {
			panic(fmt.Sprintf("connect: SecretSpec.HelpURL of %q must begin with https://", spec.Name))
		}
		s.help = &pages.Link{URL: spec.HelpURL, Host: u.Host}
	}
	d.register(kindSecret, spec.Name, s)
	return s
}

// maxRenewals bounds how often one call asks for the same thing again that was removed in between.
const maxRenewals = 3

// Get returns the secret of the person behind the call. Where there is none, the person is asked, and what [mcp.Call.Ask] says about
// waiting and errors holds; besides, the error may be or wrap [ErrExpired], [ErrTooMany], or be a [*LinkError]. Return it as it is.
//
// A secret that is known costs a look into a cache, whose entries are a second old at most: one that was removed, on any replica, is
// gone after that.
func (s *SecretSource) Get(ctx context.Context, call *mcp.Call) (Value, error) {
	who, err := s.desk.caller(call)
	if err != nil {
		return Value{}, err
	}
	c, err := s.desk.loadCredential(ctx, who.owner, kindSecret, s.spec.Name, false)
	for nth := 0; err == nil && c == nil && nth < maxRenewals; nth++ {
		w := &want{kind: kindSecret, name: s.spec.Name, title: s.spec.Title, message: s.words(s.desk), nth: nth, direct: true}
		in, err := s.desk.obtain(ctx, call, w)
		if err != nil {
			return Value{}, err
		}
		if len(in.data.Payload) > 0 {
			s.desk.settleLater(in)
			return secretText(in.data.Payload, in.ID)
		}
		c, err = s.desk.loadCredential(ctx, who.owner, kindSecret, s.spec.Name, true)
		if err != nil {
			return Value{}, err
		}
	}
	switch {
	case err != nil:
		return Value{}, err
	case c == nil:
		return Value{}, told(ErrFailed, "%s: it was removed as soon as it was saved", s.spec.Title)
	}
	return secretValue(c)
}

// secretValue is the secret in a credential.
func secretValue(c *credential) (Value, error) { return secretText(c.Value, c.ID) }

// secretText reads a secret from what is kept in a row.
func secretText(raw json.RawMessage, id string) (Value, error) {
	var text string
	if err := jsonv2.Unmarshal(raw, &text); err != nil {
		return Value{}, fmt.Errorf("connect: the secret in row %s cannot be read", id)
	}
	return NewSecret(text), nil
}

// Forget removes the secret of the person behind the call, because the service that it is for no longer accepts it: the next Get asks for
// another. used is the one that was refused; one that has taken its place in the meantime stays.
func (s *SecretSource) Forget(ctx context.Context, call *mcp.Call, used Value) error {
	who, err := s.desk.caller(call)
	if err != nil {
		return err
	}
	c, err := s.desk.loadCredential(ctx, who.owner, kindSecret, s.spec.Name, true)
	if err != nil || c == nil {
		return err
	}
	err = s.desk.revokeIf(ctx, who.owner, c.ID, func(now *credential) bool {
		v, err := secretValue(now)
		return err == nil && v.Reveal() == used.Reveal()
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// credentialID names the row of the person's secret, for approvals.
func (s *SecretSource) credentialID(ctx context.Context, owner string) (string, error) {
	return s.desk.currentID(ctx, owner, kindSecret, s.spec.Name)
}

func (s *SecretSource) title(*interaction) string { return s.spec.Title }

func (s *SecretSource) words(d *Desk) string {
	return fmt.Sprintf("%s needs your %s. You type it on a page of %s; this app and its model do not see it.",
		d.opts.ServerName, s.spec.Title, d.opts.ServerName)
}

// secretField is the name of the field on the page.
const secretField = "value"

func (s *SecretSource) view(context.Context, *visit) (*pages.Interaction, error) {
	return s.form(""), nil
}

// form is the page, with what was wrong the last time.
func (s *SecretSource) form(problem string) *pages.Interaction {
	return &pages.Interaction{
		Title: s.spec.Title, Reason: s.spec.Reason, Help: s.help,
		Fields: []pages.Field{{Name: secretField, Label: s.spec.Title, Help: s.spec.Hint, Error: problem, MaxLength: s.spec.MaxLength}},
	}
}

func (s *SecretSource) submit(ctx context.Context, v *visit, form url.Values) (*answer, error) {
	text := strings.TrimSpace(form.Get("f-" + secretField))
	problem, err := s.judge(ctx, v, text)
	if err != nil {
		return nil, err
	}
	if problem != "" {
		return &answer{again: s.form(problem)}, nil
	}
	payload, err := jsonv2.Marshal(text)
	return &answer{status: statusCompleted, payload: json.RawMessage(payload)}, err
}

// judge says what is wrong with what was typed.
func (s *SecretSource) judge(ctx context.Context, v *visit, text string) (problem string, err error) {
	words := s.desk.pages
	switch {
	case text == "":
		return words.Text(v.r, "field.required")
	case len(text) > s.spec.MaxLength:
		return words.Text(v.r, "field.toolong")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return words.Text(v.r, "secret.refused", s.desk.opts.ServerName, "a character that no secret has")
	case s.spec.Validate == nil:
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, validateTimeout)
	defer cancel()
	err = s.spec.Validate(ctx, NewSecret(text))
	var refused *RefusedError
	switch {
	case err == nil:
		return "", nil
	case errors.As(err, &refused):
		return words.Text(v.r, "secret.refused", s.desk.opts.ServerName, without(refused.Text, text))
	}
	s.desk.log.Warn("connect: a secret could not be tried", "secret", s.spec.Name, "error", without(err.Error(), text))
	return words.Text(v.r, "secret.unreachable")
}

// without takes a secret out of a text, in the forms in which one gets into errors.
func without(text, secret string) string {
	for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
		text = strings.ReplaceAll(text, form, redacted)
	}
	return text
}

func (s *SecretSource) applies() bool { return true }

func (s *SecretSource) apply(ctx context.Context, in *interaction) error {
	return s.desk.putCredential(ctx, &credential{
		Owner: in.row.Owner, Kind: kindSecret, Name: s.spec.Name, From: in.ID, Since: in.data.Finished, Tools: toolsOf(in), Value: in.data.Payload,
	})
}

// toolsOf names the tool that something was obtained for.
func toolsOf(in *interaction) []string {
	if in.data.Tool == "" {
		return nil
	}
	return []string{in.data.Tool}
}
