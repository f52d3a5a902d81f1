// Command cover prints the statement coverage of each package in a profile of "go test -coverpkg", and fails when one
// is under -min percent. Blocks seen by several test binaries count once.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"sort"
	"strconv"
	"strings"
)

func main() {
	least := flag.Float64("min", 85, "fail under this many percent")
	flag.Parse()
	data, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "cover:", err)
		os.Exit(1)
	}
	low, err := report(os.Stdout, string(data), *least)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cover:", err)
		os.Exit(1)
	}
	if low > 0 {
		fmt.Fprintf(os.Stderr, "cover: %d packages under %.0f %%\n", low, *least)
		os.Exit(1)
	}
}

type block struct {
	statements int
	hit        bool
}

// report writes a line per package and returns how many lie under least.
func report(w io.Writer, profile string, least float64) (int, error) {
	blocks := map[string]block{}
	for line := range strings.Lines(profile) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "mode:") {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 3 {
			return 0, fmt.Errorf("not a coverage line: %q", line)
		}
		n, err := strconv.Atoi(f[1])
		if err != nil {
			return 0, fmt.Errorf("not a coverage line: %q", line)
		}
		blocks[f[0]] = block{n, blocks[f[0]].hit || f[2] != "0"}
	}
	total, hit := map[string]int{}, map[string]int{}
	for key, b := range blocks {
		pkg := path.Dir(key[:strings.LastIndexByte(key, ':')])
		total[pkg] += b.statements
		if b.hit {
			hit[pkg] += b.statements
		}
	}
	var names []string
	for pkg := range total {
		names = append(names, pkg)
	}
	sort.Strings(names)
	low := 0
	for _, pkg := range names {
		percent := 100 * float64(hit[pkg]) / float64(max(total[pkg], 1))
		mark := ""
		if percent < least {
			low++
			mark = "  <-- low"
		}
		fmt.Fprintf(w, "%6.1f %%  %s%s\n", percent, pkg, mark)
	}
	return low, nil
}
