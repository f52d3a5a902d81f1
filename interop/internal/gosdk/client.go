package gosdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	strict "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed38e7925c/parley/interop/internal/fixture"
	"github.com/seed38e7925c/parley/interop/internal/play"
)

type client struct {
	s      *mcp.ClientSession
	modern bool
	level  string
}

// Dial is the [play.Dialer] of the SDK's client.
func Dial(ctx context.Context, t *play.Target, sink func(play.Event)) (play.Client, *play.Hello, error) {
	var tr mcp.Transport
	if t.SSE {
		tr = &mcp.SSEClientTransport{Endpoint: t.URL}
	} else if t.URL != "" {
		tr = &mcp.StreamableClientTransport{Endpoint: t.URL}
	} else {
		tr = &mcp.CommandTransport{Command: t.Cmd(context.WithoutCancel(ctx))}
	}
	o := &mcp.ClientSessionOptions{}
	if t.Handshake() {
		o.ProtocolVersion = t.Revision()
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "go-sdk-client", Version: "1.0.0"}, options(sink)).Connect(ctx, tr, o)
	if err != nil {
		return nil, nil, err
	}
	r := s.InitializeResult()
	h := &play.Hello{Revision: r.ProtocolVersion}
	if r.ServerInfo != nil {
		h.Server = r.ServerInfo.Name
	}
	return &client{s: s, modern: t.Modern()}, h, nil
}

func options(sink func(play.Event)) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if r.Params.Mode == "url" || r.Params.URL != "" {
				sink(play.Event{Kind: "url", Text: r.Params.URL})
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			sink(play.Event{Kind: "form", Text: r.Params.Message})
			if r.Params.Message == fixture.Refuse {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": fixture.Person, "seats": fixture.Seats}}, nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { sink(play.Event{Kind: "tools"}) },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			sink(play.Event{Kind: "updated", Text: r.Params.URI})
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			data, err := json.Marshal(r.Params.Data)
			if err != nil {
				data = []byte(err.Error())
			}
			sink(play.Event{Kind: "log", Text: fmt.Sprintf("%s %s %s", r.Params.Level, r.Params.Logger, data)})
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			sink(play.Event{Kind: "progress", Text: fmt.Sprintf("%g/%g", r.Params.Progress, r.Params.Total)})
		},
	}
}

// Close implements [play.Client].
func (c *client) Close() error { return c.s.Close() }

// Do implements [play.Client].
func (c *client) Do(ctx context.Context, op *play.Op) (*play.Reply, error) {
	r, err := c.do(ctx, op)
	if e := new(jsonrpc.Error); errors.As(err, &e) {
		return nil, &play.Error{Code: e.Code, Message: e.Message}
	}
	return r, err
}

func (c *client) do(ctx context.Context, op *play.Op) (*play.Reply, error) {
	switch op.Do {
	case play.Tools, play.Resources, play.Templates, play.Prompts:
		return c.list(ctx, op)
	case play.Call:
		return c.call(ctx, op)
	case play.Read:
		r, err := c.s.ReadResource(ctx, &mcp.ReadResourceParams{URI: op.Name})
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		for _, x := range r.Contents {
			b.WriteString(x.Text)
		}
		return &play.Reply{Text: b.String()}, nil
	case play.Prompt:
		return c.prompt(ctx, op)
	case play.Complete:
		ref := &mcp.CompleteReference{Type: "ref/prompt", Name: op.Name}
		if op.Ref == "resource" {
			ref = &mcp.CompleteReference{Type: "ref/resource", URI: op.Name}
		}
		r, err := c.s.Complete(ctx, &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: op.Arg, Value: op.Value}})
		if err != nil {
			return nil, err
		}
		return &play.Reply{Names: r.Completion.Values}, nil
	case play.Level:
		c.level = op.Name
		if c.modern {
			return &play.Reply{}, nil
		}
		return &play.Reply{}, c.s.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(op.Name)})
	case play.Subscribe:
		if op.Name == "" {
			return &play.Reply{}, nil // the SDK listens to lists by itself
		}
		return &play.Reply{}, c.s.Subscribe(ctx, &mcp.SubscribeParams{URI: op.Name})
	}
	return nil, fmt.Errorf("unknown operation %q", op.Do)
}

func (c *client) list(ctx context.Context, op *play.Op) (*play.Reply, error) {
	r := &play.Reply{Names: []string{}}
	switch op.Do {
	case play.Tools:
		for t, err := range c.s.Tools(ctx, nil) {
			if err != nil {
				return nil, err
			}
			r.Names = append(r.Names, t.Name)
		}
	case play.Resources:
		for t, err := range c.s.Resources(ctx, nil) {
			if err != nil {
				return nil, err
			}
			r.Names = append(r.Names, t.URI)
		}
	case play.Templates:
		for t, err := range c.s.ResourceTemplates(ctx, nil) {
			if err != nil {
				return nil, err
			}
			r.Names = append(r.Names, t.URITemplate)
		}
	case play.Prompts:
		for t, err := range c.s.Prompts(ctx, nil) {
			if err != nil {
				return nil, err
			}
			r.Names = append(r.Names, t.Name)
		}
	}
	return r, nil
}

func (c *client) call(ctx context.Context, op *play.Op) (*play.Reply, error) {
	p := &mcp.CallToolParams{Name: op.Name, Arguments: op.Args, Meta: mcp.Meta{}}
	if op.Progress {
		p.SetProgressToken("progress-1")
	}
	if c.modern && c.level != "" {
		p.Meta[mcp.MetaKeyLogLevel] = c.level
	}
	r, err := c.s.CallTool(ctx, p)
	if err != nil {
		return nil, err
	}
	out := &play.Reply{IsError: r.IsError}
	for _, x := range r.Content {
		if t, ok := x.(*mcp.TextContent); ok {
			out.Text += t.Text
		}
	}
	if r.StructuredContent != nil {
		if out.Structured, err = json.Marshal(r.StructuredContent); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *client) prompt(ctx context.Context, op *play.Op) (*play.Reply, error) {
	p := &mcp.GetPromptParams{Name: op.Name}
	if op.Args != nil {
		if err := strict.Unmarshal(op.Args, &p.Arguments); err != nil {
			return nil, err
		}
	}
	r, err := c.s.GetPrompt(ctx, p)
	if err != nil {
		return nil, err
	}
	out := &play.Reply{}
	for _, m := range r.Messages {
		if t, ok := m.Content.(*mcp.TextContent); ok {
			out.Text += t.Text
		}
	}
	return out, nil
}
