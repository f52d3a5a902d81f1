package mcp

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed38e7925c/parley/internal/canon"
	"github.com/seed38e7925c/parley/internal/era"
)

// purposeState is what sealed request state is for, towards the key ring.
const purposeState = "request state"

// flowState is what is remembered between the rounds of one call. It travels sealed in requestState.
type flowState struct {
	Flow    string                     `json:"f"`          // names the call through all its rounds
	Round   int                        `json:"r"`          // rounds of questions asked so far
	Waits   int                        `json:"w,omitzero"` // rounds that only waited
	RoundID string                     `json:"i"`          // names this round, for single use
	Expires int64                      `json:"x"`          // Unix time in seconds
	Asked   map[string]string          `json:"q,omitzero"` // key → digest of each question of the last round
	IDs     map[string]string          `json:"e,omitzero"` // key → elicitationId of each URL question
	Answers map[string]rememberedReply `json:"a,omitzero"` // answers so far
	Once    map[string]json.RawMessage `json:"o,omitzero"` // results of Once
	Changed int                        `json:"c,omitzero"` // questions that were not the same when asked again
	Stored  string                     `json:"s,omitzero"` // key of the store that holds the rest
}

// rememberedReply is an answer as the client gave it, and the question it was given to.
type rememberedReply struct {
	Digest string          `json:"d"`
	Raw    json.RawMessage `json:"v"`
}

func newFlow() *flowState { return &flowState{Flow: randomName()} }

// randomName returns 128 random bits as text.
func randomName() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails: it ends the program rather than return weak bytes
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// binding says what the state of a call is bound to: whom it was given to, and the request that it continues.
func (c *Call) binding(purpose string) (*Binding, error) {
	args := c.arguments()
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	sum, err := canon.Digest(args)
	if err != nil {
		return nil, fmt.Errorf("mcp: digest of the arguments: %w", err)
	}
	return &Binding{
		Purpose:   purpose,
		Audience:  c.asks().audience,
		Principal: c.principal,
		Parts:     []string{c.method, c.name, string(sum[:])},
	}, nil
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

// open unseals what a client brought back.
func (r *askRuntime) open(b *Binding, sealed string) (*flowState, error) {
	if len(sealed) > maxSealed(r.maxState) {
		return nil, fmt.Errorf("%w (%d characters are more than any state has)", errSealForm, len(sealed))
	}
	plain, err := r.keys.Open(b, sealed)
	if err != nil {
		return nil, err
	}
	st := new(flowState)
	if err := st.decode(plain); err != nil || st.Flow == "" || st.RoundID == "" {
		return nil, errStateBody
	}
	if !time.Now().Before(time.Unix(st.Expires, 0)) {
		return nil, fmt.Errorf("%w (at %s)", errStateExpired, time.Unix(st.Expires, 0).UTC().Format(time.RFC3339))
	}
	return st, nil
}

// maxSealed is the greatest length of the text of a sealed state of at most n bytes.
func maxSealed(n int) int { return base64.RawURLEncoding.EncodedLen(sealHeader + n + 16) }

// seal seals the state; fits is false when it is larger than what may travel through the client.
func (r *askRuntime) seal(b *Binding, st *flowState) (sealed string, fits bool, err error) {
	plain := st.encode()
	sealed, err = r.keys.Seal(b, plain)
	return sealed, len(plain) <= r.maxState, err
}

// encode is JSON by hand; what is empty is left out.
func (st *flowState) encode() []byte {
	dst := appendText(append(make([]byte, 0, 512), `{"f":`...), st.Flow)
	dst = appendText(append(dst, `,"i":`...), st.RoundID)
	dst = strconv.AppendInt(append(dst, `,"r":`...), int64(st.Round), 10)
	dst = strconv.AppendInt(append(dst, `,"w":`...), int64(st.Waits), 10)
	dst = strconv.AppendInt(append(dst, `,"c":`...), int64(st.Changed), 10)
	dst = strconv.AppendInt(append(dst, `,"x":`...), st.Expires, 10)
	if st.Stored != "" {
		dst = appendText(append(dst, `,"s":`...), st.Stored)
	}
	dst = appendMembers(dst, "q", st.Asked, appendText)
	dst = appendMembers(dst, "e", st.IDs, appendText)
	dst = appendMembers(dst, "o", st.Once, func(dst []byte, raw json.RawMessage) []byte { return append(dst, raw...) })
	dst = appendMembers(dst, "a", st.Answers, func(dst []byte, reply rememberedReply) []byte {
		dst = appendText(append(dst, `{"d":`...), reply.Digest)
		dst = append(append(dst, `,"v":`...), reply.Raw...)
		return append(dst, '}')
	})
	return append(dst, '}')
}

// appendMembers appends a member that is an object, unless it is empty. Its order does not matter: nobody compares sealed texts.
func appendMembers[V any](dst []byte, name string, members map[string]V, value func([]byte, V) []byte) []byte {
	if len(members) == 0 {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	sep := byte('{')
	for key, v := range members {
		dst = append(appendText(append(dst, sep), key), ':')
		dst = value(dst, v)
		sep = ','
	}
	return append(dst, '}')
}

// decode reads what encode wrote.
func (st *flowState) decode(raw []byte) (err error) {
	note := func(problem error) {
		if err == nil {
			err = problem
		}
	}
	outer := eachMember(raw, func(name, value []byte) {
		switch string(name) {
		case "f":
			note(decodeText(&st.Flow, value))
		case "i":
			note(decodeText(&st.RoundID, value))
		case "s":
			note(decodeText(&st.Stored, value))
		case "r":
			note(decodeInt(&st.Round, value))
		case "w":
			note(decodeInt(&st.Waits, value))
		case "c":
			note(decodeInt(&st.Changed, value))
		case "x":
			note(decodeInt(&st.Expires, value))
		case "q":
			note(decodeMembers(&st.Asked, value, decodeText))
		case "e":
			note(decodeMembers(&st.IDs, value, decodeText))
		case "o":
			note(decodeMembers(&st.Once, value, decodeRaw))
		case "a":
			note(decodeMembers(&st.Answers, value, decodeReply))
		}
	})
	note(outer)
	return err
}

func decodeText(dst *string, value []byte) error {
	text, state := stringOf(value)
	if state != era.Valid {
		return errStateBody
	}
	*dst = text
	return nil
}

func decodeInt[I int | int64](dst *I, value []byte) error {
	n, err := strconv.ParseInt(string(value), 10, 64)
	*dst = I(n)
	return err
}

// decodeRaw keeps a value, which is part of what was unsealed and belongs to nobody else.
func decodeRaw(dst *json.RawMessage, value []byte) error {
	*dst = value
	return nil
}

func decodeReply(dst *rememberedReply, value []byte) (err error) {
	outer := eachMember(value, func(name, value []byte) {
		switch string(name) {
		case "d":
			err = decodeText(&dst.Digest, value)
		case "v":
			dst.Raw = value
		}
	})
	return errors.Join(outer, err)
}

// decodeMembers reads an object.
func decodeMembers[V any](dst *map[string]V, raw []byte, value func(*V, []byte) error) (err error) {
	members := make(map[string]V)
	outer := eachMember(raw, func(name, one []byte) {
		var v V
		if problem := value(&v, one); problem != nil {
			err = problem
		}
		members[string(name)] = v
	})
	*dst = members
	return errors.Join(outer, err)
}
