// Command interop runs Parley's client and server against other implementations and prints the matrix. It fails when a cell of ours is
// red, when a fault that is known of a peer is gone, and when docs/interop.md says something else than the run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/seed38e7925c/parley/interop/internal/matrix"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if served, err := matrix.Role(ctx); served {
		return err
	}
	only := flag.String("only", "", "run the rows whose name contains this, and leave the document alone")
	doc := flag.String("doc", "../docs/interop.md", "the document that the run is compared with")
	update := flag.Bool("update", false, "write the document instead of comparing")
	flag.Parse()

	var rows []*matrix.Row
	for _, p := range matrix.Pairs() {
		if !strings.Contains(p.Name(), *only) {
			continue
		}
		if p.Needs != "" {
			return fmt.Errorf("%s needs %s", p.Name(), p.Needs)
		}
		fmt.Fprintln(os.Stderr, "interop:", p.Name())
		rows = append(rows, p.Run(ctx))
	}
	if err := matrix.Print(os.Stdout, rows); err != nil {
		return err
	}
	if matrix.Failed(rows) {
		return fmt.Errorf("the matrix has failures")
	}
	if *only != "" {
		return nil
	}
	return document(*doc, rows, *update)
}

const (
	begin = "<!-- matrix: made by make interop -->\n"
	end   = "<!-- evidence: of one run -->\n"
)

func document(name string, rows []*matrix.Row, update bool) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(old), begin)
	table, _, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s lacks the line %q or %q", name, begin, end)
	}
	made := "\n" + matrix.Table(rows) + "\n"
	if update {
		return os.WriteFile(name, []byte(head+begin+made+end+"\n"+matrix.Evidence(rows)), 0o644)
	}
	if table != made {
		return fmt.Errorf("%s is not what this run found: run make interop ARGS=-update and look at what changed", name)
	}
	return nil
}
