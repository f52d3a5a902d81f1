package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed38e7925c/parley/internal/canon"
)

// This file makes a round usable once, where there is a store: whoever redeems its state first runs the handler, and whoever
// redeems it with the same answers again gets what that run returned.

// roundClaim is a round that this run has redeemed.
type roundClaim struct {
	key     string
	answers string // digest of the answers it was redeemed with
	expires time.Time
}

// storedRound is what the store holds of a round.
type storedRound struct {
	Answers string         `json:"a"`
	Outcome *storedOutcome `json:"o,omitzero"` // nil while the run is under way
}

// storedOutcome is what a run returned.
type storedOutcome struct {
	Result json.RawMessage `json:"r,omitzero"`
	Error  *storedError    `json:"e,omitzero"`
}

// storedError is an error that a run returned, as far as the client gets to see it.
type storedError struct {
	Code    Code            `json:"c,omitzero"`
	Message string          `json:"m,omitzero"`
	Data    json.RawMessage `json:"d,omitzero"`
	Tool    bool            `json:"t,omitzero"` // a *ToolError
}

// errStoredFailure stands for an internal error of the run that is answered again.
var errStoredFailure = errors.New("mcp: the run that redeemed this state before failed; its error is in the log of that time")

// returned gives back what the run returned.
func (o *storedOutcome) returned() (any, error) {
	switch {
	case o.Error == nil:
		return o.Result, nil
	case o.Error.Tool:
		return nil, &ToolError{Text: o.Error.Message}
	case o.Error.Code != 0:
		return nil, &Error{Code: o.Error.Code, Message: o.Error.Message, Data: o.Error.Data}
	}
	return nil, errStoredFailure
}

// outcomeOf makes what is stored of what a run returned.
func outcomeOf(result any, err error) (*storedOutcome, error) {
	var (
		wire *Error
		tool *ToolError
	)
	switch {
	case errors.As(err, &wire):
		return &storedOutcome{Error: &storedError{Code: wire.Code, Message: wire.Message, Data: wire.Data}}, nil
	case errors.As(err, &tool):
		return &storedOutcome{Error: &storedError{Tool: true, Message: tool.Text}}, nil
	case err != nil:
		return &storedOutcome{Error: &storedError{}}, nil
	}
	raw, err := marshalJSON(result)
	return &storedOutcome{Result: raw}, err
}

// redeem opens the state that a client brought and, with a store, claims its round.
func (r *askRuntime) redeem(ctx context.Context, c *Call, run *askRun, text []byte) (*flowState, *storedOutcome, error) {
	b, err := run.bound(c)
	if err != nil {
		return nil, nil, err
	}
	st := &run.first
	if err := r.open(b, text, st); err != nil {
		return nil, nil, err
	}
	if r.store != nil {
		stored, err := r.claimRound(ctx, c, run, st)
		if err != nil || stored != nil {
			return nil, stored, err
		}
	}
	st, err = r.load(ctx, b, st)
	return st, nil, err
}

// claimRound uses the round up. It waits for a run that has redeemed it before and is still under way.
func (r *askRuntime) claimRound(ctx context.Context, c *Call, run *askRun, st *flowState) (*storedOutcome, error) {
	digest, err := answersDigest(c.param(paramInputResponses))
	if err != nil {
		return nil, err
	}
	claim := &roundClaim{key: "round/" + st.RoundID, answers: digest, expires: time.Unix(st.Expires, 0)}
	mine, err := marshalJSON(&storedRound{Answers: digest})
	if err != nil {
		return nil, fmt.Errorf("mcp: encoding a claim: %w", err)
	}
	for wait := claimPoll; ; wait = min(2*wait, maxClaimPoll) {
		existing, created, err := r.store.Create(ctx, claim.key, mine, claim.expires)
		if err != nil {
			return nil, &storeError{err}
		}
		if created {
			run.claim = claim
			return nil, nil
		}
		var round storedRound
		if err := unmarshalJSON(existing, &round); err != nil {
			return nil, &storeError{err}
		}
		switch {
		case round.Answers != digest:
			return nil, errStateUsed
		case round.Outcome != nil:
			return round.Outcome, nil
		}
		if err := pause(ctx, wait, claim.expires); err != nil {
			return nil, err
		}
	}
}

// How often a run that is under way elsewhere is looked at.
const (
	claimPoll    = 20 * time.Millisecond
	maxClaimPoll = time.Second
)

// pause waits, but not beyond ctx and not beyond the life of the state.
func pause(ctx context.Context, d time.Duration, expires time.Time) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	if !time.Now().Before(expires) {
		return errStateRunning
	}
	return nil
}

func answersDigest(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{}`)
	}
	sum, err := canon.Digest(raw)
	if err != nil {
		return "", invalidParams("inputResponses must be an object")
	}
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// storeError is a failure of the store: an internal error, not a refusal of the state.
type storeError struct{ err error }

func (e *storeError) Error() string { return "mcp: the state store failed: " + e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// release gives a round back that was claimed for a request which is refused after all.
func (c *Call) release(ctx context.Context) {
	run := c.asking.run
	if run == nil || run.claim == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := run.rt.store.Delete(ctx, run.claim.key); err != nil {
		run.rt.log.Error("a round could not be given back; a retry of it will be refused", "method", c.method, "name", c.name, "error", err)
	}
	run.claim = nil
}

// settleTimeout bounds the writes that end a run whose own context is over.
const settleTimeout = 10 * time.Second

// settle stores what the run returned, so that a retry gets the same. A run that was cut off leaves the round as it was before:
// its client may come back, and what must not happen twice is guarded by Once.
func (c *Call) settle(ctx context.Context, run *askRun, result any, runErr error) {
	if run.claim == nil {
		return
	}
	cut := ctx.Err() != nil && runErr != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := run.rt.settleRound(ctx, run.claim, result, runErr, cut); err != nil {
		run.rt.log.Error("the outcome of a round could not be stored; a retry of it will be refused",
			"method", c.method, "name", c.name, "error", err)
	}
}

func (r *askRuntime) settleRound(ctx context.Context, claim *roundClaim, result any, runErr error, cut bool) error {
	if cut {
		return r.store.Delete(ctx, claim.key)
	}
	outcome, err := outcomeOf(result, runErr)
	if err != nil {
		return err
	}
	value, err := marshalJSON(&storedRound{Answers: claim.answers, Outcome: outcome})
	if err != nil {
		return err
	}
	return r.store.Set(ctx, claim.key, value, claim.expires)
}
