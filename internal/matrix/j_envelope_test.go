package matrix_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/mcp"
)

// ran asserts what has run on the server.
func ran(t *testing.T, w *matrix.Wire, want string) {
	t.Helper()
	w.Ask(`"ran"`, "tools/call", `"name":"ran","arguments":{}`).Has(t, `"ran: `+want+`"`)
}

// J01: what runs is what the exact key names.
func TestCaseJ01CaseVariantKeys(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		w.Ask("7", "tools/call", `"name":"read_note","Name":"delete_all","NAME":"delete_all","arguments":{}`).Has(t, `"read_note"`)
		ran(t, w, "read_note")
		line := strings.Replace(w.Line("8", "tools/list", `"Name":"delete_all"`), `"method":`, `"METHOD":"tools/call","Method":"tools/call","method":`, 1)
		w.Send(line)
		w.Answer("8").Has(t, `"tools":[`)
		ran(t, w, "read_note")
	})
}

// J03: a message with two members of one name is refused, and nothing of it runs.
func TestCaseJ03DuplicateKeys(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		for _, line := range []string{
			w.Line("3", "tools/call", `"name":"read_note","name":"delete_all","arguments":{}`),
			strings.Replace(w.Line("3", "tools/list", `"name":"delete_all"`), `"method":`, `"method":"tools/call","method":`, 1),
			strings.Replace(w.Line("3", "tools/call", `"name":"delete_all"`), `"params":`, `"params":{},"params":`, 1),
		} {
			w.Send(line)
			w.Answer("3").WantError(t, -32600, 400)
		}
		ran(t, w, "")
	})
}

// J04: an id that is none is an error, not the lack of one.
func TestCaseJ04BadIDs(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		for _, id := range []string{"null", "1.5", "true", "{}", "[]"} {
			w.Send(w.Line(id, "tools/call", `"name":"delete_all","arguments":{}`))
			w.Answer("").WantError(t, -32600, 400)
		}
		ran(t, w, "")
	})
}

// J05: an error that cannot say which request it is about has no id, not even null.
func TestCaseJ05UnknownIDIsOmitted(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		w.Send(`{"jsonrpc":"2.0","id":`)
		h := w.Answer("")
		h.WantError(t, -32700, 400)
		if strings.Contains(h.Text, `"id"`) {
			t.Errorf("got %s", h.Text)
		}
		ran(t, w, "")
	})
}

// J06: nothing that lacks an id is answered.
func TestCaseJ06NotificationsAreNotAnswered(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		for _, method := range []string{"notifications/roots/list_changed", "no/such", "initialize", "tools/call", "ping", "server/discover"} {
			w.Send(strings.Replace(w.Line("0", method, `"name":"delete_all"`), `"id":0,`, "", 1))
		}
		for _, text := range w.Rest() { // over HTTP a refusal may come as the body of its POST, without an id
			if strings.Contains(text, `"id"`) || l.Transport != matrix.HTTP {
				t.Errorf("the server said %s", text)
			}
		}
		ran(t, w, "")
	})
}

// J07: params of any shape, to any method, are refused at worst.
func TestCaseJ07ParamsOfEveryShape(t *testing.T) {
	methods := []string{
		"tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read",
		"completion/complete", "no/such", "subscriptions/listen", "resources/subscribe", "resources/unsubscribe", "logging/setLevel",
		"server/discover", "ping",
	}
	tolerant := map[string]bool{"tools/list": true, "prompts/list": true, "resources/list": true, "resources/templates/list": true, "ping": true}
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		n := 0
		for _, method := range methods {
			for i, params := range []string{"", `,"params":null`, `,"params":{}`, `,"params":[]`, `,"params":"x"`, `,"params":{"name":null}`} {
				n++
				w.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q%s}`, n, method, params))
				h := w.Answer(fmt.Sprint(n))
				switch {
				case method == "ping" && l.Transport != matrix.HTTP: // which says nothing of a revision and may come before a handshake
				case tolerant[method] && !l.Modern() && i < 3:
					h.Has(t, `"result":{`)
				case tolerant[method] && !l.Modern() && i == 5: // a member that the method does not know
				default:
					h.Has(t, `"error":{"code":-32`)
				}
			}
		}
		w.Ask("0", "tools/list", "").Has(t, `"tools":[`)
	})
}

// J07, of the handshake itself.
func TestCaseJ07InitializeParams(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Raw(t, field)
		for i, params := range []string{"", `,"params":null`, `,"params":{}`, `,"params":[]`, `,"params":"x"`, `,"params":{"protocolVersion":5}`} {
			w.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize"%s}`, i, params))
			w.Answer(fmt.Sprint(i)).WantError(t, -32602, 0)
		}
		w.Handshake()
		w.Ask(`"list"`, "tools/list", "").Has(t, `"tools":[`)
	}, matrix.Handshake)
}

// J08: what is JSON and no message is an invalid request, with its id where that can be read.
func TestCaseJ08WellFormedAndInvalid(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		for _, tc := range []struct{ line, id string }{
			{`{"id":1}`, "1"},
			{`{"jsonrpc":"2.0","id":1}`, "1"},
			{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1"},
			{`[]`, ""},
			{`42`, ""},
			{`{"jsonrpc":"2.0","id":1,"method":5}`, "1"},
		} {
			w.Send(tc.line)
			w.Answer(tc.id).WantError(t, -32600, 400)
		}
		w.Send(`{oops`)
		w.Answer("").WantError(t, -32700, 400)
		ran(t, w, "")
	})
}

// J09: a message that is not UTF-8 is refused, and the next one is served.
func TestCaseJ09InvalidUTF8(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		w.Send("\xff\xfe")
		w.Answer("").WantError(t, -32700, 400)
		w.Send(strings.Replace(w.Line("5", "tools/call", `"name":"delete_all"`), "delete_all", "delete_all\xff", 1))
		h := w.Find("the refusal", isError)
		h.WantError(t, -32700, 400)
		ran(t, w, "")
	})
}

// J10: what goes out is UTF-8, whatever a handler says.
func TestCaseJ10OutputIsUTF8(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		for i, tool := range []string{"bytes", "bytes-error"} {
			h := w.Ask(fmt.Sprint(i), "tools/call", `"name":"`+tool+`","arguments":{}`, `"progressToken":"p"`)
			h.Has(t, "\uFFFD", `"content":[`)
		}
		w.Ask("9", "resources/read", `"uri":"note:///a"`).Has(t, "\uFFFD")
		for _, text := range w.Kept() {
			if !utf8.ValidString(text) || !strings.Contains(text, "notifications/progress") {
				t.Errorf("the server said %q", text)
			}
		}
		c := l.Client(t, field, nil)
		if got, err := mcp.CallTool[string](t.Context(), c, "bytes", nil); err != nil || !strings.Contains(got, "\uFFFD") {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// J12: integers arrive as they were sent, or are refused.
func TestCaseJ12Int64Arguments(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		c := l.Client(t, field, nil)
		big := uint64(math.MaxUint64)
		for _, in := range []record{{ID: 9007199254740993, Def: 1}, {ID: math.MinInt64, Def: math.MaxInt64, Big: &big}} {
			out, err := mcp.CallTool[record](t.Context(), c, "record", in)
			if err != nil || out.ID != in.ID || out.Def != in.Def || in.Big != nil && (out.Big == nil || *out.Big != big) {
				t.Errorf("sent %+v, got %+v, %v", in, out, err)
			}
		}
		out, err := mcp.CallTool[record](t.Context(), c, "record", json.RawMessage(`{"id":1}`))
		if err != nil || out.Def != 9007199254740993 {
			t.Errorf("default: got %+v, %v", out, err)
		}
		for _, args := range []string{`{"id":9223372036854775808}`, `{"id":1.5}`, `{"id":1,"big":18446744073709551616}`, `{"id":1,"big":-1}`, `{"id":1e400}`} {
			if out, err := mcp.CallTool[record](t.Context(), c, "record", json.RawMessage(args)); err == nil {
				t.Errorf("%s was taken as %+v", args, out)
			}
		}
	})
}

// J13: numbers in results keep their digits on the way through the client.
func TestCaseJ13NumbersInResults(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		c := l.Client(t, field, nil)
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "big"})
		if err != nil {
			t.Fatal(err)
		}
		const right = `{"id":9007199254740993,"d":0.10,"e":1e400}`
		if got := string(r.StructuredContent); got != right && got != "" {
			t.Errorf("got %s", got)
		}
		if got := r.Content.Text(); got != right {
			t.Errorf("as text: %s", got)
		}
	})
}
