package matrix_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/mcp"
)

// newest are legs at which one handshake revision stands for all, because the test chooses the version itself.
var newest = matrix.Revisions(mcp.Revision20251125)

// initialize sends an initialize request; version is JSON.
func initialize(w *matrix.Wire, version string) matrix.Heard {
	w.Send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` + version + `,"capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`)
	return w.Answer("1")
}

// V01: a version that the server does not speak is answered with one that it does.
func TestCaseV01UnknownVersions(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		for _, version := range []string{`"1999-01-01"`, `"2099-01-01"`, `""`} {
			initialize(l.Raw(t, field), version).Has(t, `"protocolVersion":"2025-11-25"`)
		}
		initialize(l.Raw(t, field), "5").WantError(t, -32602, 0)
		w := l.Raw(t, field)
		w.Send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`)
		w.Answer("1").WantError(t, -32602, 0)
	}, newest)
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		initialize(l.Raw(t, field), `"`+l.Revision.String()+`"`).Has(t, `"protocolVersion":"`+l.Revision.String()+`"`)
	}, matrix.Handshake)
}

// V02: a handshake never agrees on a revision that has none.
func TestCaseV02InitializeIsLegacy(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Raw(t, field)
		initialize(w, `"2026-07-28"`).Has(t, `"protocolVersion":"2025-11-25"`)
		w.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		w.Ask("2", "tools/list", "").Has(t, `"tools":[`)
	}, newest)
}

// V09: a discover that is refused spoils nothing.
func TestCaseV09RefusedDiscover(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Raw(t, field)
		for i, meta := range []string{
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}`,
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, `"_meta":{}`, ``,
		} {
			w.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"server/discover","params":{%s}}`, i, meta))
			w.Find("the refusal", isError)
		}
		w.Handshake()
		w.Ask("9", "tools/list", "").Has(t, `"tools":[`)
	}, matrix.Handshake)
}

// V11: ping is answered at once, at any time, by both sides; 2026-07-28 has none.
func TestCaseV11Ping(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Raw(t, field)
		ping := func(id string) {
			t.Helper()
			w.Send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
			w.Answer(id).Has(t, `"result":{}`)
		}
		if l.Transport != matrix.HTTP { // where there is no session yet to ping in
			ping("0")
		}
		initialize(w, `"`+l.Revision.String()+`"`)
		ping(`"between"`)
		w.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		w.Request("5", "tools/call", `"name":"wait","arguments":{}`, `"progressToken":"p"`)
		w.Notice("notifications/progress")
		ping(`"during"`)
		w.Cancel("5")
		c := l.Client(t, field, nil)
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}, matrix.Handshake)
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		w.Ask("1", "ping", "").WantError(t, -32601, 404)
	}, matrix.Modern)
}

// V04, the client's half over every transport: what it offers is the newest, what it takes is what the server speaks.
func TestCaseV04OlderServers(t *testing.T) {
	for _, rev := range mcp.Revisions() {
		old := matrix.Local(func() *mcp.Server {
			srv := mcp.NewServer("old", "1", &mcp.ServerOptions{Logger: quiet(), Revisions: []mcp.Revision{rev}})
			addOdd(srv)
			return srv
		})
		matrix.Each(t, func(t *testing.T, l matrix.Leg) {
			c := l.Any(t, old, nil)
			if got := c.Server().Revision; got != rev {
				t.Errorf("agreed on %v", got)
			}
			got, err := mcp.CallTool[*mcp.CallToolResult](t.Context(), c, "big", nil)
			if err != nil || !strings.Contains(got.Content.Text(), "9007199254740993") {
				t.Errorf("got %+v, %v", got, err)
			}
		}, matrix.Revisions(rev), func(l matrix.Leg) bool { return l.Transport != matrix.Stdio })
	}
}
