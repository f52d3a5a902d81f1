package matrix_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/mcp"
)

// K05, K06: a tool that takes nothing says so with an object schema, and is called with nothing.
func TestCaseK05K06NoArguments(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		list := w.Ask("1", "tools/list", "")
		list.Has(t, `"inputSchema":{`, `"properties":{}`)
		if strings.Contains(list.Text, `"properties":null`) {
			t.Errorf("got %s", list.Text)
		}
		for i, args := range []string{"", `,"arguments":null`, `,"arguments":{}`} {
			w.Ask(fmt.Sprint("1", i), "tools/call", `"name":"read_note"`+args).Has(t, `"read_note"`)
		}
		for i, args := range []string{`[]`, `"{}"`, `5`} {
			badArguments(t, w, w.Ask(fmt.Sprint("2", i), "tools/call", `"name":"delete_all","arguments":`+args))
		}
		badArguments(t, w, w.Ask("30", "tools/call", `"name":"record"`))
		ran(t, w, "read_note,read_note,read_note")
	})
}

// badArguments asserts the revision's way to refuse arguments.
func badArguments(t *testing.T, w *matrix.Wire, h matrix.Heard) {
	t.Helper()
	if matrix.Revisions(mcp.Revision20251125, mcp.Revision20260728)(w.Leg) {
		h.Has(t, `"isError":true`)
		return
	}
	h.WantError(t, -32602, 0)
}

// P03: each failure is where the revision puts it, with nothing of the server's own.
func TestCaseP03ErrorsInTheirPlace(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		call := func(id, tool string) matrix.Heard {
			h := w.Ask(id, "tools/call", `"name":"`+tool+`","arguments":{}`)
			if strings.Contains(h.Text, "hunter2") {
				t.Errorf("%s: %s", tool, h.Text)
			}
			return h
		}
		call("1", "nope").WantError(t, -32602, 0)
		badArguments(t, w, w.Ask("2", "tools/call", `"name":"record","arguments":{"id":"x"}`))
		call("3", "fail").Has(t, `"isError":true`, "internal error")
		call("4", "refuse").Has(t, `"isError":true`, "sold out")
		call("5", "protocol").Has(t, `"error":{"code":7,"message":"mine"}`)
		call("6", "deadline").Has(t, `"isError":true`)
		call("7", "both").Has(t, `"isError":true`, "partly")
	})
}

// P04, N15: a panic is its own request's failure, and says nothing.
func TestCaseP04Panics(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		begin(w, `"other"`, "wait")
		for i, h := range []matrix.Heard{
			w.Ask("1", "tools/call", `"name":"panic","arguments":{}`), w.Ask("2", "prompts/get", `"name":"panic"`),
			w.Ask("3", "resources/read", `"uri":"note:///panic"`),
		} {
			h.WantError(t, -32603, 0)
			if strings.Contains(h.Text, "hunter2") || strings.Contains(h.Text, "goroutine") {
				t.Errorf("%d: %s", i, h.Text)
			}
		}
		ran(t, w, "") // the other call still waits
		w.Cancel(`"other"`)
		w.Ask("9", "tools/call", `"name":"ended","arguments":{}`).Has(t, "ended")
	})
	matrix.Each(t, func(t *testing.T, l matrix.Leg) { // the person's side
		in := &mcp.Interactor{Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) { panic("hunter2") }}
		c := l.Client(t, field, &mcp.ClientOptions{Interactor: in})
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "seat"})
		if err == nil && (!r.IsError || strings.Contains(r.Content.Text(), "hunter2")) {
			t.Errorf("got %+v", r)
		}
		if got := called(t, c, "read_note"); got != "read_note" {
			t.Error(got)
		}
	}, forms)
}

// P05: a resource that is not there has the code of its revision, and is one error to the client.
func TestCaseP05NoSuchResource(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		h := l.Wire(t, field).Ask("1", "resources/read", `"uri":"note:///nope"`)
		code := -32002
		if l.Modern() {
			code = -32602
		}
		h.WantError(t, code, 0)
		h.Has(t, `"data":{"uri":"note:///nope"}`)
		c := l.Client(t, field, nil)
		if r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "note:///nope"}); !errors.Is(err, mcp.ErrNotFound) {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}
