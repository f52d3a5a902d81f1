package connect

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/seed38e7925c/parley/connect/internal/pages"
)

// A kindHandler knows one thing that a person can be asked for. Its methods may be called concurrently.
type kindHandler interface {
	// title names what is asked for, in the author's words.
	title(in *interaction) string
	// words are those of the elicitation.
	words(d *Desk) string
	// view is what the page shows while the interaction is open. The frame around it (client, tool, account, times, form) is filled in
	// afterwards.
	view(ctx context.Context, v *visit) (*pages.Interaction, error)
	// submit is what the person's "yes" does. It changes nothing of the interaction itself.
	submit(ctx context.Context, v *visit, form url.Values) (*answer, error)
	// applies reports whether the payload of a finished interaction goes into a credential; apply puts it there. It may be called more
	// than once for one interaction, by several at the same time.
	applies() bool
	apply(ctx context.Context, in *interaction) error
}

// A visit is one request of the right person, for one interaction.
type visit struct {
	in      *interaction
	visitor *visitor
	r       *http.Request
	targets []string // origins that the page's form may lead to, by a redirect
}

// allowTarget lets the form of the page lead to the origin of a URL.
func (v *visit) allowTarget(u *url.URL) { v.targets = append(v.targets, u.Scheme+"://"+u.Host) }

// An answer is what a person's "yes" leads to: exactly one of its fields is set.
type answer struct {
	again    *pages.Interaction          // the page once more, with what was wrong
	redirect string                      // where the person goes on
	opened   func(in *interaction) error // with redirect: what is noted before; it may be run again
	leaving  func(w http.ResponseWriter) // with redirect: what the browser takes along, a cookie
	status   string                      // the end
	payload  json.RawMessage             // with status: what it has brought
}
