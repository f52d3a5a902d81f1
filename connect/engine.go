package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/mcp"
)

// A want is what a handler needs a person for.
type want struct {
	kind    interactionKind
	name    string
	title   string
	message string   // the words of the elicitation
	purpose []string // what, beside kind and name, makes two wants the same
	perFlow bool     // the same want of two calls is two wants
	variant string   // tells apart what one call may want in several ways
	nth     int      // how often the call has wanted it before
	direct  bool     // what the interaction has brought is taken from it, and need not be where it belongs before
	part    any      // the kind's own data
}

// flowKey names a want within one call. It is the key of the question, too.
func flowKey(kind interactionKind, name string) string { return "connect/" + string(kind) + "/" + name }

func (w *want) flowKey() string {
	key := flowKey(w.kind, w.name)
	if w.variant != "" {
		key += "/" + w.variant
	}
	if w.nth > 0 {
		key += "/" + strconv.Itoa(w.nth+1)
	}
	return key
}

// A caller is who is asked for a call, and through which client.
type caller struct {
	Person
	owner    string
	clientID string
}

func (d *Desk) caller(call *mcp.Call) (*caller, error) {
	p, clientID, err := d.identity.caller(call)
	if err != nil {
		return nil, err
	}
	return &caller{Person: p, owner: p.owner(), clientID: clientID}, nil
}

// obtain has the person asked, and returns the interaction once it has got what was wanted: completed, or approved and beyond. Otherwise
// the error is for the handler to return. Those who want the same in one run of a handler share one asking.
func (d *Desk) obtain(ctx context.Context, call *mcp.Call, w *want) (*interaction, error) {
	return d.flights.do(ctx, call, w.flowKey(), func() (*interaction, error) { return d.obtainOne(ctx, call, w) })
}

func (d *Desk) obtainOne(ctx context.Context, call *mcp.Call, w *want) (*interaction, error) {
	who, err := d.caller(call)
	if err != nil {
		return nil, err
	}
	if !call.CanAsk(mcp.AskURL) && !d.identity.hosted() {
		return nil, d.cannotAsk(ctx, call, w)
	}
	in, err := d.opened(ctx, call, who, w)
	if err != nil {
		return nil, err
	}
	if in.row.Owner != who.owner || in.data.ClientID != who.clientID {
		return nil, fmt.Errorf("connect: interaction %s belongs to another caller", in.ID)
	}
	if over, err := d.outcome(ctx, w, in); over {
		return in, err
	}
	return d.ask(ctx, call, w, in)
}

// cannotAsk is the error of a client that nobody can be asked through, and may not be given a link.
func (d *Desk) cannotAsk(ctx context.Context, call *mcp.Call, w *want) error {
	_, err := call.Ask(ctx, &mcp.Question{Key: w.flowKey(), Kind: mcp.AskURL, Message: w.message, URL: d.base.String()})
	if err == nil || !errors.Is(err, mcp.ErrUnavailable) {
		return fmt.Errorf("%w: connect: the client cannot open pages", mcp.ErrUnavailable)
	}
	return err
}

// opened finds the interaction for a want, or opens one. Where the flow of a call is kept, it stays with the one that it has begun
// with, whatever becomes of it.
func (d *Desk) opened(ctx context.Context, call *mcp.Call, who *caller, w *want) (*interaction, error) {
	if !inFlow(call) {
		return d.findOrCreate(ctx, call, who, w)
	}
	var fresh *interaction
	id, err := mcp.Once(ctx, call, w.flowKey(), func() (string, error) {
		in, err := d.findOrCreate(ctx, call, who, w)
		if err != nil {
			return "", err
		}
		fresh = in
		return in.ID, nil
	})
	if err != nil || fresh != nil {
		return fresh, err
	}
	in, err := d.interaction(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil, expired(w.title)
	}
	return in, err
}

// inFlow reports whether what the call does now is remembered when it is made again.
func inFlow(call *mcp.Call) bool { return call.CanAsk(mcp.AskURL) && call.FlowKept() }

// rowKey names what is wanted, by whom and through which client.
func (w *want) rowKey(call *mcp.Call, who *caller) string {
	parts := append([]string{"interaction", who.owner, who.clientID, string(w.kind), w.name}, w.purpose...)
	if w.perFlow && inFlow(call) {
		parts = append(parts, "flow", call.FlowID())
	}
	return digest(parts...)
}

// findOrCreate returns the open interaction of the caller for a want, which is made if there is none.
func (d *Desk) findOrCreate(ctx context.Context, call *mcp.Call, who *caller, w *want) (*interaction, error) {
	defer d.creating.lock(who.owner)()
	key := w.rowKey(call, who)
	for range maxSteps {
		rows, err := d.store.Find(ctx, &Query{Kind: rowInteraction, Key: key, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			in, err := d.create(ctx, call, who, w, key)
			if in != nil || err != nil {
				return in, err
			}
			continue // somebody else was faster
		}
		in, err := d.read(rows[0])
		if err != nil {
			return nil, err
		}
		if d.stands(call, in) {
			return in, nil
		}
		if err := d.release(ctx, in.ID); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("connect: an interaction is opened and closed all the time")
}

// stands reports whether an interaction that was found by its key is the one to go on with.
func (d *Desk) stands(call *mcp.Call, in *interaction) bool {
	now := time.Now()
	switch in.row.Status {
	case statusCreated, statusOpened:
		return !in.overdue(now)
	case statusDeclined:
		return !inFlow(call) && now.Before(in.data.Finished.Add(declineHold))
	case statusCompleted:
		return len(in.data.Payload) > 0
	}
	return true
}

// release takes the key away from an interaction that nobody goes on with.
func (d *Desk) release(ctx context.Context, id string) error {
	_, err := d.step(ctx, id, func(in *interaction) error {
		switch {
		case in.overdue(time.Now()):
			in.end(statusExpired, "")
		case in.row.Key == "":
			return errAsIs
		default:
			in.row.Key = ""
		}
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// create opens an interaction. It returns nil when somebody else has just opened it.
func (d *Desk) create(ctx context.Context, call *mcp.Call, who *caller, w *want, key string) (*interaction, error) {
	if err := d.checkCaps(ctx, call, who); err != nil {
		return nil, err
	}
	part, err := jsonv2.Marshal(w.part)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	now := time.Now()
	in := &interaction{ID: randomID(), data: interactionData{
		Kind: w.kind, Name: w.name, Person: who.Person, ClientID: who.clientID, Client: clientName(call),
		Method: call.Method(), Tool: call.Name(), Message: w.message, Deadline: now.Add(d.opts.Lifetime), Part: json.RawMessage(part),
	}}
	in.row = &Row{Kind: rowInteraction, ID: in.ID, Owner: who.owner, Key: key, Status: statusCreated, Expires: in.data.Deadline.Add(keepOpen)}
	if err := d.identity.prepare(in); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if err := d.seal(in); err != nil {
		return nil, err
	}
	existing, err := d.store.Insert(ctx, in.row)
	if err != nil || existing != nil {
		return nil, err
	}
	d.audit(ctx, statusCreated, in)
	return in, nil
}

// maxClientName bounds what a client calls itself.
const maxClientName = 100

// clientName is what the client calls itself.
func clientName(call *mcp.Call) string {
	info := call.ClientInfo()
	if info == nil {
		return ""
	}
	name := info.Title
	if name == "" {
		name = info.Name
	}
	if len(name) > maxClientName {
		return strings.ToValidUTF8(name[:maxClientName], "") // a letter may have been cut
	}
	return name
}

// maxCounted bounds how many of a person's rows are looked at to count the open ones.
const maxCounted = 500

// checkCaps refuses an interaction too many.
func (d *Desk) checkCaps(ctx context.Context, call *mcp.Call, who *caller) error {
	now, all, same := time.Now(), 0, 0
	for _, status := range []string{statusCreated, statusOpened} {
		rows, err := d.store.Find(ctx, &Query{Kind: rowInteraction, Owner: who.owner, Status: status, Limit: maxCounted})
		if err != nil {
			return err
		}
		for _, row := range rows {
			in, err := d.read(row)
			switch {
			case err != nil:
				return err
			case in.overdue(now):
				if err := d.release(ctx, in.ID); err != nil {
					return err
				}
				continue
			}
			all++
			if in.data.Tool == call.Name() && in.data.Method == call.Method() && in.data.ClientID == who.clientID {
				same++
			}
		}
	}
	switch {
	case all >= d.opts.MaxOpenPerPerson:
		return told(fmt.Errorf("%w: Options.MaxOpenPerPerson (%d)", ErrTooMany, d.opts.MaxOpenPerPerson),
			"the person has %d unanswered requests of %s; they must answer or decline some before there can be another", all, d.opts.ServerName)
	case same >= d.opts.MaxOpenPerTool:
		return told(fmt.Errorf("%w: Options.MaxOpenPerTool (%d)", ErrTooMany, d.opts.MaxOpenPerTool),
			"the person has %d unanswered requests of this tool; they must answer or decline some before there can be another", same)
	}
	return nil
}

// outcome reports whether an interaction needs the person no longer, and what that means for the handler.
func (d *Desk) outcome(ctx context.Context, w *want, in *interaction) (over bool, err error) {
	switch in.row.Status {
	case statusCreated, statusOpened:
		if !in.overdue(time.Now()) {
			return false, nil
		}
		if err := d.release(ctx, in.ID); err != nil {
			return true, err
		}
		return true, expired(in.title(d))
	case statusDeclined:
		if in.data.Reason == reasonDismissed {
			return true, fmt.Errorf("%w: %s", mcp.ErrCanceled, in.title(d))
		}
		return true, fmt.Errorf("%w: %s", mcp.ErrDeclined, in.title(d))
	case statusExpired:
		return true, expired(in.title(d))
	case statusFailed:
		if !in.ran() {
			return true, told(ErrFailed, "%s: it did not work, for a reason that the person has seen on the page; call again to try again", in.title(d))
		}
	case statusCompleted:
		if w.direct {
			return true, nil
		}
		return true, d.settle(ctx, in)
	}
	return true, nil
}

// settleAll settles what was finished at a process that died before it could, and that nobody has met since.
func (d *Desk) settleAll(ctx context.Context) error {
	rows, err := d.store.Find(ctx, &Query{Kind: rowInteraction, Status: statusCompleted, Limit: maxFindLimit})
	if err != nil {
		return err
	}
	var errs []error
	for _, row := range rows {
		if row.Key == "" {
			continue // it is where it belongs
		}
		in, err := d.read(row)
		if err == nil {
			err = d.settle(ctx, in)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// settleLater is settle for somebody who need not wait for it.
func (d *Desk) settleLater(in *interaction) {
	d.spawn(func() {
		if err := d.settle(context.Background(), in); err != nil {
			d.log.Warn("connect: what a person has brought is kept with its interaction; the next call puts it where it belongs", "error", err)
		}
	})
}

// title is what the interaction is about, for the words of errors.
func (in *interaction) title(d *Desk) string {
	if h, ok := d.kind(in.data.Kind, in.data.Name); ok {
		return h.title(in)
	}
	return in.data.Name
}

// expired is the error of what was not finished in time.
func expired(title string) error {
	return told(ErrExpired, "%s: the person did not finish in time; call again to ask them again", title)
}

// settle puts what a finished interaction has brought where it belongs. Whoever meets one that is not settled does it: whoever
// finished it may be gone.
func (d *Desk) settle(ctx context.Context, in *interaction) error {
	h, ok := d.kind(in.data.Kind, in.data.Name)
	if !ok || len(in.data.Payload) == 0 || !h.applies() {
		return nil
	}
	ctx, cancel := d.commit(ctx)
	defer cancel()
	if err := h.apply(ctx, in); err != nil {
		return err
	}
	_, err := d.step(ctx, in.ID, func(now *interaction) error {
		if len(now.data.Payload) == 0 {
			return errAsIs
		}
		now.data.Payload, now.row.Key = nil, ""
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
