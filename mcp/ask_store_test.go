package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// payment asks twice and then pays, counting each time money moves outside of Once and inside of it.
type payment struct {
	t             *testing.T
	plain, guard  atomic.Int32
	beforePayment func(ctx context.Context) error
}

func (p *payment) handle(ctx context.Context, c *Call) (any, error) {
	if _, err := c.Ask(ctx, nameQuestion(p.t, "a")); err != nil {
		return nil, err
	}
	if p.beforePayment != nil {
		if err := p.beforePayment(ctx); err != nil {
			return nil, err
		}
	}
	p.plain.Add(1)
	n, err := Once(ctx, c, "pay", func() (int32, error) { return p.guard.Add(1), nil })
	return fmt.Sprint("paid ", n), err
}

func TestThreat04Replay(t *testing.T) {
	d := newDesk(t, &AskOptions{Store: NewMemoryStore(0)})
	p := &payment{t: t}
	result, err := d.serve(round{}, p.handle)
	r := round{State: d.input(result, err, "a").RequestState, Answers: accept("a", "A")}
	result, err = d.serve(r, p.handle)
	d.text(result, err, "paid 1")
	for range 3 { // the response was lost, or somebody tries it on
		result, err = d.serve(r, p.handle)
		if raw, ok := result.(json.RawMessage); err != nil || !ok || string(raw) != `"paid 1"` {
			t.Errorf("replayed: %s, %v", result, err)
		}
	}
	for _, answers := range []string{accept("a", "B"), `{"a":{"action":"decline"}}`, ""} {
		r.Answers = answers
		result, err = d.serve(r, p.handle)
		d.refusedState(result, err)
	}
	if p.plain.Load() != 1 || p.guard.Load() != 1 {
		t.Errorf("paid %d and %d times", p.plain.Load(), p.guard.Load())
	}
}

// Without a store a round can be replayed until it expires: that is documented, and nothing more is promised.
func TestReplayWithoutStore(t *testing.T) {
	d := newDesk(t, nil)
	p := &payment{t: t}
	result, err := d.serve(round{}, p.handle)
	r := round{State: d.input(result, err, "a").RequestState, Answers: accept("a", "A")}
	for i := range 2 {
		result, err = d.serve(r, p.handle)
		d.text(result, err, fmt.Sprint("paid ", i+1))
	}
}

func TestLostResponsesAreAnsweredAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		end   func(ctx context.Context, c *Call) (any, error)
		check func(t *testing.T, err error) bool
	}{
		"protocol error": {func(context.Context, *Call) (any, error) {
			return nil, &Error{Code: 7, Message: "m", Data: json.RawMessage(`{"a":1}`)}
		},
			func(t *testing.T, err error) bool {
				var wire *Error
				return errors.As(err, &wire) && wire.Code == 7 && wire.Message == "m" && string(wire.Data) == `{"a":1}`
			}},
		"tool error": {func(context.Context, *Call) (any, error) { return nil, ToolErrorf("sorry") },
			func(t *testing.T, err error) bool {
				var tool *ToolError
				return errors.As(err, &tool) && tool.Text == "sorry"
			}},
		"internal": {func(context.Context, *Call) (any, error) { return nil, errors.New("database down") },
			func(t *testing.T, err error) bool {
				return err != nil && !errors.As(err, new(*ToolError)) && !errors.As(err, new(*Error))
			}},
		"question": {func(ctx context.Context, c *Call) (any, error) {
			_, err := c.Ask(ctx, nameQuestion(t, "b"))
			return nil, err
		},
			func(t *testing.T, err error) bool { return err == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, &AskOptions{Store: NewMemoryStore(0)})
			runs := 0
			h := func(ctx context.Context, c *Call) (any, error) {
				if _, err := c.Ask(ctx, nameQuestion(t, "a")); err != nil {
					return nil, err
				}
				runs++
				return tc.end(ctx, c)
			}
			result, err := d.serve(round{}, h)
			r := round{State: d.input(result, err, "a").RequestState, Answers: accept("a", "A")}
			first, err := d.serve(r, h)
			if !tc.check(t, err) {
				t.Errorf("first: %v", err)
			}
			again, err := d.serve(r, h)
			if !tc.check(t, err) || runs != 1 {
				t.Errorf("again: %v; %d runs", err, runs)
			}
			if input, ok := first.(*InputRequiredResult); ok {
				want, _ := marshalJSON(input)
				if got, _ := again.(json.RawMessage); string(got) != string(want) {
					t.Errorf("again: %s, want %s", got, want)
				}
			}
		})
	}
}

func TestConcurrentReplayRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, &AskOptions{Store: NewMemoryStore(0)})
		p := &payment{t: t, beforePayment: func(context.Context) error { time.Sleep(3 * time.Second); return nil }}
		result, err := d.serve(round{}, p.handle)
		r := round{State: d.input(result, err, "a").RequestState, Answers: accept("a", "A")}
		var wg sync.WaitGroup
		var ok atomic.Int32
		for range 20 {
			wg.Go(func() {
				result, err := d.serve(r, p.handle)
				if err == nil && strings.Contains(fmt.Sprintf("%s", result), "paid 1") {
					ok.Add(1)
				}
			})
		}
		wg.Wait()
		if p.plain.Load() != 1 || ok.Load() != 20 {
			t.Errorf("ran %d times, %d of 20 answered", p.plain.Load(), ok.Load())
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		p.beforePayment = func(ctx context.Context) error { time.Sleep(time.Hour); return nil }
		result, err = d.serve(round{}, p.handle)
		r.State = d.input(result, err, "a").RequestState
		go func() { _, _ = d.serve(r, p.handle) }()
		synctest.Wait()
		if _, err := d.serveContext(ctx, r, p.handle); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a waiting replay whose client goes: %v", err)
		}
		result, err = d.serve(r, p.handle) // waits until the state is over
		d.refusedState(result, err)
		time.Sleep(2 * time.Hour)
	})
}

// A run that is cut off, because its client went away, leaves the round usable; what Once guards is not run again.
func TestCutOffRunCanBeTakenUpAgain(t *testing.T) {
	d := newDesk(t, &AskOptions{Store: NewMemoryStore(0)})
	var steps, runs int
	h := func(ctx context.Context, c *Call) (any, error) {
		if _, err := c.Ask(ctx, nameQuestion(t, "a")); err != nil {
			return nil, err
		}
		runs++
		if _, err := Once(ctx, c, "pay", func() (int, error) { steps++; return 1, nil }); err != nil {
			return nil, err
		}
		if runs == 1 {
			return nil, context.Canceled
		}
		return "done", nil
	}
	result, err := d.serve(round{}, h)
	r := round{State: d.input(result, err, "a").RequestState, Answers: accept("a", "A")}
	ctx, cancel := context.WithCancel(context.Background())
	_, err = d.serveContext(ctx, r, func(ctx context.Context, c *Call) (any, error) {
		defer cancel()
		return h(ctx, c)
	})
	cancel()
	if err == nil {
		t.Fatal("the cut-off run succeeds")
	}
	result, err = d.serve(r, h)
	if runs == 2 {
		d.text(result, err, "done")
	}
	if steps != 1 {
		t.Errorf("the step ran %d times", steps)
	}
}

func TestStepThatDiedIsNotRunAgain(t *testing.T) {
	d := newDesk(t, &AskOptions{Store: NewMemoryStore(0)})
	h := func(ctx context.Context, c *Call) (any, error) {
		if _, err := c.Ask(ctx, nameQuestion(t, "a")); err != nil {
			return nil, err
		}
		return Once(ctx, c, "pay", func() (int, error) { return 1, nil })
	}
	result, err := d.serve(round{}, h)
	in := d.input(result, err, "a")
	_, err = d.serve(round{State: in.RequestState, Answers: accept("a", "A")}, func(ctx context.Context, c *Call) (any, error) {
		if _, _, err := d.rt.store.Create(ctx, "once/"+c.FlowID()+"/pay", []byte(`{}`), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		return h(ctx, c)
	})
	if err == nil || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("%v", err)
	}
	failing := errors.New("no funds")
	_, err = d.serve(round{Answers: accept("a", "A")}, func(ctx context.Context, c *Call) (any, error) {
		if _, err := Once(ctx, c, "pay", func() (int, error) { return 0, failing }); !errors.Is(err, failing) {
			t.Errorf("a step that fails: %v", err)
		}
		return Once(ctx, c, "pay", func() (int, error) { return 1, nil })
	})
	if err != nil {
		t.Errorf("a step that failed is not tried again: %v", err)
	}
}

func TestLargeStateGoesToTheStore(t *testing.T) {
	store := NewMemoryStore(0)
	keys := NewKeyRing()
	d := newDesk(t, &AskOptions{Store: store, Keys: keys, MaxState: 1000})
	big := strings.Repeat("x", 5000)
	h := func(ctx context.Context, c *Call) (any, error) {
		got, err := Once(ctx, c, "big", func() (string, error) { return big, nil })
		if err != nil {
			return nil, err
		}
		a, err := c.Ask(ctx, nameQuestion(t, "a"))
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(len(got), name(a)), nil
	}
	result, err := d.serve(round{}, h)
	in := d.input(result, err, "a")
	if len(*in.RequestState) > 1000 {
		t.Errorf("%d characters travel", len(*in.RequestState))
	}
	r := round{State: in.RequestState, Answers: accept("a", "A")}
	result, err = d.serve(r, h)
	d.text(result, err, "5000A")
	bare := newDesk(t, &AskOptions{Keys: keys})
	result, err = bare.serve(r, h)
	bare.refusedState(result, err)
	other := newDesk(t, &AskOptions{Keys: keys, Store: NewMemoryStore(0)})
	result, err = other.serve(r, h)
	other.refusedState(result, err)
	if other.logged("is gone") != 1 || bare.logged("no AskOptions.Store") != 1 {
		t.Errorf("logs:\n%s%s", other.log, bare.log)
	}
}

// brokenStore fails when told to.
type brokenStore struct {
	*MemoryStore
	fail string
}

var errDisk = errors.New("disk on fire")

func (s *brokenStore) Create(ctx context.Context, key string, value []byte, expires time.Time) ([]byte, bool, error) {
	if s.fail == "create" {
		return nil, false, errDisk
	}
	if s.fail == "rubbish" {
		return []byte("rubbish"), false, nil
	}
	return s.MemoryStore.Create(ctx, key, value, expires)
}

func (s *brokenStore) Set(ctx context.Context, key string, value []byte, expires time.Time) error {
	if s.fail == "set" {
		return errDisk
	}
	return s.MemoryStore.Set(ctx, key, value, expires)
}

func (s *brokenStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if s.fail == "get" {
		return nil, false, errDisk
	}
	return s.MemoryStore.Get(ctx, key)
}

func TestStoreFailures(t *testing.T) {
	store := &brokenStore{MemoryStore: NewMemoryStore(0)}
	d := newDesk(t, &AskOptions{Store: store, MaxState: 600})
	h := func(ctx context.Context, c *Call) (any, error) {
		if _, err := Once(ctx, c, "big", func() (string, error) { return strings.Repeat("x", 1000), nil }); err != nil {
			return nil, err
		}
		return asksFor(t, "a")(ctx, c)
	}
	for _, fail := range []string{"create", "set", "rubbish"} {
		store.fail = fail
		if _, err := d.serve(round{}, h); err == nil || errors.As(err, new(*Error)) || errors.As(err, new(*ToolError)) {
			t.Errorf("%s fails in Once: %v", fail, err)
		}
	}
	store.fail = ""
	result, err := d.serve(round{}, h)
	r := round{State: d.input(result, err, "a").RequestState, Answers: accept("a", "A")}
	for _, fail := range []string{"create", "rubbish"} {
		store.fail = fail
		if result, err := d.serve(r, h); err == nil {
			t.Errorf("%s fails: %v", fail, result)
		}
	}
	store.fail = "set"
	if _, err := d.serve(r, h); err != nil || d.logged("could not be stored") != 1 {
		t.Errorf("the outcome cannot be stored: %v\n%s", err, d.log)
	}
	store.fail = ""
	result, err = d.serve(round{}, h)
	r.State = d.input(result, err, "a").RequestState
	store.fail = "get"
	if _, err := d.serve(r, h); err == nil {
		t.Error("get fails, and the call succeeds")
	}
}

// A retry that is refused for its form does not use the round up.
func TestRefusedRetryGivesTheRoundBack(t *testing.T) {
	d := newDesk(t, &AskOptions{Store: NewMemoryStore(0)})
	p := &payment{t: t}
	result, err := d.serve(round{}, p.handle)
	r := round{State: d.input(result, err, "a").RequestState, Answers: `{"a":5}`}
	for range 2 {
		if _, err := d.serve(r, p.handle); !errors.Is(err, &Error{Code: CodeInvalidParams}) || err == error(errBadState) {
			t.Fatalf("%v", err)
		}
	}
	r.Answers = accept("a", "A")
	result, err = d.serve(r, p.handle)
	d.text(result, err, "paid 1")
}
