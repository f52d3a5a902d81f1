// Package parley is this project's library as server and client of the matrix.
package parley

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/interop/internal/fixture"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

type none struct{}

type word struct {
	Text string `json:"text"`
}

type number struct {
	N int64 `json:"n"`
}

type refusal struct {
	Decline bool `json:"decline,omitempty"`
}

type person struct {
	Name  string `json:"name"`
	Seats int64  `json:"seats,omitempty"`
}

// NewServer makes the fixture.
func NewServer() *mcp.Server {
	s := mcp.NewServer("parley-fixture", "1.0.0", &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	counts := new(fixture.Counts)
	addPlain(s, counts)
	addChanging(s, counts)
	addAsking(s)
	addOther(s)
	return s
}

// Handler serves the fixture over HTTP, both eras on one endpoint.
func Handler() http.Handler {
	return mcphttp.NewHandler(NewServer(), &mcphttp.Options{Logger: slog.New(slog.DiscardHandler)})
}

// SSEHandler serves it over HTTP+SSE.
func SSEHandler() http.Handler {
	return mcphttp.NewSSEHandler(NewServer(), &mcphttp.Options{Logger: slog.New(slog.DiscardHandler)})
}

// ServeStdio serves it on standard input and output.
func ServeStdio(ctx context.Context) error { return NewServer().ServeStdio(ctx) }

func addPlain(s *mcp.Server, counts *fixture.Counts) {
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Echo, Description: "Repeats the text."},
		func(_ context.Context, _ *mcp.Call, in word) (string, error) { return in.Text, nil })
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Big, Description: "Repeats the number."},
		func(_ context.Context, _ *mcp.Call, in number) (number, error) { return in, nil })
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Fail, Description: "Fails."},
		func(context.Context, *mcp.Call, none) (string, error) { return "", mcp.ToolErrorf(fixture.Failure) })
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Progress, Description: "Reports progress."},
		func(ctx context.Context, call *mcp.Call, _ none) (string, error) {
			for i := range fixture.Steps {
				if err := call.Progress(ctx, float64(i+1), fixture.Steps, "step"); err != nil {
					return "", err
				}
			}
			return "done", nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Slow, Description: "Waits to be cancelled."},
		func(ctx context.Context, _ *mcp.Call, _ none) (string, error) {
			counts.Start()
			<-ctx.Done()
			counts.Cancel()
			return "", ctx.Err()
		})
	mcp.AddTool(s, &mcp.Tool{Name: fixture.State, Description: "Tells of slow."},
		func(context.Context, *mcp.Call, none) (string, error) { return counts.String(), nil })
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Log, Description: "Logs a warning."},
		func(ctx context.Context, call *mcp.Call, _ none) (string, error) {
			return "logged", call.Log(ctx, "warning", fixture.Logger, fixture.LogText)
		})
}

func addChanging(s *mcp.Server, counts *fixture.Counts) {
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Change, Description: "Adds a tool."},
		func(context.Context, *mcp.Call, none) (string, error) {
			name := counts.Next()
			return name, mcp.RegisterTool(s, &mcp.Tool{Name: name, Description: "Does nothing."},
				func(context.Context, *mcp.Call, none) (string, error) { return "", nil })
		})
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Touch, Description: "Tells that the resource has changed."},
		func(context.Context, *mcp.Call, none) (string, error) {
			s.ResourceUpdated(fixture.ResourceURI)
			return "touched", nil
		})
}

func addAsking(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Ask, Description: "Asks who you are.",
		Asks: ask.Declare(ask.FormItem[person]("who", fixture.AskMessage))},
		func(ctx context.Context, call *mcp.Call, in refusal) (string, error) {
			p, err := ask.Form[person](ctx, call, "who", fixture.Question(in.Decline))
			if errors.Is(err, ask.ErrDeclined) {
				return fixture.Declined, nil
			}
			return fixture.Hello(p.Name, p.Seats), err
		})
	mcp.AddTool(s, &mcp.Tool{Name: fixture.Visit, Description: "Asks you to visit a page."},
		func(ctx context.Context, call *mcp.Call, _ none) (string, error) {
			return fixture.Visited, ask.Open(ctx, call, "page", fixture.VisitText, fixture.VisitURL)
		})
}

func addOther(s *mcp.Server) {
	mcp.AddResource(s, &mcp.Resource{URI: fixture.ResourceURI, Name: "static", MIMEType: "text/plain"},
		func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: fixture.Resource}}}, nil
		})
	mcp.AddResourceTemplate(s, &mcp.ResourceTemplate{URITemplate: fixture.Template, Name: "item", MIMEType: "text/plain"},
		func(_ context.Context, _ *mcp.Call, vars mcp.TemplateVars) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "item " + vars.Get("id")}}}, nil
		})
	mcp.AddPrompt(s, &mcp.Prompt{Name: fixture.Prompt, Description: "Greets."},
		func(_ context.Context, _ *mcp.Call, args struct {
			Name string `json:"name"`
		}) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: fixture.Greeting(args.Name)}},
			}}, nil
		})
	names := func(_ context.Context, _ *mcp.Call, arg mcp.CompleteArgument, _ map[string]string) (*mcp.Completion, error) {
		return &mcp.Completion{Values: fixture.Names(arg.Value)}, nil
	}
	for _, err := range []error{
		s.CompletePrompt(fixture.Prompt, names),
		s.CompleteResourceTemplate(fixture.Template, names),
	} {
		if err != nil {
			panic(err)
		}
	}
}
