package connect

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"weak"

	"github.com/seed38e7925c/parley/mcp"
)

// reasonDismissed is why an interaction is declined whose question was dismissed in the client.
const reasonDismissed = "dismissed"

// noticeGrace is how long a client has to answer a question whose page is done, before the answer is no longer waited for.
const noticeGrace = time.Second

// ask sends the person to the page and waits until they are done there.
func (d *Desk) ask(ctx context.Context, call *mcp.Call, w *want, in *interaction) (*interaction, error) {
	if !call.CanAsk(mcp.AskURL) {
		return nil, d.link(in)
	}
	elicitation := randomID()
	switch err := d.send(ctx, call, w, in, elicitation); {
	case errors.Is(err, mcp.ErrDeclined):
		return d.refuse(ctx, w, in.ID, "", err)
	case errors.Is(err, mcp.ErrCanceled):
		return d.refuse(ctx, w, in.ID, reasonDismissed, err)
	case errors.Is(err, mcp.ErrInputRequired):
		d.tellLater(call, in, elicitation)
		return nil, err
	case err != nil:
		return nil, err
	}
	in, err := d.await(ctx, call, w, in)
	d.tell(call.Server(), elicitation)
	if err != nil {
		return nil, err
	}
	return in, nil
}

// send puts the question. Consent to open a page says nothing of what happens there; a page that is done needs no consent any more.
func (d *Desk) send(ctx context.Context, call *mcp.Call, w *want, in *interaction, elicitation string) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	var over sync.Once
	watch := d.hub.add(in.ID, func() {
		d.spawn(func() {
			if now, err := d.interaction(asking, in.ID); err == nil && !now.open(time.Now()) {
				over.Do(func() {
					d.tell(call.Server(), elicitation)
					time.AfterFunc(noticeGrace, cancel)
				})
			}
		})
	})
	defer d.hub.remove(watch)
	_, err := call.Ask(asking, &mcp.Question{
		Key: w.flowKey(), Kind: mcp.AskURL, Message: d.identity.message(in, in.data.Message), URL: d.url("i/" + in.ID), ID: elicitation,
	})
	if err != nil && ctx.Err() == nil && asking.Err() != nil {
		return nil
	}
	return err
}

// tell tells the client that was asked, and no other, that the page is done.
func (d *Desk) tell(server *mcp.Server, elicitation string) {
	if server == nil {
		return
	}
	if _, err := server.CompleteElicitation(elicitation); err != nil {
		d.log.Debug("connect: a client could not be told that its page is done", "error", err)
	}
}

// tellLater has the client told of a page whose call is not held: it makes the call again.
func (d *Desk) tellLater(call *mcp.Call, in *interaction, elicitation string) {
	server := call.Server()
	if server == nil || call.Session() == nil {
		return
	}
	var watch *waiter
	known := make(chan struct{})
	end := sync.OnceFunc(func() {
		<-known // it may be called as soon as it is added
		d.hub.remove(watch)
	})
	watch = d.hub.add(in.ID, func() {
		d.spawn(func() {
			ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
			defer cancel()
			if now, err := d.interaction(ctx, in.ID); err == nil && !now.open(time.Now()) {
				d.tell(server, elicitation)
				end()
			}
		})
	})
	close(known)
	time.AfterFunc(time.Until(in.data.Deadline), end)
}

// refuse ends an interaction because the person does not want it, unless they have finished it before: only what is stored counts.
func (d *Desk) refuse(ctx context.Context, w *want, id, reason string, cause error) (*interaction, error) {
	ctx, cancel := d.commit(ctx)
	defer cancel()
	in, err := d.step(ctx, id, func(in *interaction) error {
		if !in.open(time.Now()) {
			return errAsIs
		}
		in.decline(reason)
		return nil
	})
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	if in.row.Status == statusDeclined || in.row.Status == statusExpired {
		return nil, cause
	}
	if over, err := d.outcome(ctx, w, in); !over || err != nil {
		return nil, errors.Join(cause, err)
	}
	return in, nil
}

// decline ends an interaction because the person said no. It keeps its key for a moment: see stands.
func (in *interaction) decline(reason string) {
	key := in.row.Key
	in.end(statusDeclined, reason)
	in.row.Key = key
}

// await holds the call until the person is done.
func (d *Desk) await(ctx context.Context, call *mcp.Call, w *want, in *interaction) (*interaction, error) {
	var found *interaction
	err := call.Await(ctx, w.flowKey()+"/wait", "Waiting for the person at the page of "+d.opts.ServerName, func(ctx context.Context) error {
		now, err := d.wait(ctx, in.ID, in.data.Deadline, func(in *interaction) bool { return !in.open(time.Now()) })
		if err != nil {
			return err
		}
		found = now
		_, err = d.outcome(ctx, w, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// wait returns the interaction once it is as it should be, or a time has come at which it is looked at anyway. It costs its caller's
// goroutine, and reads the store only when something has happened.
func (d *Desk) wait(ctx context.Context, id string, until time.Time, ready func(in *interaction) bool) (*interaction, error) {
	w := d.hub.add(id, nil)
	defer d.hub.remove(w)
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for late := false; ; {
		in, err := d.interaction(ctx, id)
		switch {
		case errors.Is(err, ErrNotFound):
			return nil, expired("the request")
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			d.log.Warn("connect: an interaction that is waited for could not be read; it is tried again", "error", err)
			pause(ctx, watchRetry)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		case late || ready(in):
			return in, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			late = true
		case <-w.woke:
		}
	}
}

// link is what a client gets that cannot send the person to a page.
func (d *Desk) link(in *interaction) error {
	title, url := in.title(d), d.url("i/"+in.ID)
	return &LinkError{URL: url, Title: title, text: fmt.Sprintf("%s: the person has to visit a page first, and this client cannot open it for them. "+
		"Show them this link, which only they can use: %s (%s). Once they are done there, call again with the same arguments.",
		title, url, minutesLeft(in))}
}

func minutesLeft(in *interaction) string {
	return fmt.Sprintf("open for %d minutes", max(1, int(time.Until(in.data.Deadline).Round(time.Minute)/time.Minute)))
}

// A flight is one asking of one run of a handler. It does not keep the call.
type flight struct {
	call weak.Pointer[mcp.Call]
	key  string
}

// flights are those under way, and those whose question is on its way to the person: a run asks it once.
type flights struct {
	mu    sync.Mutex
	going map[flight]*landing
}

type landing struct {
	done chan struct{}
	in   *interaction
	err  error
}

// do runs fn, once for all parts of a handler that ask for the same.
func (f *flights) do(ctx context.Context, call *mcp.Call, key string, fn func() (*interaction, error)) (*interaction, error) {
	name := flight{weak.Make(call), key}
	f.mu.Lock()
	if l := f.going[name]; l != nil {
		f.mu.Unlock()
		select {
		case <-l.done:
			return l.in, l.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if f.going == nil {
		f.going = make(map[flight]*landing)
	}
	l := &landing{done: make(chan struct{}), err: errors.New("connect: the handler that asked has panicked")}
	f.going[name] = l
	f.mu.Unlock()
	defer func() {
		if errors.Is(l.err, mcp.ErrInputRequired) {
			runtime.AddCleanup(call, f.forget, name) // the run ends with it
		} else {
			f.forget(name)
		}
		close(l.done)
	}()
	l.in, l.err = fn()
	return l.in, l.err
}

func (f *flights) forget(name flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.going, name)
}
