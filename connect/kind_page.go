package connect

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/connect/internal/pages"
	"github.com/seed38e7925c/parley/mcp"
)

// A PageSpec describes a page of one's own, or of somebody else's, that a person is sent to: a payment, a signature, a choice that a form
// cannot hold. The person is identified before they go there. That the page is done is learnt by the person coming back (a guarded
// visit: the right person, with a token that is used once) or from whoever runs the page, by a verified webhook; never by an id alone. At
// least one of Finish and Verify is needed.
type PageSpec struct {
	// Name tells it from what else the desk asks for: 1 to 64 letters, digits, dots, dashes and underscores. It must not change.
	Name string
	// Title is what it is, for people: "Payment".
	Title string
	// Reason is what it is needed for. It may be empty.
	Reason string
	// Host is where the person goes on to, as it is shown to them: "pay.example". It is the host of what Start returns.
	Host string
	// Start begins the visit and returns where the person goes on: an https URL on Host (http on loopback). It may be called more than
	// once for one visit, with the same Reference.
	Start func(ctx context.Context, v *Visit) (redirect string, err error)
	// Finish is called when the person has come back to Visit.ReturnURL, with the query that they brought, and returns the result for the
	// handler, which is encoded as JSON. What the query says is a claim of the person's: ask whoever runs the page. [ErrNotYet]
	// leaves the visit open, an error of [Refuse] ends it; after any other one the person can come back again. It is not called twice at
	// once for one way there and back. nil: coming back changes nothing, only Verify does.
	Finish func(ctx context.Context, v *Visit, query url.Values) (result any, err error)
	// Verify checks that a webhook, which arrives as POST at BaseURL + "hook/" + Name, is genuine, by its signature, and returns what it
	// says, or nil if it says nothing of interest. Any error is logged and answered with status 400. nil: there is no webhook.
	Verify func(ctx context.Context, r *http.Request, body []byte) (*Event, error)
}

// ErrNotYet is what [PageSpec.Finish] returns when the page is not done.
var ErrNotYet = errors.New("connect: not done yet")

// A Visit is one visit of a page, as its functions see it.
type Visit struct {
	Person    Person
	Tool      string          // whose call needs it
	Params    json.RawMessage // what [PageSource.Wait] was given
	Reference string          // names the visit: hand it to whoever runs the page, for the webhook to name it. It is no secret
	ReturnURL string          // where the person comes back to; for Start only
}

// An Event is what a webhook says.
type Event struct {
	Reference string // of the visit
	Failed    bool   // the page was not done, and will not be
	Result    any    // for the handler; it is encoded as JSON
}

// A PageSource sends people to a page. Its methods may be called concurrently.
type PageSource struct {
	desk *Desk
	spec PageSpec
}

// Page makes a page known that tools may send people to. It is called when the program starts. A bad spec is a mistake of the program,
// and panics.
func (d *Desk) Page(spec *PageSpec) *PageSource {
	switch {
	case strings.TrimSpace(spec.Title) == "":
		panic(fmt.Sprintf("connect: PageSpec.Title of %q is empty", spec.Name))
	case spec.Host == "":
		panic(fmt.Sprintf("connect: PageSpec.Host of %q is empty: people must see where they go", spec.Name))
	case spec.Start == nil:
		panic(fmt.Sprintf("connect: PageSpec.Start of %q is nil", spec.Name))
	case spec.Finish == nil && spec.Verify == nil:
		panic(fmt.Sprintf("connect: PageSpec %q has neither Finish nor Verify: nothing would tell that it is done", spec.Name))
	}
	p := &PageSource{desk: d, spec: *spec}
	d.register(kindPage, spec.Name, p)
	return p
}

// pagePart is what a visit remembers.
type pagePart struct {
	Params json.RawMessage `json:"params,omitzero"`
	Guard  []byte          `json:"guard,omitzero"` // digest of the token that the person comes back with
}

// Wait sends the person behind the call to the page and returns its result once it is done. params go to the page's functions, encoded as
// JSON; what differs is another visit. Two calls are two visits, as for [Do]. Errors are those of [SecretSource.Get]; one that wraps
// [ErrFailed] means that the page ended without success.
func (p *PageSource) Wait(ctx context.Context, call *mcp.Call, params any) (json.RawMessage, error) {
	raw, err := jsonv2.Marshal(params, jsonv2.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("connect: the params of page %q: %w", p.spec.Name, err)
	}
	d := p.desk
	in, err := d.obtain(ctx, call, &want{
		kind: kindPage, name: p.spec.Name, title: p.spec.Title, message: p.words(d), purpose: []string{string(raw), call.Method(), call.Name()},
		perFlow: true, part: &pagePart{Params: json.RawMessage(raw)},
	})
	if err != nil {
		return nil, err
	}
	if !inFlow(call) { // the next call is another visit
		if err := d.release(ctx, in.ID); err != nil {
			return nil, err
		}
	}
	return in.data.Payload, nil
}

func (p *PageSource) title(*interaction) string { return p.spec.Title }

func (p *PageSource) words(d *Desk) string {
	return fmt.Sprintf("%s asks you to continue at %s: %s.", d.opts.ServerName, p.spec.Host, p.spec.Title)
}

func (p *PageSource) view(_ context.Context, v *visit) (*pages.Interaction, error) {
	scheme := "https"
	if loopback(hostname(p.spec.Host)) {
		scheme = "http"
	}
	v.allowTarget(&url.URL{Scheme: scheme, Host: p.spec.Host})
	return &pages.Interaction{Title: p.spec.Title, Reason: p.spec.Reason, Host: p.spec.Host}, nil
}

func hostname(host string) string { return (&url.URL{Host: host}).Hostname() }

// submit sends the person on, with a new token to come back with.
func (p *PageSource) submit(ctx context.Context, v *visit, _ url.Values) (*answer, error) {
	guard := randomID()
	sum := sha256.Sum256([]byte(guard))
	visit, err := visitOf(v.in)
	if err != nil {
		return nil, err
	}
	visit.ReturnURL = p.desk.url("return/"+p.spec.Name+"/"+v.in.ID) + "?guard=" + guard
	to, err := p.spec.Start(ctx, visit)
	if err != nil {
		return nil, fmt.Errorf("connect: PageSpec.Start of %q: %w", p.spec.Name, err)
	}
	if u, err := url.Parse(to); err != nil || !strings.EqualFold(u.Host, p.spec.Host) {
		return nil, fmt.Errorf("connect: PageSpec.Start of %q leads to another host than PageSpec.Host (%s)", p.spec.Name, p.spec.Host)
	}
	return &answer{redirect: to, opened: func(in *interaction) error { return setGuard(in, sum[:]) }}, nil
}

// setGuard notes the token that a person comes back with; nil uses it up.
func setGuard(in *interaction, guard []byte) error {
	var part pagePart
	if err := jsonv2.Unmarshal(in.data.Part, &part); err != nil {
		return fmt.Errorf("connect: visit %s cannot be read: %w", in.ID, err)
	}
	part.Guard = guard
	raw, err := jsonv2.Marshal(&part)
	if err != nil {
		return fmt.Errorf("connect: encoding a visit: %w", err)
	}
	in.data.Part = json.RawMessage(raw)
	return nil
}

func visitOf(in *interaction) (*Visit, error) {
	var part pagePart
	if err := jsonv2.Unmarshal(in.data.Part, &part); err != nil {
		return nil, fmt.Errorf("connect: visit %s cannot be read: %w", in.ID, err)
	}
	return &Visit{Person: in.data.Person, Tool: in.data.Tool, Params: part.Params, Reference: in.ID}, nil
}

// guarded reports whether a token is the one that the person was sent away with.
func guarded(in *interaction, guard string) bool {
	var part pagePart
	if err := jsonv2.Unmarshal(in.data.Part, &part); err != nil || len(part.Guard) == 0 {
		return false
	}
	sum := sha256.Sum256([]byte(guard))
	return subtle.ConstantTimeCompare(sum[:], part.Guard) == 1
}

func (p *PageSource) applies() bool { return false }

func (p *PageSource) apply(context.Context, *interaction) error { return nil }

// pageReturn takes a person back from a page: a guarded visit. Like the callback of a grant it is a GET that changes something, bound to
// the person and to a token, and it leads to a clean address.
func (d *Desk) pageReturn(w http.ResponseWriter, r *http.Request) {
	in := d.find(w, r)
	if in == nil {
		return
	}
	h, _ := d.kind(kindPage, r.PathValue("name"))
	p, ok := h.(*PageSource)
	if !ok || in.data.Kind != kindPage || in.data.Name != p.spec.Name || r.Method != http.MethodGet {
		d.notFound(w, r)
		return
	}
	who, err := d.identity.who(r, in)
	switch {
	case err != nil:
		d.failed(w, r, nil, err)
		return
	case who == nil:
		d.identity.signIn(w, r, in, d.base.Path+"i/"+in.ID)
		return
	case who.owner() != in.row.Owner:
		d.wrongPerson(w, r, who, in)
		return
	}
	v := &visit{in: in, visitor: who, r: r}
	query := r.URL.Query()
	guard := query.Get("guard")
	query.Del("guard")
	if p.spec.Finish == nil || !in.open(time.Now()) {
		d.seeOther(w, r, "i/"+in.ID)
		return
	}
	if !guarded(in, guard) {
		d.refused(w, r, who)
		return
	}
	d.back(w, r, v, p.finish(r.Context(), v, guard, query))
}

// finish ends a visit whose person has come back. The token is used up first: of two that come at once one counts. Where the visit is not
// over, it is good once more.
func (p *PageSource) finish(ctx context.Context, v *visit, guard string, query url.Values) (err error) {
	visit, err := visitOf(v.in)
	if err != nil {
		return err
	}
	if err := p.swapGuard(ctx, v, guard, nil); err != nil {
		return err
	}
	over := false
	defer func() {
		if over {
			return
		}
		sum := sha256.Sum256([]byte(guard))
		if again := p.swapGuard(ctx, v, "", sum[:]); !errors.Is(again, errOver) {
			err = errors.Join(err, again)
		}
	}()
	result, err := p.spec.Finish(ctx, visit, query)
	var refused *RefusedError
	over = err == nil || errors.As(err, &refused)
	switch {
	case errors.Is(err, ErrNotYet):
		return nil
	case errors.As(err, &refused):
		_, err = p.desk.advance(ctx, v, func(in *interaction) error {
			in.end(statusFailed, refused.Text)
			return nil
		})
		return err
	case err != nil:
		return fmt.Errorf("connect: PageSpec.Finish of %q: %w", p.spec.Name, err)
	}
	return p.complete(ctx, v.in.ID, result)
}

// swapGuard puts the digest of one token in the place of another one, nil or "" for none, unless it has been done.
func (p *PageSource) swapGuard(ctx context.Context, v *visit, guard string, next []byte) error {
	_, err := p.desk.advance(ctx, v, func(in *interaction) error {
		var part pagePart
		switch err := jsonv2.Unmarshal(in.data.Part, &part); {
		case err != nil:
			return fmt.Errorf("connect: visit %s cannot be read: %w", in.ID, err)
		case guard == "" && len(part.Guard) > 0, guard != "" && !guarded(in, guard):
			return errOver
		}
		return setGuard(in, next)
	})
	return err
}

// complete ends a visit with its result.
func (p *PageSource) complete(ctx context.Context, id string, result any) error {
	raw, err := jsonv2.Marshal(result)
	if err != nil {
		return fmt.Errorf("connect: the result of page %q cannot be encoded: %w", p.spec.Name, err)
	}
	ctx, cancel := p.desk.commit(ctx)
	defer cancel()
	_, err = p.desk.step(ctx, id, func(in *interaction) error {
		if !in.open(time.Now()) {
			return errOver
		}
		in.finish(statusCompleted, raw)
		in.row.Expires = time.Now().Add(keepOutcome)
		return setGuard(in, nil)
	})
	return err
}

// maxHook bounds the body of a webhook.
const maxHook = 1 << 20

// hook takes a webhook of whoever runs a page.
func (d *Desk) hook(w http.ResponseWriter, r *http.Request) {
	h, _ := d.kind(kindPage, r.PathValue("name"))
	p, ok := h.(*PageSource)
	if !ok || p.spec.Verify == nil {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	event, err := p.spec.Verify(r.Context(), r, body)
	switch {
	case err != nil:
		d.log.Warn("connect: a webhook was refused", "page", p.spec.Name, "error", err)
		http.Error(w, "not verified", http.StatusBadRequest)
		return
	case event != nil:
		err = p.happened(r.Context(), event)
	}
	switch {
	case err == nil, errors.Is(err, errOver), errors.Is(err, ErrNotFound): // told before, or too late: nothing that sending it again would change
		w.WriteHeader(http.StatusNoContent)
	default:
		d.log.Error("connect: a webhook could not be served", "page", p.spec.Name, "error", err)
		http.Error(w, "try again", http.StatusServiceUnavailable)
	}
}

// happened takes note of what a webhook says.
func (p *PageSource) happened(ctx context.Context, e *Event) error {
	if !wellFormed(e.Reference) {
		return ErrNotFound
	}
	in, err := p.desk.interaction(ctx, e.Reference)
	if err != nil {
		return err
	}
	if in.data.Kind != kindPage || in.data.Name != p.spec.Name {
		return ErrNotFound
	}
	if !e.Failed {
		return p.complete(ctx, in.ID, e.Result)
	}
	ctx, cancel := p.desk.commit(ctx)
	defer cancel()
	_, err = p.desk.step(ctx, in.ID, func(in *interaction) error {
		if !in.open(time.Now()) {
			return errOver
		}
		in.end(statusFailed, "")
		return nil
	})
	return err
}

// A callbacker is a kind that people come back to from a provider.
type callbacker interface {
	callback(w http.ResponseWriter, r *http.Request)
}

// callback takes a person back from a provider.
func (d *Desk) callback(w http.ResponseWriter, r *http.Request) {
	h, _ := d.kind(kindGrant, r.PathValue("name"))
	c, ok := h.(callbacker)
	if !ok || r.Method != http.MethodGet {
		d.notFound(w, r)
		return
	}
	c.callback(w, r)
}
