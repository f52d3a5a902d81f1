package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/interactor/terminal"
	"github.com/seed38e7925c/parley/interactor/web"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
)

// demoCmd is the main job in one command.
type demoCmd struct {
	Auto     bool   `help:"Play the person, too, and print who says what to whom. The default where there is no terminal."`
	Era      string `enum:"auto,legacy,modern,both" default:"auto" help:"Revision to speak: legacy (2025-11-25), modern (2026-07-28) or both, one after the other. Default: modern, and both with --auto."`
	Interact string `enum:"terminal,web" default:"terminal" help:"Where you are asked: in this terminal, or on pages in your browser."`
	Stdio    bool   `help:"Run the server as a process of its own and speak to it over its standard input and output, instead of HTTP on loopback."`
}

// An era is which half of the protocol's history a demo runs in.
type demoEra struct {
	name      string
	revisions []mcp.Revision
}

// eras are those that were chosen.
func (c *demoCmd) eras() []demoEra {
	all := mcp.Revisions()
	legacy := demoEra{"the handshake era", all[:len(all)-1]}
	modern := demoEra{"the stateless era", all[len(all)-1:]}
	switch {
	case c.Era == "legacy":
		return []demoEra{legacy}
	case legacyBuilt && (c.Era == "both" || c.Era == "auto" && c.Auto):
		return []demoEra{legacy, modern}
	}
	return []demoEra{modern}
}

// Run runs the demo. It succeeds only if the tool finished with what the person wanted.
func (c *demoCmd) Run(ctx context.Context, s *streams) error {
	in, isFile := s.in.(*os.File)
	if c.Interact != "web" && (!isFile || !term.IsTerminal(int(in.Fd()))) {
		c.Auto = true
	}
	for i, era := range c.eras() {
		if i > 0 {
			fmt.Fprintln(s.out)
		}
		if err := c.once(ctx, s, era); err != nil {
			return fmt.Errorf("demo in %s: %w", era.name, err)
		}
	}
	if c.Auto {
		fmt.Fprintf(s.out, "\nThe person was played by --auto. Run \"parley demo\" in a terminal to be asked yourself.\n")
	}
	return nil
}

var demoJourney = journey{From: "Bern", To: "Wien"}

// once runs the demo in one era.
func (c *demoCmd) once(ctx context.Context, s *streams, era demoEra) (err error) {
	in, keys, host := c.person(s)
	transport, stop, err := c.server(ctx, c.login(s, in, keys, host))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if host != nil {
		transport = &tap{Transport: transport, see: host.see}
	}
	title := fmt.Sprintf("%s, revision %s, over %s", era.name, era.revisions[len(era.revisions)-1], c.wire())
	room := columns(s.out)
	line := len(title)
	if room > 0 {
		line = min(line, room)
	}
	fmt.Fprintf(s.out, "%s\n%s\n", wrapped(title, room), strings.Repeat("=", line))
	if !c.Auto {
		fmt.Fprintf(s.out, "%s\n\n", wrapped(c.outline(), room))
	}
	client, err := mcp.Connect(ctx, transport, &mcp.ClientOptions{Info: hostInfo(), Interactor: in, Revisions: era.revisions,
		RequestTimeout: 10 * time.Minute, ConnectTimeout: 10 * time.Second})
	if err != nil {
		return connectError{err}
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	waiting := func(p mcp.Progress) {
		if !c.Auto { // the transcript has it already
			fmt.Fprintf(s.err, "(the server: %s)\n", consent.Line(p.Message, 0))
		}
	}
	got, err := mcp.CallTool[ticket](ctx, client, "book", demoJourney, &mcp.RequestOptions{Progress: waiting})
	if err != nil {
		return err
	}
	if err := check(got, host); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s\n", wrapped(ticketText(got), room))
	return nil
}

// outline says what is about to happen.
func (c *demoCmd) outline() string {
	if c.Stdio {
		return "This program is the host. It now calls the tool \"book\" of a server on this computer, and the server will ask you."
	}
	return "This program is the host. It connects to a server on this computer, which demands that you log in, at a sign-in page that is on this computer " +
		"too. Then it calls the tool \"book\", and the server will ask you."
}

// person is who answers: the one at the terminal or the browser, or an actor.
func (c *demoCmd) person(s *streams) (*mcp.Interactor, *keyboard, *actor) {
	if c.Auto {
		host := newActor(s.out)
		return host.interactor(), nil, host
	}
	if c.Interact == "web" {
		return web.New(&web.Options{Tell: tellPage(s.err)}), nil, nil
	}
	keys := newKeyboard(s.in.(*os.File)) // Run has looked
	return terminal.New(keys, s.err), keys, nil
}

func (c *demoCmd) wire() string {
	if c.Stdio {
		return "standard input and output of a server process"
	}
	return "HTTP on loopback"
}

// server starts the server and returns the way to it, and what ends both.
func (c *demoCmd) server(ctx context.Context, login mcpauth.LoginFunc) (mcp.Transport, func() error, error) {
	if c.Stdio {
		self, err := os.Executable()
		if err != nil {
			return nil, nil, err
		}
		return mcp.Command(self, []string{"demo-server"}, nil), func() error { return nil }, nil
	}
	provider, err := demoProvider(c.Auto)
	if err != nil {
		return nil, nil, err
	}
	d, err := startDemoServer(ctx, provider)
	if err != nil {
		provider.Close()
		return nil, nil, err
	}
	transport, auth, err := demoDial(d.url, login)
	if err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	return transport, func() error { return errors.Join(auth.Close(), d.Close()) }, nil
}

// check makes sure that the ticket is the one that was asked for, and that the purchase was confirmed at the page.
func check(got ticket, host *actor) error {
	switch {
	case got.From != demoJourney.From || got.To != demoJourney.To || got.Number == "" || got.Fare == "":
		return fmt.Errorf("the ticket is not for the journey: %+v", got)
	case got.ConfirmedAt.IsZero():
		return errors.New("there is a ticket although nobody confirmed the purchase at the page")
	case host != nil && (got.Class != "first" || got.Place != "window" || !got.Quiet):
		return fmt.Errorf("the ticket is not for the seat that was chosen: %+v", got)
	case host != nil && host.logins > 0 && got.Passenger != "alice":
		return fmt.Errorf("the ticket is not for who logged in: %+v", got)
	case host != nil:
		return host.finished()
	}
	return nil
}

func ticketText(t ticket) string {
	quiet := ""
	if t.Quiet {
		quiet = ", quiet coach"
	}
	whose := ""
	if t.Passenger != "" {
		whose = " for " + t.Passenger
	}
	return consent.Line(fmt.Sprintf("Ticket %s%s: %s to %s, %s class, %s%s, %s, confirmed at %s", t.Number, whose, t.From, t.To, t.Class, t.Place, quiet,
		t.Fare, t.ConfirmedAt.Local().Format("15:04:05")), 400)
}

func hostInfo() *mcp.Implementation { return &mcp.Implementation{Name: "parley", Version: version()} }
