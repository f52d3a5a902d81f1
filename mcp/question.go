package mcp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/seed38e7925c/parley/form"
)

// A QuestionKind says what a question asks for, and with it which client capability it needs.
type QuestionKind uint8

// The kinds of questions.
const (
	AskForm   QuestionKind = iota + 1 // a form the person fills in: elicitation, mode form
	AskURL                            // a page the person visits: elicitation, mode url
	AskSample                         // a completion by the host's model: sampling/createMessage (deprecated in 2026-07-28)
	AskRoots                          // the host's roots: roots/list (deprecated in 2026-07-28)
)

// String names the kind as in "form".
func (k QuestionKind) String() string {
	switch k {
	case AskForm:
		return "form"
	case AskURL:
		return "url"
	case AskSample:
		return "sampling"
	case AskRoots:
		return "roots"
	}
	return fmt.Sprintf("QuestionKind(%d)", uint8(k))
}

// A Question is something a handler asks of the human (or the host) behind the client. Package ask builds them; [Tool.Asks] and its
// siblings on prompts and resources declare them. A question must not be changed once it is declared or asked.
//
// What a question says (kind, message, form, URL) must be the same each time its handler runs for one call: an answer counts only
// for the very question it was given to. Text that differs from run to run, a time or a random URL, comes from [Once].
type Question struct {
	// Key names the question within one call: 1 to 128 bytes of printable ASCII. Each key is asked at most once in a run.
	Key     string
	Kind    QuestionKind
	Message string               // shown to the person
	Form    *form.Form           // AskForm
	URL     string               // AskURL: an absolute https URL (http on loopback); may be empty in a declaration
	Sample  *CreateMessageParams // AskSample
	// ID names the interaction behind a URL towards 2025-11-25 clients (elicitationId), and is what [Server.CompleteElicitation] is
	// told; clients of the User Interaction draft see it too. It must be hard to guess and unique. Empty: one is made. Other revisions do not see it.
	ID string
	// Optional questions are dropped, with [ErrUnavailable] as their outcome, when the client cannot be asked that kind. A declared
	// question that is not optional has calls refused, before the handler runs, of 2026-07-28 clients that cannot be asked.
	Optional bool

	facts *questionFacts // of declared forms
}

// An Answer is what came back for a [Question].
type Answer struct {
	Action  ElicitAction    // accept, decline or cancel; always accept for AskSample and AskRoots
	Content json.RawMessage // AskForm, accepted: the content, checked against the form and with defaults filled in
	Sample  *CreateMessageResult
	Roots   []Root
	// ID is the elicitationId that an AskURL question was asked with (2025-11-25, or the id of the User Interaction draft), empty
	// otherwise.
	ID string
}

// An Outcome is what became of one question of [Call.AskAll].
type Outcome struct {
	Question *Question
	Answer   *Answer // nil unless the question was answered
	// Err is nil when the answer was accepted; [ErrDeclined] or [ErrCanceled] when the person did not want to; [ErrUnavailable] when
	// the client cannot be asked such a question; [ErrInputRequired] while the answer is awaited.
	Err error
}

// maxKeyLength bounds question keys and the keys of Once.
const maxKeyLength = 128

func checkKey(key string) error {
	if key == "" || len(key) > maxKeyLength {
		return fmt.Errorf("a key has 1 to %d characters, this one has %d", maxKeyLength, len(key))
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return fmt.Errorf("key %q: only printable ASCII", key)
		}
	}
	return nil
}

// check reports what is wrong with the question itself, whatever the client. Declarations may leave out what is known only later.
func (q *Question) check(declared bool) error {
	if err := checkKey(q.Key); err != nil {
		return err
	}
	if !utf8.ValidString(q.Message) {
		return fmt.Errorf("question %q: the message is not UTF-8", q.Key)
	}
	var err error
	switch q.Kind {
	case AskForm:
		err = q.checkForm()
	case AskURL:
		err = q.checkURL(declared)
	case AskSample:
		if q.Sample == nil && !declared {
			err = errors.New("a question of kind AskSample needs Sample")
		}
	case AskRoots:
	default:
		err = fmt.Errorf("there is no %v; use AskForm, AskURL, AskSample or AskRoots", q.Kind)
	}
	if err != nil {
		return fmt.Errorf("question %q: %w", q.Key, err)
	}
	return nil
}

// checkForm refuses forms that ask for secrets: whatever is typed into one passes through the client, and often through a model.
func (q *Question) checkForm() error {
	if q.Form == nil {
		return errors.New("a question of kind AskForm needs Form")
	}
	if field, reason, secret := q.Form.LooksSecret(); secret {
		return fmt.Errorf("field %q asks for a secret (%s); forms pass through the client and the model, so the protocol forbids it; "+
			"ask on a page of your own instead (AskURL, ask.Open)", field, reason)
	}
	return nil
}

func (q *Question) checkURL(declared bool) error {
	if q.URL == "" && declared {
		return nil
	}
	u, err := url.Parse(q.URL)
	switch {
	case err != nil:
		return fmt.Errorf("the URL is none: %w", err)
	case u.Scheme != "https" && u.Scheme != "http", u.Host == "", u.Opaque != "":
		return fmt.Errorf("the URL must be absolute and begin with https:// (http:// on loopback), not %q", clip(q.URL, 40))
	case u.User != nil:
		return errors.New("the URL must not carry a user name or password")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return fmt.Errorf("the URL must be https; http is for loopback only, not for host %q", clip(u.Hostname(), 60))
	}
	return nil
}

// fullDialect asks a form for everything it has.
var fullDialect = form.Dialect{Defaults: true, OptionTitles: true, MultiChoice: true, Pattern: true}

// digest names what exactly is asked. An answer is tied to it.
func (q *Question) digest() (string, error) {
	h := appendPart(make([]byte, 0, 1024), q.Kind.String())
	h = appendPart(appendPart(h, q.Message), q.URL)
	if q.Form != nil {
		schema, err := q.Form.Schema(fullDialect)
		if err != nil {
			return "", fmt.Errorf("mcp: question %q: %w", q.Key, err)
		}
		h = appendPart(h, string(schema))
	}
	if q.Sample != nil {
		raw, err := marshalJSON(q.Sample)
		if err != nil {
			return "", fmt.Errorf("mcp: question %q: %w", q.Key, err)
		}
		h = appendPart(h, string(raw))
	}
	sum := sha256.Sum256(h)
	return base64.RawURLEncoding.EncodeToString(sum[:18]), nil
}

// clickable returns the first thing in the question's words that a client might turn into a link.
func (q *Question) clickable() (string, bool) {
	if link, found := findLink(q.Message); found {
		return link, true
	}
	if q.Form == nil {
		return "", false
	}
	for i := range q.Form.Fields {
		f := &q.Form.Fields[i]
		texts := []string{f.Title, f.Description}
		for _, o := range f.Options {
			texts = append(texts, o.Title)
		}
		if link, found := findLink(strings.Join(texts, "\n")); found {
			return link, true
		}
	}
	return "", false
}

// findLink finds what looks like a URL: a scheme with ://, www. or mailto:.
func findLink(text string) (string, bool) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`<>"'()[]{}`, r) }) {
		lower := strings.ToLower(word)
		scheme, _, hasScheme := strings.Cut(lower, "://")
		isLink := hasScheme && scheme != "" && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
		if isLink || strings.HasPrefix(lower, "www.") || strings.HasPrefix(lower, "mailto:") || strings.HasPrefix(lower, "javascript:") {
			return word, true
		}
	}
	return "", false
}
