package connect

import (
	"context"
	"fmt"
	"net/http"

	"github.com/seed38e7925c/parley/mcp"
)

// An Identity says who is at a browser, and who is behind a call.
type Identity interface {
	// open makes it ready for a desk; what is wrong with its configuration is found here, not when somebody waits.
	open(ctx context.Context, d *Desk) (identity, error)
}

// identity is an Identity at work. Its methods may be called concurrently.
type identity interface {
	callers
	browsers
}

// callers says who is behind a call, and how they can be reached.
type callers interface {
	// caller returns who is asked for a call, and the client that the call came through. The error is or wraps mcp.ErrUnavailable.
	caller(call *mcp.Call) (Person, string, error)
	// prepare is called once for an interaction, before it is stored.
	prepare(in *interaction) error
	// message extends the words of the elicitation.
	message(in *interaction, text string) string
	// hosted reports whether a link to the page may be given to a client that cannot open pages: whoever opens it has to sign in.
	hosted() bool
}

// browsers says who is at a browser.
type browsers interface {
	// who returns the person at a browser, nil when nobody has signed in. in is nil on pages that are not about an interaction.
	who(r *http.Request, in *interaction) (*visitor, error)
	// signIn answers a request of a browser that nobody has signed in at; afterwards the person is back at a path of the desk.
	signIn(w http.ResponseWriter, r *http.Request, in *interaction, back string)
	// signOut ends the session of a browser.
	signOut(w http.ResponseWriter, r *http.Request) error
	// routes adds the identity's own endpoints; prefix is the path of the desk, with a slash at both ends.
	routes(mux *http.ServeMux, prefix string)
}

// A visitor is the person at a browser.
type visitor struct {
	Person
	name    string // to show
	session string // names the session of the browser from sign-in to sign-out; empty where there is none
}

// shown is how the person is named on pages.
func (v *visitor) shown() string {
	if v.name != "" {
		return v.name
	}
	return v.Subject
}

// verified is the caller of a call whose transport has verified who calls.
func (d *Desk) verified(call *mcp.Call) (Person, string, error) {
	p := call.Principal()
	advice := ""
	switch {
	case p == nil:
		advice = "the call has no verified caller; the endpoint must authenticate its callers (mcphttp.Options.Authenticate, package mcpauth)"
	case p.Subject == "":
		advice = "the caller's token names no subject; the authorization server must issue tokens with one"
	case !p.Person:
		advice = "the caller's token was issued to a client itself, not to a person; the client must use the authorization code flow"
	default:
		return Person{Tenant: d.tenant(p), Issuer: p.Issuer, Subject: p.Subject}, p.ClientID, nil
	}
	return Person{}, "", told(fmt.Errorf("%w: connect: %s", mcp.ErrUnavailable, advice),
		"this needs a person who can be asked, and this server does not know who is calling: %s", advice)
}

func (d *Desk) tenant(p *mcp.Principal) string {
	if d.opts.Tenant == nil {
		return ""
	}
	return d.opts.Tenant(p)
}
