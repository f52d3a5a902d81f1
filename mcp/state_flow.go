package mcp

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed38e7925c/parley/internal/canon"
)

// purposeState is what sealed request state is for, towards the key ring.
const purposeState = "request state"

// flowState is what is remembered between the rounds of one call. It travels sealed in requestState.
type flowState struct {
	Flow    string                     // names the call through all its rounds
	Round   int                        // rounds of questions asked so far
	Waits   int                        // rounds that only waited
	RoundID string                     // names this round, for single use
	Expires int64                      // Unix time in seconds
	Asked   byKey[askedQuestion]       // the questions of the last round
	Answers byKey[rememberedReply]     // answers so far
	Once    map[string]json.RawMessage // results of Once
	Changed int                        // questions that were not the same when asked again
	Stored  string                     // key of the store that holds the rest
}

// askedQuestion is a question that went out.
type askedQuestion struct {
	Digest string
	ID     string // elicitationId of a URL question
}

// rememberedReply is an answer as the client gave it, and the question it was given to.
type rememberedReply struct {
	Digest string
	Raw    json.RawMessage
}

// randomName returns 128 random bits as text.
func randomName() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails: it ends the program rather than return weak bytes
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// binding says what the state of a call is bound to: whom it was given to, and the request that it continues.
func (c *Call) binding(purpose string) (*Binding, error) {
	b := &Binding{}
	return b, c.bindTo(b, new([3]string), purpose)
}

// bindTo fills in a binding, whose Parts are in the given memory.
func (c *Call) bindTo(b *Binding, parts *[3]string, purpose string) error {
	args := c.arguments()
	if len(args) == 0 {
		args = emptyObject
	}
	sum, err := canon.Digest(args)
	if err != nil {
		return fmt.Errorf("mcp: digest of the arguments: %w", err)
	}
	*parts = [...]string{c.method, c.name, string(sum[:])}
	*b = Binding{Purpose: purpose, Audience: c.asks().audience, Principal: c.principal, Parts: parts[:]}
	return nil
}

// bound is the binding of the state that this run opens and seals. The caller holds asking.mu, or is the last to use the run.
func (r *askRun) bound(c *Call) (*Binding, error) {
	if r.bind.Parts == nil {
		if err := c.bindTo(&r.bind, &r.parts, purposeState); err != nil {
			return nil, err
		}
	}
	return &r.bind, nil
}

// errStateExpired and the others below tell the log why a state was refused. Towards the client there is one refusal.
var (
	errStateExpired = errors.New("it has expired")
	errStateBody    = errors.New("its content is not what this version seals")
	errStateUsed    = errors.New("it was redeemed before, with other answers")
	errStateRunning = errors.New("it was redeemed before, and that run left no result")
	errStateGone    = errors.New("the part of it that was kept in the store is gone")
)

// errBadState is the one refusal of a requestState that cannot be used, whatever the reason; the reason is in the log. The message
// is frozen: it must not tell a forger anything.
var errBadState = &Error{Code: CodeInvalidParams, Message: "requestState is not valid for this request; send the request again without it"}

// open unseals what a client brought back. After an error st is of no use.
func (r *askRuntime) open(b *Binding, sealed []byte, st *flowState) error {
	if len(sealed) > maxSealed(r.maxState) {
		return fmt.Errorf("%w (%d characters are more than any state has)", errSealForm, len(sealed))
	}
	plain, err := r.keys.open(b, sealed)
	if err != nil {
		return err
	}
	if err := st.decode(plain); err != nil || st.Flow == "" || st.RoundID == "" {
		return errStateBody
	}
	if !time.Now().Before(time.Unix(st.Expires, 0)) {
		return fmt.Errorf("%w (at %s)", errStateExpired, time.Unix(st.Expires, 0).UTC().Format(time.RFC3339))
	}
	return nil
}

// maxSealed is the greatest length of the text of a sealed state of at most n bytes.
func maxSealed(n int) int { return base64.RawURLEncoding.EncodedLen(sealHeader + n + 16) }

// seal seals the state and appends it; fits is false when it is larger than what may travel through the client.
func (r *askRuntime) seal(dst []byte, b *Binding, st *flowState) (sealed []byte, fits bool, err error) {
	buf := shapeBuffers.Get().(*[]byte)
	defer shapeBuffers.Put(buf)
	plain := st.encode((*buf)[:0])
	if cap(plain) <= maxKeptBuffer {
		*buf = plain[:0]
	}
	sealed, err = r.keys.appendSealed(dst, b, plain)
	return sealed, len(plain) <= r.maxState, err
}
