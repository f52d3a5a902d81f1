package connect

import (
	"context"
	"fmt"
	"time"

	"github.com/seed38e7925c/parley/connect/internal/pages"
)

// Events that are not statuses of interactions.
const (
	eventRevoked     = "revoked"
	eventWrongPerson = "wrong-person"
)

// auditData is the sealed part of an audit row: names and digests. No details, no secrets.
type auditData struct {
	Event  string          `json:"event"`
	About  string          `json:"about"` // id of the interaction or credential
	Kind   interactionKind `json:"kind,omitzero"`
	Name   string          `json:"name,omitzero"`
	Tool   string          `json:"tool,omitzero"`
	Client string          `json:"client,omitzero"`
	Digest string          `json:"digest,omitzero"` // of an approved action
}

// audit notes what happened to an interaction. It comes after the fact and cannot undo it: where it fails, the log has to do.
func (d *Desk) audit(ctx context.Context, event string, in *interaction) {
	d.note(ctx, in.row.Owner, "", &auditData{
		Event: event, About: in.ID, Kind: in.data.Kind, Name: in.data.Name, Tool: in.data.Tool, Client: in.data.Client, Digest: digestOf(in),
	})
}

// auditCredential notes what happened to a credential.
func (d *Desk) auditCredential(ctx context.Context, event string, c *credential) {
	d.note(ctx, c.Owner, "", &auditData{Event: event, About: c.ID, Kind: c.Kind, Name: c.Name})
}

// note writes an entry. One with the same once is written only once.
func (d *Desk) note(ctx context.Context, owner, once string, entry *auditData) {
	if err := (auditor{d.store, d.keys, d.opts.AuditRetention}).write(ctx, owner, once, entry); err != nil {
		d.log.Error("connect: an audit entry could not be written", "event", entry.Event, "about", entry.About, "error", err)
	}
}

// An auditor writes entries, and says how long they are kept.
type auditor struct {
	store Store
	keys  *Keys
	keep  time.Duration
}

func (a auditor) write(ctx context.Context, owner, once string, entry *auditData) error {
	id := fmt.Sprintf("%016x-%s", time.Now().UnixMicro(), randomID())
	if once != "" {
		id = once
	}
	row := &Row{Kind: rowAudit, ID: id, Owner: owner, Status: entry.Event, Expires: time.Now().Add(a.keep)}
	if err := a.keys.sealJSON(row, entry); err != nil {
		return err
	}
	_, err := a.store.Insert(ctx, row)
	return err
}

// auditPage is how many entries a page shows.
const auditPage = 50

// entries returns what happened of late to what belongs to somebody, newest first, from a row on; older is the last of them when there
// are more.
func (d *Desk) entries(ctx context.Context, owner string, after *Row) (list []pages.Entry, older *Row, err error) {
	rows, err := d.store.Find(ctx, &Query{Kind: rowAudit, Owner: owner, After: after, Limit: auditPage + 1})
	if err != nil {
		return nil, nil, err
	}
	if len(rows) > auditPage {
		rows = rows[:auditPage]
		older = rows[auditPage-1]
	}
	for _, row := range rows {
		var e auditData
		if err := d.keys.openJSON(row, &e); err != nil {
			return nil, nil, err
		}
		list = append(list, pages.Entry{When: row.Created, Event: e.Event, Title: d.named(e.Kind, e.Name), Tool: e.Tool, Client: e.Client})
	}
	return list, older, nil
}

// named is what something is called on pages.
func (d *Desk) named(kind interactionKind, name string) string {
	if kind == kindApproval {
		return "" // what was approved is a detail
	}
	if h, ok := d.kind(kind, name); ok {
		return h.title(nil)
	}
	return name
}
