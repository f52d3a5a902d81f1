package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcpauth"
)

// logoutCmd ends logins.
type logoutCmd struct {
	authFlags
	Verbose bool `short:"v" help:"Show each step."`

	Server string `arg:"" optional:"" help:"URL of the server. Without one all logins are ended."`
}

// Run ends the login at a server, or all.
func (c *logoutCmd) Run(ctx context.Context, s *streams) error {
	p := &person{ui: newUI(s.err), verbose: c.Verbose}
	servers := []string{c.Server}
	if c.Server == "" {
		logins, err := c.logins(ctx, p.ui)
		if err != nil {
			return err
		}
		servers = nil
		for _, l := range logins {
			servers = append(servers, l.Server)
		}
		if len(servers) == 0 {
			fmt.Fprintln(s.out, "There is no login.")
		}
	} else if !isHTTP(c.Server) {
		return usagef("%q is no http or https URL", c.Server)
	}
	var failed error
	for _, server := range servers {
		failed = errors.Join(failed, c.logout(ctx, s, server, p))
	}
	return failed
}

func (c *logoutCmd) logout(ctx context.Context, s *streams, server string, p *person) error {
	t, err := c.transport(server, p)
	if err != nil {
		return err
	}
	defer t.Close()
	st, err := t.Status(ctx)
	if err != nil {
		return err
	}
	if st == nil {
		fmt.Fprintf(s.out, "There is no login at %s.\n", consent.Line(server, 500))
		return nil
	}
	revoked := t.Logout(ctx)
	if left, err := t.Status(ctx); err != nil || left != nil {
		return errors.Join(revoked, err)
	}
	fmt.Fprintf(s.out, "Logged out of %s.\n", consent.Line(server, 500))
	if revoked != nil {
		return fmt.Errorf("the login at %s is gone here, but %s could not be told; its token may be good until it expires: %w", server, st.Issuer, revoked)
	}
	return nil
}

// logins are those that are kept.
func (f *authFlags) logins(ctx context.Context, u *ui) ([]*mcpauth.Status, error) {
	store, err := f.store(u)
	if err != nil {
		return nil, err
	}
	return mcpauth.Logins(ctx, store)
}
