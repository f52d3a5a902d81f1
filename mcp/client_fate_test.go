package mcp_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

// askingServer has a tool and a prompt that ask for a name, and tools that send the person to a page.
func askingServer(t *testing.T) *testServer {
	t.Helper()
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
		_, err := call.Ask(ctx, askName(t, "a"))
		return "asked", err
	})
	mcp.AddPrompt(s.Server, &mcp.Prompt{Name: "ask"}, func(ctx context.Context, call *mcp.Call, _ map[string]string) (*mcp.GetPromptResult, error) {
		if _, err := call.Ask(ctx, askName(t, "a")); err != nil {
			return nil, err
		}
		return &mcp.GetPromptResult{}, nil
	})
	type in struct {
		Tell, Fail bool
	}
	mcp.AddTool(s.Server, &mcp.Tool{Name: "page"}, func(ctx context.Context, call *mcp.Call, v in) (string, error) {
		a, err := call.Ask(ctx, &mcp.Question{Key: "page", Kind: mcp.AskURL, Message: "Please visit.", URL: "https://a.test/1"})
		if err != nil {
			return "", err
		}
		if v.Tell {
			if _, err := s.CompleteElicitation(a.ID); err != nil {
				return "", err
			}
		}
		if v.Fail {
			return "", mcp.ToolErrorf("failed")
		}
		return "visited", nil
	})
	return s
}

func TestHostLearnsOfRefusals(t *testing.T) {
	for action, want := range map[mcp.Action]error{mcp.ActionDecline: mcp.ErrDeclined, mcp.ActionCancel: mcp.ErrCanceled, mcp.ActionAccept: nil} {
		in := &mcp.Interactor{Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: action, Content: []byte(`{"name":"x"}`)}, nil
		}}
		bothEras(t, askingServer(t), mcp.ClientOptions{Interactor: in}, func(t *testing.T, c *mcp.Client) {
			_, tool := mcp.CallTool[string](t.Context(), c, "ask", nil)
			_, prompt := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "ask"})
			for _, err := range []error{tool, prompt} {
				if !errors.Is(err, want) || want != nil && !strings.HasPrefix(err.Error(), "mcp: ") && !strings.Contains(err.Error(), "the person") {
					t.Errorf("%s: %v", action, err)
				}
			}
			if want == nil {
				return
			}
			if e := (*mcp.ToolResultError)(nil); !errors.As(tool, &e) || !strings.HasPrefix(e.Error(), "mcp: tool ask failed: the person") {
				t.Errorf("the result is hidden: %v", tool)
			}
			if e := (*mcp.Error)(nil); !errors.As(prompt, &e) || e.Code != mcp.CodeUserRejected || prompt.Error() != e.Error() {
				t.Errorf("the server's error is hidden: %v", prompt)
			}
			if res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"}); err != nil || !res.IsError {
				t.Errorf("a tool that failed is a result: %v %v", res, err)
			}
		})
	}
}

// Whatever keeps a question from being answered, the host learns it, and the server that nobody could be asked.
func TestHostLearnsOfMishaps(t *testing.T) {
	broken := errors.New("the terminal is broken")
	for name, tt := range map[string]struct {
		form func() (*mcp.ElicitResult, error)
		is   error
		says string
	}{
		"unavailable": {func() (*mcp.ElicitResult, error) { return nil, mcp.ErrUnavailable }, mcp.ErrUnavailable, ""},
		"error":       {func() (*mcp.ElicitResult, error) { return nil, broken }, broken, "terminal"},
		"nil":         {func() (*mcp.ElicitResult, error) { return nil, nil }, nil, "neither an answer nor an error"},
		"panic":       {func() (*mcp.ElicitResult, error) { panic("boom") }, nil, "panicked: boom"},
		"odd action":  {func() (*mcp.ElicitResult, error) { return &mcp.ElicitResult{Action: "maybe"}, nil }, nil, `action "maybe"`},
		"never fits":  {func() (*mcp.ElicitResult, error) { return &mcp.ElicitResult{Action: "accept"}, nil }, nil, "no answer to the form fitted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := askingServer(t)
			in := &mcp.Interactor{Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) { return tt.form() }}
			bothEras(t, s, mcp.ClientOptions{Interactor: in}, func(t *testing.T, c *mcp.Client) {
				_, tool := mcp.CallTool[string](t.Context(), c, "ask", nil)
				_, prompt := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "ask"})
				for _, err := range []error{tool, prompt} {
					text := ""
					for e := (*mcp.ToolResultError)(nil); errors.As(err, &e); {
						text = e.Err.Error()
						break
					}
					if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error()+text, tt.says) {
						t.Errorf("%v", err)
					}
					if strings.Contains(err.Error(), "failed: internal error") {
						t.Errorf("the server does not know that nobody could be asked: %v", err)
					}
				}
			})
			if log := s.log.String(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "broken") {
				t.Error(log)
			}
		})
	}
}

func TestCompletedIsToldWithReason(t *testing.T) {
	s := askingServer(t)
	completed := make(chan string, 4)
	in := &mcp.Interactor{
		Open: func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
		},
		Completed: func(_ context.Context, q *mcp.OpenQuestion) { completed <- q.URL },
	}
	bothEras(t, s, mcp.ClientOptions{Interactor: in}, func(t *testing.T, c *mcp.Client) {
		legacy := c.Server().Revision.Legacy()
		for _, tt := range []struct {
			args string
			want bool
		}{
			{`{"Tell":false,"Fail":false}`, !legacy},
			{`{"Tell":true,"Fail":false}`, true},
			{`{"Tell":false,"Fail":true}`, false},
			{`{"Tell":true,"Fail":true}`, legacy},
		} {
			if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "page", Arguments: []byte(tt.args)}); err != nil {
				t.Error(err)
			}
			if tt.want && legacy { // a notice of its own, which may come after the result
				completed <- <-completed
			}
			if told := len(completed) == 1 && <-completed == "https://a.test/1"; told != tt.want || len(completed) != 0 {
				t.Errorf("%s: told %t, and %d more", tt.args, told, len(completed))
			}
		}
	})
}

func TestInteractorOfOneCall(t *testing.T) {
	bothEras(t, askingServer(t), mcp.ClientOptions{}, func(t *testing.T, c *mcp.Client) {
		_, err := mcp.CallTool[string](t.Context(), c, "ask", nil, &mcp.RequestOptions{Interactor: accepting(`{"name":"x"}`)})
		switch {
		case !c.Server().Revision.Legacy():
			if err != nil {
				t.Error(err)
			}
		case !errors.Is(err, mcp.ErrUnavailable) || !strings.Contains(err.Error(), "give Connect an Interactor"):
			t.Error(err)
		}
	})
}
