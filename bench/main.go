// Command bench compares this project with its peers: the Go SDK (github.com/modelcontextprotocol/go-sdk), mcp-go
// (github.com/mark3labs/mcp-go), and a floor of net/http and encoding/json that does only what the workloads need.
//
//	go run .                             everything, seven rounds
//	go run . -quick                      what has a target, under two minutes
//	go run . -groups handler,ask         some groups only
//	go test .                            all peers give the same answers
//
// Every measurement runs in a process of its own into which one peer is linked. The peers take turns within a round, and the order
// changes from round to round, so that a ratio compares neighbours in time. Tables have the medians of the rounds, and ratios are the
// medians of the ratios within the rounds. On a busy machine processor time and allocations say more than rates do.
//
// It runs on Linux, on the loopback interface, and wants about 5,000 file descriptors.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/bench/internal/load"
)

// ours is the peer that the others are compared with.
const ours = "parley"

// peers in the order of the tables.
var peers = []string{ours, "gosdk", mended, "mcpgo", "floor"}

func main() {
	log.SetFlags(log.Ltime)
	quick := flag.Bool("quick", false, "only what has a target, and fewer rounds")
	groups := flag.String("groups", "", "comma-separated groups of workloads; the group is the part of a name before the slash")
	rounds := flag.Int("rounds", 0, "number of rounds (default 7, quick 3)")
	only := flag.String("peers", strings.Join(peers, ","), "comma-separated peers")
	keep := flag.String("json", "", "file for all results as JSON lines")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := plan{rounds: 7, time: 400 * time.Millisecond, heavy: 3, peers: split(*only), groups: split(*groups)}
	if *quick {
		p.rounds, p.time, p.heavy, p.quick = 3, 150*time.Millisecond, 1, true
	}
	if *rounds > 0 {
		p.rounds, p.heavy = *rounds, *rounds
	}
	if err := p.main(ctx, *keep); err != nil {
		log.Fatal(err)
	}
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// plan says what is measured.
type plan struct {
	rounds, heavy int // rounds of most, and of those that take long
	time          time.Duration
	quick         bool
	peers, groups []string
	dir           string // of the programs
}

// result is one measurement.
type result struct {
	Round   int
	Load    string
	Peer    string
	Metrics load.Metrics
}

func (p *plan) main(ctx context.Context, keep string) error {
	dir, err := os.MkdirTemp("", "parley-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	p.dir = dir
	begin := time.Now()
	if err := p.build(ctx); err != nil {
		return err
	}
	log.Printf("built in %v", time.Since(begin).Round(time.Second))
	results, err := p.run(ctx)
	if keep != "" {
		if err := save(keep, results); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	fmt.Print(tables(results))
	fmt.Printf("\n%v in all.\n", time.Since(begin).Round(time.Second))
	return nil
}

// build builds the programs of the peers.
func (p *plan) build(ctx context.Context) error {
	for to, from := range map[string]string{"": "./cmd/", "cold": "./cold/", "hello": "./hello/"} {
		args := []string{"build", "-o", filepath.Join(p.dir, to) + string(filepath.Separator)}
		if to != "" {
			if err := os.Mkdir(filepath.Join(p.dir, to), 0o750); err != nil {
				return err
			}
		}
		for _, name := range peers {
			if name != mended {
				args = append(args, from+name)
			}
		}
		if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil { //nolint:gosec // our own programs
			return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	if slices.Contains(p.peers, mended) {
		return buildMended(ctx, p.dir)
	}
	return nil
}

// unit is a workload with what this program has to know about it.
type unit struct {
	name   string
	heavy  bool
	alone  bool // only ours: it is compared with itself
	mended bool // the repaired peer takes part: where what it mends matters most
}

// has reports whether a peer takes part.
func (u unit) has(peer string) bool {
	return (!u.alone || peer == ours) && (u.mended || peer != mended)
}

// units returns the workloads of the plan.
func (p *plan) units() []unit {
	names := []string{"cold/10", "cold/1000", "hello"}
	for _, l := range load.All() {
		names = append(names, l.Name)
	}
	var all []unit
	for _, name := range names {
		group, _, _ := strings.Cut(name, "/")
		if p.groups != nil && !slices.Contains(p.groups, group) || p.quick && !hasTarget(name) {
			continue
		}
		all = append(all, unit{
			name:   name,
			heavy:  slices.Contains([]string{"streams", "sessions", "growth", "hello"}, group),
			alone:  group == "growth" || group == "auth" || group == "connect",
			mended: holdsMended(name) || !p.quick && (group == "handler" || group == "http"),
		})
	}
	return all
}

func (p *plan) run(ctx context.Context) ([]result, error) {
	var results []result
	for round := range p.rounds {
		for _, u := range p.units() {
			if u.heavy && round >= p.heavy {
				continue
			}
			for i := range p.peers {
				name := p.peers[(i+round)%len(p.peers)]
				if !u.has(name) {
					continue
				}
				m, err := p.measure(ctx, u.name, name)
				if ctx.Err() != nil {
					return results, context.Cause(ctx)
				}
				if err != nil {
					log.Printf("%s of %s failed: %v", u.name, name, err)
					continue
				}
				results = append(results, result{round, u.name, name, m})
			}
		}
		log.Printf("round %d of %d", round+1, p.rounds)
	}
	return results, nil
}

// unitLimit bounds one measurement: one peer is known to stall now and then.
const unitLimit = 90 * time.Second

func (p *plan) measure(ctx context.Context, name, who string) (load.Metrics, error) {
	ctx, cancel := context.WithTimeout(ctx, unitLimit)
	defer cancel()
	switch name {
	case "hello":
		info, err := os.Stat(filepath.Join(p.dir, "hello", who))
		if err != nil {
			return nil, err
		}
		return load.Metrics{load.Size: float64(info.Size())}, nil
	case "cold/10":
		return load.Cold(ctx, filepath.Join(p.dir, "cold", who), 10)
	case "cold/1000":
		return load.Cold(ctx, filepath.Join(p.dir, "cold", who), 1000)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(p.dir, program(who)), "-load", name, "-time", p.time.String()) //nolint:gosec // our own program
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, errs.String())
	}
	var m load.Metrics
	return m, json.Unmarshal(out, &m)
}

func save(path string, results []result) error {
	f, err := os.Create(path) //nolint:gosec // the user named it
	if err != nil {
		return err
	}
	enc := json.NewEncoder(f)
	for _, r := range results {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return f.Close()
}
