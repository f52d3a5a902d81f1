package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// mine is code of a program that panics wherever the server calls it.
type mine struct{}

func (mine) MarshalJSON() ([]byte, error) { panic("boom: MarshalJSON") }
func (mine) Error() string                { panic("boom: Error") }

type unwrapMine struct{}

func (unwrapMine) Error() string { return "e" }
func (unwrapMine) Unwrap() error { panic("boom: Unwrap") }

type statusMine struct{}

func (statusMine) Error() string   { return "e" }
func (statusMine) HTTPStatus() int { panic("boom: HTTPStatus") }

// logMine is a log handler that panics.
type logMine struct{ slog.Handler }

func (logMine) Enabled(context.Context, slog.Level) bool  { return true }
func (logMine) Handle(context.Context, slog.Record) error { panic("boom: log") }
func (h logMine) WithAttrs([]slog.Attr) slog.Handler      { return h }
func (h logMine) WithGroup(string) slog.Handler           { return h }

// A panic in code that the program brought must not end the process, wherever it is called from: over byte streams and in sessions
// nothing else would catch it.
func TestAttackPanicsAreContained(t *testing.T) {
	fail := func(err error) func(*mcp.Server) {
		return func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", err })
		}
	}
	for name, set := range map[string]func(*mcp.Server){
		"meta of a tool result": func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: mcp.Text("x"), Meta: mcp.Meta{"m": []byte("{broken")}}, nil
			})
		},
		"structured content": func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (any, error) { return mine{}, nil })
		},
		"typed nil content": func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{(*mcp.ImageContent)(nil)}}, nil
			})
		},
		"typed nil embedded resource": func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{(*mcp.EmbeddedResource)(nil), &mcp.EmbeddedResource{}}}, nil
			})
		},
		"nil result": func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (*mcp.CallToolResult, error) { return nil, nil })
		},
		"structured content that is broken": func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{StructuredContent: []byte("{} ,\"isError\":\n{")}, nil
			})
		},
		"structured content of blanks": func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{StructuredContent: []byte("  ")}, nil
			})
		},
		"middleware without a result": func(s *mcp.Server) {
			s.Use(func(mcp.Handler) mcp.Handler {
				return func(context.Context, *mcp.Call) (any, error) { return nil, nil }
			})
		},
		"middleware with a typed nil result": func(s *mcp.Server) {
			s.Use(func(mcp.Handler) mcp.Handler {
				return func(context.Context, *mcp.Call) (any, error) { return (*mcp.CallToolResult)(nil), nil }
			})
		},
		"middleware with a typed nil prompt": func(s *mcp.Server) {
			s.Use(func(mcp.Handler) mcp.Handler {
				return func(context.Context, *mcp.Call) (any, error) { return (*mcp.GetPromptResult)(nil), nil }
			})
		},
		"middleware with a typed nil resource": func(s *mcp.Server) {
			s.Use(func(mcp.Handler) mcp.Handler {
				return func(context.Context, *mcp.Call) (any, error) { return (*mcp.ReadResourceResult)(nil), nil }
			})
		},
		"middleware with a prompt without content": func(s *mcp.Server) {
			s.Use(func(mcp.Handler) mcp.Handler {
				return func(context.Context, *mcp.Call) (any, error) {
					return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{}, nil}}, nil
				}
			})
		},
		"middleware with a result that panics": func(s *mcp.Server) {
			s.Use(func(mcp.Handler) mcp.Handler {
				return func(context.Context, *mcp.Call) (any, error) { return mine{}, nil }
			})
		},
		"error text": fail(mine{}),
		"wrapped":    fail(fmt.Errorf("x: %w", unwrapMine{})),
		"cause":      fail(&mcp.ToolError{Text: "x", Err: mine{}}),
		"status": func(s *mcp.Server) {
			s.Use(func(mcp.Handler) mcp.Handler {
				return func(context.Context, *mcp.Call) (any, error) { return nil, statusMine{} }
			})
		},
		"middleware error": func(s *mcp.Server) {
			s.Use(func(mcp.Handler) mcp.Handler {
				return func(context.Context, *mcp.Call) (any, error) { return nil, mine{} }
			})
		},
		"middleware unwrap": func(s *mcp.Server) {
			s.Use(func(mcp.Handler) mcp.Handler {
				return func(context.Context, *mcp.Call) (any, error) { return nil, unwrapMine{} }
			})
		},
		"panic with an error that panics": func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (string, error) { panic(mine{}) })
		},
		"nil panic": func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (string, error) { panic(error(nil)) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, nil)
			set(s.Server)
			s.attackPanic(t)
		})
	}
	t.Run("log handler", func(t *testing.T) {
		srv := mcp.NewServer("test", "1", &mcp.ServerOptions{Logger: slog.New(logMine{})})
		mcp.AddTool(srv, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", errors.New("x") })
		(&testServer{Server: srv}).attackPanic(t)
	})
}

// attackPanic calls the tool t and wants an answer, whatever it says.
func (s *testServer) attackPanic(t *testing.T) {
	t.Helper()
	if !s.HasTool("t") {
		mcp.AddTool(s.Server, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "x", nil })
	}
	for _, method := range []string{"tools/call", "tools/list"} {
		params := ""
		if method == "tools/call" {
			params = `"name":"t","arguments":{}`
		}
		func() {
			defer func() {
				if v := recover(); v != nil {
					t.Errorf("%s: a panic reached the front end: %.200v", method, v)
				}
			}()
			m := exchange(t, modernLine(7, method, params))
			reply, _ := s.Serve(t.Context(), m)
			if reply == nil {
				t.Errorf("%s was not answered", method)
				return
			}
			line := string(jsonrpc.Append(nil, reply))
			if _, err := jsonrpc.Decode([]byte(line)); err != nil {
				t.Errorf("%s: the answer is no message: %v: %.300s", method, err, line)
			}
			if strings.Contains(line, "boom") {
				t.Errorf("%s: the panic crossed the wire: %s", method, line)
			}
		}()
	}
}
