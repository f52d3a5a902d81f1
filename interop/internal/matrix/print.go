package matrix

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

func (c Cell) mark() string {
	if c.State == None {
		return "-"
	}
	if c.AtTimes {
		return string(c.State) + "~"
	}
	return string(c.State)
}

// Print writes the matrix, and below it every cell that is not ok.
func Print(w io.Writer, rows []*Row) error {
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprint(tw, "client\tserver\tover\tera\t"+strings.Join(Columns, "\t")+"\n")
	for _, r := range rows {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s", r.Client, r.Server, r.Transport, r.Era)
		for _, c := range Columns {
			fmt.Fprint(tw, "\t"+r.Cells[c].mark())
		}
		fmt.Fprintln(tw)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, st := range []State{NA, Fault, Fail} {
		fmt.Fprintf(w, "\n%s:\n", st)
		for _, e := range gather(rows, st) {
			fmt.Fprintf(w, "  %s: %s\n    %s\n", e.check, e.cell.Reason, strings.Join(e.rows, "; "))
			if st == Fail {
				printTape(w, e.cell.Tape)
			}
		}
	}
	return nil
}

func printTape(w io.Writer, tape []string) {
	for _, l := range tape {
		fmt.Fprintf(w, "      %s\n", brief(l, 600))
	}
}

func brief(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + " …"
	}
	return s
}

// An entry is one reason and the rows that it holds for.
type entry struct {
	check string
	cell  Cell
	rows  []string
}

func gather(rows []*Row, st State) []*entry {
	var out []*entry
	for _, r := range rows {
		for _, name := range slices.Concat(Columns, []string{"end"}) {
			c, ok := r.Cells[name]
			if !ok || c.State != st {
				continue
			}
			i := slices.IndexFunc(out, func(e *entry) bool { return e.check == name && plain(e.cell.Reason) == plain(c.Reason) })
			if i < 0 {
				out = append(out, &entry{check: name, cell: c})
				i = len(out) - 1
			}
			if out[i].cell.Got == "" {
				out[i].cell = c
			}
			out[i].rows = append(out[i].rows, r.Name())
		}
	}
	return out
}

func plain(reason string) string { return strings.TrimSuffix(reason, " (not in this run)") }

// Table is the matrix in Markdown, with the reasons, and without what differs from run to run.
func Table(rows []*Row) string {
	var b strings.Builder
	b.WriteString("| client | server | over | era | " + strings.Join(Columns, " | ") + " |\n")
	b.WriteString("|---|---|---|---|" + strings.Repeat("---|", len(Columns)) + "\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |", r.Client, r.Server, r.Transport, r.Era)
		for _, c := range Columns {
			b.WriteString(" " + r.Cells[c].mark() + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## What a peer or an era lacks\n\n")
	for _, e := range gather(rows, NA) {
		fmt.Fprintf(&b, "* **%s**: %s. %s.\n", e.check, e.cell.Reason, strings.Join(e.rows, "; "))
	}
	b.WriteString("\n## Rules that peers break\n\n")
	for i, e := range gather(rows, Fault) {
		fmt.Fprintf(&b, "%d. **%s**: %s.\n   Rule: %s.\n   Where: %s.\n", i+1, e.check, plain(e.cell.Reason), e.cell.Rule, strings.Join(e.rows, "; "))
	}
	return b.String()
}

// Evidence is what was sent and what came back for each fault of a peer, in Markdown.
func Evidence(rows []*Row) string {
	var b strings.Builder
	for i, e := range gather(rows, Fault) {
		if e.cell.Got == "" {
			continue // it did not show in this run
		}
		fmt.Fprintf(&b, "### %d. %s\n\n%s. The check found:\n\n```text\n%s\n```\n\n", i+1, e.check, e.rows[0], brief(e.cell.Got, 400))
		if len(e.cell.Tape) == 0 {
			continue // a stdio server's side is not recorded
		}
		b.WriteString("```text\n")
		for _, l := range relevant(e.cell.Tape) {
			b.WriteString(strings.ReplaceAll(brief(l, 400), "\n", " ") + "\n")
		}
		b.WriteString("```\n\n")
	}
	return b.String()
}

// relevant leaves out the beginning of the connection and what a check repeats, but for the end.
func relevant(tape []string) []string {
	var out []string
	for _, l := range tape {
		if strings.Contains(l, "initialize") || strings.Contains(l, "server/discover") || strings.Contains(l, "supportedVersions") ||
			strings.Contains(l, "serverInfo\":{\"name\":\"parley-fixture\"") && strings.Contains(l, "protocolVersion\":\"") {
			continue
		}
		out = append(out, l)
	}
	const most = 8
	if len(out) > most {
		out = slices.Concat(out[:most-2], []string{"…"}, out[len(out)-1:])
	}
	return out
}
