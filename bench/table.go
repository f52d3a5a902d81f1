package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed38e7925c/parley/bench/internal/load"
)

// tables renders the results: first everything, then the targets with their verdicts.
func tables(results []result) string {
	var b strings.Builder
	d := collect(results)
	b.WriteString("\nMedians. x is how often the cost of the peer is ours: above 1 we are better.\n\n")
	rows := [][]string{{"workload", "metric", ours}}
	for _, p := range peers[1:] {
		rows[0] = append(rows[0], p, "x")
	}
	for _, name := range d.loads {
		for _, metric := range d.metrics(name) {
			row := []string{name, label(metric), d.text(name, metric, ours)}
			for _, p := range peers[1:] {
				row = append(row, d.text(name, metric, p), factor(d.better(name, metric, p)))
			}
			rows = append(rows, row)
		}
	}
	render(&b, rows)
	b.WriteString("\n" + mended + " is go-sdk with a flaw repaired: see mended.go.\n")
	b.WriteString("\nTargets: at least as often better than a peer; at most as often the floor; at most a value.\n\n")
	render(&b, d.verdicts())
	return b.String()
}

// data is results by workload, peer and round.
type data struct {
	loads []string
	by    map[string]map[string]map[int]load.Metrics
}

func collect(results []result) *data {
	d := &data{by: map[string]map[string]map[int]load.Metrics{}}
	for _, r := range results {
		if d.by[r.Load] == nil {
			d.loads = append(d.loads, r.Load)
			d.by[r.Load] = map[string]map[int]load.Metrics{}
		}
		if d.by[r.Load][r.Peer] == nil {
			d.by[r.Load][r.Peer] = map[int]load.Metrics{}
		}
		d.by[r.Load][r.Peer][r.Round] = r.Metrics
	}
	slices.Sort(d.loads)
	return d
}

// shown are the metrics in the order of the tables.
var shown = []string{load.Rate, load.Wall, load.CPU, load.ServerCPU, load.Allocs, load.Bytes, load.Heap, load.Resident, load.Goroutines,
	load.Last, load.Size, load.Growth, load.Bare, load.Over, load.Fetches, load.BareHeap, load.OverHeap, load.P50, load.P99}

// metrics returns what is worth showing of a workload.
func (d *data) metrics(name string) []string {
	var all []string
	for _, m := range shown {
		has := false
		for _, rounds := range d.by[name] {
			for _, got := range rounds {
				_, ok := got[m]
				has = has || ok
			}
		}
		if !has || skip(name, m) {
			continue
		}
		all = append(all, m)
	}
	return all
}

// skip leaves out what says nothing: rates and walls of the same thing twice, allocations of a client.
func skip(name, metric string) bool {
	group, _, _ := strings.Cut(name, "/")
	switch group {
	case "handler", "list":
		return metric == load.Rate
	case "process", "crowd":
		return metric == load.Wall || metric == load.CPU || metric == load.Allocs || metric == load.Bytes
	case "cold":
		return false
	}
	return metric == load.Wall
}

func (d *data) value(name, metric, peer string) (float64, bool) {
	var v []float64
	for _, m := range d.by[name][peer] {
		if x, ok := m[metric]; ok {
			v = append(v, x)
		}
	}
	return load.Median(v), len(v) > 0
}

// better says how many times better ours is than a peer: the median over the rounds that have both.
func (d *data) better(name, metric, peer string) (float64, bool) {
	var v []float64
	for round, m := range d.by[name][ours] {
		a, ok1 := m[metric]
		b, ok2 := d.by[name][peer][round][metric]
		switch {
		case !ok1 || !ok2 || a <= 0 || b <= 0:
		case metric == load.Rate:
			v = append(v, a/b)
		default:
			v = append(v, b/a)
		}
	}
	return load.Median(v), len(v) > 0
}

func factor(x float64, ok bool) string {
	if !ok {
		return "–"
	}
	return number(x) + "x"
}

func (d *data) text(name, metric, peer string) string {
	v, ok := d.value(name, metric, peer)
	if !ok {
		return "–"
	}
	return quantity(v, metric)
}

// quantity is a value with its unit.
func quantity(v float64, metric string) string {
	switch metric {
	case load.Wall, load.CPU, load.ServerCPU, load.Last, load.Bare, load.Over, load.P50, load.P99:
		switch {
		case v >= 1e6:
			return number(v/1e6) + " ms"
		default:
			return number(v/1e3) + " µs"
		}
	case load.Bytes, load.Heap, load.Resident, load.BareHeap, load.OverHeap:
		return number(v/1024) + " KiB"
	case load.Size:
		return number(v/mib) + " MiB"
	}
	return number(v)
}

func label(metric string) string {
	switch metric {
	case load.Wall:
		return "time"
	case load.CPU:
		return "CPU"
	case load.ServerCPU:
		return "server CPU"
	case load.Allocs:
		return "allocations"
	case load.Bytes:
		return "allocated"
	case load.Last:
		return "last told"
	case load.Bare:
		return "CPU of the bare part"
	case load.Over:
		return "CPU beyond it"
	case load.BareHeap:
		return "heap of the bare part"
	case load.OverHeap:
		return "heap beyond it"
	}
	name, _, _ := strings.Cut(metric, "-")
	return name
}

func number(v float64) string {
	switch {
	case v >= 10_000:
		return fmt.Sprintf("%.1fk", v/1000)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// verdicts are the rows of the table of targets.
func (d *data) verdicts() [][]string {
	rows := [][]string{{"workload", "metric", "target", "measured", "verdict"}}
	row := func(t target, want, got string, holds bool) {
		verdict := "holds"
		if !holds {
			verdict = "MISSED"
		}
		rows = append(rows, []string{t.load, label(t.metric), want, got, verdict})
	}
	for _, t := range targets {
		for _, rival := range []struct {
			name  string
			least float64
		}{{"gosdk", t.gosdk}, {mended, t.mended}, {"mcpgo", t.mcpgo}} {
			if x, ok := d.better(t.load, t.metric, rival.name); ok && rival.least > 0 {
				row(t, fmt.Sprintf("%s ≥ %gx", rival.name, rival.least), factor(x, true), x >= rival.least)
			}
		}
		if x, ok := d.better(t.load, t.metric, "floor"); ok && t.floor > 0 {
			row(t, fmt.Sprintf("floor ≤ %gx", t.floor), factor(1/x, true), 1/x <= t.floor)
		}
		if v, ok := d.value(t.load, t.metric, ours); ok && (t.most > 0 || t.none) {
			row(t, "≤ "+quantity(t.most, t.metric), d.text(t.load, t.metric, ours), v <= t.most)
		}
	}
	return rows
}

// render writes rows as a Markdown table that is also aligned as text.
func render(b *strings.Builder, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	for n, row := range rows {
		for i, cell := range row {
			b.WriteString("| " + cell + strings.Repeat(" ", width[i]-len([]rune(cell))+1))
		}
		b.WriteString("|\n")
		if n == 0 {
			for _, w := range width {
				b.WriteString("|" + strings.Repeat("-", w+2))
			}
			b.WriteString("|\n")
		}
	}
}
