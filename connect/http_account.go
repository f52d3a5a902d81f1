package connect

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/connect/internal/pages"
)

// member returns the person at a browser, or has them sign in. path is where they want to be, below the desk.
func (d *Desk) member(w http.ResponseWriter, r *http.Request, path string) *visitor {
	who, err := d.identity.who(r, nil)
	switch {
	case err != nil:
		d.failed(w, r, nil, err)
	case who == nil && r.Method != http.MethodGet && r.Method != http.MethodHead:
		d.seeOther(w, r, path)
	case who == nil:
		d.identity.signIn(w, r, nil, d.base.Path+path)
	default:
		return who
	}
	return nil
}

// showConnections shows a person what is stored for them.
func (d *Desk) showConnections(w http.ResponseWriter, r *http.Request) {
	who := d.member(w, r, "")
	if who == nil {
		return
	}
	all, err := d.listCredentials(r.Context(), who.owner())
	if err != nil {
		d.failed(w, r, who, err)
		return
	}
	page := &pages.Connections{CSRF: d.token(who, accountForms)}
	for _, c := range all {
		page.List = append(page.List, pages.Connection{
			Title: d.named(c.Kind, c.Name), Kind: c.Kind, Account: c.Label, Scopes: c.Scopes, Tools: c.Tools, Since: c.Since, LastUsed: c.Used,
			Reauth: c.Row.Status != statusActive, Action: d.base.Path + "grants/" + c.ID + "/revoke",
		})
	}
	d.render(w, r, &reply{status: http.StatusOK, who: who, page: page})
}

// A revoker is a kind that has more to do when a credential is removed, such as telling a provider.
type revoker interface {
	revoked(r *http.Request, c *credential)
}

// submitRevoke removes something that is stored for a person.
func (d *Desk) submitRevoke(w http.ResponseWriter, r *http.Request) {
	who := d.accountForm(w, r)
	if who == nil {
		return
	}
	err := d.removeCredential(r, who)
	switch {
	case errors.Is(err, ErrNotFound): // it is gone, or was never theirs: the same answer
		d.notFound(w, r)
	case err != nil:
		d.failed(w, r, who, err)
	default:
		d.seeOther(w, r, "")
	}
}

func (d *Desk) removeCredential(r *http.Request, who *visitor) error {
	id := r.PathValue("id")
	if !wellFormed(id) {
		return ErrNotFound
	}
	row, err := d.store.Get(r.Context(), rowCredential, id)
	if err != nil {
		return err
	}
	if row.Owner != who.owner() {
		return ErrNotFound
	}
	ctx, cancel := d.commit(r.Context())
	defer cancel()
	var gone credential // as it was when it was removed: it may just have been renewed
	err = d.revokeIf(ctx, who.owner(), id, func(now *credential) bool {
		gone = *now
		return true
	})
	if err != nil {
		return err
	}
	if h, ok := d.kind(gone.Kind, gone.Name); ok {
		if more, ok := h.(revoker); ok {
			more.revoked(r, &gone)
		}
	}
	return nil
}

// accountForm reads a form of the account pages, or answers the request.
func (d *Desk) accountForm(w http.ResponseWriter, r *http.Request) *visitor {
	if err := readForm(w, r); err != nil {
		d.refused(w, r, nil)
		return nil
	}
	who := d.member(w, r, "")
	if who == nil {
		return nil
	}
	if !d.ownForm(r, who, accountForms) {
		d.refused(w, r, who)
		return nil
	}
	return who
}

// showAudit shows a person what has happened to what is theirs, and nobody else's.
func (d *Desk) showAudit(w http.ResponseWriter, r *http.Request) {
	who := d.member(w, r, "audit")
	if who == nil {
		return
	}
	entries, older, err := d.entries(r.Context(), who.owner(), readCursor(r.URL.Query().Get("before")))
	if err != nil {
		d.failed(w, r, who, err)
		return
	}
	page := &pages.Audit{Entries: entries, Days: int(d.opts.AuditRetention / (24 * time.Hour))}
	if older != nil {
		page.Older = d.base.Path + "audit?before=" + cursorOf(older)
	}
	d.render(w, r, &reply{status: http.StatusOK, who: who, page: page})
}

// cursorOf names a row of the audit, for the next page. It says nothing that the page before has not said.
func cursorOf(r *Row) string { return strconv.FormatInt(r.Created.UnixMicro(), 10) + "." + r.ID }

// readCursor reads what cursorOf has written; nil, the beginning, for anything else.
func readCursor(text string) *Row {
	micros, id, ok := strings.Cut(text, ".")
	n, err := strconv.ParseInt(micros, 10, 64)
	row := &Row{Kind: rowAudit, ID: id, Created: time.UnixMicro(n).UTC()}
	if !ok || err != nil || len(text) > 200 || row.Validate() != nil {
		return nil
	}
	return row
}

// submitSignOut ends the session of a browser.
func (d *Desk) submitSignOut(w http.ResponseWriter, r *http.Request) {
	who := d.accountForm(w, r)
	if who == nil {
		return
	}
	if err := d.identity.signOut(w, r); err != nil {
		d.failed(w, r, who, err)
		return
	}
	d.message(w, r, http.StatusOK, nil, &pages.Message{Name: pages.SignedOut})
}
