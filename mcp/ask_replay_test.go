package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/mcp"
)

// FuzzReplay runs random handlers in every way there is: waiting for each answer, run again for each round, and the same with a
// store. They must ask the same questions, see the same answers, and do each step once.
func FuzzReplay(f *testing.F) {
	for _, seed := range []string{"\x00", "\x01\x02\x00", "\x02\x02\x02\x00\x01", "\x03\x00\x04\x00\x00", "\x01\x01\x01", "\x05\x00\x02\x05\x01"} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, program []byte, mood uint8) {
		if len(program) > 8 {
			program = program[:8]
		}
		var reference *replayed
		for _, way := range []struct {
			rev   mcp.Revision
			store bool
		}{{mcp.Revision20251125, false}, {mcp.Revision20260728, false}, {mcp.Revision20260728, true}} {
			got := replay(t, program, mood, way.rev, way.store)
			if reference == nil {
				reference = got
			} else if got.String() != reference.String() {
				t.Fatalf("program %v, mood %d: at %v (store %v)\n%s\nand first\n%s", program, mood, way.rev, way.store, got, reference)
			}
		}
	})
}

type simpleForm struct {
	Name string `json:"name" minLength:"1" default:"nobody"`
}

// replayed is what came of a program.
type replayed struct {
	result string
	err    error
	asked  []string
	steps  map[string]int
}

func (r *replayed) String() string {
	return fmt.Sprintf("%s, %v, asked %v, steps %v", r.result, r.err != nil, r.asked, r.steps)
}

func replay(t *testing.T, program []byte, mood uint8, rev mcp.Revision, store bool) *replayed {
	r := &replayed{steps: make(map[string]int)}
	tried := make(map[string]int)
	o := &mcp.CallOptions{
		Revision: rev, Name: "program", Logger: slog.New(slog.DiscardHandler),
		Ask: &mcp.AskOptions{MaxRounds: 100, MaxPerMinute: -1},
		Answer: func(_ context.Context, q *mcp.Question) (*mcp.Answer, error) {
			tried[q.Key]++
			if tried[q.Key] == 1 {
				r.asked = append(r.asked, q.Key)
			}
			return moody(q, mood, tried[q.Key])
		},
	}
	if store {
		o.Ask.Store = mcp.NewMemoryStore(0)
	}
	result, _, err := mcp.RunCall(t.Context(), o, func(ctx context.Context, c *mcp.Call) (any, error) { return interpret(ctx, c, program, r.steps) })
	r.result, r.err = fmt.Sprint(result), err
	slices.Sort(r.asked)
	return r
}

// moody answers by the key and the mood: yes, no, never mind, or first rubbish and then yes.
func moody(q *mcp.Question, mood uint8, try int) (*mcp.Answer, error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte{mood})
	_, _ = h.Write([]byte(q.Key))
	switch h.Sum32() % 5 {
	case 0:
		return nil, mcp.ErrDeclined
	case 1:
		return nil, mcp.ErrCanceled
	case 2:
		if try == 1 && q.Kind == mcp.AskForm {
			return &mcp.Answer{Content: []byte(`{"name":5}`)}, nil
		}
	}
	return &mcp.Answer{Content: fmt.Appendf(nil, `{"name":%q}`, q.Key)}, nil
}

// interpret runs a program: each byte is one thing that a handler might do.
func interpret(ctx context.Context, c *mcp.Call, program []byte, steps map[string]int) (string, error) {
	var out []string
	note := func(v any, err error) {
		switch {
		case errors.Is(err, ask.ErrDeclined):
			out = append(out, "no")
		case errors.Is(err, ask.ErrCanceled):
			out = append(out, "never mind")
		default:
			out = append(out, fmt.Sprint(v))
		}
	}
	for i, op := range program {
		key := fmt.Sprint("k", i)
		switch op % 6 {
		case 0:
			v, err := ask.Form[simpleForm](ctx, c, key, "Question "+key)
			if errors.Is(err, ask.ErrInputRequired) {
				return "", err
			}
			note(v, err)
		case 1:
			a, b, d := ask.FormItem[simpleForm](key+"a", "A"), ask.OpenItem(key+"b", "B", "https://b.example/"), ask.FormItem[simpleForm](key+"c", "C").Optional()
			if err := ask.All(ctx, c, a, b, d); err != nil {
				return "", err
			}
			for _, get := range []func() (any, error){
				func() (any, error) { return a.Get() }, func() (any, error) { return b.Get() }, func() (any, error) { return d.Get() },
			} {
				note(get())
			}
		case 2:
			v, err := mcp.Once(ctx, c, key, func() (int, error) { steps[key]++; return len(out), nil })
			if err != nil {
				return "", err
			}
			note(v, nil)
		case 3:
			if err := c.Await(ctx, key, "", func(context.Context) error { return nil }); err != nil {
				return "", err
			}
		case 4:
			if slices.Contains(out, "no") {
				return strings.Join(out, ","), nil
			}
		case 5:
			if _, err := ask.Form[simpleForm](ctx, c, key, "Abandoned"); errors.Is(err, ask.ErrInputRequired) {
				return "nothing done", nil // overruled: the question is asked all the same
			}
			out = append(out, "asked")
		}
	}
	return strings.Join(out, ","), nil
}
