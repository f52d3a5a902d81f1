// Package gosdk is the official Go SDK, github.com/modelcontextprotocol/go-sdk, as server and client of the matrix.
package gosdk

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed38e7925c/parley/interop/internal/fixture"
)

type none struct{}

type word struct {
	Text string `json:"text"`
}

type refusal struct {
	Decline bool `json:"decline,omitempty"`
}

type number struct {
	N int64 `json:"n"`
}

// NewServer makes the fixture.
func NewServer() *mcp.Server {
	o := &mcp.ServerOptions{
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: fixture.Names(r.Params.Argument.Value)}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk-fixture", Version: "1.0.0"}, o)
	counts := new(fixture.Counts)
	addPlain(s, counts)
	addWaiting(s, counts)
	addAsking(s)
	addOther(s)
	return s
}

// Handler serves the fixture over HTTP. The SDK speaks 2026-07-28 in its stateless mode alone, and serves sessions only without it.
func Handler(modern bool) http.Handler {
	s := NewServer()
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: modern, PropagateRequestCancellation: true})
}

// SSEHandler serves it over HTTP+SSE.
func SSEHandler() http.Handler {
	s := NewServer()
	return mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

// ServeStdio serves it on standard input and output.
func ServeStdio(ctx context.Context) error { return NewServer().Run(ctx, &mcp.StdioTransport{}) }

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func addPlain(s *mcp.Server, counts *fixture.Counts) {
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Echo},
		func(_ context.Context, _ *mcp.CallToolRequest, in word) (*mcp.CallToolResult, any, error) {
			return text(in.Text), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Big},
		func(_ context.Context, _ *mcp.CallToolRequest, in number) (*mcp.CallToolResult, number, error) {
			return nil, in, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Fail},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New(fixture.Failure)
		})
	mcp.AddTool(s, &mcp.Tool{Name: fixture.State},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			return text(counts.String()), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Change},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			name := counts.Next()
			mcp.AddTool(s, &mcp.Tool{Name: name},
				func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
					return text(""), nil, nil
				})
			return text(name), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Touch},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			return text("touched"), nil, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: fixture.ResourceURI})
		})
}

func addWaiting(s *mcp.Server, counts *fixture.Counts) {
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Progress},
		func(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			token := r.Params.GetProgressToken()
			for i := 1; token != nil && i <= fixture.Steps; i++ {
				if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token, Progress: float64(i), Total: fixture.Steps, Message: "step",
				}); err != nil {
					return nil, nil, err
				}
			}
			return text("done"), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Slow},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			counts.Start()
			<-ctx.Done()
			counts.Cancel()
			return nil, nil, ctx.Err()
		})
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Log},
		func(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			return text("logged"), nil, r.Session.Log(ctx,
				&mcp.LoggingMessageParams{Level: "warning", Logger: fixture.Logger, Data: fixture.LogText})
		})
}

// addAsking adds the tools that ask, written in the way that the SDK serves in both eras: the question is a result.
func addAsking(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Ask},
		func(_ context.Context, r *mcp.CallToolRequest, in refusal) (*mcp.CallToolResult, any, error) {
			a, ok := r.Params.InputResponses["who"].(*mcp.ElicitResult)
			if !ok {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"who": &mcp.ElicitParams{
					Mode: "form", Message: fixture.Question(in.Decline), RequestedSchema: json.RawMessage(fixture.FormSchema),
				}}}, nil, nil
			}
			if a.Action == "decline" {
				return text(fixture.Declined), nil, nil
			}
			name, _ := a.Content["name"].(string)
			seats, _ := a.Content["seats"].(float64)
			return text(fixture.Hello(name, int64(seats))), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Visit},
		func(_ context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			if a, ok := r.Params.InputResponses["page"].(*mcp.ElicitResult); ok && a.Action == "accept" {
				return text(fixture.Visited), nil, nil
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"page": &mcp.ElicitParams{
				Mode: "url", Message: fixture.VisitText, URL: fixture.VisitURL, ElicitationID: fixture.VisitID,
			}}}, nil, nil
		})
}

func addOther(s *mcp.Server) {
	read := func(uri, body string) *mcp.ReadResourceResult {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: body}}}
	}
	s.AddResource(&mcp.Resource{URI: fixture.ResourceURI, Name: "static", MIMEType: "text/plain"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return read(fixture.ResourceURI, fixture.Resource), nil
		})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: fixture.Template, Name: "item", MIMEType: "text/plain"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return read(r.Params.URI, "item "+r.Params.URI[strings.LastIndex(r.Params.URI, "/")+1:]), nil
		})
	s.AddPrompt(&mcp.Prompt{Name: fixture.Prompt, Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: fixture.Greeting(r.Params.Arguments["name"])}},
			}}, nil
		})
}
