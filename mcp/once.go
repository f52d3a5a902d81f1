package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/form"
)

// Once runs a step of a handler once in the course of a call, however often its questions make the handler run: fn is called the first
// time, and its result is returned from then on. Use it for what has an effect, is expensive, or must stay as the person saw it.
//
// The result is what comes back from encoding fn's result as JSON, at every revision and the first time already, so that a handler
// never sees a value that it would not see again. An error of fn is returned and not remembered; the step runs again when the
// handler does.
//
// What is promised depends on the revision. Up to 2025-11-25 a handler runs once, and so does the step. Since 2026-07-28 the result
// travels sealed in requestState: an honest client gets continuity, but a state that is sent twice runs what follows it twice.
// With [AskOptions.Store] the step runs at most once even then. A step whose process died on it is not run again; Once then returns
// an error, since nobody can know how far it came.
//
// The result must not hold secrets, since it leaves the process: a type that is or contains a [Secret], has a field tagged
// secret:"true" or one named like a credential is refused with an error before fn runs. Results count towards
// [AskOptions.MaxState]. Questions and steps have separate keys. Steps may run concurrently; a second Once with the same key waits
// for the first. fn must not call Once with the key that it runs under.
func Once[T any](ctx context.Context, c *Call, key string, fn func() (T, error)) (T, error) {
	var zero T
	if err := checkKey(key); err != nil {
		return zero, fmt.Errorf("mcp: Once: %w", err)
	}
	if where := secretIn(reflect.TypeFor[T]()); where != "" {
		return zero, fmt.Errorf("mcp: Once %q: %s is a secret, and results of Once leave the process; keep it in a store of your own", key, where)
	}
	raw, err := c.step(ctx, key, func() (json.RawMessage, error) {
		v, err := fn()
		if err != nil {
			return nil, err
		}
		raw, err := marshalJSON(v)
		if err != nil {
			return nil, fmt.Errorf("mcp: Once %q: the result cannot be encoded: %w", key, err)
		}
		return raw, nil
	})
	if err != nil {
		return zero, err
	}
	var v T
	if err := unmarshalJSON(raw, &v); err != nil {
		return zero, fmt.Errorf("mcp: Once %q: the result cannot be decoded: %w", key, err)
	}
	return v, nil
}

// A Secret is a value that must not leave the process. Types mark themselves with the method, which does nothing.
type Secret interface{ SecretValue() }

// onceStep is a step that runs, or has run, in this run of the handler.
type onceStep struct {
	done chan struct{}
	raw  json.RawMessage
	err  error
}

// step runs fn unless its result is known.
func (c *Call) step(ctx context.Context, key string, fn func() (json.RawMessage, error)) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a := &c.asking
	a.mu.Lock()
	if !a.open {
		a.mu.Unlock()
		return nil, fmt.Errorf("%w: Once belongs into handlers of tools/call, prompts/get and resources/read", ErrUnavailable)
	}
	run := c.startRun()
	if raw, done := run.state.Once[key]; done {
		a.mu.Unlock()
		return raw, nil
	}
	if s := run.onces[key]; s != nil {
		a.mu.Unlock()
		select {
		case <-s.done:
			return s.raw, s.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s := run.startStep(key)
	a.mu.Unlock()
	defer run.finishStep(a, key, s)
	s.err = errOncePanic // unless fn returns
	s.raw, s.err = c.guarded(ctx, run, key, fn)
	return s.raw, s.err
}

// errOncePanic is what others that wait for a step get when it panics.
var errOncePanic = errors.New("mcp: Once: the step panicked")

// startStep and finishStep count the steps that are running: a state is sealed only when none is. The caller of startStep holds
// asking.mu.
func (r *askRun) startStep(key string) *onceStep {
	s := &onceStep{done: make(chan struct{})}
	if r.onces == nil {
		r.onces = make(map[string]*onceStep)
	}
	r.onces[key] = s
	if r.active == 0 {
		r.idle = make(chan struct{})
	}
	r.active++
	return s
}

func (r *askRun) finishStep(a *asking, key string, s *onceStep) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.err == nil && a.open {
		if r.state.Once == nil {
			r.state.Once = make(map[string]json.RawMessage)
		}
		r.state.Once[key] = s.raw
	}
	if s.err != nil {
		delete(r.onces, key) // it may be tried again
	}
	close(s.done)
	r.active--
	if r.active == 0 {
		close(r.idle)
	}
}

// close ends asking once no step is running any more, or ctx is over, and returns the record of the run. After it, nothing changes
// the record.
func (a *asking) close(ctx context.Context) (*askRun, error) {
	for {
		a.mu.Lock()
		run := a.run
		if run == nil || run.active == 0 {
			a.open = false
			a.mu.Unlock()
			return run, nil
		}
		idle := run.idle
		a.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			a.mu.Lock()
			a.open = false
			a.mu.Unlock()
			return run, ctx.Err()
		}
	}
}

// storedStep is what a store holds of a step.
type storedStep struct {
	Done   bool            `json:"d,omitzero"`
	Result json.RawMessage `json:"r,omitzero"`
}

// guarded runs fn, at most once in the flow where there is a store.
func (c *Call) guarded(ctx context.Context, run *askRun, key string, fn func() (json.RawMessage, error)) (json.RawMessage, error) {
	store := run.rt.store
	if store == nil || !c.rev.Rules().AskByResult {
		return fn()
	}
	entry := "once/" + run.state.Flow + "/" + key
	expires := time.Now().Add(time.Duration(run.rt.maxRounds+run.rt.maxWaits+1) * run.rt.lifetime)
	existing, created, err := store.Create(ctx, entry, []byte(`{}`), expires)
	if err != nil {
		return nil, &storeError{err}
	}
	if !created {
		return earlierStep(key, existing)
	}
	raw, err := fn()
	keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err != nil {
		return nil, errors.Join(err, store.Delete(keep, entry))
	}
	value, err := marshalJSON(&storedStep{Done: true, Result: raw})
	if err != nil {
		return nil, fmt.Errorf("mcp: Once %q: %w", key, err)
	}
	if err := store.Set(keep, entry, value, expires); err != nil {
		return nil, fmt.Errorf("mcp: Once %q: the step ran, but its result could not be stored: %w", key, err)
	}
	return raw, nil
}

// earlierStep is the result of a step that the store knows.
func earlierStep(key string, existing []byte) (json.RawMessage, error) {
	var step storedStep
	if err := unmarshalJSON(existing, &step); err != nil {
		return nil, &storeError{err}
	}
	if !step.Done {
		return nil, fmt.Errorf("mcp: Once %q: the step was begun by another run that has not finished; whether it took effect is unknown, "+
			"and it is not run again", key)
	}
	return step.Result, nil
}

var secretType = reflect.TypeFor[Secret]()

// secretTypes remembers what secretIn found.
var secretTypes sync.Map // reflect.Type → string

// secretIn names the part of a type that is a secret, empty when there is none.
func secretIn(t reflect.Type) string {
	if found, ok := secretTypes.Load(t); ok {
		return found.(string)
	}
	found := findSecret(t, t.String(), map[reflect.Type]bool{})
	secretTypes.Store(t, found)
	return found
}

func findSecret(t reflect.Type, path string, seen map[reflect.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	if t.Implements(secretType) || (t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(secretType)) {
		return path
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return findSecret(t.Elem(), path, seen)
	case reflect.Map:
		return findSecret(t.Elem(), path+" values", seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if where := secretField(f, path, seen); where != "" {
				return where
			}
		}
	}
	return ""
}

func secretField(f reflect.StructField, path string, seen map[reflect.Type]bool) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if (!f.IsExported() && !f.Anonymous) || name == "-" {
		return "" // not encoded
	}
	path += "." + f.Name
	if f.Tag.Get("secret") == "true" || (isText(f.Type) && (credentialName(f.Name) || credentialName(name))) {
		return path
	}
	return findSecret(f.Type, path, seen)
}

func isText(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.String || (t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8)
}

// credentialName judges a field by its name, as forms are judged.
func credentialName(name string) bool {
	_, secret := (&form.Field{Name: name, Kind: form.String}).LooksSecret()
	return secret
}
