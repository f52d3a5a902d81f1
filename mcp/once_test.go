package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type offer struct {
	Price string `json:"price"`
	N     int64  `json:"n"`
	note  string
}

func TestOnce(t *testing.T) {
	d := newDesk(t, nil)
	runs := 0
	h := func(ctx context.Context, c *Call) (any, error) {
		o, err := Once(ctx, c, "offer", func() (offer, error) {
			runs++
			return offer{Price: fmt.Sprint(runs), N: 1<<53 + 1, note: "not kept"}, nil
		})
		if err != nil {
			return nil, err
		}
		if o.note != "" {
			t.Error("what a later run would not see is there in the first")
		}
		again, err := Once(ctx, c, "offer", func() (offer, error) { return offer{}, errors.New("run twice") })
		if err != nil || again != o {
			t.Errorf("the same step again: %v, %v", again, err)
		}
		for _, k := range []string{"a", "b"} {
			if _, err := c.Ask(ctx, nameQuestion(t, k)); err != nil {
				return nil, err
			}
		}
		return fmt.Sprint(o.Price, " ", o.N), nil
	}
	result, err := d.serve(round{}, h)
	in := d.input(result, err, "a")
	result, err = d.serve(round{State: in.RequestState, Answers: accept("a", "A")}, h)
	in = d.input(result, err, "b")
	result, err = d.serve(round{State: in.RequestState, Answers: accept("b", "B")}, h)
	d.text(result, err, "1 9007199254740993")
	if runs != 1 {
		t.Errorf("the step ran %d times", runs)
	}
}

func TestOnceErrors(t *testing.T) {
	d := newDesk(t, nil)
	boom := errors.New("boom")
	_, err := d.serve(round{}, func(ctx context.Context, c *Call) (any, error) {
		if _, err := Once(ctx, c, "x", func() (int, error) { return 0, boom }); !errors.Is(err, boom) {
			t.Errorf("error of the step: %v", err)
		}
		if v, err := Once(ctx, c, "x", func() (int, error) { return 7, nil }); v != 7 || err != nil {
			t.Errorf("tried again: %v, %v", v, err)
		}
		if _, err := Once(ctx, c, "x", func() (string, error) { return "", nil }); err == nil {
			t.Error("another type under the same key")
		}
		if _, err := Once(ctx, c, "", func() (int, error) { return 0, nil }); err == nil {
			t.Error("no key")
		}
		if _, err := Once(ctx, c, "ch", func() (chan int, error) { return nil, nil }); err == nil {
			t.Error("a channel is encoded")
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := Once(gone, c, "y", func() (int, error) { return 0, nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that is over: %v", err)
		}
		return "x", nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A state is sealed only when no step is running: what the step found is in it.
func TestAskWaitsForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		runs := 0
		h := func(ctx context.Context, c *Call) (any, error) {
			var wg sync.WaitGroup
			wg.Go(func() {
				_, _ = Once(ctx, c, "slow", func() (int, error) { runs++; time.Sleep(time.Second); return 1, nil })
			})
			synctest.Wait()
			if _, err := c.Ask(ctx, nameQuestion(t, "a")); err != nil {
				return nil, err
			}
			wg.Wait()
			return "done", nil
		}
		result, err := d.serve(round{}, h)
		in := d.input(result, err, "a")
		result, err = d.serve(round{State: in.RequestState, Answers: accept("a", "A")}, h)
		d.text(result, err, "done")
		if runs != 1 {
			t.Errorf("the step ran %d times", runs)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if _, err := d.serveContext(ctx, round{}, h); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that is over while a step runs: %v", err)
		}
		time.Sleep(2 * time.Second)
	})
}

func TestOnceConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		result, err := d.serve(round{}, func(ctx context.Context, c *Call) (any, error) {
			var mu sync.Mutex
			runs, sum := 0, 0
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					v, err := Once(ctx, c, "x", func() (int, error) {
						time.Sleep(time.Second)
						mu.Lock()
						defer mu.Unlock()
						runs++
						return 5, nil
					})
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						sum += v
					}
				})
			}
			gone, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			synctest.Wait()
			if _, err := Once(gone, c, "x", func() (int, error) { return 0, nil }); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("waiting for a step with a context that ends: %v", err)
			}
			wg.Wait()
			return fmt.Sprint(runs, sum), nil
		})
		d.text(result, err, "1 50")
	})
}

func TestOncePanic(t *testing.T) {
	d := newDesk(t, nil)
	defer func() {
		if recover() == nil {
			t.Error("a panic of a step is swallowed")
		}
	}()
	_, _ = d.serve(round{}, func(ctx context.Context, c *Call) (any, error) {
		return Once(ctx, c, "x", func() (int, error) { panic("boom") })
	})
}

type sealedToken struct{ V string }

func (sealedToken) SecretValue() {}

type pointerSecret struct{}

func (*pointerSecret) SecretValue() {}

func TestOnceRefusesSecrets(t *testing.T) {
	d := newDesk(t, nil)
	_, err := d.serve(round{}, func(ctx context.Context, c *Call) (any, error) {
		return nil, errors.Join(
			refuses[sealedToken](ctx, c), refuses[*sealedToken](ctx, c), refuses[[]pointerSecret](ctx, c), refuses[map[string]sealedToken](ctx, c),
			refuses[struct{ A struct{ T sealedToken } }](ctx, c), refuses[struct{ Password string }](ctx, c),
			refuses[struct {
				X string `json:"api_key"`
			}](ctx, c), refuses[struct {
				X int `secret:"true"`
			}](ctx, c), refuses[struct{ AccessToken *string }](ctx, c), refuses[Key](ctx, c), refuses[struct{ ClientSecret []byte }](ctx, c))
	})
	if err != nil {
		t.Error(err)
	}
	type list struct {
		Next    *list
		Token   string `json:"-"`
		Secret  bool
		PageKey string
	}
	if where := secretIn(reflect.TypeFor[list]()); where != "" {
		t.Errorf("%s is taken for a secret", where)
	}
}

func refuses[T any](ctx context.Context, c *Call) error {
	ran := false
	_, err := Once(ctx, c, "x", func() (T, error) { ran = true; var zero T; return zero, nil })
	if err == nil || ran || !strings.Contains(err.Error(), "secret") {
		return fmt.Errorf("%T: ran %v, %v", *new(T), ran, err)
	}
	return nil
}

func TestFlowID(t *testing.T) {
	d := newDesk(t, nil)
	var ids []string
	h := func(ctx context.Context, c *Call) (any, error) {
		ids = append(ids, c.FlowID())
		return asksFor(t, "a")(ctx, c)
	}
	result, err := d.serve(round{}, h)
	in := d.input(result, err, "a")
	_, _ = d.serve(round{State: in.RequestState, Answers: accept("a", "A")}, h)
	_, _ = d.serve(round{}, h)
	if len(ids) != 3 || ids[0] == "" || ids[0] != ids[1] || ids[0] == ids[2] {
		t.Errorf("flows %v", ids)
	}
	if id := newScriptedCall(nil, d.rt, nil, nil).FlowID(); id != "" {
		t.Errorf("a call in which nothing can be asked has flow %q", id)
	}
}

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, &AskOptions{MaxWaits: 3})
		begin := time.Now()
		notices := 0
		r := round{CallOptions: CallOptions{Notify: func(string, json.RawMessage) { notices++ }}}
		h := func(ctx context.Context, c *Call) (any, error) {
			err := c.Await(ctx, "login", "waiting for the person to sign in", func(ctx context.Context) error {
				select {
				case <-time.After(time.Until(begin.Add(100 * time.Second))):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			return "signed in", err
		}
		for i := range 2 {
			result, err := d.serve(r, h)
			in := d.input(result, err)
			if raw, err := marshalJSON(in); err != nil || !strings.Contains(string(raw), `"inputRequests":{}`) {
				t.Errorf("%s, %v", raw, err)
			}
			if held := time.Since(begin); held != time.Duration(i+1)*45*time.Second {
				t.Errorf("round %d held until %v", i, held)
			}
			r.State = in.RequestState
		}
		result, err := d.serve(r, h)
		d.text(result, err, "signed in")
		if notices < 8 {
			t.Errorf("%d reports of progress in 100 s", notices)
		}
		begin = time.Now().Add(time.Hour)
		r.State = nil
		for range 3 {
			result, err := d.serve(r, h)
			r.State = d.input(result, err).RequestState
		}
		if _, err := d.serve(r, h); !errors.Is(err, ErrTooManyRounds) {
			t.Errorf("wait without end: %v", err)
		}
	})
}

func TestAwaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		wait := func(ctx context.Context, c *Call) (any, error) {
			return "x", c.Await(ctx, "w", "", func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := d.serveContext(ctx, round{}, wait); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call ends: %v", err)
		}
		boom := errors.New("boom")
		_, err := d.serve(round{}, func(ctx context.Context, c *Call) (any, error) {
			return nil, c.Await(ctx, "w", "", func(context.Context) error { return boom })
		})
		if !errors.Is(err, boom) {
			t.Errorf("the wait fails: %v", err)
		}
		begin := time.Now()
		go func() { time.Sleep(time.Second); d.rt.drain(); d.rt.drain() }()
		result, err := d.serve(round{}, wait)
		d.input(result, err)
		if time.Since(begin) != time.Second {
			t.Errorf("a server that shuts down holds a call for %v", time.Since(begin))
		}
		_, err = d.serve(round{}, func(ctx context.Context, c *Call) (any, error) {
			_ = c.Await(ctx, "w", "", func(ctx context.Context) error { return context.Canceled })
			if err := c.Await(ctx, "", "", nil); err == nil {
				t.Error("no key")
			}
			return nil, c.Await(ctx, "w", "", func(context.Context) error { return nil })
		})
		if err == nil || !strings.Contains(err.Error(), "twice") {
			t.Errorf("the same key again: %v", err)
		}
		if err := newScriptedCall(nil, d.rt, nil, nil).Await(t.Context(), "w", "", nil); !errors.Is(err, ErrUnavailable) {
			t.Errorf("outside of a handler: %v", err)
		}
	})
}
