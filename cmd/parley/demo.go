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
)

// demoCmd is the main job in one command.
type demoCmd struct {
	Auto     bool   `help:"Play the person, too, and print who says what to whom. The default where there is no terminal."`
	Era      string `enum:"auto,legacy,modern,both" default:"auto" help:"Revision to speak: legacy (2025-11-25), modern (2026-07-28) or both, one after the other. Default: modern, and both with --auto."`
	Interact string `enum:"terminal,web" default:"terminal" help:"Where you are asked: in this terminal, or on pages in your browser."`
	Stdio    bool   `help:"Run the server as a process of its own and speak to it over its standard input and output, instead of HTTP on loopback."`
	Intruder bool   `help:"Somebody else gets each of your links, signs in as himself, and tries to finish in your place."`
	Keep     string `help:"Keep the server's files in this folder, instead of a temporary one." placeholder:"DIR"`
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

// Run runs the demo. It succeeds only if the story ends as it is told: the ticket is the one that the person wanted, and the secret was
// seen by nobody else.
func (c *demoCmd) Run(ctx context.Context, s *streams) error {
	if c.Intruder && c.Stdio {
		return usageError{errors.New("--intruder needs people who sign in: leave out --stdio")}
	}
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
	w, err := c.start(ctx)
	if err != nil {
		return err
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, w.Close())
		}
		err = errors.Join(err, w.remove())
	}()
	c.title(s, era, w)
	got, cast, err := c.play(ctx, s, era, w)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s\n", wrapped(ticketText(got), columns(s.out)))
	if err := errors.Join(check(got, cast.alice), cast.bob.failed(ctx, cast.alice)); err != nil {
		return err
	}
	if w.server != nil && !c.Auto {
		w.server.settle(ctx)
	}
	closed = true
	if err := w.Close(); err != nil {
		return err
	}
	return w.secretKept(s, cast.wire)
}

// title says what is about to happen.
func (c *demoCmd) title(s *streams, era demoEra, w *demoWorld) {
	title := fmt.Sprintf("%s, revision %s, over %s", era.name, era.revisions[len(era.revisions)-1], c.wire())
	room := columns(s.out)
	line := len(title)
	if room > 0 {
		line = min(line, room)
	}
	fmt.Fprintf(s.out, "%s\n%s\n", wrapped(title, room), strings.Repeat("=", line))
	if !c.Auto {
		for _, paragraph := range w.outline() {
			fmt.Fprintf(s.out, "%s\n\n", wrapped(paragraph, room))
		}
	}
}

func (c *demoCmd) wire() string {
	if c.Stdio {
		return "standard input and output of a server process"
	}
	return "HTTP on loopback"
}

// A cast is who takes part in a demo, besides its server.
type cast struct {
	in    *mcp.Interactor
	keys  *keyboard
	alice *actor    // nil: the person plays for themselves
	bob   *intruder // nil: nobody intrudes
	wire  *wireRecord
}

// play calls the tool, and has the person answer.
func (c *demoCmd) play(ctx context.Context, s *streams, era demoEra, w *demoWorld) (got ticket, all *cast, err error) {
	if all, err = c.cast(s, w); err != nil {
		return got, all, err
	}
	transport, hangUp, err := w.dial(c.login(s, all.in, all.keys, all.alice))
	if err != nil {
		return got, all, err
	}
	defer func() { err = errors.Join(err, hangUp()) }()
	see := all.wire.see
	if all.alice != nil {
		see = both(all.wire.see, all.alice.see)
	}
	client, err := mcp.Connect(ctx, &tap{Transport: transport, see: see}, &mcp.ClientOptions{Info: hostInfo(), Interactor: all.in,
		Revisions: era.revisions, RequestTimeout: 10 * time.Minute, ConnectTimeout: 10 * time.Minute})
	if err != nil {
		return got, all, connectError{err}
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	waiting := func(p mcp.Progress) {
		if !c.Auto { // the transcript has it already
			fmt.Fprintf(s.err, "(the server: %s)\n", consent.Line(p.Message, 0))
		}
	}
	got, err = mcp.CallTool[ticket](ctx, client, "book", demoJourney, &mcp.RequestOptions{Progress: waiting})
	return got, all, err
}

// cast finds out who takes part.
func (c *demoCmd) cast(s *streams, w *demoWorld) (all *cast, err error) {
	all = &cast{wire: &wireRecord{}}
	if c.Intruder {
		if all.bob, err = newIntruder(s.out, w); err != nil {
			return nil, err
		}
	}
	switch {
	case c.Auto:
		if all.alice, err = newActor(s.out, w.site, all.bob); err != nil {
			return nil, err
		}
		all.in = all.alice.interactor()
	case c.Interact == "web":
		all.in = web.New(&web.Options{Tell: tellPage(s.err)})
	default:
		all.keys = newKeyboard(s.in.(*os.File)) // Run has looked
		all.in = terminal.New(all.keys, s.err)
	}
	if !c.Auto && all.bob != nil {
		all.in.Open = all.bob.before(all.in.Open)
	}
	return all, nil
}

// check makes sure that the ticket is the one that was asked for.
func check(got ticket, alice *actor) error {
	switch {
	case got.From != demoJourney.From || got.To != demoJourney.To || got.Number == "" || got.Fare == "":
		return fmt.Errorf("the ticket is not for the journey: %+v", got)
	case got.ApprovedAt.IsZero():
		return errors.New("there is a ticket although nobody approved the purchase at the page")
	case alice != nil && (got.Class != "first" || got.Place != "window" || !got.Quiet):
		return fmt.Errorf("the ticket is not for the seat that was chosen: %+v", got)
	case alice != nil && got.Passenger != "alice@rail-ag.example":
		return fmt.Errorf("the ticket is not for the account that was chosen: %+v", got)
	case alice != nil:
		return alice.finished()
	}
	return nil
}

func ticketText(t ticket) string {
	return consent.Line(fmt.Sprintf("Ticket %s for %s: %s to %s, %s, %s, approved at %s", t.Number, t.Passenger, t.From, t.To,
		seatText(seat{t.Class, t.Place, t.Quiet}), t.Fare, t.ApprovedAt.Local().Format("15:04:05")), 400)
}

func hostInfo() *mcp.Implementation { return &mcp.Implementation{Name: "parley", Version: version()} }
