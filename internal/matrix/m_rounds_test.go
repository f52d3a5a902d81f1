package matrix_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// M02: a state counts for nobody and nothing but the request that it was made for, and only as it was made.
func TestCaseM02ForgedStates(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field, `{"elicitation":{"form":{},"url":{}}}`)
		stateOf := func(id, tool string) string {
			h := w.Ask(id, "tools/call", `"name":"`+tool+`","arguments":{}`)
			_, rest, ok := strings.Cut(h.Text, `"requestState":"`)
			if !ok {
				t.Fatalf("no state: %s", h.Text)
			}
			state, _, _ := strings.Cut(rest, `"`)
			return state
		}
		state := stateOf("1", "seat")
		flipped := []byte(state)
		flipped[len(flipped)/2] ^= 1
		answers := `,"inputResponses":{"seat":` + firstClass + `}`
		for name, bad := range map[string]string{
			"flipped": string(flipped), "cut": state[:len(state)-2], "empty": "", "invented": "AAAA", "another tool's": stateOf("2", "sure"),
		} {
			h := w.Ask(fmt.Sprintf("%q", name), "tools/call", `"name":"seat","arguments":{},"requestState":"`+bad+`"`+answers)
			h.WantError(t, -32602, 0)
		}
		w.Ask("4", "tools/call", `"name":"seat","arguments":{"class":"x"},"requestState":"`+state+`"`+answers).Has(t, `"error":{"code":-32602`)
		w.Ask("5", "tools/call", `"name":"sure","arguments":{},"requestState":"`+state+`"`+answers).Has(t, `"error":{"code":-32602`)
		w.Ask("6", "tools/call", `"name":"seat","arguments":{},"requestState":"`+state+`"`+answers).Has(t, "seat in first")
	}, matrix.Modern)
}

// M03: a dialogue of six steps passes with the defaults of both sides, in every era.
func TestCaseM03SixSteps(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		c := l.Client(t, field, &mcp.ClientOptions{Interactor: answering(`{"class":"first"}`)})
		if got := called(t, c, "wizard"); got != "first,first,first,first,first,first" {
			t.Error(got)
		}
	}, forms)
}

// M06, M09: tools, prompts and resources ask, and read the answer, with the same code in every era.
func TestCaseM06M09OneHandlerForAll(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		c := l.Client(t, field, &mcp.ClientOptions{Interactor: answering(`{"class":"second"}`)})
		if got := called(t, c, "seat"); got != "seat in second" {
			t.Error(got)
		}
		p, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
		if err != nil || p.Messages[0].Content.(*mcp.TextContent).Text != "greetings in second" {
			t.Errorf("prompt: %+v, %v", p, err)
		}
		r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "note:///asks"})
		if err != nil || r.Contents[0].Text != "text in second" {
			t.Errorf("resource: %+v, %v", r, err)
		}
	}, forms)
}

// M08: what is missing is asked again, what is too much is left aside, what is of a wrong kind is refused.
func TestCaseM08OddAnswers(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field, `{"elicitation":{}}`)
		for i, tc := range []struct{ answers, want string }{
			{`{}`, `"input_required"`}, {`{"other":{"action":"accept"}}`, `"input_required"`},
			{`{"seat":` + firstClass + `,"other":{"action":"accept"}}`, "seat in first"}, // on the very first request
			{`{"seat":{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}}`, `"code":-32602`},
			{`null`, `"code":-32602`},
		} {
			w.Ask(fmt.Sprint(i), "tools/call", `"name":"seat","arguments":{},"inputResponses":`+tc.answers).Has(t, tc.want)
		}
	}, matrix.Modern)
}

// M10: each refusal is told to the server once, and ends there.
func TestCaseM10RefusalsAreTold(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		for action, want := range map[mcp.Action]string{mcp.ActionDecline: "outcome: declined", mcp.ActionCancel: "outcome: dismissed"} {
			n := 0
			in := &mcp.Interactor{Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) {
				n++
				return &mcp.ElicitResult{Action: action}, nil
			}}
			if got := called(t, l.Client(t, field, &mcp.ClientOptions{Interactor: in}), "seat"); got != want || n != 1 {
				t.Errorf("%s: %q after %d questions", action, got, n)
			}
		}
	}, forms)
}

// leg is one request as it came in.
type leg struct{ id, args, token string }

// M11: the second round is the same request, but for what must be new.
func TestCaseM11RetryIsTheSameRequest(t *testing.T) {
	var mu sync.Mutex
	var legs []leg
	type in struct {
		Zone string `json:"zone" header:"Zone"`
		Big  int64  `json:"big"`
	}
	watched := matrix.Local(func() *mcp.Server {
		srv := mcp.NewServer("watched", "1", &mcp.ServerOptions{Logger: quiet()})
		mcp.AddTool(srv, &mcp.Tool{Name: "t"}, func(ctx context.Context, c *mcp.Call, _ in) (string, error) {
			_, err := c.Ask(ctx, &mcp.Question{Key: "page", Kind: mcp.AskURL, Message: "Sign in.", URL: "https://travel.example/connect"})
			return "done", err
		})
		srv.Use(func(next mcp.Handler) mcp.Handler {
			return func(ctx context.Context, c *mcp.Call) (any, error) {
				if c.Method() == mcp.MethodToolsCall {
					var p struct {
						Arguments json.RawMessage `json:"arguments"`
					}
					if err := json.Unmarshal(c.Params(), &p); err != nil {
						return nil, err
					}
					mu.Lock()
					legs = append(legs, leg{id: c.ID().String(), args: string(p.Arguments), token: string(c.Meta()["progressToken"])})
					mu.Unlock()
				}
				return next(ctx, c)
			}
		})
		return srv
	})
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		legs = nil
		c := l.Client(t, watched, &mcp.ClientOptions{Interactor: answering(`{}`)})
		for range c.Tools(t.Context()) { // so that the client knows which arguments go into headers
			continue
		}
		const args = `{"zone":"Łódź","big":9007199254740993}`
		p := &mcp.CallToolParams{Name: "t", Arguments: json.RawMessage(args)}
		if _, err := c.CallTool(t.Context(), p, &mcp.RequestOptions{Progress: func(mcp.Progress) {}}); err != nil {
			t.Fatal(err) // over HTTP also when Mcp-Param-Zone were not there again
		}
		if len(legs) != 2 || legs[0].id == legs[1].id || legs[0].args != args || legs[1].args != args ||
			legs[0].token == "" || legs[1].token == "" || legs[0].token == legs[1].token {
			t.Errorf("the rounds were %+v", legs)
		}
	}, matrix.Modern, inProcess)
}

// F20, M09: without a session there is no way to ask a client of the handshake era, who learns it at once; others are asked.
func TestCaseF20StatelessServer(t *testing.T) {
	srv := newField()
	h := mcphttp.NewHandler(srv, &mcphttp.Options{Logger: quiet(), Sessions: &mcphttp.SessionOptions{Stateless: true}})
	ts := httptest.NewServer(h)
	defer ts.Close()
	for _, l := range matrix.Legs(matrix.Is(matrix.HTTP), forms) {
		c, err := mcp.Connect(t.Context(), mcphttp.Dial(ts.URL), &mcp.ClientOptions{
			Revisions: []mcp.Revision{l.Revision}, Interactor: answering(`{"class":"first"}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		want := "seat in first"
		if !l.Modern() {
			want = "outcome: nobody to ask"
		}
		if got := called(t, c, "seat"); got != want {
			t.Errorf("%v: %s", l, got)
		}
		if raw := called(t, c, "form"); !l.Modern() && !strings.Contains(raw, "stateless") {
			t.Errorf("%v: the cause is not named: %s", l, raw)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
