package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var aliceAtHost = &Principal{Issuer: "https://issuer.example", Subject: "alice", ClientID: "host", Scopes: []string{"a"}}

// attacked is a call that has asked "a" and got its answer sealed, and now waits for "b".
func attacked(t *testing.T, d *desk) (round, func(ctx context.Context, c *Call) (any, error)) {
	h := asksFor(t, "a", "b")
	r := round{CallOptions: CallOptions{Name: "book", Principal: aliceAtHost, Arguments: json.RawMessage(`{"to":"Wien","n":9007199254740993}`)}}
	result, err := d.serve(r, h)
	r.State, r.Answers = d.input(result, err, "a").RequestState, accept("a", "A")
	result, err = d.serve(r, h)
	r.State, r.Answers = d.input(result, err, "b").RequestState, accept("b", "B")
	return r, h
}

func TestThreat05Transplant(t *testing.T) {
	d := newDesk(t, nil)
	good, h := attacked(t, d)
	for name, change := range map[string]func(r *round){
		"other principal": func(r *round) {
			r.Principal = &Principal{Issuer: aliceAtHost.Issuer, Subject: "mallory", ClientID: "host"}
		},
		"other client": func(r *round) {
			r.Principal = &Principal{Issuer: aliceAtHost.Issuer, Subject: "alice", ClientID: "other"}
		},
		"other issuer": func(r *round) {
			r.Principal = &Principal{Issuer: "https://evil.example", Subject: "alice", ClientID: "host"}
		},
		"anonymous":       func(r *round) { r.Principal = nil },
		"empty principal": func(r *round) { r.Principal = &Principal{} },
		"other tool":      func(r *round) { r.Name = "cancel" },
		"other method":    func(r *round) { r.Method = MethodPromptsGet },
		"argument":        func(r *round) { r.Arguments = json.RawMessage(`{"to":"Bern","n":9007199254740993}`) },
		"2^53":            func(r *round) { r.Arguments = json.RawMessage(`{"to":"Wien","n":9007199254740992}`) },
		"number as text":  func(r *round) { r.Arguments = json.RawMessage(`{"to":"Wien","n":"9007199254740993"}`) },
		"argument more":   func(r *round) { r.Arguments = json.RawMessage(`{"to":"Wien","n":9007199254740993,"x":null}`) },
		"no arguments":    func(r *round) { r.Arguments = nil },
	} {
		r := good
		change(&r)
		result, err := d.serve(r, h)
		t.Log(name)
		d.refusedState(result, err)
	}
	for name, args := range map[string]string{
		"order": `{"n":9007199254740993,"to":"Wien"}`, "space": ` { "to" : "Wien" , "n" : 9007199254740993 } `,
		"escapes": `{"\u0074o":"W\u0069en","n":9007199254740993}`, "number": `{"to":"Wien","n":9007199254740993.0}`,
		"exponent": `{"to":"Wien","n":90071992547409.93e2}`,
	} {
		r := good
		r.Arguments = json.RawMessage(args)
		result, err := d.serve(r, h)
		t.Log(name)
		d.text(result, err, "A,B")
	}
	scopes := good
	scopes.Principal = &Principal{Issuer: aliceAtHost.Issuer, Subject: "alice", ClientID: "host"} // a refreshed token
	result, err := d.serve(scopes, h)
	d.text(result, err, "A,B")
}

func TestThreat05AnonymousIsNobodyElse(t *testing.T) {
	d := newDesk(t, nil)
	r := round{}
	result, err := d.serve(r, asksFor(t, "a"))
	r.State, r.Answers = d.input(result, err, "a").RequestState, accept("a", "A")
	r.Principal = aliceAtHost
	result, err = d.serve(r, asksFor(t, "a"))
	d.refusedState(result, err)
}

func TestThreat05Tampering(t *testing.T) {
	d := newDesk(t, nil)
	good, h := attacked(t, d)
	raw, err := base64.RawURLEncoding.DecodeString(*good.State)
	if err != nil {
		t.Fatal(err)
	}
	states := []string{"", " ", "-", "null", "{}", *good.State + "-TAMPERED", *good.State + "\n", (*good.State)[1:], strings.Repeat("A", 1<<20), `{"a":1.0}`, "\U0001F600"}
	for i := range raw {
		altered := append([]byte(nil), raw...)
		altered[i] ^= 0x40
		states = append(states, base64.RawURLEncoding.EncodeToString(altered), base64.RawURLEncoding.EncodeToString(raw[:i]))
	}
	ran := false
	for _, s := range states {
		r := good
		r.State = &s
		result, err := d.serve(r, func(ctx context.Context, c *Call) (any, error) { ran = true; return h(ctx, c) })
		d.refusedState(result, err)
	}
	if ran {
		t.Error("the handler ran under a state that does not open")
	}
	result, err := d.serve(good, h)
	d.text(result, err, "A,B")
}

// States of one call do not open another of the same words with other questions answered.
func TestThreat05QuestionsSwapped(t *testing.T) {
	d := newDesk(t, nil)
	low := nameQuestion(t, "pay")
	low.Message = "Pay 1?"
	high := nameQuestion(t, "pay")
	high.Message = "Pay 1000?"
	ask := func(q *Question) func(ctx context.Context, c *Call) (any, error) {
		return func(ctx context.Context, c *Call) (any, error) {
			_, err := c.Ask(ctx, q)
			return "paid", err
		}
	}
	result, err := d.serve(round{}, ask(low))
	in := d.input(result, err, "pay")
	result, err = d.serve(round{State: in.RequestState, Answers: accept("pay", "yes")}, ask(high))
	d.input(result, err, "pay")
}

func TestThreat04StatesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		good, h := attacked(t, d)
		time.Sleep(14 * time.Minute)
		result, err := d.serve(good, h)
		d.text(result, err, "A,B")
		time.Sleep(2 * time.Minute)
		result, err = d.serve(good, h)
		d.refusedState(result, err)
		if d.logged("it has expired") != 1 {
			t.Errorf("log:\n%s", d.log)
		}
	})
}

func TestCaseM02OtherDeployment(t *testing.T) {
	here, there := newDesk(t, nil), newDesk(t, nil)
	good, h := attacked(t, there)
	result, err := here.serve(good, h)
	here.refusedState(result, err)
	if here.logged("replicas do not share keys") != 1 {
		t.Errorf("log:\n%s", here.log)
	}
	// servers that share keys by mistake do not share state
	keys := NewKeyRing()
	one, two := newDesk(t, &AskOptions{Keys: keys, Audience: "one"}), newDesk(t, &AskOptions{Keys: keys, Audience: "two"})
	good, h = attacked(t, one)
	result, err = two.serve(good, h)
	two.refusedState(result, err)
	if two.logged("replicas do not share keys") != 0 {
		t.Errorf("log:\n%s", two.log)
	}
}

// A call is carried from replica to replica while the keys are changed under it.
func TestReplicasAndRotation(t *testing.T) {
	before, after := NewKey(), NewKey()
	replica := func(keys ...Key) *desk {
		ring, err := KeyRingOf(keys...)
		if err != nil {
			t.Fatal(err)
		}
		return newDesk(t, &AskOptions{Keys: ring})
	}
	good, h := attacked(t, replica(before))
	for _, d := range []*desk{replica(before), replica(before, after), replica(after, before)} {
		result, err := d.serve(good, h)
		d.text(result, err, "A,B")
		if d.logged("this process only") != 0 {
			t.Error("configured keys are said to be of this process only")
		}
	}
	d := replica(after)
	result, err := d.serve(good, h)
	d.refusedState(result, err)
}

func TestStateIsCapped(t *testing.T) {
	d := newDesk(t, &AskOptions{MaxState: 2000})
	h := func(size int) func(ctx context.Context, c *Call) (any, error) {
		return func(ctx context.Context, c *Call) (any, error) {
			if _, err := Once(ctx, c, "big", func() (string, error) { return strings.Repeat("x", size), nil }); err != nil {
				return nil, err
			}
			return asksFor(t, "a")(ctx, c)
		}
	}
	result, err := d.serve(round{}, h(100))
	d.input(result, err, "a")
	_, err = d.serve(round{}, h(3000))
	if err == nil || !strings.Contains(err.Error(), "AskOptions.MaxState") || errors.As(err, new(*Error)) {
		t.Errorf("a state beyond the cap: %v", err)
	}
}

// FuzzResume: whatever a client sends as state and answers, nothing panics, and the handler never runs with a state that the server
// did not seal.
func FuzzResume(f *testing.F) {
	t := &testing.T{}
	d := newDesk(t, nil)
	good, h := attacked(t, d)
	f.Add(*good.State, good.Answers)
	f.Add("", `{"a":{}}`)
	f.Add((*good.State)[:100], `null`)
	f.Fuzz(func(t *testing.T, state, answers string) {
		if !json.Valid([]byte(answers)) {
			answers = "{}"
		}
		r := good
		r.State, r.Answers = &state, answers
		ran := false
		_, err := (&desk{t: t, rt: d.rt, log: d.log}).serve(r, func(ctx context.Context, c *Call) (any, error) { ran = true; return h(ctx, c) })
		if ran && state != *good.State {
			t.Fatalf("state %q was taken", state)
		}
		if !ran && err == nil {
			t.Fatal("neither run nor refused")
		}
	})
}
