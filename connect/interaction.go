package connect

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed38e7925c/parley/connect/internal/pages"
)

// An interactionKind is what a person is asked for.
type interactionKind = pages.Kind

const (
	kindSecret   = pages.Secret
	kindGrant    = pages.Grant
	kindApproval = pages.Approval
	kindPage     = pages.Custom
)

// The statuses of an interaction.
//
//	created ─► opened ─┬─► completed                              secrets, grants, pages
//	                   ├─► approved ─► running ─► done | failed | unknown   approvals
//	                   └─► declined | expired | failed
const (
	statusCreated   = "created"
	statusOpened    = "opened"
	statusCompleted = "completed"
	statusDeclined  = "declined"
	statusExpired   = "expired"
	statusFailed    = "failed"
	statusApproved  = "approved"
	statusRunning   = "running"
	statusDone      = "done"
	statusUnknown   = "unknown"
)

// How long rows outlive what they are about.
const (
	keepOpen     = time.Hour      // after the deadline, so that the page can say that it is over
	keepFinished = time.Hour      // after the end
	keepOutcome  = 24 * time.Hour // what came of an approved action, for retries
	declineHold  = time.Minute    // a call that cannot be told from the one that was declined is declined, too
)

// An interaction is one thing that a person is asked for, for one client. It is one row; every step of it is one conditional update.
type interaction struct {
	ID   string
	row  *Row
	data interactionData
}

// interactionData is the sealed part of the row.
type interactionData struct {
	Kind     interactionKind `json:"kind"`
	Name     string          `json:"name"`
	Person   Person          `json:"person"`
	ClientID string          `json:"clientId,omitzero"`
	Client   string          `json:"client,omitzero"` // what the client calls itself
	Method   string          `json:"method,omitzero"`
	Tool     string          `json:"tool,omitzero"`
	Message  string          `json:"message"` // the words of the elicitation
	Deadline time.Time       `json:"deadline"`
	Finished time.Time       `json:"finished,omitzero"`
	Reason   string          `json:"reason,omitzero"`  // why it was declined or failed
	Account  string          `json:"account,omitzero"` // at the provider, once a grant is completed
	// Identity belongs to the identity, Part to the kind.
	Identity json.RawMessage `json:"identity,omitzero"`
	Part     json.RawMessage `json:"part,omitzero"`
	// Payload is what finishing it has brought. It stands here from the update that finishes the interaction until it is where it belongs:
	// in a credential, or in the hands of the call.
	Payload json.RawMessage `json:"payload,omitzero"`
}

// open reports whether the person may still answer.
func (in *interaction) open(now time.Time) bool {
	return (in.row.Status == statusCreated || in.row.Status == statusOpened) && now.Before(in.data.Deadline)
}

// overdue reports whether nobody answered in time.
func (in *interaction) overdue(now time.Time) bool {
	return (in.row.Status == statusCreated || in.row.Status == statusOpened) && !now.Before(in.data.Deadline)
}

// end sets a status that nothing follows. The key is free for another interaction.
func (in *interaction) end(status, reason string) {
	now := time.Now()
	in.row.Status, in.row.Key = status, ""
	in.row.Expires = now.Add(keepFinished)
	in.data.Finished, in.data.Reason = now, reason
}

// randomID returns 192 random bits as text.
func randomID() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // it never fails: it ends the program rather than return weak bytes
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// idLength is the length of a randomID.
const idLength = 32

// wellFormed reports whether id can be a randomID: nothing else is looked for.
func wellFormed(id string) bool {
	if len(id) != idLength {
		return false
	}
	_, err := base64.RawURLEncoding.DecodeString(id)
	return err == nil
}

// read opens the row of an interaction.
func (d *Desk) read(row *Row) (*interaction, error) {
	in := &interaction{ID: row.ID, row: row}
	if err := d.keys.openJSON(row, &in.data); err != nil {
		return nil, err
	}
	return in, nil
}

// interaction returns an interaction, or ErrNotFound.
func (d *Desk) interaction(ctx context.Context, id string) (*interaction, error) {
	row, err := d.store.Get(ctx, rowInteraction, id)
	if err != nil {
		return nil, err
	}
	return d.read(row)
}

// seal makes the row of an interaction hold its data.
func (d *Desk) seal(in *interaction) error {
	return d.keys.sealJSON(in.row, &in.data)
}

// errAsIs is returned by a change that finds nothing to change.
var errAsIs = errors.New("connect: nothing to change")

// maxSteps bounds how often a step is decided anew because others were faster.
const maxSteps = 20

// step changes an interaction by one conditional update. Where somebody else was faster, change is asked again, with what they have made
// of it. A change that returns errAsIs leaves the interaction as it is, which is no error; with any other error the interaction comes back
// beside it, unchanged.
func (d *Desk) step(ctx context.Context, id string, change func(in *interaction) error) (*interaction, error) {
	for range maxSteps {
		in, err := d.interaction(ctx, id)
		if err != nil {
			return nil, err
		}
		before := in.row.Status
		switch err := change(in); {
		case errors.Is(err, errAsIs):
			return in, nil
		case err != nil:
			return in, err
		}
		err = d.write(ctx, in)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return nil, err
		}
		d.hub.wake(id)
		if in.row.Status != before {
			d.audit(ctx, in.row.Status, in)
		}
		return in, nil
	}
	return nil, fmt.Errorf("connect: interaction %s is changed by others all the time", id)
}

// write updates the row. When the store does not say whether it did, the row itself does.
func (d *Desk) write(ctx context.Context, in *interaction) error {
	if err := d.seal(in); err != nil {
		return err
	}
	err := d.store.Update(ctx, in.row)
	if err == nil || errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
		return err
	}
	now, readErr := d.store.Get(ctx, rowInteraction, in.ID)
	if readErr != nil || string(now.Data) != string(in.row.Data) {
		return err
	}
	in.row = now
	return nil
}

// commit returns a context for a step that must not be given up because whoever began it is gone.
func (d *Desk) commit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d.grace)
}
