// Command testlog turns the output of "go test -json" into a short log: a line per package, the full output of what
// failed, and every skipped test with its reason. It exits non-zero when something failed and, with CI set in the
// environment, when a test was skipped for a reason that is not known below.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"sort"
	"strings"
)

// known are the reasons for which a test may be skipped in CI: what a clone cannot have, and what a build leaves out.
var known = regexp.MustCompile(`(?i)schema|PARLEY_SHARED|shared|only on |not on |windows|darwin|plan9|-short|this build has no handshake`)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
	ImportPath                    string
}

// log collects what is to be told at the end.
type log struct {
	w        io.Writer
	output   map[string][]string
	skipped  []string
	unknown  int
	failures int
}

func main() {
	l := &log{w: os.Stdout, output: map[string][]string{}}
	if err := l.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
		os.Exit(1)
	}
	os.Exit(l.finish(os.Getenv("CI") != ""))
}

func (l *log) read(r io.Reader) error {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			l.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (l *log) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(l.w, line)
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		l.output[key] = append(l.output[key], e.Output)
	case "build-output":
		fmt.Fprint(l.w, e.Output)
	case "build-fail":
		l.failures++
	case "fail":
		l.failures++
		if e.Test == "" {
			l.unfinished(e.Package)
		}
		fmt.Fprint(l.w, strings.Join(l.output[key], ""))
	case "pass":
		if e.Test == "" {
			fmt.Fprintf(l.w, "ok   %s %.1fs\n", e.Package, e.Elapsed)
		}
	case "skip":
		l.skip(e, key)
	}
	if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
		delete(l.output, key)
	}
}

// unfinished prints what the tests said that were running when their program died: a panic elsewhere, a time-out.
func (l *log) unfinished(pkg string) {
	var keys []string
	for key := range l.output {
		if strings.HasPrefix(key, pkg+" ") && key != pkg+" " {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	for _, key := range keys {
		fmt.Fprintf(l.w, "unfinished: %s\n%s", key, strings.Join(l.output[key], ""))
		delete(l.output, key)
	}
}

func (l *log) skip(e event, key string) {
	if e.Test == "" {
		return // a package without tests
	}
	var reason []string
	for _, o := range l.output[key] {
		o = strings.TrimSpace(o)
		if o != "" && !strings.HasPrefix(o, "=== ") && !strings.HasPrefix(o, "--- SKIP") {
			reason = append(reason, o)
		}
	}
	text := strings.Join(reason, " ")
	if !known.MatchString(text) {
		l.unknown++
		text += " (not a reason that CI accepts)"
	}
	l.skipped = append(l.skipped, e.Package+"."+e.Test+": "+text)
}

func (l *log) finish(ci bool) int {
	if len(l.skipped) > 0 {
		fmt.Fprintf(l.w, "skipped: %d\n  %s\n", len(l.skipped), strings.Join(l.skipped, "\n  "))
	}
	if l.failures > 0 {
		fmt.Fprintln(l.w, "FAIL")
		return 1
	}
	if ci && l.unknown > 0 {
		fmt.Fprintf(l.w, "FAIL: %d skipped without a reason that CI accepts\n", l.unknown)
		return 1
	}
	return 0
}
