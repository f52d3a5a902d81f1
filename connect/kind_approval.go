package connect

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/connect/internal/pages"
	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/internal/canon"
	"github.com/seed38e7925c/parley/mcp"
)

// An Action is something that a person has to approve before it is done. What it says is frozen with it: the person sees it, and exactly
// that is what was approved. It must be the same each time the handler runs for one call: what varies, a price, comes from [mcp.Once].
type Action struct {
	// Title is what will be done, in a few words: "Pay 42.00 EUR to Rail AG". It is also what the client's person reads. At most 200
	// characters, which is what the page shows.
	Title string
	// Details are what the person must know: amounts, names, dates. At most 50, with labels of at most 200 characters and values of at most
	// 2000 bytes. Characters that nobody would see are shown as U+FFFD.
	Details []Detail
	Reason  string // why, in at most 2000 bytes; may be empty
	// Uses are the credentials that it will be done with. An approval counts only as long as the person has the very same.
	Uses []Credential
	// Key tells two actions of one call apart that say the same. It may be empty.
	Key string
}

// A Detail is one line of an action.
type Detail struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// A Credential is something that a person has handed over: a [*SecretSource] or a [*Grant].
type Credential interface {
	// credentialID names what a person has handed over for it, empty when there is nothing; what takes its place has another name.
	credentialID(ctx context.Context, owner string) (string, error)
}

// Bounds of an Action.
const (
	maxDetails    = 50
	maxDetailText = 2000
)

// An Approved is an action that its person has approved.
type Approved struct {
	Action Action
	By     Person
	// IdempotencyKey is the same for the same approval, and for no other: hand it on to whoever carries the action out, if they take one.
	IdempotencyKey string
}

// approvalPart is what an approval remembers.
type approvalPart struct {
	Title   string         `json:"title"`
	Details []Detail       `json:"details,omitzero"`
	Reason  string         `json:"reason,omitzero"`
	Digest  string         `json:"digest"`
	Run     string         `json:"run,omitzero"`   // names the process's attempt
	Until   time.Time      `json:"until,omitzero"` // when the run is taken for dead, unless it shows itself
	Outcome *storedOutcome `json:"outcome,omitzero"`
}

// storedOutcome is what an action has come to.
type storedOutcome struct {
	Result  json.RawMessage `json:"result,omitzero"`
	TooLong bool            `json:"tooLong,omitzero"` // there was a result, too long to keep
	Error   *storedError    `json:"error,omitzero"`
}

// storedError is an error as far as the client gets to see it.
type storedError struct {
	Tool    bool            `json:"tool,omitzero"`
	Code    mcp.Code        `json:"code,omitzero"`
	Message string          `json:"message,omitzero"`
	Data    json.RawMessage `json:"data,omitzero"`
}

// How long a run may be silent before it is taken for dead, and how often it shows itself in that time.
const (
	runLease = 30 * time.Second
	beats    = 3
)

// Do has a person approve an action on a page of the desk, and then runs fn, once, with exactly what was approved; it returns what comes
// back from encoding fn's result as JSON. A call that is made again, by a retry of the client or by another round of questions, gets the
// result of that run, or its error, and fn does not run again: not when fn failed, not when the process died on it. In the latter
// case, and when fn's context ended, nobody knows whether the action took effect; Do then returns an error that wraps [ErrUnknown] and
// says so, and the application has to find out, by the IdempotencyKey perhaps.
//
// What is approved is the action as shown together with the caller (tenant, issuer, subject, client), the tool, the arguments of the call
// and the credentials of Action.Uses. If any of it differs when the call is made again, it is another action, for which the person is asked
// anew. Two calls that say the same are two actions, wherever the client's retries can be told from new calls; where they cannot (clients
// that get a link, and -32042 without a store), the same call goes on with the approval that is open, and is a new action once it is done.
//
// Errors of asking are those of [SecretSource.Get]. fn must not ask anything, and should end when the handler's ctx does. Its result is
// kept, sealed, for a day; one longer than [Options.MaxResult] is returned but not kept.
func Do[T any](ctx context.Context, d *Desk, call *mcp.Call, a Action, fn func(Approved) (T, error)) (T, error) {
	var v T
	raw, err := d.do(ctx, call, &a, func(approved Approved) (json.RawMessage, error) {
		v, err := fn(approved)
		if err != nil {
			return nil, err
		}
		raw, err := jsonv2.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("connect: the result of an action cannot be encoded: %w", err)
		}
		return raw, nil
	})
	if err != nil {
		return v, err
	}
	if err := jsonv2.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("connect: the result of an action cannot be decoded: %w", err)
	}
	return v, nil
}

// do is Do without types.
func (d *Desk) do(ctx context.Context, call *mcp.Call, a *Action, fn func(Approved) (json.RawMessage, error)) (json.RawMessage, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	who, err := d.caller(call)
	if err != nil {
		return nil, err
	}
	sum, err := d.digestAction(ctx, call, who, a)
	if err != nil {
		return nil, err
	}
	in, err := d.obtain(ctx, call, &want{
		kind: kindApproval, name: sum[:16], title: a.Title, purpose: []string{sum}, perFlow: true,
		message: fmt.Sprintf("%s asks for your approval: %s. You see the details on a page of %s, and decide there.", d.opts.ServerName, a.Title, d.opts.ServerName),
		part:    &approvalPart{Title: a.Title, Details: a.Details, Reason: a.Reason, Digest: sum},
	})
	if err != nil {
		return nil, err
	}
	run := randomID()
	in, err = d.begin(ctx, in.ID, sum, run)
	if err != nil {
		return nil, err
	}
	part, err := approvalOf(in)
	if err != nil {
		return nil, err
	}
	if in.row.Status != statusRunning || part.Run != run {
		return d.earlier(ctx, call, in)
	}
	frozen := *a
	frozen.Title, frozen.Details, frozen.Reason = part.Title, part.Details, part.Reason
	return d.run(ctx, in.ID, run, func() (json.RawMessage, error) {
		return fn(Approved{Action: frozen, By: in.data.Person, IdempotencyKey: digest("idempotency", in.ID)})
	})
}

// check refuses actions that nobody could judge.
func (a *Action) check() error {
	if strings.TrimSpace(a.Title) == "" || utf8.RuneCountInString(a.Title) > consent.DefaultLine {
		return fmt.Errorf("connect: Action.Title must have 1 to %d characters: it is what the person approves", consent.DefaultLine)
	}
	if len(a.Reason) > maxDetailText {
		return fmt.Errorf("connect: Action.Reason is longer than %d bytes", maxDetailText)
	}
	if len(a.Details) > maxDetails {
		return fmt.Errorf("connect: Action.Details has %d lines; nobody reads more than %d", len(a.Details), maxDetails)
	}
	for _, detail := range a.Details {
		if utf8.RuneCountInString(detail.Label) > consent.DefaultLine || len(detail.Value) > maxDetailText {
			return fmt.Errorf("connect: Action.Details: the label %.40q is longer than %d characters, or its value than %d bytes",
				detail.Label, consent.DefaultLine, maxDetailText)
		}
	}
	return nil
}

// digestAction names exactly what is approved.
func (d *Desk) digestAction(ctx context.Context, call *mcp.Call, who *caller, a *Action) (string, error) {
	args := call.Arguments()
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	sum, err := canon.Digest(args)
	if err != nil {
		return "", fmt.Errorf("connect: the arguments of the call: %w", err)
	}
	parts := []string{
		"action 1", who.Tenant, who.Issuer, who.Subject, who.clientID, call.Method(), call.Name(),
		base64.RawURLEncoding.EncodeToString(sum[:]), a.Title, a.Reason, a.Key,
	}
	for _, detail := range a.Details {
		parts = append(parts, "detail", detail.Label, detail.Value)
	}
	for _, c := range a.Uses {
		id, err := c.credentialID(ctx, who.owner)
		if err != nil {
			return "", err
		}
		parts = append(parts, "credential", id)
	}
	return digest(parts...), nil
}

// approvalOf reads what an approval remembers.
func approvalOf(in *interaction) (*approvalPart, error) {
	part := new(approvalPart)
	if err := jsonv2.Unmarshal(in.data.Part, part); err != nil {
		return nil, fmt.Errorf("connect: approval %s cannot be read: %w", in.ID, err)
	}
	return part, nil
}

// keep writes it back.
func (part *approvalPart) keep(in *interaction) error {
	raw, err := jsonv2.Marshal(part)
	if err != nil {
		return fmt.Errorf("connect: encoding an approval: %w", err)
	}
	in.data.Part = json.RawMessage(raw)
	return nil
}

// digestOf is what the audit says of an approved action.
func digestOf(in *interaction) string {
	if in.data.Kind != kindApproval {
		return ""
	}
	part, err := approvalOf(in)
	if err != nil {
		return ""
	}
	return part.Digest
}

// ran reports whether it is an action that was begun.
func (in *interaction) ran() bool {
	if in.data.Kind != kindApproval {
		return false
	}
	part, err := approvalOf(in)
	return err == nil && part.Run != ""
}

// begin is the step from approved to running: one conditional update, which compares what was approved with what is to be done. Whoever
// does it runs the action; for everybody else the interaction comes back as it is.
func (d *Desk) begin(ctx context.Context, id, sum, run string) (*interaction, error) {
	in, err := d.step(ctx, id, func(in *interaction) error {
		part, err := approvalOf(in)
		switch {
		case err != nil:
			return err
		case part.Digest != sum:
			return fmt.Errorf("connect: approval %s is for another action", id)
		case in.row.Status == statusRunning && !time.Now().Before(part.Until):
			in.end(statusUnknown, "")
			in.row.Expires = time.Now().Add(keepOutcome)
			return nil
		case in.row.Status != statusApproved:
			return errAsIs
		}
		part.Run, part.Until = run, time.Now().Add(d.lease)
		in.row.Status, in.row.Expires = statusRunning, time.Now().Add(keepOutcome)
		return part.keep(in)
	})
	if errors.Is(err, ErrNotFound) {
		return nil, told(ErrExpired, "the approval was not used in time; call again to ask the person again")
	}
	return in, err
}

// run runs an approved action and stores what comes of it.
func (d *Desk) run(ctx context.Context, id, run string, fn func() (json.RawMessage, error)) (json.RawMessage, error) {
	ended := false
	stop := d.beat(ctx, id, run)
	defer func() {
		stop()
		if !ended { // a panic on its way up
			d.conclude(ctx, id, run, statusUnknown, nil)
		}
	}()
	raw, err := fn()
	ended = true
	stop()
	switch {
	case err == nil:
		outcome := &storedOutcome{Result: raw}
		if len(raw) > d.opts.MaxResult {
			outcome = &storedOutcome{TooLong: true}
		}
		d.conclude(ctx, id, run, statusDone, outcome)
		return raw, nil
	case errors.Is(err, mcp.ErrInputRequired):
		d.conclude(ctx, id, run, statusUnknown, nil)
		return nil, fmt.Errorf("connect: the function of an approved action asked the person something; ask before Do: %w", err)
	case ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		d.conclude(ctx, id, run, statusUnknown, nil)
		return nil, unknownOutcome(err)
	}
	d.conclude(ctx, id, run, statusFailed, &storedOutcome{Error: errorToStore(err)})
	return nil, err
}

// conclude stores what came of a run. The truth wins over a guess: a run that was taken for dead, and has come to its end after all,
// replaces "unknown".
func (d *Desk) conclude(ctx context.Context, id, run, status string, outcome *storedOutcome) {
	ctx, cancel := d.commit(ctx)
	defer cancel()
	for {
		_, err := d.step(ctx, id, func(in *interaction) error {
			part, err := approvalOf(in)
			if err != nil {
				return err
			}
			if part.Run != run || in.row.Status != statusRunning && in.row.Status != statusUnknown {
				return errAsIs
			}
			part.Outcome = outcome
			in.end(status, "")
			in.row.Expires = time.Now().Add(keepOutcome)
			return part.keep(in)
		})
		if err == nil {
			return
		}
		if ctx.Err() != nil || errors.Is(err, ErrNotFound) {
			d.log.Error("connect: what came of an approved action could not be stored; retries are told that it is unknown",
				"interaction", id, "status", status, "error", err)
			return
		}
		pause(ctx, concludeRetry)
	}
}

// concludeRetry is how soon it is tried again to store what came of a run. It matters more than most, and is within its lease.
const concludeRetry = 50 * time.Millisecond

// beat shows, until stop is called, that a run is alive.
func (d *Desk) beat(ctx context.Context, id, run string) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() { // ends with the run, which waits for it
		defer close(ended)
		tick := time.NewTicker(d.lease / beats)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			_, err := d.step(ctx, id, func(in *interaction) error {
				part, err := approvalOf(in)
				if err != nil || part.Run != run || in.row.Status != statusRunning {
					return errors.Join(err, errAsIs)
				}
				part.Until = time.Now().Add(d.lease)
				return part.keep(in)
			})
			if err != nil && ctx.Err() == nil {
				d.log.Warn("connect: a running action could not show that it is alive", "interaction", id, "error", err)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// earlier returns what came of an action that another run has begun, and waits for it where it is under way.
func (d *Desk) earlier(ctx context.Context, call *mcp.Call, in *interaction) (json.RawMessage, error) {
	for in.row.Status == statusRunning {
		part, err := approvalOf(in)
		if err != nil {
			return nil, err
		}
		var now *interaction
		err = call.Await(ctx, flowKey(kindApproval, in.data.Name)+"/run/"+part.Run, "Waiting for "+part.Title, func(ctx context.Context) error {
			now, err = d.settled(ctx, in.ID, part.Digest)
			return err
		})
		if err != nil {
			return nil, err
		}
		in = now
	}
	return d.stored(in)
}

// settled waits until a run is over, or taken for dead.
func (d *Desk) settled(ctx context.Context, id, sum string) (*interaction, error) {
	for {
		in, err := d.interaction(ctx, id)
		if err != nil {
			return nil, err
		}
		part, err := approvalOf(in)
		if err != nil {
			return nil, err
		}
		if in.row.Status != statusRunning {
			return in, nil
		}
		if !time.Now().Before(part.Until) {
			return d.begin(ctx, id, sum, "")
		}
		if _, err := d.wait(ctx, id, part.Until, func(in *interaction) bool { return in.row.Status != statusRunning }); err != nil {
			return nil, err
		}
	}
}

// stored returns what came of an action.
func (d *Desk) stored(in *interaction) (json.RawMessage, error) {
	part, err := approvalOf(in)
	if err != nil {
		return nil, err
	}
	o := part.Outcome
	switch {
	case in.row.Status == statusUnknown || o == nil:
		return nil, unknownOutcome(nil)
	case o.TooLong:
		return nil, told(nil, "this was approved and done before; its result was too long to be kept, and it is not done again")
	case o.Error != nil:
		return nil, o.Error.returned()
	}
	return o.Result, nil
}

// unknownOutcome is the error of an action that was begun and of which nobody knows whether it took effect.
func unknownOutcome(cause error) error {
	err := ErrUnknown
	if cause != nil {
		err = fmt.Errorf("%w: %w", ErrUnknown, cause)
	}
	return told(err, "this action was approved and begun, but interrupted: whether it took effect is unknown, and it is not run again by itself. "+
		"Find out first whether it was done; only if it was not, call again, for a new approval")
}

// errorToStore keeps of an error what its client sees.
func errorToStore(err error) *storedError {
	var (
		wire *mcp.Error
		tool *mcp.ToolError
	)
	switch {
	case errors.As(err, &wire):
		return &storedError{Code: wire.Code, Message: wire.Message, Data: wire.Data}
	case errors.As(err, &tool):
		return &storedError{Tool: true, Message: tool.Text}
	}
	return &storedError{}
}

// errFailedBefore stands for an internal error of the run.
var errFailedBefore = errors.New("connect: the approved action failed when it was run; that error is in the log of that time")

func (e *storedError) returned() error {
	switch {
	case e.Tool:
		return &mcp.ToolError{Text: e.Message}
	case e.Code != 0:
		return &mcp.Error{Code: e.Code, Message: e.Message, Data: e.Data}
	}
	return errFailedBefore
}

// approvalHandler is the kind of approvals.
type approvalHandler struct{ desk *Desk }

func (approvalHandler) title(in *interaction) string {
	if in == nil {
		return "approval"
	}
	part, err := approvalOf(in)
	if err != nil {
		return "approval"
	}
	return part.Title
}

func (approvalHandler) words(d *Desk) string { return d.opts.ServerName + " asks for your approval" }

func (approvalHandler) view(_ context.Context, v *visit) (*pages.Interaction, error) {
	part, err := approvalOf(v.in)
	if err != nil {
		return nil, err
	}
	page := &pages.Interaction{Title: seen(part.Title), Reason: seen(part.Reason)}
	for _, detail := range part.Details {
		page.Details = append(page.Details, pages.Detail{Label: seen(detail.Label), Value: seen(detail.Value)})
	}
	return page, nil
}

// seen shows that there are characters which nobody would see: pages leave them out, and two actions that differ in them would look the
// same. Joiners between letters that are not ASCII belong to scripts and emoji.
func seen(text string) string {
	var b strings.Builder
	before := rune(0)
	for i, r := range text {
		after, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		joins := (r == '\u200c' || r == '\u200d') && before > unicode.MaxASCII && after > unicode.MaxASCII
		if !joins && !unicode.IsSpace(r) && consent.Line("a"+string(r)+"a", 0) == "aa" {
			b.WriteRune(utf8.RuneError)
		} else {
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

func (approvalHandler) submit(context.Context, *visit, url.Values) (*answer, error) {
	return &answer{status: statusApproved}, nil
}

func (approvalHandler) applies() bool { return false }

func (approvalHandler) apply(context.Context, *interaction) error { return nil }
