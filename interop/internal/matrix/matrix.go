// Package matrix runs every pair of client and server through the same checks and says what came of each.
package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/interop/internal/play"
)

// A State is what came of one check.
type State string

// The states.
const (
	OK    State = "ok"
	NA    State = "n.a." // the peer or the era lacks it
	Fault State = "peer" // the peer breaks a rule
	Fail  State = "FAIL" // ours, until shown otherwise
	None  State = ""     // not asked of this row
)

// A Cell is one check of one row.
type Cell struct {
	State  State
	Reason string
	// Rule is what a peer breaks, and Got how the check failed.
	Rule, Got string
	// AtTimes: the fault does not show in every run.
	AtTimes bool
	// Tape is what crossed the wire, for states other than ok.
	Tape []string
}

// A Row is one client against one server, in one way and era.
type Row struct {
	Client, Server string
	Transport, Era string
	Cells          map[string]Cell
}

// Name identifies the row.
func (r *Row) Name() string {
	return fmt.Sprintf("%s to %s, %s, %s", r.Client, r.Server, r.Transport, r.Era)
}

func (r *Row) failed() bool {
	for _, c := range r.Cells {
		if c.State == Fail {
			return true
		}
	}
	return false
}

// A Pair is a row before it has run.
type Pair struct {
	Client, Server, Transport, Era string
	// Dial connects the client. Open starts the server and returns where it is.
	Dial play.Dialer
	Open func(ctx context.Context, era string, tape *play.Tape) (*play.Target, func() error, error)
	// Checks are those of the row; nil means those of the fixture.
	Checks []Check
	// Needs is why the row cannot run here, empty if it can.
	Needs string
}

// Name is that of the row.
func (p *Pair) Name() string {
	return (&Row{Client: p.Client, Server: p.Server, Transport: p.Transport, Era: p.Era}).Name()
}

// older reports whether the era is one old revision.
func (p *Pair) older() bool { return strings.HasPrefix(p.Era, "20") }

// A Check fills one cell.
type Check struct {
	Name string
	Run  func(ctx context.Context, s *Session) error
}

// errNA is a check that the pair cannot pass for want of a feature.
type errNA struct{ why string }

// Error implements error.
func (e *errNA) Error() string { return e.why }

func na(format string, args ...any) error { return &errNA{fmt.Sprintf(format, args...)} }

const (
	checkTime = 20 * time.Second
	dialTime  = 30 * time.Second
)

// Run runs the checks of a pair, each on a connection of its own so that none spoils the next.
func (p *Pair) Run(ctx context.Context) *Row {
	row := &Row{Client: p.Client, Server: p.Server, Transport: p.Transport, Era: p.Era, Cells: map[string]Cell{}}
	tape := new(play.Tape)
	target, stop, err := p.Open(ctx, p.Era, tape)
	if err != nil {
		row.Cells[Connect] = Cell{State: Fail, Reason: "the server did not start: " + err.Error()}
		return row
	}
	checks := p.Checks
	if checks == nil {
		checks = FixtureChecks
	}
	for _, c := range checks {
		row.Cells[c.Name] = p.judge(c.Name, p.check(ctx, c, target, tape), tape)
	}
	if err := stop(); err != nil {
		row.Cells["end"] = Cell{State: Fail, Reason: err.Error()}
	}
	return row
}

func (p *Pair) check(ctx context.Context, c Check, target *play.Target, tape *play.Tape) (err error) {
	tape.Rewind()
	if k := p.known(c.Name); k != nil && k.Skip {
		return na("%s", k.Reason)
	}
	dialCtx, cancelDial := context.WithTimeout(ctx, dialTime)
	defer cancelDial()
	s := &Session{target: target, dial: p.Dial, pair: p, doubt: p.known(c.Name) != nil, note: make(chan struct{}, 1)}
	s.Client, s.Hello, err = p.Dial(dialCtx, target, s.event)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	checkCtx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	err = c.Run(checkCtx, s)
	if e := s.Client.Close(); e != nil && err == nil && p.Client == Ours {
		err = fmt.Errorf("closing: %w", e)
	}
	return err
}

func (p *Pair) judge(check string, err error, tape *play.Tape) Cell {
	k := p.known(check)
	if lack := new(errNA); errors.As(err, &lack) {
		return Cell{State: NA, Reason: lack.why}
	}
	switch {
	case err == nil && k != nil && !k.Sometimes:
		return Cell{State: Fail, Reason: "passes now: take it off the list of known faults (" + k.Reason + ")"}
	case err == nil && k != nil:
		return Cell{State: Fault, Reason: k.Reason + " (not in this run)", Rule: k.Rule, AtTimes: true}
	case err == nil:
		return Cell{State: OK}
	case k == nil:
		return Cell{State: Fail, Reason: err.Error(), Tape: tape.Lines()}
	case !k.Match.MatchString(err.Error()):
		return Cell{State: Fail, Reason: fmt.Sprintf("fails otherwise than known (%s): %v", k.Match, err), Tape: tape.Lines()}
	case k.State == NA:
		return Cell{State: NA, Reason: k.Reason}
	}
	return Cell{State: Fault, Reason: k.Reason, Rule: k.Rule, Got: err.Error(), Tape: tape.Lines(), AtTimes: k.Sometimes}
}

// Failed reports whether a cell of the rows is a failure of ours.
func Failed(rows []*Row) bool { return slices.ContainsFunc(rows, (*Row).failed) }
