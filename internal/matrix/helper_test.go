package matrix_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

func isError(m *jsonrpc.Message) bool { return m.Error != nil }

// Legs on which forms, and on which pages, can be asked.
var (
	forms = matrix.Revisions(mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728)
	pages = matrix.Revisions(mcp.Revision20251125, mcp.Revision20260728)
)

// inProcess are the legs whose server a test can reach into.
func inProcess(l matrix.Leg) bool { return l.Transport != matrix.Stdio }

// A dialog is a request whose questions a script answers.
type dialog struct {
	asked   []string // params of what was asked, in order
	replies []string // the result of each question, the last one again and again
}

func (d *dialog) reply(question string) string {
	d.asked = append(d.asked, question)
	return d.replies[min(len(d.asked), len(d.replies))-1]
}

// talk sends a request and answers the questions that come, in the way of the revision, until the request itself is answered.
func (d *dialog) talk(t *testing.T, w *matrix.Wire, id, method, params string) matrix.Heard {
	t.Helper()
	if w.Modern() {
		return d.rounds(t, w, id, method, params)
	}
	w.Request(id, method, params)
	for {
		var m jsonrpc.Message
		h := w.Find("an answer or a question", func(got *jsonrpc.Message) bool {
			m = *got
			return got.Kind() == jsonrpc.Request || got.Kind() == jsonrpc.Response
		})
		if m.Kind() == jsonrpc.Response {
			return h
		}
		w.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID.AppendJSON(nil), d.reply(string(m.Params))))
	}
}

// rounds is talk for 2026-07-28.
func (d *dialog) rounds(t *testing.T, w *matrix.Wire, id, method, params string) matrix.Heard {
	t.Helper()
	more := ""
	for n := 0; ; n++ {
		h := w.Ask(fmt.Sprintf(`"%s.%d"`, strings.Trim(id, `"`), n), method, params+more)
		var m struct {
			Result struct {
				ResultType    string          `json:"resultType"`
				RequestState  json.RawMessage `json:"requestState"`
				InputRequests map[string]struct {
					Params json.RawMessage `json:"params"`
				} `json:"inputRequests"`
			} `json:"result"`
		}
		if err := jsonv2.Unmarshal([]byte(h.Text), &m); err != nil || m.Result.ResultType != "input_required" {
			return h
		}
		var answers []string
		for key, q := range m.Result.InputRequests {
			answers = append(answers, fmt.Sprintf("%q:%s", key, d.reply(string(q.Params))))
		}
		more = fmt.Sprintf(`,"requestState":%s,"inputResponses":{%s}`, m.Result.RequestState, strings.Join(answers, ","))
	}
}

// call is talk for a tool without arguments.
func (d *dialog) call(t *testing.T, w *matrix.Wire, tool string) matrix.Heard {
	t.Helper()
	return d.talk(t, w, `"`+tool+`"`, "tools/call", `"name":"`+tool+`","arguments":{}`)
}

// answering is a person who answers every form with content, and agrees to every page.
func answering(content string) *mcp.Interactor {
	return &mcp.Interactor{
		Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(content)}, nil
		},
		Open: func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
		},
	}
}

// doing is a person who does the same to every form.
func doing(r *mcp.ElicitResult, err error) *mcp.Interactor {
	return &mcp.Interactor{Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) { return r, err }}
}

// called calls a tool and returns what it says, whether or not it failed.
func called(t *testing.T, c *mcp.Client, tool string) string {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r.Content.Text()
}
