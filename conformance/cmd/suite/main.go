// Command suite runs the official conformance suite against the server and the client beside it, and against the authorization server
// that this project tests with, and judges the results with package audit. It prints one line a run,
//
//	conformance ROLE REVISION scenarios P/T checks P/T
//
// and ends with an error when any scenario that is due did not pass. `suite -prove` turns it round: it runs the suite against nothing at
// all and fails when the audit lets a single scenario through.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/conformance/internal/audit"
	"go.yaml.in/yaml/v3"
)

// The suite as npm installed it, relative to the conformance directory.
const (
	nodeBinary = "node_modules/node/bin/node"
	suiteDir   = "node_modules/@modelcontextprotocol/conformance"
)

// revisions are those that have a frozen requirement set.
var revisions = []string{"2025-11-25", "2026-07-28"}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "record" {
		os.Exit(record(os.Args[2:]))
	}
	var r runner
	flag.StringVar(&r.server, "server", "", "server `binary` to test")
	flag.StringVar(&r.client, "client", "", "client `binary` to test")
	flag.StringVar(&r.out, "out", "results", "`directory` for the suite's results; emptied first")
	flag.BoolVar(&r.prove, "prove", false, "run against nothing and demand that nothing passes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

type runner struct {
	server, client, out string
	prove               bool
}

// expectations say which scenarios this release has to pass, and explain the others.
type expectations struct {
	Allowed map[string]string `json:"allowed"` // see audit.Allowed
	Later   map[string]string `json:"later"`   // scenario prefix → why it is not due yet
}

func (r *runner) run(ctx context.Context) error {
	exp, err := readExpectations("expectations.json")
	if err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if r.prove {
		return r.proveAudit(ctx, exp)
	}
	url, stop, err := r.startServer(ctx)
	if err != nil {
		return err
	}
	defer stop()
	var failed []string
	for _, revision := range revisions {
		for _, role := range []string{"server", "client"} {
			target := url
			if role == "client" {
				target = r.client
			}
			ok, err := r.one(ctx, role, revision, target, exp)
			if err != nil {
				return err
			}
			if !ok {
				failed = append(failed, role+" "+revision)
			}
		}
		ok, err := r.authorization(ctx, revision, exp)
		if err != nil {
			return err
		}
		if !ok {
			failed = append(failed, "authorization "+revision)
		}
	}
	if failed != nil {
		return fmt.Errorf("not passed: %s", strings.Join(failed, ", "))
	}
	return nil
}

// one runs one role at one revision and reports whether all that is due passed.
func (r *runner) one(ctx context.Context, role, revision, target string, exp *expectations) (bool, error) {
	all, err := r.results(ctx, role, revision, target, exp)
	if err != nil {
		return false, err
	}
	scored, err := readRequirements(role, revision)
	if err != nil {
		return false, err
	}
	ok := true
	later := map[string]bool{}
	for _, name := range scored {
		i := slices.IndexFunc(all, func(s audit.Scenario) bool { return s.Name == name })
		if i < 0 {
			all = append(all, audit.Scenario{Name: name, Problems: []string{"MISSING: the suite wrote no result"}})
			i = len(all) - 1
		}
		if all[i].OK() {
			continue
		}
		if exp.isLater(name) {
			later[name] = true
			continue
		}
		ok = false
		explain(os.Stdout, "FAILED", &all[i])
	}
	isScored := func(name string) bool { return slices.Contains(scored, name) }
	fmt.Printf("conformance %s %s %v\n", role, revision, audit.Count(all, isScored))
	if len(later) > 0 {
		due := audit.Count(all, func(n string) bool { return isScored(n) && !exp.isLater(n) })
		fmt.Printf("  of these, due in this release: %v (%d later: %s)\n", due, len(later), exp.reasons())
	}
	unscored(all, isScored)
	return ok, nil
}

// unscored reports, for information, on scenarios that the suite runs without counting them.
func unscored(all []audit.Scenario, isScored func(string) bool) {
	for i := range all {
		if !isScored(all[i].Name) {
			verdict := "passed"
			if !all[i].OK() {
				verdict = "not passed"
			}
			fmt.Printf("  unscored %s: %s (checks %d/%d)\n", all[i].Name, verdict, all[i].Passed, all[i].Total)
		}
	}
}

func explain(w io.Writer, verdict string, s *audit.Scenario) {
	fmt.Fprintf(w, "  %s %s\n", verdict, s.Name)
	for _, p := range s.Problems {
		fmt.Fprintf(w, "    %s\n", p)
	}
}

// results runs the suite once and judges what it wrote.
func (r *runner) results(ctx context.Context, role, revision, target string, exp *expectations) ([]audit.Scenario, error) {
	dir := filepath.Join(r.out, role+"-"+revision)
	exits := filepath.Join(dir, "exits")
	if err := os.MkdirAll(exits, 0o755); err != nil {
		return nil, err
	}
	args := []string{"--no-deprecation", "--require", "./bind-loopback.cjs", filepath.Join(suiteDir, "dist", "index.js"), role, "--requirements", revision, "-o", dir}
	if role == "server" {
		args = append(args, "--url", target)
	} else {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		args = append(args, "--command", strings.Join([]string{self, "record", exits, target}, " "))
	}
	log, err := os.Create(filepath.Join(dir, "suite.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, nodeBinary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	// The suite's exit code says less than its results do; only a suite that could not run at all is an error here.
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			return nil, fmt.Errorf("starting the suite: %w (has `npm ci` been run in conformance/?)", err)
		}
	}
	all, err := audit.Read(dir, role, exp.Allowed)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the suite wrote no results; its output is in %s", log.Name())
	}
	if role == "client" {
		codes, err := readExits(exits)
		if err != nil {
			return nil, err
		}
		audit.Exits(all, codes, exp.Allowed)
	}
	return all, nil
}

// proveAudit demands that the audit finds fault with every scenario when nobody is there.
func (r *runner) proveAudit(ctx context.Context, exp *expectations) error {
	for _, revision := range revisions {
		for role, target := range map[string]string{"server": "http://127.0.0.1:9/mcp", "client": "false"} {
			all, err := r.results(ctx, role, revision, target, exp)
			if err != nil {
				return err
			}
			for i := range all {
				if all[i].OK() {
					return fmt.Errorf("the audit lets %s %s %s pass although nothing was there to be tested", role, revision, all[i].Name)
				}
			}
			fmt.Printf("audit %s %s: all %d scenarios refused with nothing there\n", role, revision, len(all))
		}
		all, err := r.authorizationServer(ctx, revision, exp, &issuer{url: "http://127.0.0.1:9", kind: "nothing", port: 9})
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].OK() {
				return fmt.Errorf("the audit lets authorization %s %s pass although nothing was there to be tested", revision, all[i].Name)
			}
		}
		fmt.Printf("audit authorization %s: all %d scenarios refused with nothing there\n", revision, len(all))
	}
	return nil
}

// startServer starts the server, its log in the results directory, and waits for the line that says where it listens.
func (r *runner) startServer(ctx context.Context) (url string, stop func(), err error) {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return "", nil, err
	}
	log, err := os.Create(filepath.Join(r.out, "server.log"))
	if err != nil {
		return "", nil, err
	}
	defer log.Close()
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, r.server, "-addr", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		return "", nil, fmt.Errorf("starting the server: %w", err)
	}
	stop = func() { cancel(); _ = cmd.Wait() } // its exit code is that of the interrupt
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			return at, stop, nil
		}
	}
	stop()
	return "", nil, errors.New("the server ended without saying where it listens")
}

// record runs a client on behalf of the suite, which ignores exit codes, and notes how it ended: record DIR CLIENT URL.
func record(args []string) int {
	if len(args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: suite record DIR CLIENT URL")
		return 2
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	code := 0
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
	}
	name := strings.ReplaceAll(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "/", "%")
	if err := os.WriteFile(filepath.Join(args[0], name), fmt.Appendf(nil, "%d\n", code), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func readExits(dir string) (map[string]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	codes := map[string]int{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		var code int
		if _, err := fmt.Sscan(string(data), &code); err != nil {
			return nil, fmt.Errorf("exit record %s: %w", e.Name(), err)
		}
		codes[strings.ReplaceAll(e.Name(), "%", "/")] = code
	}
	return codes, nil
}

func readExpectations(path string) (*expectations, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var e expectations
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &e, nil
}

func (e *expectations) isLater(name string) bool {
	for prefix := range e.Later {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func (e *expectations) reasons() string {
	var out []string
	for prefix, why := range e.Later {
		out = append(out, prefix+"* "+why)
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// readRequirements returns the scenarios that the suite scores for a role at a revision.
func readRequirements(role, revision string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(suiteDir, "requirements", revision+".yaml"))
	if err != nil {
		return nil, err
	}
	var sets map[string]yaml.Node
	if err := yaml.Unmarshal(data, &sets); err != nil {
		return nil, err
	}
	node, ok := sets[role]
	if !ok {
		return nil, fmt.Errorf("the requirements of %s name no %s scenarios", revision, role)
	}
	var names []string
	if err := node.Decode(&names); err != nil {
		return nil, fmt.Errorf("requirements of %s: %w", revision, err)
	}
	return names, nil
}
