package mcp

import (
	"encoding/json"

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

// A Question is something a handler asks of the human (or the host) behind the client. Package ask builds them; [Tool.Asks] and its
// siblings on prompts and resources declare them.
type Question struct {
	Key     string // names the question within one call
	Kind    QuestionKind
	Message string              // shown to the person
	Form    *form.Form          // AskForm
	URL     string              // AskURL; may be empty in a declaration
	Sample  *CreateMessageParams // AskSample
	// Optional questions are dropped, with [ErrUnavailable] as their outcome, when the client cannot be asked that kind.
	Optional bool
}

// An Answer is what came back for a [Question].
type Answer struct {
	Action  Action          // accept, decline or cancel; always accept for AskSample and AskRoots
	Content json.RawMessage // AskForm, accepted: the content, checked against the form and with defaults filled in
	Sample  *CreateMessageResult
	Roots   []Root
}
