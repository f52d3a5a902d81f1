// Package mcpgo is github.com/mark3labs/mcp-go as server and client of the matrix.
package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	strict "github.com/go-json-experiment/json"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/seed38e7925c/parley/interop/internal/fixture"
)

// NewServer makes the fixture.
func NewServer() *server.MCPServer {
	known := &sessions{ids: map[string]bool{}}
	s := server.NewMCPServer("mcp-go-fixture", "1.0.0", server.WithHooks(known.hooks()),
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true),
		server.WithLogging(), server.WithElicitation(), server.WithCompletions(),
		server.WithPromptCompletionProvider(completer{}), server.WithResourceCompletionProvider(completer{}))
	counts := new(fixture.Counts)
	addPlain(s, counts)
	addTouch(s, known)
	addWaiting(s, counts)
	addAsking(s)
	addOther(s)
	return s
}

// Handler serves the fixture over HTTP, both eras on one endpoint.
func Handler() http.Handler {
	return server.NewStreamableHTTPServer(NewServer(), server.WithStateful(true))
}

// SSEHandler serves it over HTTP+SSE, at /sse and /message.
func SSEHandler() http.Handler { return server.NewSSEServer(NewServer()) }

// ServeStdio serves it on standard input and output.
func ServeStdio(context.Context) error {
	return server.ServeStdio(NewServer(), server.WithErrorLogger(log.New(io.Discard, "", 0)))
}

type completer struct{}

// CompletePromptArgument implements [server.PromptCompletionProvider].
func (completer) CompletePromptArgument(_ context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: fixture.Names(a.Value)}, nil
}

// CompleteResourceArgument implements [server.ResourceCompletionProvider].
func (completer) CompleteResourceArgument(_ context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: fixture.Names(a.Value)}, nil
}

func addPlain(s *server.MCPServer, counts *fixture.Counts) {
	s.AddTool(mcp.NewTool(fixture.Echo, mcp.WithString("text", mcp.Required())),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(r.GetString("text", "")), nil
		})
	s.AddTool(mcp.NewTool(fixture.Big, mcp.WithNumber("n", mcp.Required())),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct {
				N int64 `json:"n"`
			}
			if err := strict.Unmarshal(r.Params.RawArguments, &in); err != nil {
				return nil, err
			}
			return mcp.NewToolResultStructuredOnly(in), nil
		})
	s.AddTool(mcp.NewTool(fixture.Fail), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError(fixture.Failure), nil
	})
	s.AddTool(mcp.NewTool(fixture.State), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(counts.String()), nil
	})
	s.AddTool(mcp.NewTool(fixture.Change), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		name := counts.Next()
		s.AddTool(mcp.NewTool(name), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(""), nil
		})
		return mcp.NewToolResultText(name), nil
	})
}

// sessions are those that a server has, which is how mcp-go's documentation has updates of resources sent.
type sessions struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (x *sessions) hooks() *server.Hooks {
	h := new(server.Hooks)
	h.AddOnRegisterSession(func(_ context.Context, s server.ClientSession) { x.set(s.SessionID(), true) })
	h.AddOnUnregisterSession(func(_ context.Context, s server.ClientSession) { x.set(s.SessionID(), false) })
	return h
}

func (x *sessions) set(id string, there bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if there {
		x.ids[id] = true
		return
	}
	delete(x.ids, id)
}

func (x *sessions) all() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.ids))
}

func addTouch(s *server.MCPServer, known *sessions) {
	s.AddTool(mcp.NewTool(fixture.Touch), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, id := range known.all() {
			err := s.SendNotificationToSpecificClient(id, "notifications/resources/updated", map[string]any{"uri": fixture.ResourceURI})
			if err != nil && !errors.Is(err, server.ErrSessionNotFound) && !errors.Is(err, server.ErrSessionNotInitialized) {
				return nil, err
			}
		}
		return mcp.NewToolResultText("touched"), nil
	})
}

func addWaiting(s *server.MCPServer, counts *fixture.Counts) {
	s.AddTool(mcp.NewTool(fixture.Progress), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Params.Meta != nil && r.Params.Meta.ProgressToken != nil {
			for i := 1; i <= fixture.Steps; i++ {
				if err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
					"progressToken": r.Params.Meta.ProgressToken, "progress": i, "total": fixture.Steps, "message": "step",
				}); err != nil {
					return nil, err
				}
			}
		}
		return mcp.NewToolResultText("done"), nil
	})
	s.AddTool(mcp.NewTool(fixture.Slow), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		counts.Start()
		<-ctx.Done()
		counts.Cancel()
		return nil, ctx.Err()
	})
	s.AddTool(mcp.NewTool(fixture.Log), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("logged"),
			s.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelWarning, fixture.Logger, fixture.LogText))
	})
}

// addAsking adds the tools that ask, with the builder that mcp-go serves to clients of both eras.
func addAsking(s *server.MCPServer) {
	s.AddTool(mcp.NewTool(fixture.Ask, mcp.WithBoolean("decline")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		a := server.ElicitationResponse(r.Params.InputResponses, "who")
		if a == nil {
			return server.NewInputRequestBuilder("").Elicit("who", mcp.ElicitationParams{
				Mode: "form", Message: fixture.Question(r.GetBool("decline", false)), RequestedSchema: json.RawMessage(fixture.FormSchema),
			}).ToolResult(), nil
		}
		if a.Action == mcp.ElicitationResponseActionDecline {
			return mcp.NewToolResultText(fixture.Declined), nil
		}
		content, ok := a.Content.(map[string]any)
		if !ok {
			return mcp.NewToolResultErrorf("the answer is %T", a.Content), nil
		}
		name, _ := content["name"].(string)
		seats, _ := content["seats"].(float64)
		return mcp.NewToolResultText(fixture.Hello(name, int64(seats))), nil
	})
	s.AddTool(mcp.NewTool(fixture.Visit), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if a := server.ElicitationResponse(r.Params.InputResponses, "page"); a != nil && a.Action == mcp.ElicitationResponseActionAccept {
			return mcp.NewToolResultText(fixture.Visited), nil
		}
		return server.NewInputRequestBuilder("").Elicit("page", mcp.ElicitationParams{
			Mode: "url", Message: fixture.VisitText, URL: fixture.VisitURL, ElicitationID: fixture.VisitID,
		}).ToolResult(), nil
	})
}

func addOther(s *server.MCPServer) {
	s.AddResource(mcp.NewResource(fixture.ResourceURI, "static", mcp.WithMIMEType("text/plain")),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: fixture.ResourceURI, MIMEType: "text/plain", Text: fixture.Resource}}, nil
		})
	s.AddResourceTemplate(mcp.NewResourceTemplate(fixture.Template, "item", mcp.WithTemplateMIMEType("text/plain")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "text/plain",
				Text: "item " + r.Params.URI[strings.LastIndex(r.Params.URI, "/")+1:]}}, nil
		})
	s.AddPrompt(mcp.NewPrompt(fixture.Prompt, mcp.WithArgument("name", mcp.RequiredArgument())),
		func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return mcp.NewGetPromptResult("", []mcp.PromptMessage{
				mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(fixture.Greeting(r.Params.Arguments["name"]))),
			}), nil
		})
}
