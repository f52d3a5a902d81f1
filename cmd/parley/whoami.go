package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
)

// whoamiCmd tells about logins.
type whoamiCmd struct {
	authFlags
	JSON    bool `name:"json" help:"Print it as JSON."`
	Verbose bool `short:"v" help:"Show each step of discovery."`

	Server string `arg:"" optional:"" help:"URL of the server. Without one all logins are listed."`
}

// A login is what is printed about one, as JSON.
type login struct {
	Server    string     `json:"server"`
	Issuer    string     `json:"issuer,omitzero"`
	Subject   string     `json:"subject,omitzero"`
	ClientID  string     `json:"clientId,omitzero"`
	Resource  string     `json:"resource,omitzero"`
	Scopes    []string   `json:"scopes,omitzero"`
	Expiry    *time.Time `json:"expiry,omitzero"`
	Renewable bool       `json:"renewable,omitzero"`
	DPoP      bool       `json:"dpop,omitzero"`
	State     string     `json:"state,omitzero"` // accepted, refused, none, unneeded
	Demands   *demands   `json:"demands,omitzero"`
}

// A demands is what a server wants of clients.
type demands struct {
	Challenge            string   `json:"challenge,omitzero"`
	Scopes               []string `json:"scopes,omitzero"`
	Resource             string   `json:"resource,omitzero"`
	AuthorizationServers []string `json:"authorizationServers,omitzero"`
	Issuer               string   `json:"issuer,omitzero"`
	Registration         []string `json:"registration,omitzero"`
	NoMetadata           bool     `json:"noMetadata,omitzero"` // of the server: what follows is supposed, as of 2025-03-26
	Problem              string   `json:"problem,omitzero"`
}

func loginOf(st *mcpauth.Status) *login {
	l := &login{Server: st.Server, Issuer: st.Issuer, Subject: st.Subject, ClientID: st.ClientID, Resource: st.Resource, Scopes: st.Scopes, Renewable: st.Renewable, DPoP: st.DPoP}
	if !st.Expiry.IsZero() {
		l.Expiry = &st.Expiry
	}
	return l
}

// Run tells about one login or all.
func (c *whoamiCmd) Run(ctx context.Context, s *streams) error {
	u := newUI(s.err)
	if c.Server == "" {
		return c.list(ctx, s, u)
	}
	if !isHTTP(c.Server) {
		return usagef("%q is no http or https URL; a stdio server knows no logins", c.Server)
	}
	t, err := c.transport(c.Server, &person{ui: u, verbose: c.Verbose})
	if err != nil {
		return err
	}
	defer t.Close()
	open, err := probe(ctx, mcphttp.DefaultTransport(), c.Server)
	if err != nil {
		return connectError{err}
	}
	l, st, err := c.state(ctx, t, open)
	if err != nil {
		return err
	}
	l.Demands = demanded(ctx, t, open)
	if c.JSON {
		err = printJSON(s.out, l)
	} else {
		text := ""
		if st != nil {
			text = statusText(st, c.kept(ctx, u, st))
		}
		_, err = io.WriteString(s.out, stateText(l)+text+l.Demands.text())
	}
	if err == nil && (l.State == "none" || l.State == "refused") {
		return &silentError{exitUnavailable}
	}
	return err
}

// state finds out whether there is a login that the server accepts.
func (c *whoamiCmd) state(ctx context.Context, t *mcpauth.Transport, open *probed) (*login, *mcpauth.Status, error) {
	st, err := t.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	l := &login{Server: c.Server, State: "none"}
	if st == nil {
		if open.ok() {
			l.State = "unneeded"
		}
		return l, nil, nil
	}
	seen, err := probe(ctx, t, c.Server) // nobody is asked: the transport has no person
	if now, e := t.Status(ctx); e == nil && now != nil {
		st = now // it may have been renewed
	}
	l = loginOf(st)
	l.State = "accepted"
	if err != nil || seen.refused() {
		l.State = "refused"
	}
	return l, st, nil
}

func demanded(ctx context.Context, t *mcpauth.Transport, open *probed) *demands {
	d := &demands{}
	if open.refused() {
		d.Challenge = open.text()
		if open.challenge != nil {
			d.Scopes = open.challenge.Scopes
		}
	}
	found, err := t.Discover(ctx, open.challenge)
	switch {
	case err != nil && open.ok():
		return d
	case err != nil:
		d.Problem = strings.TrimPrefix(err.Error(), "mcpauth: ")
		return d
	case found.Legacy && open.ok():
		return d // any server may be one of 2025-03-26
	}
	if d.Scopes == nil {
		d.Scopes = found.Scopes
	}
	d.Resource, d.AuthorizationServers, d.Issuer, d.NoMetadata = found.Resource, found.Servers, found.Metadata.Issuer, found.Legacy
	if found.Metadata.ClientIDDocuments {
		d.Registration = append(d.Registration, "metadata document")
	}
	if found.Metadata.RegistrationEndpoint != "" {
		d.Registration = append(d.Registration, "dynamic")
	}
	if d.Registration == nil {
		d.Registration = []string{"beforehand"}
	}
	return d
}

func stateText(l *login) string {
	text := map[string]string{"accepted": "logged in, and the server accepts it", "refused": "logged in, but the server does not accept it any more (parley login URL logs in anew)",
		"none": "not logged in (parley login URL does that)", "unneeded": "not logged in, and need not be for what every client asks first"}[l.State]
	return fmt.Sprintf("%s\n%s\n", consent.Line(l.Server, 500), text)
}

// row is a line of a text for people.
func row(name, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf("  %-10s %s\n", name, consent.Line(value, 1000))
}

// statusText tells about a login.
func statusText(st *mcpauth.Status, kept string) string {
	expiry := "not said"
	if !st.Expiry.IsZero() {
		expiry = st.Expiry.Local().Format("2006-01-02 15:04:05")
		if left := time.Until(st.Expiry).Round(time.Second); left > 0 {
			expiry += fmt.Sprintf(" (in %v)", left)
		} else {
			expiry += " (over)"
		}
	}
	if st.Renewable {
		expiry += ", renewed by itself"
	}
	bound := ""
	if st.DPoP {
		bound = "the token is bound to a key of this computer (DPoP)"
	}
	return row("server", st.Server) + row("issuer", st.Issuer) + row("subject", cmp.Or(st.Subject, "not said")) + row("client", st.ClientID) +
		row("resource", st.Resource) + row("scopes", cmp.Or(strings.Join(st.Scopes, " "), "none were named")) + row("expires", expiry) + row("bound", bound) + row("kept in", kept)
}

// text tells what the server wants.
func (d *demands) text() string {
	if d.Challenge == "" && d.Issuer == "" {
		return "the server demands nothing\n"
	}
	if d.Problem != "" {
		return "the server demands\n" + row("login", d.Challenge) + "  but nobody can log in there:\n" + ownLine("    "+d.Problem) + "\n"
	}
	var metadata, choice string
	if d.NoMetadata {
		metadata = "none; what follows is supposed, as of 2025-03-26"
	}
	if len(d.AuthorizationServers) > 1 {
		choice = strings.Join(d.AuthorizationServers, ", ")
	}
	return "the server demands\n" + row("login", cmp.Or(d.Challenge, "not for what every client asks first")) + row("metadata", metadata) + row("issuer", d.Issuer) +
		row("one of", choice) + row("resource", d.Resource) + row("scopes", cmp.Or(strings.Join(d.Scopes, " "), "none are named")) +
		row("clients", "registration: "+strings.Join(d.Registration, ", or "))
}

// list lists all logins.
func (c *whoamiCmd) list(ctx context.Context, s *streams, u *ui) error {
	all, err := c.logins(ctx, u)
	if err != nil {
		return err
	}
	logins := []*login{}
	for _, st := range all {
		logins = append(logins, loginOf(st))
	}
	if c.JSON {
		return printJSON(s.out, logins)
	}
	if len(all) == 0 {
		fmt.Fprintln(s.out, "There is no login. parley login URL makes one.")
	}
	for i, st := range all {
		if i > 0 {
			fmt.Fprintln(s.out)
		}
		fmt.Fprint(s.out, statusText(st, c.kept(ctx, u, st)))
	}
	return nil
}

func printJSON(w io.Writer, v any) error {
	raw, err := jsonv2.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, safeJSON(string(raw)))
	return err
}
