package doctest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/era"
)

// facts says, for each row of docs/revisions.md that names no method, what the table of internal/era holds.
var facts = map[string]func(r *era.Rules) any{
	"handshake":                    func(r *era.Rules) any { return r.Handshake },
	"arrays of messages":           func(r *era.Rules) any { return r.Batch },
	"request ids never come twice": func(r *era.Rules) any { return r.UniqueIDs },
	"forms":                        func(r *era.Rules) any { return r.Elicitation.Form },
	"links to visit":               func(r *era.Rules) any { return r.Elicitation.URL },
	"the question is the result, and the client calls again": func(r *era.Rules) any { return r.AskByResult },
	"a link carries an id, and its completion is told": func(r *era.Rules) any {
		return r.Elicitation.ID && r.Elicitation.CompleteNotice
	},
	"defaults for every kind of field":       func(r *era.Rules) any { return r.Elicitation.Defaults },
	"several choices in one field":           func(r *era.Rules) any { return r.Elicitation.Multi },
	"audio":                                  func(r *era.Rules) any { return r.Content.Has(era.KindAudio) },
	"links to resources in results":          func(r *era.Rules) any { return r.Content.Has(era.KindResourceLink) },
	"structured content":                     func(r *era.Rules) any { return [...]string{"none", "an object", "any value"}[r.Structured] },
	"output schema of tools":                 func(r *era.Rules) any { return r.Fields.OutputSchema },
	"titles":                                 func(r *era.Rules) any { return r.Fields.Title },
	"icons":                                  func(r *era.Rules) any { return r.Fields.Icons },
	"hints for caches":                       func(r *era.Rules) any { return r.CacheHints },
	"resource not found":                     func(r *era.Rules) any { return int64(r.CodeResourceNotFound) },
	"the client lacks a capability":          func(r *era.Rules) any { return int64(r.CodeMissingCapability) },
	"arguments that do not match the schema": badArguments,
	"Streamable HTTP":                        func(r *era.Rules) any { return r.HTTP.Streamable },
	"sessions":                               func(r *era.Rules) any { return r.HTTP.Session },
	"a closed connection cancels":            func(r *era.Rules) any { return r.CancelOnDisconnect },
	"a broken stream can be taken up again":  func(r *era.Rules) any { return r.HTTP.Resumable },
	"headers repeat method, name and marked arguments": func(r *era.Rules) any { return r.HTTP.MirrorHeaders },
}

func badArguments(r *era.Rules) any {
	if r.BadArgsAsResult {
		return "a result"
	}
	return int64(-32602)
}

// TestRevisionsPage compares every row of the tables in docs/revisions.md with internal/era.
func TestRevisionsPage(t *testing.T) {
	data, err := os.ReadFile("../../docs/revisions.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	section, table := "", ""
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		name := strings.TrimSpace(cells[0])
		switch {
		case strings.HasPrefix(line, "## "):
			section = strings.TrimSpace(line[3:])
		case !strings.HasPrefix(line, "|") || strings.HasPrefix(name, "---"):
		case len(cells) == 6 && strings.Contains(line, "2024-11-05"):
			table = section + " " + name
		case len(cells) != 6:
			t.Errorf("not a row of six: %s", line)
		default:
			listed[table+" "+name] = true
			row(t, table, name, cells[1:])
		}
	}
	for name := range facts {
		if !slices.ContainsFunc(keys(listed), func(s string) bool { return strings.HasSuffix(s, " "+name) }) {
			t.Errorf("no row %q", name)
		}
	}
	complete(t, listed)
}

func keys(m map[string]bool) []string {
	var ks []string
	for k := range m {
		ks = append(ks, k)
	}
	return ks
}

func row(t *testing.T, table, name string, cells []string) {
	t.Helper()
	for i, r := range era.All() {
		want := "–"
		method := strings.Trim(name, "`")
		fact, ok := facts[name]
		switch {
		case ok:
			want = text(fact(r.Rules()))
		case method == name:
			t.Errorf("no fact for the row %q", name)
			return
		case slices.Contains(defined(table, r), method):
			want = "yes"
		}
		if got := strings.TrimSpace(cells[i]); got != want {
			t.Errorf("%s, %s, %s: the page says %q, the library %q", table, name, r, got, want)
		}
	}
}

func text(v any) string {
	switch v := v.(type) {
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	default:
		return fmt.Sprint(v)
	}
}

// defined returns the methods of a table of the page at one revision.
func defined(table string, r era.Revision) []string {
	switch table {
	case "Requests from the client":
		return r.Rules().Requests(era.ClientToServer)
	case "Requests from the server":
		return r.Rules().Requests(era.ServerToClient)
	case "Notifications from the client":
		return r.Rules().Notifications(era.ClientToServer)
	case "Notifications from the server":
		return r.Rules().Notifications(era.ServerToClient)
	default:
		return nil
	}
}

// complete checks that no method is missing from the page; those of the task protocols are left to a page of their own.
func complete(t *testing.T, listed map[string]bool) {
	t.Helper()
	for _, table := range []string{"Requests from the client", "Requests from the server", "Notifications from the client", "Notifications from the server"} {
		for _, r := range era.All() {
			for _, m := range defined(table, r) {
				if !strings.Contains(m, "tasks") && !listed[table+" `"+m+"`"] {
					t.Errorf("%s: %s of %s is missing", table, m, r)
				}
			}
		}
	}
}
