package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"sync/atomic"

	strict "github.com/go-json-experiment/json"
	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/seed38e7925c/parley/interop/internal/fixture"
	"github.com/seed38e7925c/parley/interop/internal/play"
)

type client struct {
	c      *mcpclient.Client
	modern bool
	tokens atomic.Int64
	stop   func()
}

type answers struct{ sink func(play.Event) }

// Elicit implements [mcpclient.ElicitationHandler].
func (a answers) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	out := &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept}}
	if r.Params.Mode == "url" {
		a.sink(play.Event{Kind: "url", Text: r.Params.URL})
		return out, nil
	}
	a.sink(play.Event{Kind: "form", Text: r.Params.Message})
	if r.Params.Message == fixture.Refuse {
		out.Action = mcp.ElicitationResponseActionDecline
		return out, nil
	}
	out.Content = map[string]any{"name": fixture.Person, "seats": fixture.Seats}
	return out, nil
}

// Dial is the [play.Dialer] of mcp-go's client.
func Dial(ctx context.Context, t *play.Target, sink func(play.Event)) (play.Client, *play.Hello, error) {
	tr, err := dial(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	caps := mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}}
	o := []mcpclient.ClientOption{mcpclient.WithElicitationHandler(answers{sink}), mcpclient.WithClientCapabilities(caps)}
	if t.Handshake() {
		o = append(o, mcpclient.WithProtocolVersion(t.Revision()))
	}
	c := mcpclient.NewClient(tr, o...)
	c.OnNotification(func(n mcp.JSONRPCNotification) { notice(n, sink) })
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, nil, err
	}
	var init mcp.InitializeRequest
	init.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	if t.Handshake() {
		init.Params.ProtocolVersion = t.Revision()
	}
	init.Params.ClientInfo = mcp.Implementation{Name: "mcp-go-client", Version: "1.0.0"}
	init.Params.Capabilities = caps
	r, err := c.Initialize(ctx, init)
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return &client{c: c, modern: t.Modern(), stop: func() {}}, &play.Hello{Revision: c.ProtocolVersion(), Server: r.ServerInfo.Name}, nil
}

func dial(ctx context.Context, t *play.Target) (transport.Interface, error) {
	switch {
	case t.SSE:
		return transport.NewSSE(t.URL, transport.WithSSELogger(slog.New(slog.DiscardHandler)))
	case t.URL != "":
		var o []transport.StreamableHTTPCOption
		if t.Handshake() {
			o = append(o, transport.WithContinuousListening()) // which keeps the client from 2026-07-28
		}
		return transport.NewStreamableHTTP(t.URL, append(o, transport.WithHTTPLogger(slog.New(slog.DiscardHandler)))...)
	}
	return transport.NewStdioWithOptions(t.Command[0], nil, t.Command[1:],
		transport.WithCommandFunc(func(context.Context, string, []string, []string) (*exec.Cmd, error) {
			return t.Cmd(context.WithoutCancel(ctx)), nil
		})), nil
}

func notice(n mcp.JSONRPCNotification, sink func(play.Event)) {
	f := n.Params.AdditionalFields
	switch n.Method {
	case "notifications/tools/list_changed":
		sink(play.Event{Kind: "tools"})
	case "notifications/resources/updated":
		sink(play.Event{Kind: "updated", Text: fmt.Sprint(f["uri"])})
	case "notifications/progress":
		sink(play.Event{Kind: "progress", Text: fmt.Sprintf("%v/%v", f["progress"], f["total"])})
	case "notifications/message":
		data, err := json.Marshal(f["data"])
		if err != nil {
			data = []byte(err.Error())
		}
		sink(play.Event{Kind: "log", Text: fmt.Sprintf("%v %v %s", f["level"], f["logger"], data)})
	}
}

// Close implements [play.Client].
func (c *client) Close() error {
	c.stop()
	return c.c.Close()
}

// codes are the error codes of the sentinels by which mcp-go hands error responses on.
var codes = []struct {
	err  error
	code int64
}{
	{mcp.ErrMethodNotFound, -32601},
	{mcp.ErrInvalidParams, -32602},
	{mcp.ErrInternalError, -32603},
	{mcp.ErrResourceNotFound, -32002},
	{mcp.ErrInvalidRequest, -32600},
}

// Do implements [play.Client].
func (c *client) Do(ctx context.Context, op *play.Op) (*play.Reply, error) {
	r, err := c.do(ctx, op)
	for _, x := range codes {
		if errors.Is(err, x.err) {
			return nil, &play.Error{Code: x.code, Message: err.Error()}
		}
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
		r, err := c.c.ReadResource(ctx, mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: op.Name}})
		if err != nil {
			return nil, err
		}
		out := &play.Reply{}
		for _, x := range r.Contents {
			if t, ok := x.(mcp.TextResourceContents); ok {
				out.Text += t.Text
			}
		}
		return out, nil
	case play.Prompt:
		return c.prompt(ctx, op)
	case play.Complete:
		p := mcp.CompleteParams{Argument: mcp.CompleteArgument{Name: op.Arg, Value: op.Value}}
		p.Ref = mcp.PromptReference{Type: "ref/prompt", Name: op.Name}
		if op.Ref == "resource" {
			p.Ref = mcp.ResourceReference{Type: "ref/resource", URI: op.Name}
		}
		r, err := c.c.Complete(ctx, mcp.CompleteRequest{Params: p})
		if err != nil {
			return nil, err
		}
		return &play.Reply{Names: r.Completion.Values}, nil
	case play.Level:
		return &play.Reply{}, c.c.SetLevel(ctx, mcp.SetLevelRequest{Params: mcp.SetLevelParams{Level: mcp.LoggingLevel(op.Name)}})
	case play.Subscribe:
		return &play.Reply{}, c.subscribe(ctx, op)
	}
	return nil, fmt.Errorf("unknown operation %q", op.Do)
}

func (c *client) subscribe(ctx context.Context, op *play.Op) error {
	if !c.modern {
		if op.Name == "" {
			return nil
		}
		return c.c.Subscribe(ctx, mcp.SubscribeRequest{Params: mcp.SubscribeParams{URI: op.Name}})
	}
	f := mcp.SubscriptionFilter{ToolsListChanged: true}
	if op.Name != "" {
		f.ResourceSubscriptions = []string{op.Name}
	}
	c.stop()
	stop, err := c.c.ListenAsync(context.WithoutCancel(ctx), f, nil)
	if err == nil {
		c.stop = stop
	}
	return err
}

func (c *client) list(ctx context.Context, op *play.Op) (*play.Reply, error) {
	r := &play.Reply{Names: []string{}}
	switch op.Do {
	case play.Tools:
		l, err := c.c.ListTools(ctx, mcp.ListToolsRequest{})
		if err != nil {
			return nil, err
		}
		for _, t := range l.Tools {
			r.Names = append(r.Names, t.Name)
		}
	case play.Resources:
		l, err := c.c.ListResources(ctx, mcp.ListResourcesRequest{})
		if err != nil {
			return nil, err
		}
		for _, t := range l.Resources {
			r.Names = append(r.Names, t.URI)
		}
	case play.Templates:
		l, err := c.c.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
		if err != nil {
			return nil, err
		}
		for _, t := range l.ResourceTemplates {
			r.Names = append(r.Names, t.URITemplate.Raw())
		}
	case play.Prompts:
		l, err := c.c.ListPrompts(ctx, mcp.ListPromptsRequest{})
		if err != nil {
			return nil, err
		}
		for _, t := range l.Prompts {
			r.Names = append(r.Names, t.Name)
		}
	}
	return r, nil
}

func (c *client) call(ctx context.Context, op *play.Op) (*play.Reply, error) {
	var q mcp.CallToolRequest
	q.Params.Name = op.Name
	if op.Args != nil {
		q.Params.Arguments = op.Args
	}
	if op.Progress {
		q.Params.Meta = &mcp.Meta{ProgressToken: fmt.Sprintf("progress-%d", c.tokens.Add(1))}
	}
	r, err := c.c.CallTool(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &play.Reply{IsError: r.IsError}
	for _, x := range r.Content {
		if t, ok := x.(mcp.TextContent); ok {
			out.Text += t.Text
		}
	}
	out.Structured = r.RawStructuredContent
	return out, nil
}

func (c *client) prompt(ctx context.Context, op *play.Op) (*play.Reply, error) {
	q := mcp.GetPromptRequest{Params: mcp.GetPromptParams{Name: op.Name}}
	if op.Args != nil {
		if err := strict.Unmarshal(op.Args, &q.Params.Arguments); err != nil {
			return nil, err
		}
	}
	r, err := c.c.GetPrompt(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &play.Reply{}
	for _, m := range r.Messages {
		if t, ok := m.Content.(mcp.TextContent); ok {
			out.Text += t.Text
		}
	}
	return out, nil
}
