package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// AskOptions are a server's options for questions to the person. The zero value of each field is its default.
type AskOptions struct {
	// Keys seal what travels through the client between the rounds of a call (2026-07-28). The default is a ring of its own for each
	// server, which is logged when it is first used: replicas, and calls across a restart, need a shared one.
	Keys *KeyRing
	// Audience names the server towards its own sealed state, so that another server that shares the keys does not accept it. The
	// default is the server's name. Replicas use the same.
	Audience string
	// Store keeps what must not travel or must not happen twice. The default is none; [StateStore] says what it adds.
	Store StateStore
	// Lifetime is how long a client has to come back with the answers of one round. The default is 15 minutes.
	Lifetime time.Duration
	// MaxRounds bounds the rounds of questions of one call. The default is 10.
	MaxRounds int
	// MaxWaits bounds the rounds of one call in which nothing is asked and the client only tries again ([Call.Await]). The default
	// is 40.
	MaxWaits int
	// MaxQuestions bounds the questions of one round. The default is 16.
	MaxQuestions int
	// MaxPerMinute bounds the questions that one caller is asked by one tool, prompt or resource within a minute. The default is 60; a
	// negative value means no bound. Callers are told apart by principal and, where there is none, by session; anonymous
	// callers over HTTP without a session cannot be told apart and are bounded by MaxRounds alone.
	MaxPerMinute int
	// MaxState bounds, in bytes, the state that travels through a client. Beyond it the state goes to Store or, without one, the
	// call fails. The default is 64 KiB.
	MaxState int
	// Hold is how long [Call.Await] holds a request of a 2026-07-28 client before it asks it to try again. The default is 45 seconds;
	// common clients give up after 60.
	Hold time.Duration
	// InteractionDraft has clients of the handshake era that speak the User Interaction draft of June 2025, the forerunner of URL
	// questions, asked in its way when they cannot be asked otherwise: pages by interaction/create of type "ua" or, without a channel
	// back, by error -32003, and forms by type "prompt". Which of them a client declared is heeded. Its clients may follow a page with
	// interaction/track for as long as Lifetime, and for the newest 64 pages of a session. The default is off.
	InteractionDraft bool
	// Strict refuses questions with a link in their text. The default is to log them.
	Strict bool
}

// Defaults of AskOptions.
const (
	defaultAskLifetime     = 15 * time.Minute
	defaultAskMaxRounds    = 10
	defaultAskMaxWaits     = 40
	defaultAskMaxQuestions = 16
	defaultAskMaxPerMinute = 60
	defaultAskMaxState     = 64 << 10
	defaultAskHold         = 45 * time.Second
)

// askRuntime is what a server needs to ask.
type askRuntime struct {
	keys         *KeyRing
	audience     string
	store        StateStore
	lifetime     time.Duration
	maxRounds    int
	maxWaits     int
	maxQuestions int
	maxState     int
	hold         time.Duration
	strict       bool
	draft        bool
	log          *slog.Logger
	limit        askLimiter
	once         onceLog
	draining     context.Context    //nolint:containedctx // it is over when the server shuts down, and waits hang on it without a goroutine each
	drain        context.CancelFunc // ends the waits of Await that can be continued elsewhere; the server calls it when it shuts down
	urls         openURLs
	interactions interactionTable
}

// newAskRuntime makes the runtime of a server called name. It is usable even when the error, which names the fields, is not nil.
func newAskRuntime(name string, o *AskOptions, log *slog.Logger) (*askRuntime, error) {
	if o == nil {
		o = &AskOptions{}
	}
	r := &askRuntime{
		keys: o.Keys, audience: o.Audience, store: o.Store, strict: o.Strict, draft: o.InteractionDraft, log: log,
		lifetime: o.Lifetime, hold: o.Hold,
		maxRounds: o.MaxRounds, maxWaits: o.MaxWaits, maxQuestions: o.MaxQuestions, maxState: o.MaxState,
	}
	r.draining, r.drain = context.WithCancel(context.Background())
	if r.log == nil {
		r.log = slog.Default()
	}
	if r.audience == "" {
		r.audience = name
	}
	var errs []error
	if r.keys == nil {
		r.keys = NewKeyRing()
	} else if len(r.keys.all()) == 0 {
		errs = append(errs, errors.New("AskOptions.Keys holds no key; make it with KeyRingOf, ParseKeyRing or NewKeyRing"))
	}
	r.limit.perMinute = o.MaxPerMinute
	if r.limit.perMinute == 0 {
		r.limit.perMinute = defaultAskMaxPerMinute
	}
	errs = append(errs,
		positive("MaxRounds", &r.maxRounds, defaultAskMaxRounds),
		positive("MaxWaits", &r.maxWaits, defaultAskMaxWaits),
		positive("MaxQuestions", &r.maxQuestions, defaultAskMaxQuestions),
		positive("MaxState", &r.maxState, defaultAskMaxState),
		positive("Lifetime", &r.lifetime, defaultAskLifetime),
		positive("Hold", &r.hold, defaultAskHold),
	)
	if r.lifetime <= r.hold {
		errs = append(errs, fmt.Errorf("AskOptions.Lifetime (%v) must be longer than Hold (%v)", r.lifetime, r.hold))
	}
	return r, errors.Join(errs...)
}

// positive fills in a default and refuses what is negative.
func positive[N int | time.Duration](field string, p *N, def N) error {
	if *p < 0 {
		bad := *p
		*p = def
		return fmt.Errorf("AskOptions.%s is %v; it must not be negative", field, bad)
	}
	if *p == 0 {
		*p = def
	}
	return nil
}

// noteKeys says, once, that states do not outlive the process.
func (r *askRuntime) noteKeys() {
	if !r.keys.ephemeral {
		return
	}
	r.once.do("keys", func() {
		r.log.Info("state keys were made for this process only: calls that ask the person cannot be continued by another replica "+
			"or after a restart; set AskOptions.Keys", "keys", r.keys.String())
	})
}

// asks returns the runtime of the call's server.
func (c *Call) asks() *askRuntime {
	if c.asking.script != nil {
		return c.asking.script.rt
	}
	return c.server.asks
}

// onceLog remembers what was already said. It is bounded; beyond the bound it says things again.
type onceLog struct {
	mu   sync.Mutex
	said map[string]struct{}
}

const maxOnceLog = 4096

func (l *onceLog) do(key string, say func()) {
	l.mu.Lock()
	_, done := l.said[key]
	if !done {
		if l.said == nil || len(l.said) >= maxOnceLog {
			l.said = make(map[string]struct{})
		}
		l.said[key] = struct{}{}
	}
	l.mu.Unlock()
	if !done {
		say()
	}
}
