package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/form"
)

// desk is a server, as far as asking is concerned, with its log.
type desk struct {
	t   *testing.T
	rt  *askRuntime
	log *syncBuffer
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newDesk(t *testing.T, o *AskOptions) *desk {
	t.Helper()
	log := &syncBuffer{}
	rt, err := newAskRuntime("desk", o, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t: t, rt: rt, log: log}
}

func (d *desk) logged(text string) int { return strings.Count(d.log.String(), text) }

// round is one request of a client.
type round struct {
	CallOptions
	State   *string
	Answers string // inputResponses as JSON, empty for none
}

// serve runs one request through handler.
func (d *desk) serve(r round, handler func(ctx context.Context, c *Call) (any, error)) (any, error) {
	d.t.Helper()
	return d.serveContext(context.Background(), r, handler)
}

func (d *desk) serveContext(ctx context.Context, r round, handler func(ctx context.Context, c *Call) (any, error)) (any, error) {
	if r.Name == "" {
		r.Name = "book"
	}
	c := newScriptedCall(&r.CallOptions, d.rt, r.State, nil)
	if r.Answers != "" {
		c.exchange.params.set(paramInputResponses, r.Answers)
	}
	return c.asked(ctx, r.Asks, func(ctx context.Context) (any, error) { return handler(ctx, c) })
}

// set replaces a member by text that came in its place.
func (p *requestParams) set(k param, text string) {
	from := len(p.raw)
	p.raw = append(p.raw[:from:from], text...)
	p.members[k] = span{uint32(from), uint32(len(p.raw))}
}

// input insists on an InputRequiredResult that asks for exactly keys.
func (d *desk) input(result any, err error, keys ...string) *InputRequiredResult {
	d.t.Helper()
	input, ok := result.(*InputRequiredResult)
	if err != nil || !ok {
		d.t.Fatalf("got %T %v, %v; want questions %v; log:\n%s", result, result, err, keys, d.log)
	}
	if input.RequestState == nil || *input.RequestState == "" || input.InputRequests == nil || input.ResultType != "input_required" {
		d.t.Fatalf("an InputRequiredResult lacks something: %+v", input)
	}
	for _, k := range keys {
		if _, ok := input.InputRequests[k]; !ok {
			d.t.Fatalf("%q is not asked: %v", k, input.InputRequests)
		}
	}
	if len(input.InputRequests) != len(keys) {
		d.t.Fatalf("asked %v, want %v", input.InputRequests, keys)
	}
	return input
}

// text insists on a plain result.
func (d *desk) text(result any, err error, want string) {
	d.t.Helper()
	if err != nil || result != any(want) {
		d.t.Fatalf("got %v, %v; want %q; log:\n%s", result, err, want, d.log)
	}
}

// refusedState insists on the one frozen error.
func (d *desk) refusedState(result any, err error) {
	d.t.Helper()
	var wire *Error
	if !errors.As(err, &wire) || wire.Code != -32602 || wire.Data != nil ||
		wire.Message != "requestState is not valid for this request; send the request again without it" {
		d.t.Fatalf("got %v, %v; want the frozen error", result, err)
	}
}

func mustForm(t *testing.T, schema string) *form.Form {
	t.Helper()
	f, err := form.Parse(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func nameQuestion(t *testing.T, key string) *Question {
	return &Question{Key: key, Kind: AskForm, Message: "What is your " + key + "?",
		Form: mustForm(t, `{"type":"object","properties":{"name":{"type":"string","minLength":1}},"required":["name"]}`)}
}

func urlQuestion(key string) *Question {
	return &Question{Key: key, Kind: AskURL, Message: "Please sign in.", URL: "https://travel.example/connect/1"}
}

// name reads the answer to a nameQuestion.
func name(a *Answer) string {
	var v struct {
		Name string `json:"name"`
	}
	if err := unmarshalJSON(a.Content, &v); err != nil {
		return "?" + err.Error()
	}
	return v.Name
}

func accept(key, value string) string {
	return `{"` + key + `":{"action":"accept","content":{"name":"` + value + `"}}}`
}

// asksFor is a handler that asks name questions one after the other and returns the answers joined.
func asksFor(t *testing.T, keys ...string) func(ctx context.Context, c *Call) (any, error) {
	return func(ctx context.Context, c *Call) (any, error) {
		var got []string
		for _, k := range keys {
			a, err := c.Ask(ctx, nameQuestion(t, k))
			if err != nil {
				return nil, err
			}
			got = append(got, name(a))
		}
		return strings.Join(got, ","), nil
	}
}
