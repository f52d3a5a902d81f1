package mcptest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// leakPatience is how long goroutines may take to end after a test.
const leakPatience = 5 * time.Second

// CheckLeaks fails the test if, when it ends and everything it cleans up is done, goroutines are running that were not when CheckLeaks
// was called. Call it first. Goroutines that are about to end have five seconds to do so. It is of no use in parallel tests.
func CheckLeaks(t testing.TB) {
	t.Helper()
	before := make(map[string]bool)
	for _, g := range goroutines() {
		before[g.id] = true
	}
	t.Cleanup(func() {
		if left := leaked(before); len(left) > 0 {
			t.Errorf("%d goroutines are still running:\n\n%s", len(left), strings.Join(left, "\n\n"))
		}
	})
}

// Main runs the tests of a package and fails if goroutines are left when all of them are done. Call it from TestMain; it does not
// return.
func Main(m interface{ Run() int }) {
	code := m.Run()
	if code == 0 {
		if left := leaked(nil); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "mcptest: %d goroutines are still running after the tests:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
			code = 1
		}
	}
	os.Exit(code)
}

// leaked waits for goroutines to end and returns the stacks of those that do not.
func leaked(before map[string]bool) []string {
	deadline := time.Now().Add(leakPatience)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		var left []string
		for _, g := range goroutines() {
			if !before[g.id] && !g.harmless() {
				left = append(left, g.stack)
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		timer := time.NewTimer(wait)
		<-timer.C
	}
}

type goroutine struct{ id, stack string }

// goroutines lists those that run now, without the caller's own.
func goroutines() []goroutine {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	var list []goroutine
	for i, stack := range strings.Split(string(buf), "\n\n") {
		id, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
		if i > 0 { // the first is the caller
			list = append(list, goroutine{id: id, stack: stack})
		}
	}
	return list
}

// harmless reports whether a goroutine belongs to the runtime, to package testing or to signal handling.
func (g *goroutine) harmless() bool {
	for _, known := range []string{
		"testing.(*T).Run(", "testing.(*M).", "testing.runFuzzing(", "testing.tRunner.func", "testing.runTests(",
		"os/signal.signal_recv", "os/signal.loop", "created by os/signal", "runtime.ensureSigM", "created by runtime",
		"runtime/trace", "runtime.goexit0", "testing.(*F).Fuzz",
	} {
		if strings.Contains(g.stack, known) {
			return true
		}
	}
	return false
}
