package soak

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
	"github.com/seed38e7925c/parley/mcptest"
)

var (
	soakFor     = flag.Duration("for", 10*time.Second, "how long clients come and go, besides a fifth of it to warm up")
	soakClients = flag.Int("clients", 120, "how many clients there are at any time")
	soakSeed    = flag.Uint64("seed", 0, "seed of what the clients do; 0 for one of the clock")
)

const (
	children = 3 // clients of child processes
	childEnv = "PARLEY_SOAK_CHILD"
)

// heapBound is how many bytes more the heap may hold at the end than after warming up: 2 MiB, and for each client the descriptors of
// the goroutines that it has at the busiest moment, which the runtime never gives back.
func heapBound() uint64 { return 2<<20 + 8<<10*uint64(*soakClients) }

// idle is when sessions expire: not before those that fill the table are counted.
func idle() time.Duration { return 2*time.Second + time.Duration(*soakClients)*15*time.Millisecond }

// maxSessions is the room in the server's session table; that the whole of it is free at the end shows that no session is left.
func maxSessions() int { return 300 + 4**soakClients }

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		mcptest.Main(m)
	}
	h := newHouse(slog.New(slog.DiscardHandler))
	mcp.AddTool(h.srv, &mcp.Tool{Name: "die"}, func(context.Context, *mcp.Call, struct{}) (string, error) { os.Exit(3); return "", nil })
	if err := h.srv.ServeStdio(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A crowd is the guests, and what they have seen.
type crowd struct {
	house *house
	addr  string

	mu     sync.Mutex
	counts map[string]int
	faults []string
}

func (c *crowd) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what]++
}

// logged counts what the server logs, whoever it is about.
func (c *crowd) logged(text string) {
	text, _, _ = strings.Cut(text, " from 127.0.0.1")
	c.count("log: " + text)
}

func (c *crowd) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts["faults"]++
	for _, a := range args {
		if err, ok := a.(error); ok && errors.Is(err, errWrong) {
			c.counts["wrong answers"]++
		}
	}
	if len(c.faults) < 20 {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

// pick chooses an action by weight.
func pick(rng *rand.Rand, network bool) *action {
	total := 0
	for i := range actions {
		total += actions[i].weight
	}
	for {
		n := rng.IntN(total)
		for i := range actions {
			if n -= actions[i].weight; n < 0 {
				if actions[i].http && !network {
					break
				}
				return &actions[i]
			}
		}
	}
}

// visit is what a guest does from its coming to its going.
func (c *crowd) visit(ctx context.Context, g *guest, deadline time.Time) {
	for range 3 + g.rng.IntN(10) {
		if time.Now().After(deadline) {
			break
		}
		pause(ctx, g.below(800*time.Millisecond))
		a := pick(g.rng, g.wire != nil)
		outcome, err := a.do(ctx, g)
		if err != nil {
			c.fault("%s at %v: %s: %v", g.name, g.rev, a.name, err)
		}
		if outcome != "" {
			outcome = " (" + outcome + ")"
		}
		c.count(a.name + outcome)
	}
	if text := g.foreign.Load(); text != nil {
		c.fault("%s at %v saw what is not its own: %.300s", g.name, g.rev, *text)
	}
}

// leave ends a visit, mostly in good order.
func (c *crowd) leave(g *guest) {
	how := "left"
	if g.wire != nil && g.rng.IntN(5) == 0 {
		how = "vanished"
		g.wire.die(g.rng.IntN(2) == 0)
	}
	if err := g.client.Close(); err != nil && how == "left" {
		c.fault("%s at %v: closing: %v", g.name, g.rev, err)
	}
	if g.wire != nil {
		g.wire.die(false)
		g.wire.transport.CloseIdleConnections()
	}
	c.count(how)
}

// run lets clients come and go until the time is over and all have left.
func (c *crowd) run(ctx context.Context, seed uint64, d time.Duration) {
	deadline := time.Now().Add(d)
	var all sync.WaitGroup
	for i := range *soakClients {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			pause(ctx, time.Duration(rng.Int64N(int64(min(d/4, 2*time.Second)))))
			for n := 0; time.Now().Before(deadline); n++ {
				g, err := arrive(ctx, fmt.Sprintf("g%x-%d-%d", seed&0xffff, i, n), c.addr, rng)
				c.count("came")
				if err != nil {
					c.fault("%s at %v: connecting: %v", g.name, g.rev, err)
					g.wire.die(false)
					continue
				}
				c.visit(ctx, g, deadline)
				c.leave(g)
			}
		})
	}
	for i := range children {
		all.Go(func() {
			c.runChildren(ctx, rand.New(rand.NewPCG(seed, uint64(1000+i))), fmt.Sprintf("s%d", i), deadline)
		})
	}
	all.Wait()
}

// runChildren is the same with child processes; some of them die in the middle.
func (c *crowd) runChildren(ctx context.Context, rng *rand.Rand, name string, deadline time.Time) {
	for n := 0; time.Now().Before(deadline); n++ {
		g := &guest{rng: rng, name: fmt.Sprintf("%s-%d", name, n), subject: "local"}
		cmd := mcp.Command(os.Args[0], nil, &mcp.CommandOptions{Env: append(os.Environ(), childEnv+"=1"), ExitWait: patience})
		if err := g.connect(ctx, cmd, spoken[rng.IntN(len(spoken))]); err != nil {
			c.fault("%s at %v: connecting: %v", g.name, g.rev, err)
			continue
		}
		c.count("child processes")
		c.visit(ctx, g, deadline)
		if rng.IntN(3) == 0 {
			var exit *mcp.ServerExitError
			if _, err := mcp.CallTool[string](ctx, g.client, "die", struct{}{}); !errors.As(err, &exit) {
				c.fault("%s at %v: a server that died is told as %v", g.name, g.rev, err)
			}
			if err := g.call(ctx, "touch", 0, "", nil); err != nil {
				c.fault("%s at %v: after the death of its server: %v", g.name, g.rev, err)
			}
			c.count("child processes that died")
		}
		c.leave(g)
	}
}

// A footprint is what the process holds.
type footprint struct {
	goroutines, files, children int
	heap                        uint64
}

func (f footprint) String() string {
	return fmt.Sprintf("%d goroutines, %d file descriptors, %d child processes, heap %.2f MiB", f.goroutines, f.files, f.children, float64(f.heap)/(1<<20))
}

// measure waits until no more is held than before, for as long as sessions take to expire and then some, and says what is held.
func measure(ctx context.Context, before *footprint) footprint {
	give := time.Now().Add(30 * time.Second)
	for {
		f := footprint{goroutines: runtime.NumGoroutine(), files: entries("/proc/self/fd"), children: childCount()}
		if before == nil || f.goroutines <= before.goroutines && f.files <= before.files && f.children <= before.children || time.Now().After(give) {
			for range 3 {
				runtime.GC()
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			f.heap = m.HeapAlloc
			return f
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// entries counts the files of a directory, 0 where there is no such thing.
func entries(dir string) int {
	names, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	return len(names)
}

// childCount counts this process's children, 0 where the system does not tell.
func childCount() int {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return 0
	}
	n := 0
	for _, name := range lists {
		if text, err := os.ReadFile(name); err == nil { // the thread may have ended
			n += len(bytes.Fields(text))
		}
	}
	return n
}

// fillTable shows that the session table is empty, or is so within a minute: there is room for all the sessions that it can hold,
// and for none beyond.
func fillTable(t *testing.T, addr string) {
	t.Helper()
	give := time.Now().Add(time.Minute)
	for {
		room := tryFill(t, addr)
		switch {
		case room == maxSessions():
			return
		case time.Now().After(give):
			t.Errorf("the session table has room for %d sessions, want %d", room, maxSessions())
			return
		}
		pause(t.Context(), 500*time.Millisecond)
	}
}

// tryFill returns how many sessions there is room for.
func tryFill(t *testing.T, addr string) int {
	t.Helper()
	w, client := newWire("counter", false)
	defer w.transport.CloseIdleConnections()
	send := func(method, session string) (int, string) {
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header.Get("Mcp-Session-Id")
	}
	var ids []string
	for len(ids) <= maxSessions() {
		status, id := send(http.MethodPost, "")
		if status == http.StatusServiceUnavailable {
			break
		}
		if status != http.StatusOK {
			t.Fatalf("initialize has status %d", status)
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		if status, _ := send(http.MethodDelete, id); status/100 != 2 && status != http.StatusNotFound { // expired already
			t.Fatalf("DELETE has status %d", status)
		}
	}
	return len(ids)
}

// TestSoak is the soak; its summary is printed with -v and when it fails.
func TestSoak(t *testing.T) {
	mcptest.CheckLeaks(t)
	seed := *soakSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	c := &crowd{counts: make(map[string]int)}
	c.house = newHouse(slog.New(loud{slog.LevelWarn, c.logged}))
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.addr = l.Addr().String()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() {
		served <- mcphttp.Serve(ctx, l, c.house.srv, &mcphttp.Options{
			Authenticate: authenticate, WriteTimeout: patience / 2, BodyTimeout: patience / 2, KeepAlive: 300 * time.Millisecond,
			Sessions: &mcphttp.SessionOptions{IdleTimeout: idle(), MaxSessions: maxSessions(), MaxSessionsPerPeer: maxSessions(), RetryAfter: 50 * time.Millisecond},
			Logger:   slog.New(loud{slog.LevelWarn, c.logged}),
		})
	}()
	if err := rude(ctx, c.addr, "GET / HTTP/1.0\r\n\r\n", patience); err != nil { // so that it serves
		t.Fatal(err)
	}
	start := measure(ctx, nil)
	rest := func() footprint {
		f := measure(ctx, &start)
		if handshakeEra {
			fillTable(t, c.addr)
			f = measure(ctx, &start)
		}
		return f
	}
	t.Logf("seed %d, %d clients for %v", seed, *soakClients, *soakFor)
	c.run(ctx, seed, *soakFor/5)
	warm := rest()
	begun := time.Now()
	c.run(ctx, seed+1, *soakFor)
	took := time.Since(begun)
	end := rest()
	// net/http keeps an HTTP/2 connection that ended with streams open until its idle timer fires: 20 KiB each, for two minutes.
	for give := time.Now().Add(150 * time.Second); end.heap > warm.heap+heapBound() && time.Now().Before(give); {
		pause(ctx, 5*time.Second)
		end = measure(ctx, &start)
	}
	c.report(t, start, warm, end, took)
	stop()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// report prints the summary and fails the test if anything is left or was wrong.
func (c *crowd) report(t *testing.T, start, warm, end footprint, took time.Duration) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, 0, len(c.counts))
	for name := range c.counts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Logf("%9d  %s", c.counts[name], name)
	}
	t.Logf("took     %v", took.Round(time.Second))
	t.Logf("start    %v", start)
	t.Logf("warm     %v", warm)
	t.Logf("end      %v (bound: as at the start; heap at most %.1f MiB above warm)", end, float64(heapBound())/(1<<20))
	for _, f := range c.faults {
		t.Error(f)
	}
	if n := c.house.running.Load(); n != 0 {
		t.Errorf("%d cancelled handlers are still running", n)
	}
	if end.goroutines > start.goroutines || end.files > start.files || end.children > start.children {
		t.Errorf("left behind: %v, at the start %v", end, start)
	}
	if end.heap > warm.heap+heapBound() {
		t.Errorf("the heap has grown from %d to %d bytes", warm.heap, end.heap)
	}
}
