package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// How a guest deals with a question.
const (
	moodAccept = iota
	moodDecline
	moodCancel
	moodIgnore // until the question is withdrawn
)

// A guest is one client from its coming to its going.
type guest struct {
	rng     *rand.Rand
	name    string // also the canary: whatever this client gets to see bears it
	subject string // who the server says it is
	addr    string
	wire    *wire // nil for a child process
	client  *mcp.Client
	rev     mcp.Revision
	calls   int
	mood    atomic.Int32
	foreign atomic.Pointer[string] // what it saw and was not meant to see
}

// arrive connects a guest over HTTP.
func arrive(ctx context.Context, name, addr string, rng *rand.Rand) (*guest, error) {
	g := &guest{rng: rng, name: name, subject: name, addr: addr}
	var httpClient *http.Client
	g.wire, httpClient = newWire(name, rng.IntN(8) == 0)
	rev := spoken[rng.IntN(len(spoken))]
	return g, g.connect(ctx, mcphttp.Dial("http://"+addr+"/mcp", &mcphttp.DialOptions{Client: httpClient, CloseTimeout: patience}), rev)
}

func (g *guest) connect(ctx context.Context, t mcp.Transport, rev mcp.Revision) (err error) {
	g.rev = rev
	g.client, err = mcp.Connect(ctx, t, &mcp.ClientOptions{
		Info: &mcp.Implementation{Name: g.name, Version: "1"}, Revisions: []mcp.Revision{rev}, Interactor: &mcp.Interactor{Form: g.form},
		LogLevel: "debug", OnLog: func(_ context.Context, m *mcp.LogMessage) { g.mine(string(m.Data)) },
		RequestTimeout: patience, CloseTimeout: patience,
	})
	if err == nil && g.client.Server().Revision != rev {
		err = fmt.Errorf("speaks %v, not %v", g.client.Server().Revision, rev)
	}
	return err
}

// patience is how long anything may take before it counts as lost: much, because the machine is busy.
const patience = 60 * time.Second

// mine notes text that bears another client's canary, or none.
func (g *guest) mine(text string) {
	if !strings.Contains(text, g.name+".") {
		g.foreign.CompareAndSwap(nil, &text)
	}
}

func (g *guest) form(ctx context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
	g.mine(q.Message)
	switch g.mood.Load() {
	case moodAccept:
		return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: []byte(`{"name":"` + g.name + `","age":7}`)}, nil
	case moodDecline:
		return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
	case moodCancel:
		return &mcp.ElicitResult{Action: mcp.ActionCancel}, nil
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// canary makes a text that nobody else has, and that this guest has not used before.
func (g *guest) canary() string {
	g.calls++
	return g.name + "." + strconv.Itoa(g.calls)
}

func (g *guest) below(d time.Duration) time.Duration { return time.Duration(g.rng.Int64N(int64(d))) }

// call calls a tool and checks that the answer is this guest's, to this very call, and says want.
func (g *guest) call(ctx context.Context, tool string, size int, want string, o *mcp.RequestOptions) error {
	canary := g.canary()
	return g.callAs(ctx, canaryIn{canary, size}, tool, want, o)
}

func (g *guest) callAs(ctx context.Context, in canaryIn, tool, want string, o *mcp.RequestOptions) error {
	got, err := mcp.CallTool[told](ctx, g.client, tool, in, o)
	if err != nil {
		return err
	}
	if got.Subject != g.subject || got.Canary != in.Canary || got.Filler != want {
		return wrong("%s of %s: %.100s, %s, %.100q (%d bytes)", tool, in.Canary, got.Subject, got.Canary, got.Filler, len(got.Filler))
	}
	return nil
}

// errWrong is an answer that is not right, which nothing excuses.
var errWrong = errors.New("wrong")

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errWrong, fmt.Sprintf(format, args...))
}

// An action is something that guests do. It returns what kind of outcome it had, for the summary.
type action struct {
	name   string
	weight int
	http   bool // needs a network
	do     func(ctx context.Context, g *guest) (string, error)
}

var actions = []action{
	{"echo", 20, false, doEcho},
	{"many at once", 5, false, doMany},
	{"progress", 10, false, doSteps},
	{"ask", 12, false, doAsk},
	{"ask and give up", 5, false, doAbandon},
	{"cancel", 8, false, doCancel},
	{"follow a resource", 6, false, doFollow},
	{"follow the tools", 2, false, doTools},
	{"lists", 4, false, doLists},
	{"read", 6, false, doRead},
	{"cut", 8, true, doCut},
	{"cut while following", 3, true, doCutFollow},
	{"stall", 5, true, doStall},
	{"be rude", 3, true, doRude},
}

func doEcho(ctx context.Context, g *guest) (string, error) {
	size := g.rng.IntN(2000)
	if g.rng.IntN(20) == 0 {
		size = 200_000
	}
	in := canaryIn{g.canary(), size}
	return "", g.callAs(ctx, in, "echo", filler(in.Canary, size), nil)
}

func doMany(ctx context.Context, g *guest) (string, error) {
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		in := canaryIn{g.canary(), 10 * i}
		all.Go(func() { errs[i] = g.callAs(ctx, in, "echo", filler(in.Canary, in.Size), nil) })
	}
	all.Wait()
	return "", errors.Join(errs...)
}

// steps calls the tool that reports progress, and checks the reports.
func (g *guest) steps(ctx context.Context, n int) error {
	in := canaryIn{g.canary(), n}
	last := 0.0
	var bad error
	err := g.callAs(ctx, in, "steps", "", &mcp.RequestOptions{Progress: func(p mcp.Progress) {
		if p.Message != "" && p.Message != in.Canary || p.Done <= last || p.Total != float64(n) {
			bad = wrong("progress %v of %v after %v for %s: %s", p.Done, p.Total, last, in.Canary, p.Message)
		}
		last = p.Done
	}})
	if bad == nil && err == nil && last != float64(n) {
		bad = wrong("progress ended at %v of %d", last, n)
	}
	return errors.Join(bad, err)
}

func doSteps(ctx context.Context, g *guest) (string, error) {
	return "", g.steps(ctx, 1+g.rng.IntN(20))
}

// canAsk reports whether this guest's revision has elicitation.
func (g *guest) canAsk() bool { return g.rev >= mcp.Revision20250618 }

func doAsk(ctx context.Context, g *guest) (string, error) {
	if !g.canAsk() {
		return doEcho(ctx, g)
	}
	mood := g.rng.Int32N(3)
	g.mood.Store(mood)
	return [...]string{"accepted", "declined", "dismissed"}[mood],
		g.call(ctx, "who", 0, [...]string{"accepted " + g.name + " 7", "declined", "canceled"}[mood], nil)
}

// gaveUp checks how a call ended that was given up.
func gaveUp(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, errWrong) || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return wrong("a call that was given up ended with %v", err)
	}
	return nil
}

func doAbandon(ctx context.Context, g *guest) (string, error) {
	if !g.canAsk() {
		return doCancel(ctx, g)
	}
	g.mood.Store(moodIgnore)
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond+g.below(100*time.Millisecond))
	defer cancel()
	return "", gaveUp(short, g.call(short, "who", 0, "", nil))
}

func doCancel(ctx context.Context, g *guest) (string, error) {
	short, cancel := context.WithTimeout(ctx, time.Millisecond+g.below(100*time.Millisecond))
	defer cancel()
	return "", gaveUp(short, g.call(short, "hold", 0, "", nil))
}

func doLists(ctx context.Context, g *guest) (string, error) {
	seen := make(map[string]int)
	for tool, err := range g.client.Tools(ctx) {
		if err != nil {
			return "", err
		}
		seen[tool.Name]++
	}
	for _, name := range []string{"echo", "steps", "hold", "who", "touch", "change"} {
		if seen[name] != 1 {
			return "", wrong("the list has %s %d times", name, seen[name])
		}
	}
	return "", nil
}

func doRead(ctx context.Context, g *guest) (string, error) {
	canary := g.canary()
	r, err := g.client.ReadResource(ctx, &mcp.ReadResourceParams{URI: "soak:///" + canary})
	if err != nil {
		return "", err
	}
	if len(r.Contents) != 1 || r.Contents[0].Text != g.subject+" "+canary {
		return "", wrong("%s reads as %+v", canary, r.Contents)
	}
	p, err := g.client.GetPrompt(ctx, &mcp.GetPromptParams{Name: "hello", Arguments: map[string]string{"canary": canary}})
	if err != nil {
		return "", err
	}
	if text, ok := p.Messages[0].Content.(*mcp.TextContent); len(p.Messages) != 1 || !ok || text.Text != g.subject+" "+canary {
		return "", wrong("%s is prompted as %+v", canary, p.Messages)
	}
	return "", nil
}
