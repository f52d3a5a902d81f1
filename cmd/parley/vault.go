package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/postgres"
	"github.com/seed38e7925c/parley/connect/sqlite"
	"github.com/seed38e7925c/parley/consent"
)

// vaultCmd is what an operator does with what a server keeps for people.
type vaultCmd struct {
	List   vaultListCmd   `cmd:"" help:"List the secrets and grants that a server keeps: whose, what for, since when. Never what is secret of them."`
	Revoke vaultRevokeCmd `cmd:"" help:"Remove secrets and grants: by id, of one person, or all."`
	Rebind vaultRebindCmd `cmd:"" help:"Move what is kept for one person to another identity of the same human being."`
	Keys   vaultKeysCmd   `cmd:"" help:"List and change the keys that a server seals with."`
}

// connectCmd is the other housekeeping of a server's desk.
type connectCmd struct {
	Prune connectPruneCmd `cmd:"" help:"Remove what has expired. Servers do so by themselves, every ten minutes."`
}

// vaultFlags say whose files they are.
type vaultFlags struct {
	Store string `required:"" env:"PARLEY_STORE" help:"The server's store: a file of SQLite, or a postgres:// URL. Better from the environment if it has a password: lists of processes show command lines." placeholder:"STORE"`
	Keys  string `required:"" env:"PARLEY_KEYS" help:"The file with the server's keys." placeholder:"FILE"`
}

// An operatorStore is a store as a command opens it.
type operatorStore interface {
	connect.Store
	Close() error
}

// vault opens what a server keeps. It makes no new files: an operator who mistypes a name wants to know.
func (f *vaultFlags) vault(ctx context.Context) (_ *connect.Vault, done func() error, err error) {
	keys, err := f.ring()
	if err != nil {
		return nil, nil, err
	}
	store, err := f.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	v, err := connect.OpenVault(store, keys)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return v, store.Close, nil
}

func (f *vaultFlags) ring() (*connect.Keys, error) {
	if err := exists("--keys", f.Keys); err != nil {
		return nil, err
	}
	return connect.KeysFromFile(f.Keys), nil
}

// postgresStore is how PostgreSQL is named: by a URL, or by words.
var postgresStore = regexp.MustCompile(`^postgres(ql)?://|(^| )(host|dbname|service) *=`)

func (f *vaultFlags) open(ctx context.Context) (operatorStore, error) {
	if postgresStore.MatchString(f.Store) {
		return postgres.Open(ctx, f.Store)
	}
	if err := exists("--store", f.Store); err != nil {
		return nil, err
	}
	return sqlite.Open(f.Store)
}

func exists(flag, name string) error {
	_, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("%s: there is no file %q", flag, name)
	}
	return err
}

// with runs fn on the vault.
func (f *vaultFlags) with(ctx context.Context, fn func(*connect.Vault) error) error {
	v, done, err := f.vault(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fn(v), done())
}

// personFlags name somebody as the server's tokens do.
type personFlags struct {
	Issuer  string `help:"The person's issuer, exactly as their tokens have it; \"local\" for a server on standard input and output." placeholder:"URL"`
	Subject string `help:"The person's subject at the issuer." placeholder:"SUB"`
	Tenant  string `help:"The person's tenant, where the server has tenants." placeholder:"TENANT"`
}

// person returns who is meant; nil for nobody in particular.
func (f *personFlags) person() (*connect.Person, error) {
	switch {
	case *f == personFlags{}:
		return nil, nil //nolint:nilnil // nobody was named, and that is no mistake
	case f.Issuer == "" || f.Subject == "":
		return nil, usagef("a person is named by --issuer and --subject together")
	}
	return &connect.Person{Tenant: f.Tenant, Issuer: f.Issuer, Subject: f.Subject}, nil
}

// vaultListCmd lists what is kept.
type vaultListCmd struct {
	vaultFlags
	personFlags
	JSON bool `name:"json" help:"Print one JSON object a line."`
}

// Run lists what is kept for a person, or for everybody.
func (c *vaultListCmd) Run(ctx context.Context, s *streams) error {
	of, err := c.person()
	if err != nil {
		return err
	}
	return c.with(ctx, func(v *connect.Vault) error {
		n := 0
		table := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
		err := v.List(ctx, of, func(item *connect.Stored) error {
			n++
			if c.JSON {
				return printStored(s, item)
			}
			if n == 1 {
				fmt.Fprintln(table, "ID\tKIND\tNAME\tSTATE\tACCOUNT\tSINCE\tLAST USED\tTOOLS\tOWNER")
			}
			_, err := fmt.Fprintln(table, storedLine(item))
			return err
		})
		if err = errors.Join(err, table.Flush()); err != nil {
			return err
		}
		if n == 0 && !c.JSON {
			fmt.Fprintln(s.out, "Nothing is kept.")
		}
		return nil
	})
}

// storedLine is one line of the table.
func storedLine(item *connect.Stored) string {
	state := "valid"
	if !item.Valid {
		state = "no longer valid"
	}
	cells := []string{item.ID, item.Kind, item.Name, state, item.Account, day(item.Since), day(item.LastUsed), strings.Join(item.Tools, ", "), item.Owner}
	for i, cell := range cells {
		if cell = consent.Line(cell, 100); cell == "" {
			cell = "-"
		}
		cells[i] = cell
	}
	return strings.Join(cells, "\t")
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}

// storedJSON is what is kept, for scripts.
type storedJSON struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"`
	Name     string    `json:"name"`
	Owner    string    `json:"owner"`
	Account  string    `json:"account,omitzero"`
	Scopes   []string  `json:"scopes,omitzero"`
	Tools    []string  `json:"tools,omitzero"`
	Since    time.Time `json:"since"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
	Valid    bool      `json:"valid"`
}

func printStored(s *streams, item *connect.Stored) error {
	raw, err := jsonv2.Marshal(&storedJSON{item.ID, item.Kind, item.Name, item.Owner, item.Account, item.Scopes, item.Tools, item.Since, item.LastUsed, item.Valid})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s\n", raw)
	return err
}

// vaultRevokeCmd removes what is kept.
type vaultRevokeCmd struct {
	vaultFlags
	personFlags
	All bool     `help:"Remove everything, of everybody."`
	IDs []string `arg:"" optional:"" name:"id" help:"What to remove, as parley vault list names it. Write -- before ids that begin with a dash."`
}

// Run removes what is named. It goes on after something that cannot be removed, and says so at the end.
func (c *vaultRevokeCmd) Run(ctx context.Context, s *streams) error {
	of, err := c.person()
	if err != nil {
		return err
	}
	named := 0
	for _, is := range []bool{c.All, of != nil, len(c.IDs) > 0} {
		if is {
			named++
		}
	}
	if named != 1 {
		return usagef("say what to remove: ids, a person (--issuer and --subject), or --all")
	}
	return c.with(ctx, func(v *connect.Vault) error {
		ids := c.IDs
		if len(ids) == 0 {
			if err := v.List(ctx, of, func(item *connect.Stored) error {
				ids = append(ids, item.ID)
				return nil
			}); err != nil {
				return err
			}
		}
		var failed error
		removed := 0
		for _, id := range ids {
			switch err := v.Revoke(ctx, id); {
			case errors.Is(err, connect.ErrNotFound):
				failed = errors.Join(failed, fmt.Errorf("nothing is kept under the id %q", id))
			case err != nil:
				failed = errors.Join(failed, fmt.Errorf("%s: %w", id, err))
			default:
				removed++
			}
		}
		fmt.Fprintf(s.out, "Removed: %d\n", removed)
		if removed > 0 {
			fmt.Fprintln(s.err, "Servers stop using it within a second. Other companies are not told: a person does that on their own page, or at the company.")
		}
		return failed
	})
}

// vaultRebindCmd moves what is kept for a person.
type vaultRebindCmd struct {
	vaultFlags
	personFlags
	ToIssuer  string `help:"The issuer of the other identity. Default: --issuer." placeholder:"URL"`
	ToSubject string `help:"The subject of the other identity. Default: --subject." placeholder:"SUB"`
	ToTenant  string `help:"The tenant of the other identity. Default: --tenant." placeholder:"TENANT"`
}

// Run moves it.
func (c *vaultRebindCmd) Run(ctx context.Context, s *streams) error {
	from, err := c.person()
	switch {
	case err != nil:
		return err
	case from == nil:
		return usagef("say whose it is, with --issuer and --subject, and whose it will be, with --to-issuer or --to-subject")
	}
	to := connect.Person{Tenant: or(c.ToTenant, from.Tenant), Issuer: or(c.ToIssuer, from.Issuer), Subject: or(c.ToSubject, from.Subject)}
	if to == *from {
		return usagef("say whose it will be, with --to-issuer or --to-subject")
	}
	return c.with(ctx, func(v *connect.Vault) error {
		moved, kept, err := v.Rebind(ctx, *from, to)
		fmt.Fprintf(s.out, "Moved: %d. Both identities have it in their activity.\n", moved)
		if kept > 0 {
			fmt.Fprintf(s.out, "Left where it was: %d, since the other identity has its own.\n", kept)
		}
		return err
	})
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// connectPruneCmd removes what has expired.
type connectPruneCmd struct{ vaultFlags }

// Run removes it.
func (c *connectPruneCmd) Run(ctx context.Context, s *streams) error {
	return c.with(ctx, func(v *connect.Vault) error {
		n, err := v.Prune(ctx)
		fmt.Fprintf(s.out, "Removed: %d\n", n)
		return err
	})
}
