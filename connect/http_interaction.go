package connect

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/seed38e7925c/parley/connect/internal/pages"
)

// find returns the interaction of a request, or answers it.
func (d *Desk) find(w http.ResponseWriter, r *http.Request) *interaction {
	id := r.PathValue("id")
	if !wellFormed(id) {
		d.notFound(w, r)
		return nil
	}
	in, err := d.interaction(r.Context(), id)
	switch {
	case errors.Is(err, ErrNotFound):
		d.notFound(w, r)
	case err != nil:
		d.failed(w, r, nil, err)
	default:
		return in
	}
	return nil
}

// admit makes sure that a request comes from the person who is asked, or answers it. Everything that a page shows or does comes after it.
func (d *Desk) admit(w http.ResponseWriter, r *http.Request, in *interaction) *visit {
	who, err := d.identity.who(r, in)
	switch {
	case err != nil:
		d.failed(w, r, nil, err)
	case who == nil && r.Method != http.MethodGet && r.Method != http.MethodHead:
		d.seeOther(w, r, "i/"+in.ID)
	case who == nil:
		d.identity.signIn(w, r, in, d.base.Path+"i/"+in.ID)
	case who.owner() != in.row.Owner:
		d.wrongPerson(w, r, who, in)
	default:
		return &visit{in: in, visitor: who, r: r}
	}
	return nil
}

// wrongPerson tells somebody that the interaction is not theirs, and the person whose it is that somebody else was there: once for each.
func (d *Desk) wrongPerson(w http.ResponseWriter, r *http.Request, who *visitor, in *interaction) {
	d.note(r.Context(), in.row.Owner, digest("wrong person", in.ID, who.owner()), &auditData{
		Event: eventWrongPerson, About: in.ID, Kind: in.data.Kind, Name: in.data.Name, Tool: in.data.Tool, Client: in.data.Client,
	})
	d.message(w, r, http.StatusForbidden, who, &pages.Message{Name: pages.WrongPerson})
}

// showInteraction shows an interaction. It changes nothing: whoever looks at a link for somebody does no harm.
func (d *Desk) showInteraction(w http.ResponseWriter, r *http.Request) {
	in := d.find(w, r)
	if in == nil {
		return
	}
	v := d.admit(w, r, in)
	if v == nil {
		return
	}
	if !in.open(time.Now()) {
		d.showEnd(w, r, v)
		return
	}
	h, ok := d.kind(in.data.Kind, in.data.Name)
	if !ok {
		d.failed(w, r, v.visitor, errNoKind(in))
		return
	}
	page, err := h.view(r.Context(), v)
	if err != nil {
		d.failed(w, r, v.visitor, err)
		return
	}
	d.showForm(w, r, http.StatusOK, v, page)
}

func errNoKind(in *interaction) error {
	return errors.New("connect: this release of the program does not know the " + string(in.data.Kind) + " " + in.data.Name)
}

// showForm shows the page of a kind with everything around it.
func (d *Desk) showForm(w http.ResponseWriter, r *http.Request, status int, v *visit, page *pages.Interaction) {
	in := v.in
	page.Kind, page.Client, page.Tool = in.data.Kind, in.data.Client, in.data.Tool
	page.Account = v.visitor.shown()
	page.Expires, page.Now = in.data.Deadline, time.Now()
	page.Action, page.CSRF = d.base.Path+"i/"+in.ID, d.token(v.visitor, in.ID)
	d.render(w, r, &reply{status: status, who: v.visitor, page: page, targets: v.targets})
}

// showEnd shows what has become of an interaction.
func (d *Desk) showEnd(w http.ResponseWriter, r *http.Request, v *visit) {
	in := v.in
	m := &pages.Message{Kind: in.data.Kind, Client: in.data.Client, Account: in.data.Account}
	status := http.StatusOK
	switch in.row.Status {
	case statusCreated, statusOpened, statusExpired:
		m.Name, status = pages.Expired, http.StatusGone
	case statusDeclined:
		m.Name = pages.Declined
	case statusFailed:
		m.Name = pages.Failed
		if in.ran() {
			m.Name = pages.Done // the person has approved; how it went is for the client to say
		}
	default:
		m.Name = pages.Done
	}
	d.message(w, r, status, v.visitor, m)
}

// submitInteraction takes a person's yes or no.
func (d *Desk) submitInteraction(w http.ResponseWriter, r *http.Request) {
	if err := readForm(w, r); err != nil {
		d.refused(w, r, nil)
		return
	}
	in := d.find(w, r)
	if in == nil {
		return
	}
	v := d.admit(w, r, in)
	switch {
	case v == nil:
		return
	case !d.ownForm(r, v.visitor, in.ID):
		d.refused(w, r, v.visitor)
		return
	case !in.open(time.Now()):
		d.seeOther(w, r, "i/"+in.ID)
		return
	}
	switch r.PostFormValue("do") {
	case "decline":
		d.declined(w, r, v)
	case "submit":
		d.submitted(w, r, v)
	default:
		d.refused(w, r, v.visitor)
	}
}

// declined takes a no.
func (d *Desk) declined(w http.ResponseWriter, r *http.Request, v *visit) {
	_, err := d.advance(r.Context(), v, func(in *interaction) error {
		in.decline("")
		return nil
	})
	d.back(w, r, v, err)
}

// submitted takes a yes.
func (d *Desk) submitted(w http.ResponseWriter, r *http.Request, v *visit) {
	h, ok := d.kind(v.in.data.Kind, v.in.data.Name)
	if !ok {
		d.failed(w, r, v.visitor, errNoKind(v.in))
		return
	}
	a, err := h.submit(r.Context(), v, r.PostForm)
	switch {
	case err != nil:
		d.failed(w, r, v.visitor, err)
	case a.again != nil:
		d.showForm(w, r, http.StatusUnprocessableEntity, v, a.again)
	case a.redirect != "":
		d.goOn(w, r, v, a)
	default:
		d.back(w, r, v, d.finish(r.Context(), v, a.status, a.payload))
	}
}

// goOn notes what a kind wants to remember, and sends the person away.
func (d *Desk) goOn(w http.ResponseWriter, r *http.Request, v *visit, a *answer) {
	_, err := d.advance(r.Context(), v, func(in *interaction) error {
		in.row.Status = statusOpened
		if a.opened != nil {
			return a.opened(in)
		}
		return nil
	})
	if err == nil {
		if a.leaving != nil {
			a.leaving(w)
		}
		err = d.leave(w, r, a.redirect)
		if err == nil {
			return
		}
	}
	d.back(w, r, v, err)
}

// back shows how the interaction stands, at an address that can be loaded again. Whoever is late, with a second window perhaps, sees what
// the first has done.
func (d *Desk) back(w http.ResponseWriter, r *http.Request, v *visit, err error) {
	if err != nil && !errors.Is(err, errOver) && !errors.Is(err, ErrNotFound) {
		d.failed(w, r, v.visitor, err)
		return
	}
	d.seeOther(w, r, "i/"+v.in.ID)
}

// errOver refuses a step of an interaction that is no longer open.
var errOver = errors.New("connect: the interaction is no longer open")

// errStranger refuses a step for somebody else.
var errStranger = errors.New("connect: the interaction is somebody else's")

// advance is a step of an open interaction, by the person whose it is.
func (d *Desk) advance(ctx context.Context, v *visit, change func(in *interaction) error) (*interaction, error) {
	ctx, cancel := d.commit(ctx)
	defer cancel()
	return d.step(ctx, v.in.ID, func(in *interaction) error {
		switch {
		case in.row.Owner != v.visitor.owner():
			return errStranger
		case !in.open(time.Now()):
			return errOver
		}
		return change(in)
	})
}

// finish ends an interaction with what the person has brought, by one update, and then puts that where it belongs. Once the update is
// done, nothing can be lost: whoever meets the interaction next does the rest.
func (d *Desk) finish(ctx context.Context, v *visit, status string, payload []byte) error {
	return d.finishAs(ctx, v, func(in *interaction) { in.finish(status, payload) })
}

// finishAs is finish for a kind that notes more.
func (d *Desk) finishAs(ctx context.Context, v *visit, end func(in *interaction)) error {
	in, err := d.advance(ctx, v, func(in *interaction) error {
		end(in)
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.settle(ctx, in); err != nil {
		d.log.Error("connect: what a person has brought is kept with its interaction; the next call puts it where it belongs", "error", err)
	}
	return nil
}

// finish sets a status that is a success. The key stays until what was brought is where it belongs.
func (in *interaction) finish(status string, payload []byte) {
	now := time.Now()
	in.row.Status, in.row.Expires = status, now.Add(keepFinished)
	in.data.Finished, in.data.Payload = now, payload
}
