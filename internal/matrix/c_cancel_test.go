package matrix_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/mcp"
)

// begin calls a tool that reports when it runs.
func begin(w *matrix.Wire, id, tool string) {
	w.Request(id, "tools/call", `"name":"`+tool+`","arguments":{}`, `"progressToken":"p`+strings.Trim(id, `"`)+`"`)
	w.Notice("notifications/progress")
}

// C01: a cancellation that meets its answer harms nothing. The server answers once or not at all.
func TestCaseC01CancelMeetsAnswer(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		n := 200
		if l.Transport == matrix.HTTP {
			n = 30
		}
		for i := range n {
			id := fmt.Sprint(i)
			w.Request(id, "tools/call", `"name":"read_note","arguments":{}`)
			w.Cancel(id)
		}
		w.Ask(`"last"`, "tools/call", `"name":"read_note","arguments":{}`).Has(t, `"read_note"`)
		seen := map[string]bool{}
		for _, text := range w.Rest() {
			id, _, _ := strings.Cut(strings.SplitN(text, `"id":`, 2)[1], ",")
			if seen[id] || !strings.Contains(text, "read_note") && !strings.Contains(text, `"error"`) {
				t.Errorf("%s, and it was answered before: %v", text, seen[id])
			}
			seen[id] = true
		}
	})
}

// C02: a cancelled request is neither answered nor reported on.
func TestCaseC02NothingAfterCancel(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		for _, tool := range []string{"wait", "stubborn"} {
			w := l.Wire(t, field, `{"elicitation":{}}`)
			begin(w, "5", tool)
			w.Cancel("5")
			w.Ask("6", "tools/call", `"name":"ended","arguments":{}`).Has(t, "ended")
			ran(t, w, tool+" ended")
			for _, text := range w.Rest() {
				t.Errorf("%s: the server said %s", tool, text)
			}
		}
	})
}

// C04: cancellations that mean nothing do nothing.
func TestCaseC04OddCancellations(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		begin(w, "5", "wait")
		for _, params := range []string{
			`"requestId":999`, `"requestId":"5"`, ``, `"requestId":null`, `"requestId":5.5`, `"requestId":{}`, `"requestId":"hello"`,
		} {
			meta := w.Meta()
			if meta != "" && params != "" {
				meta += ","
			}
			w.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{` + meta + params + `}}`)
		}
		w.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
		w.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`)
		ran(t, w, "") // the call still waits
		w.Cancel("5")
		w.Ask("6", "tools/call", `"name":"ended","arguments":{}`).Has(t, "ended")
		ran(t, w, "wait ended")
	})
}

// C05, C02: a client that gives up has its answer at once, and the server learns of it.
func TestCaseC05ClientGivesUp(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		c := l.Client(t, field, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "wait"}, &mcp.RequestOptions{Progress: func(mcp.Progress) { cancel() }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if got, err := mcp.CallTool[string](t.Context(), c, "ended", nil); err != nil || got != "ended" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// S14, C07: a call that is not answered in its time ends, says so, and leaves the connection usable.
func TestCaseS14CallTimeout(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		c := l.Client(t, field, nil)
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "wait"}, &mcp.RequestOptions{Timeout: 50 * time.Millisecond})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if got, err := mcp.CallTool[string](t.Context(), c, "ended", nil); err != nil || got != "ended" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// N15: what several goroutines send at once stays whole, and every message is one line or event.
func TestCaseN15ManyWriters(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		meta := []string{`"progressToken":"p"`}
		if l.Modern() {
			meta = append(meta, `"io.modelcontextprotocol/logLevel":"debug"`)
		}
		w.Ask("1", "tools/call", `"name":"crowd","arguments":{}`, meta...).Has(t, `"done"`)
		logs := 0
		for _, text := range w.Rest() { // Find has decoded each
			if strings.Contains(text, "notifications/message") {
				logs++
			}
		}
		if logs != 50 {
			t.Errorf("%d log messages came", logs)
		}
	})
}
