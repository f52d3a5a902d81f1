package connect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/connect/internal/pages"
	"github.com/seed38e7925c/parley/mcp"
)

// A Desk is where people are asked: it opens interactions for the calls of tools, serves their pages, and keeps what came of them. Its
// methods may be called concurrently. It is an http.Handler for everything below [Options.BaseURL].
type Desk struct {
	opts     Options
	base     *url.URL
	store    Store
	keys     *Keys
	identity identity
	log      *slog.Logger
	pages    *pages.Renderer
	handler  http.Handler
	local    bool // made by OpenLocal: its path is another one each time

	hub         *hub
	creating    stripes // one interaction of a person is opened at a time
	credentials *credentialCache
	flights     flights
	lease       time.Duration // how long a running action may be silent
	grace       time.Duration // how long a step may take that must not be given up because its browser is gone

	mu    sync.Mutex
	kinds map[kindName]kindHandler

	healthy atomic.Bool // Watch is listening
	stop    context.CancelFunc
	closed  bool           // guarded by mu
	closing []func() error // what else Close ends
	running sync.WaitGroup // the goroutines of the desk
}

// kindName names what can be asked for.
type kindName struct {
	kind interactionKind
	name string
}

// Open makes a desk. Its work in the background, watching the store above all, ends with Close; ctx bounds only the opening itself.
// The error names the option that is wrong.
func Open(ctx context.Context, o *Options) (*Desk, error) { return open(ctx, o, false) }

func open(ctx context.Context, o *Options, local bool) (*Desk, error) {
	opts, base, err := o.resolved()
	if err != nil {
		return nil, err
	}
	renderer, err := pages.New()
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	d := &Desk{
		opts: opts, base: base, local: local, store: opts.Store, keys: opts.Keys, log: opts.Logger, pages: renderer,
		hub: newHub(), credentials: newCredentialCache(), lease: runLease, grace: commitTimeout, kinds: make(map[kindName]kindHandler),
	}
	if _, err := d.keys.ring(); err != nil {
		return nil, err
	}
	if err := d.reach(ctx); err != nil {
		return nil, err
	}
	if d.identity, err = opts.Identity.open(ctx, d); err != nil {
		return nil, fmt.Errorf("connect: Options.Identity: %w", err)
	}
	d.handler = d.routes()
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	d.running.Go(func() { d.watch(background) })
	d.running.Go(func() { d.housekeeping(background) })
	return d, nil
}

// reach makes sure that the store answers: better now than when somebody waits.
func (d *Desk) reach(ctx context.Context) error {
	if _, err := d.store.Get(ctx, rowInteraction, "none"); err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("connect: Options.Store: %w", err)
	}
	return nil
}

// Close ends the work of the desk in the background and waits for it. The store stays open. Calls that wait go on waiting, and no longer
// learn by themselves of what other replicas do.
func (d *Desk) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.stop()
	var errs []error
	for _, end := range d.closing {
		errs = append(errs, end())
	}
	d.running.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.kinds {
		if g, ok := h.(*Grant); ok {
			g.party.http.CloseIdleConnections()
		}
	}
	return errors.Join(errs...)
}

// spawn runs fn on a goroutine that Close waits for. After Close it does nothing, and returns false.
func (d *Desk) spawn(fn func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.running.Go(fn)
	}
	return !d.closed
}

// Asks returns the questions that the named secrets, grants and pages may put, for [mcp.Tool.Asks]: documentation and `parley ls` show
// them. They are optional: a client that cannot open pages is not refused, since it can be given a link. A name that is not known is a
// mistake of the program, and panics.
func (d *Desk) Asks(names ...string) []*mcp.Question {
	d.mu.Lock()
	defer d.mu.Unlock()
	var qs []*mcp.Question
	for _, name := range names {
		known := false
		for k, h := range d.kinds {
			if k.name == name {
				known = true
				qs = append(qs, &mcp.Question{Key: flowKey(k.kind, k.name), Kind: mcp.AskURL, Message: h.words(d), Optional: true})
			}
		}
		if !known {
			panic(fmt.Sprintf("connect: Asks: nothing is called %q", name))
		}
	}
	return qs
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// register makes a kind known. A name that is bad, or taken, is a mistake of the program, and panics.
func (d *Desk) register(kind interactionKind, name string, h kindHandler) {
	if !nameForm.MatchString(name) {
		panic(fmt.Sprintf("connect: the name %q of a %s: it must have 1 to 64 letters, digits, dots, dashes or underscores", name, kind))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for k := range d.kinds {
		if k.name == name {
			panic(fmt.Sprintf("connect: the name %q is taken by a %s", name, k.kind))
		}
	}
	d.kinds[kindName{kind, name}] = h
}

// kind finds what an interaction is about. Another release of the program, on another replica, may know what this one does not.
func (d *Desk) kind(kind interactionKind, name string) (kindHandler, bool) {
	if kind == kindApproval {
		return approvalHandler{d}, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	h, ok := d.kinds[kindName{kind, name}]
	return h, ok
}

// url returns the address of a page of the desk.
func (d *Desk) url(path string) string { return d.base.ResolveReference(&url.URL{Path: path}).String() }

// Times of the work in the background.
const (
	pollInterval  = 2 * time.Second // looking after those who wait, while Watch does not
	pruneInterval = 10 * time.Minute
	watchRetry    = time.Second
	commitTimeout = 10 * time.Second
)

// watch wakes those who wait for what other replicas do, as long as ctx lasts.
func (d *Desk) watch(ctx context.Context) {
	for failed := false; ctx.Err() == nil; failed = true {
		err := d.store.Watch(ctx, d.changed)
		d.healthy.Store(false)
		if ctx.Err() != nil {
			return
		}
		if !failed {
			d.log.Error("connect: the store cannot be watched; those who wait are looked after by polling until it can", "error", err)
		}
		pause(ctx, watchRetry)
	}
}

// changed takes note of a row that somebody has changed.
func (d *Desk) changed(kind, id string) {
	switch kind {
	case "":
		d.healthy.Store(true)
		d.credentials.clear()
		d.hub.wakeAll()
	case rowInteraction:
		d.hub.wake(id)
	case rowCredential:
		d.credentials.evict(id)
		d.hub.wake(id) // who waits for another process to renew it
	}
}

// housekeeping removes what has expired, and looks after those who wait while Watch does not.
func (d *Desk) housekeeping(ctx context.Context) {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	pruned := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
		if !d.healthy.Load() {
			d.hub.wakeAll()
		}
		if time.Since(pruned) < pruneInterval {
			continue
		}
		pruned = time.Now()
		if err := d.settleAll(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("connect: what people have brought could not be put where it belongs; it is tried again", "error", err)
		}
		if _, err := d.Prune(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("connect: what has expired could not be removed; it is tried again", "error", err)
		}
	}
}

// Prune removes what has expired from the store, all of it, and returns how many rows that was. The desk does so by itself, every ten
// minutes.
func (d *Desk) Prune(ctx context.Context) (int, error) {
	const batch = 1000
	for total := 0; ; {
		n, err := d.store.Prune(ctx, batch)
		total += n
		if err != nil || n < batch {
			return total, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
