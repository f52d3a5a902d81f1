package connect

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed38e7925c/parley/mcp"
)

// A SessionSpec lets a desk use the sessions of the author's own web application.
type SessionSpec struct {
	// Who returns the person who is signed in at a browser, nil when nobody is, and a name to show. Issuer and Subject must be those that
	// the verified callers of the server have ([mcp.Principal]), and the tenant the one that [Options.Tenant] gives for them: they are
	// compared. Never make them of what the request claims without proof. It may be called concurrently.
	Who func(r *http.Request) (p *Person, name string, err error)
	// SignIn answers a request of a browser that nobody has signed in at, with a page or a redirect, and has the person come back to the
	// path afterwards. The path is one of the desk, on the desk's host.
	SignIn func(w http.ResponseWriter, r *http.Request, back string)
	// SignOut ends the session of a browser; nil: the pages of the desk offer no signing out.
	SignOut func(w http.ResponseWriter, r *http.Request) error
}

// Session is the identity of people who sign in at the author's own web application.
func Session(spec *SessionSpec) Identity { return ownSessions{spec} }

type ownSessions struct{ spec *SessionSpec }

func (o ownSessions) open(_ context.Context, d *Desk) (identity, error) {
	if o.spec == nil || o.spec.Who == nil || o.spec.SignIn == nil {
		return nil, errors.New("SessionSpec needs Who and SignIn")
	}
	return &ownIdentity{d: d, spec: *o.spec}, nil
}

type ownIdentity struct {
	d    *Desk
	spec SessionSpec
}

func (o *ownIdentity) caller(call *mcp.Call) (Person, string, error) { return o.d.verified(call) }
func (*ownIdentity) prepare(*interaction) error                      { return nil }
func (*ownIdentity) message(_ *interaction, text string) string      { return text }
func (*ownIdentity) hosted() bool                                    { return true }
func (*ownIdentity) routes(*http.ServeMux, string)                   {}

func (o *ownIdentity) who(r *http.Request, _ *interaction) (*visitor, error) {
	p, name, err := o.spec.Who(r)
	if err != nil || p == nil {
		return nil, err
	}
	if p.Issuer == "" || p.Subject == "" {
		return nil, errors.New("connect: SessionSpec.Who returned a person without issuer or subject")
	}
	v := &visitor{Person: *p, name: name}
	if o.spec.SignOut != nil {
		v.session = "own"
	}
	return v, nil
}

func (o *ownIdentity) signIn(w http.ResponseWriter, r *http.Request, _ *interaction, back string) {
	o.spec.SignIn(w, r, back)
}

func (o *ownIdentity) signOut(w http.ResponseWriter, r *http.Request) error {
	if o.spec.SignOut == nil {
		return errors.New("connect: SessionSpec.SignOut is nil")
	}
	return o.spec.SignOut(w, r)
}
