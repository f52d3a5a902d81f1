package connect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
)

// TestReplicasAreKilled: three replicas behind a proxy that goes round finish hundreds of interactions, a thousand on PostgreSQL, none lost
// and none doubled, while now one of them is killed, now another, and started again.
func TestReplicasAreKilled(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(t *testing.T) connect.Store) {
		people, each := 20, 10
		switch {
		case testing.Short() || slack > 1:
			people, each = 10, 5
		case strings.HasSuffix(t.Name(), "postgres"):
			each = 50
		}
		x := newChaos(t, open)
		var wg sync.WaitGroup
		for i := range people {
			wg.Go(func() { x.person(fmt.Sprint("p", i), each) })
		}
		wg.Wait()
		x.stop()
		x.judge(people * each)
	})
}

// chaos is three replicas, one of which is always about to die.
type chaos struct {
	t    *testing.T
	w    *world
	dead [3]atomic.Bool
	quit chan struct{}
	ends sync.WaitGroup

	kills, rounds, unknown, done atomic.Int64

	mu   sync.Mutex
	ran  map[string]int // by idempotency key
	told map[string]int // results that calls have got
}

func newChaos(t *testing.T, open func(t *testing.T) connect.Store) *chaos {
	x := &chaos{t: t, quit: make(chan struct{}), ran: map[string]int{}, told: map[string]int{}}
	x.w = newWorld(t, &worldOptions{
		store: open(t), replicas: 3, ask: mcp.AskOptions{Hold: 500 * time.Millisecond, MaxPerMinute: -1},
		desk: func(o *connect.Options) { o.MaxOpenPerPerson, o.MaxOpenPerTool = 1000, 1000 },
		wrap: func(i int, _ connect.Store) connect.Store {
			return mortal{open(t), func() bool { return !x.dead[i].Load() }}
		},
		tools: func(srv *mcp.Server, r *replica) {
			r.desk.SetLease(200 * time.Millisecond)
			r.desk.SetGrace(time.Second)
			mcp.AddTool(srv, &mcp.Tool{Name: "order"}, func(ctx context.Context, call *mcp.Call, in pay) (where, error) {
				return connect.Do(ctx, r.desk, call, payment(in.Amount), func(a connect.Approved) (where, error) {
					x.mu.Lock()
					defer x.mu.Unlock()
					x.ran[a.IdempotencyKey]++
					return where{a.IdempotencyKey}, nil
				})
			})
		},
	})
	for i, r := range x.w.replicas {
		inner := r.http
		r.http = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if x.dead[i].Load() {
				panic(http.ErrAbortHandler)
			}
			inner.ServeHTTP(w, r)
			if x.dead[i].Load() { // what it had to say does not arrive
				panic(http.ErrAbortHandler)
			}
		})
	}
	x.ends.Go(x.reap)
	return x
}

// reap kills a replica, lets it lie for a moment, and starts it again: it knows nothing but what is stored.
func (x *chaos) reap() {
	for {
		select {
		case <-x.quit:
			return
		case <-time.After(time.Duration(20+rand.IntN(60)) * time.Millisecond):
		}
		i := rand.IntN(len(x.dead))
		x.dead[i].Store(true)
		x.kills.Add(1)
		<-time.After(time.Duration(5+rand.IntN(20)) * time.Millisecond)
		x.dead[i].Store(false)
	}
}

func (x *chaos) stop() {
	close(x.quit)
	x.ends.Wait()
}

// errAgain is for requests that got no answer.
var errAgain = errors.New("no answer")

// send sends a request and reads the answer.
func send(c *http.Client, req *http.Request) (status int, header http.Header, body string, err error) {
	res, err := c.Do(req)
	if err != nil {
		return 0, nil, "", errAgain
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, "", errAgain
	}
	return res.StatusCode, res.Header, string(raw), nil
}

// person orders so many times, and approves.
func (x *chaos) person(subject string, orders int) {
	jar, _ := cookiejar.New(nil)
	base, _ := url.Parse(x.w.url)
	jar.SetCookies(base, []*http.Cookie{{Name: connect.TestCookie, Value: subject + ":s", Path: "/"}})
	b := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	for n := range orders {
		params := map[string]any{"name": "order", "arguments": map[string]any{"amount": n%7 + 1}}
		if !x.order(b, subject, params) {
			x.t.Errorf("%s, order %d: it never ended", subject, n)
			return
		}
		x.done.Add(1)
	}
}

// order makes one call, again and again, until it has its result.
func (x *chaos) order(b *http.Client, subject string, params map[string]any) bool {
	for range 200 {
		x.rounds.Add(1)
		m, err := x.call(b, subject, params)
		result, _ := m["result"].(map[string]any)
		switch text := fmt.Sprint(result); {
		case err != nil, result == nil, strings.Contains(text, "internal error"):
			continue
		case result["resultType"] == "input_required":
			link, state := asked(x.t, m)
			params["requestState"], params["inputResponses"] = state, accepted(m)
			if link != "" {
				x.approve(b, link)
			}
		case strings.Contains(text, "is unknown"):
			x.unknown.Add(1)
			return true
		case result["isError"] == true:
			x.t.Errorf("%s", text)
			return true
		default:
			content, _ := result["structuredContent"].(map[string]any)
			key, _ := content["text"].(string)
			x.mu.Lock()
			x.told[key]++
			x.mu.Unlock()
			return true
		}
	}
	return false
}

func (x *chaos) call(b *http.Client, subject string, params map[string]any) (map[string]any, error) {
	req, err := http.NewRequestWithContext(x.t.Context(), http.MethodPost, x.w.url+"/mcp", bytes.NewReader(envelope(x.t, "tools/call", params)))
	if err != nil {
		return nil, err
	}
	rawHeaders(req, subject+"/raw", "tools/call", "order")
	_, _, text, err := send(b, req)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := jsonv2.Unmarshal([]byte(text), &m); err != nil {
		return nil, errAgain
	}
	return m, nil
}

// approve loads a page and says yes until the page says that it was said.
func (x *chaos) approve(b *http.Client, link string) {
	for range 200 {
		req, _ := http.NewRequestWithContext(x.t.Context(), http.MethodGet, link, nil)
		status, _, body, err := send(b, req)
		switch {
		case err != nil || status == http.StatusServiceUnavailable:
			continue
		case strings.Contains(body, "return to"):
			return
		case status != http.StatusOK:
			x.t.Errorf("status %d: %s", status, body)
			return
		}
		m := token.FindStringSubmatch(body)
		form := url.Values{"csrf": {m[1]}, "do": {"submit"}}
		req, _ = http.NewRequestWithContext(x.t.Context(), http.MethodPost, link, strings.NewReader(form.Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		_, _, _, _ = send(b, req)
	}
	x.t.Errorf("%s: it never took the answer", link)
}

// judge makes sure that nothing was lost or doubled.
func (x *chaos) judge(orders int) {
	x.t.Logf("%d orders in %d calls, %d kills, %d of them unknown", orders, x.rounds.Load(), x.kills.Load(), x.unknown.Load())
	if int(x.done.Load()) != orders || len(x.told)+int(x.unknown.Load()) != orders {
		x.t.Errorf("%d of %d ended; %d results, %d unknown", x.done.Load(), orders, len(x.told), x.unknown.Load())
	}
	for key, n := range x.ran {
		if n != 1 {
			x.t.Errorf("an action ran %d times (%s)", n, key)
		}
	}
	for key, n := range x.told {
		if n != 1 || x.ran[key] != 1 {
			x.t.Errorf("a result was told %d times, and its action ran %d times", n, x.ran[key])
		}
	}
	if len(x.ran) < len(x.told) || len(x.ran) > orders {
		x.t.Errorf("%d actions ran for %d orders", len(x.ran), orders)
	}
}
