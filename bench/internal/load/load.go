// Package load has the workloads. Each runs in a process of its own, with one peer linked into it.
package load

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seed38e7925c/parley/bench/internal/peer"
)

// Metrics are what a workload found out, by name: see the constants.
type Metrics map[string]float64

// Names of metrics. All but Rate are costs: less is better.
const (
	Rate       = "op/s"
	Wall       = "ns/op"
	CPU        = "cpu-ns/op"        // of the whole process, client included
	ServerCPU  = "server-cpu-ns/op" // of a server in a process of its own
	Allocs     = "allocs/op"
	Bytes      = "B/op"
	Heap       = "heap-B"
	Resident   = "resident-B"
	Goroutines = "goroutines"
	Last       = "last-ns" // until the last one was reached
	Growth     = "growth"  // the cost with many, as a multiple of that with few
	Size       = "size-B"
	Bare       = "bare-cpu-ns/op" // of the part that nothing can be saved of
	Over       = "over-cpu-ns/op" // what it costs beyond that
	Fetches    = "fetches"
	BareHeap   = "bare-heap-B" // as Bare, of memory
	OverHeap   = "over-heap-B" // as Over
	P50        = "p50-ns"      // half of them were as fast
	P99        = "p99-ns"      // all but one of a hundred
)

// A Run is one run of one workload.
type Run struct {
	peer   peer.Peer
	time   time.Duration // how long to measure
	result Metrics
}

// A Load is a workload.
type Load struct {
	Name string
	run  func(r *Run) error
}

// All returns the workloads that a peer's program runs.
func All() []Load {
	return slices.Concat(handlerLoads(), httpLoads(), lineLoads(), idleLoads(), askLoads(), growthLoads(), authLoads(), connectLoads(),
		[]Load{{"client", client}})
}

// Main is the program of a peer: it runs one workload, or a server for one, as its flags say.
func Main(p peer.Peer) {
	name := flag.String("load", "", "the workload")
	d := flag.Duration("time", 300*time.Millisecond, "how long to measure")
	serve := flag.String("serve", "", "serve over http or lines instead")
	mode := flag.String("mode", string(peer.Modern), "how the server is spoken to over HTTP")
	profile := flag.String("cpuprofile", "", "file for a profile of the processor time")
	memory := flag.String("memprofile", "", "file for a profile of what was allocated")
	flag.Parse()
	if *memory != "" {
		runtime.MemProfileRate = 512
		defer writeAllocs(*memory)
	}
	if *profile != "" {
		stop, err := startProfile(*profile)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer stop()
	}
	var err error
	switch *serve {
	case "http":
		err = serveHTTP(p, peer.Mode(*mode))
	case "lines":
		err = p.ServeLines(context.Background(), os.Stdin, os.Stdout, peer.Setup{})
	default:
		err = Print(p, *name, *d)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s: %v\n", p.Name(), *name, err)
		os.Exit(1)
	}
}

// Print runs a workload and prints what it found out, as JSON.
func Print(p peer.Peer, name string, d time.Duration) error {
	for _, l := range All() {
		if l.Name != name {
			continue
		}
		r := &Run{peer: p, time: d, result: Metrics{}}
		if err := l.run(r); err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(r.result)
	}
	return fmt.Errorf("there is no workload %q", name)
}

// use is what the process has used.
type use struct {
	cpu           time.Duration
	allocs, bytes uint64
}

func used() use {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return use{cpuTime(), m.Mallocs, m.TotalAlloc}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the arguments are right
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// warm is how often an operation runs before it is measured.
const warm = 20

// measure runs op on some clients, one after the other on each, for the time of the run.
func (r *Run) measure(clients int, op func(client, n int) error) error {
	for i := range clients {
		for n := range warm/clients + 1 {
			if err := op(i, n); err != nil {
				return err
			}
		}
	}
	var (
		all    sync.WaitGroup
		count  atomic.Int64
		failed atomic.Pointer[error]
	)
	runtime.GC()
	before, start := used(), time.Now()
	for i := range clients {
		all.Go(func() {
			n := 0
			for time.Since(start) < r.time && failed.Load() == nil {
				if err := op(i, warm+n); err != nil {
					failed.Store(&err)
					return
				}
				n++
			}
			count.Add(int64(n))
		})
	}
	all.Wait()
	elapsed, after := time.Since(start), used()
	if err := failed.Load(); err != nil {
		return *err
	}
	r.report(int(count.Load()), elapsed, before, after)
	return nil
}

func (r *Run) report(n int, elapsed time.Duration, before, after use) {
	per := func(v float64) float64 { return v / float64(n) }
	r.result[Rate] = float64(n) / elapsed.Seconds()
	r.result[Wall] = per(float64(elapsed))
	r.result[CPU] = per(float64(after.cpu - before.cpu))
	r.result[Allocs] = per(float64(after.allocs - before.allocs))
	r.result[Bytes] = per(float64(after.bytes - before.bytes))
}

// sizes of arguments.
var sizes = []struct {
	name string
	n    int
}{{"100B", 100}, {"64KiB", 64 << 10}}

// modes of HTTP.
var modes = []peer.Mode{peer.Modern, peer.Stateful, peer.Stateless}

func join(parts ...any) string {
	s := make([]string, len(parts))
	for i, p := range parts {
		s[i] = fmt.Sprint(p)
	}
	return strings.Join(s, "/")
}

// closing closes c and keeps the first error.
func closing(err *error, c func() error) {
	if e := c(); e != nil && *err == nil {
		*err = e
	}
}

var errNoAnswer = errors.New("no answer, or the wrong one")

// startProfile writes a profile of the processor time to a file until it is stopped.
func startProfile(path string) (stop func(), err error) {
	f, err := os.Create(path) //nolint:gosec // the user named it
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // written
	}, nil
}

// writeAllocs writes a profile of all that was allocated.
func writeAllocs(path string) {
	f, err := os.Create(path) //nolint:gosec // the user named it
	if err == nil {
		err = errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
