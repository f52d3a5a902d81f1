package connect

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/connect/internal/pages"
)

// ServeHTTP serves the pages of the desk. Requests have the path of [Options.BaseURL].
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// maxForm bounds the body of a form.
const maxForm = 64 << 10

// routes makes the handler of the desk.
func (d *Desk) routes() http.Handler {
	at := d.base.Path
	forms := http.NewServeMux()
	forms.HandleFunc("GET "+at+"i/{id}", d.showInteraction)
	forms.HandleFunc("POST "+at+"i/{id}", d.submitInteraction)
	forms.HandleFunc("GET "+at+"callback/{name}", d.callback)
	forms.HandleFunc("GET "+at+"return/{name}/{id}", d.pageReturn)
	forms.HandleFunc("GET "+at+"{$}", d.showConnections)
	forms.HandleFunc("POST "+at+"grants/{id}/revoke", d.submitRevoke)
	forms.HandleFunc("GET "+at+"audit", d.showAudit)
	forms.HandleFunc("POST "+at+"signout", d.submitSignOut)
	forms.HandleFunc("GET "+at+"style.css", d.showStyle)
	if d.local {
		forms.HandleFunc("GET "+localCallback+"{name}", d.showLocalCallback)
	}
	d.identity.routes(forms, at)
	forms.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if d.local && !strings.HasPrefix(r.URL.Path, at) {
			http.NotFound(w, r) // a page of the desk would tell where it is
			return
		}
		d.notFound(w, r)
	})

	origin := http.NewCrossOriginProtection()
	if err := origin.AddTrustedOrigin(d.base.Scheme + "://" + d.base.Host); err != nil {
		d.log.Warn("connect: Options.BaseURL is no origin", "error", err) // it was read before; requests are compared with their Host then
	}
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.refused(w, r, nil) }))

	all := http.NewServeMux()
	all.HandleFunc("POST "+at+"hook/{name}", d.hook) // from servers, not from browsers
	all.Handle("/", origin.Handler(forms))
	return d.guard(all)
}

// guard is around every request: the headers that keep pages to themselves, bounds, and, on loopback, the name by which the desk is
// reached.
func (d *Desk) guard(next http.Handler) http.Handler {
	local := loopback(d.base.Hostname())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy(nil))
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if local && !strings.EqualFold(r.Host, d.base.Host) {
			http.Error(w, "this server is reached at "+d.base.Host, http.StatusMisdirectedRequest) // a page that rebinds a name to loopback
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxHook)
		next.ServeHTTP(w, r)
	})
}

// policy is the content security policy: nothing runs, nothing is loaded but the stylesheet, nobody frames the page, and its form leads
// to the desk and, by the redirect that answers it, to targets. Browsers hold every further redirect against the policy as well, and
// providers send people on to hosts of theirs that nobody here knows: where the form leads away, any host with TLS must do.
func policy(targets []string) string {
	const common = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
	if len(targets) == 0 {
		return common
	}
	return common + " https: " + strings.Join(targets, " ")
}

// A reply is a page as the answer to a request.
type reply struct {
	status  int
	who     *visitor // nil when nobody has signed in
	page    pages.Page
	targets []string // origins that the page's form may lead to, by a redirect
}

// render answers a request with a page.
func (d *Desk) render(w http.ResponseWriter, r *http.Request, a *reply) {
	frame := &pages.Frame{Server: d.opts.ServerName, Base: d.base.Path}
	if a.who != nil {
		frame.Person, frame.Sessions = a.who.shown(), a.who.session != ""
		frame.CSRF = d.token(a.who, accountForms)
	}
	h := w.Header()
	if _, message := a.page.(*pages.Message); !message || frame.Sessions {
		h.Set("Referrer-Policy", "same-origin") // browsers send no Origin with a form under no-referrer
	}
	if len(a.targets) > 0 {
		h.Set("Content-Security-Policy", policy(a.targets))
	}
	if r.Method == http.MethodHead {
		w = bodiless{w}
	}
	if err := d.pages.Render(w, r, a.status, frame, a.page); err != nil {
		d.log.Debug("connect: a page could not be sent", "error", err)
	}
}

// bodiless drops the body of an answer.
type bodiless struct{ http.ResponseWriter }

func (bodiless) Write(p []byte) (int, error) { return len(p), nil }

// message answers with a message.
func (d *Desk) message(w http.ResponseWriter, r *http.Request, status int, who *visitor, m *pages.Message) {
	d.render(w, r, &reply{status: status, who: who, page: m})
}

// notFound is the answer to what does not exist, whatever it is, and to what cannot exist.
func (d *Desk) notFound(w http.ResponseWriter, r *http.Request) {
	d.message(w, r, http.StatusNotFound, nil, &pages.Message{Name: pages.NotFound})
}

// refused is the answer to a form that was not sent from the page of this browser.
func (d *Desk) refused(w http.ResponseWriter, r *http.Request, who *visitor) {
	d.message(w, r, http.StatusForbidden, who, &pages.Message{Name: pages.Refused})
}

// failed is the answer when something does not work that is nobody's fault at the browser.
func (d *Desk) failed(w http.ResponseWriter, r *http.Request, who *visitor, err error) {
	d.log.ErrorContext(r.Context(), "connect: a request failed", "method", r.Method, "path", routeOf(r), "error", err)
	d.message(w, r, http.StatusServiceUnavailable, who, &pages.Message{Name: pages.Failed})
}

// routeOf names the kind of a request, for the log: paths have ids in them.
func routeOf(r *http.Request) string {
	if r.Pattern != "" {
		return r.Pattern
	}
	return "?"
}

// showStyle sends the stylesheet.
func (d *Desk) showStyle(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/css; charset=utf-8")
	h.Set("Cache-Control", "max-age=3600")
	_, _ = w.Write(d.pages.Style()) // the browser is gone, or it has it
}

// Forms that are not about an interaction have a token of their own.
const accountForms = "account"

// tokenLifetime is how long the token of a form counts. Nobody keeps a page open for longer.
const tokenLifetime = 12 * time.Hour

// tokenRow is what tokens are sealed for.
const tokenRow = "form"

type formToken struct {
	Session string    `json:"s"`
	Until   time.Time `json:"u"`
}

// token makes the token of a form: sealed for one person, one session of a browser and one interaction. It is not stored, so that a page
// may be loaded as often as somebody likes, and each copy of it works.
func (d *Desk) token(who *visitor, about string) string {
	row := &Row{Kind: tokenRow, ID: about, Owner: who.owner()}
	if err := d.keys.sealJSON(row, &formToken{who.session, time.Now().Add(tokenLifetime)}); err != nil {
		d.log.Error("connect: the token of a form could not be made", "error", err)
		return ""
	}
	return encodeText(row.Data)
}

// ownForm reports whether a form was sent from the page that this browser was given.
func (d *Desk) ownForm(r *http.Request, who *visitor, about string) bool {
	data, err := decodeText(r.PostFormValue("csrf"))
	if err != nil || len(data) == 0 {
		return false
	}
	var t formToken
	err = d.keys.openJSON(&Row{Kind: tokenRow, ID: about, Owner: who.owner(), Data: data}, &t)
	return err == nil && t.Session == who.session && time.Now().Before(t.Until)
}

// readForm reads the body of a form.
func readForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	return r.ParseForm()
}

// seeOther sends a browser to a page of the desk, with GET.
func (d *Desk) seeOther(w http.ResponseWriter, r *http.Request, path string) {
	http.Redirect(w, r, d.base.Path+path, http.StatusSeeOther)
}

// leave sends a browser away from the desk, to where a kind has it go on.
func (d *Desk) leave(w http.ResponseWriter, r *http.Request, to string) error {
	u, err := url.Parse(to)
	switch {
	case err != nil:
		return errors.New("connect: the address to go on to is no URL")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())), u.Host == "", u.User != nil:
		return errors.New("connect: the address to go on to must begin with https://")
	}
	http.Redirect(w, r, u.String(), http.StatusSeeOther)
	return nil
}
