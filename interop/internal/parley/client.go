package parley

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	strict "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/interop/internal/fixture"
	"github.com/seed38e7925c/parley/interop/internal/play"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

type client struct {
	c    *mcp.Client
	sink func(play.Event)
}

// Dial is the [play.Dialer] of this project's client.
func Dial(ctx context.Context, t *play.Target, sink func(play.Event)) (play.Client, *play.Hello, error) {
	var tr mcp.Transport
	if t.URL != "" {
		tr = mcphttp.Dial(t.URL)
	} else {
		cmd := t.Cmd(ctx)
		tr = mcp.Command(cmd.Path, cmd.Args[1:], &mcp.CommandOptions{Env: cmd.Env})
	}
	o := &mcp.ClientOptions{
		Interactor: answers(t, sink),
		OnLog: func(_ context.Context, m *mcp.LogMessage) {
			sink(play.Event{Kind: "log", Text: fmt.Sprintf("%s %s %s", m.Level, m.Logger, m.Data)})
		},
	}
	switch t.Era {
	case play.Modern:
		o.Revisions = []mcp.Revision{mcp.Revision20260728}
	case play.Legacy:
		o.Revisions = []mcp.Revision{mcp.Revision20251125, mcp.Revision20250618, mcp.Revision20250326, mcp.Revision20241105}
	case play.Auto:
	default:
		rev, ok := mcp.ParseRevision(t.Era)
		if !ok {
			return nil, nil, fmt.Errorf("no revision %q", t.Era)
		}
		o.Revisions = []mcp.Revision{rev}
	}
	c, err := mcp.Connect(ctx, &tap{tr, t.Tape}, o)
	if err != nil {
		return nil, nil, err
	}
	s := c.Server()
	return &client{c, sink}, &play.Hello{Revision: s.Revision.String(), Server: s.Implementation.Name}, nil
}

func answers(t *play.Target, sink func(play.Event)) *mcp.Interactor {
	return &mcp.Interactor{
		Form: func(_ context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			sink(play.Event{Kind: "form", Text: q.Message})
			if q.Message == fixture.Refuse {
				return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
			}
			content := q.Form.Defaults()
			if q.Form.Field("seats") != nil {
				content = json.RawMessage(fixture.FormAnswer)
			} else if q.Form.Field("name") != nil {
				content = json.RawMessage(`{"name":"` + fixture.Person + `"}`)
			}
			return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: content}, nil
		},
		Open: func(_ context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			sink(play.Event{Kind: "url", Text: q.URL})
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
		},
		// The person says at once that the page is done with.
		Wait: func(context.Context, *mcp.OpenQuestion) error { return nil },
		Sample: func(_ context.Context, q *mcp.SampleQuestion) (*mcp.CreateMessageResult, error) {
			sink(play.Event{Kind: "sample"})
			return &mcp.CreateMessageResult{Role: "assistant", Model: "fixture", StopReason: mcp.StopEndTurn,
				Content: mcp.SamplingContent{&mcp.TextContent{Text: "sampled by Ada"}}}, nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) {
			sink(play.Event{Kind: "roots"})
			root := url.URL{Scheme: "file", Path: cmp.Or(t.Root, "/fixture")}
			return []mcp.Root{{URI: root.String(), Name: "fixture"}}, nil
		},
	}
}

// Close implements [play.Client].
func (c *client) Close() error { return c.c.Close() }

// Do implements [play.Client].
func (c *client) Do(ctx context.Context, op *play.Op) (*play.Reply, error) {
	r, err := c.do(ctx, op)
	if e := new(mcp.Error); errors.As(err, &e) {
		return nil, &play.Error{Code: int64(e.Code), Message: e.Message}
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
		r, err := c.c.ReadResource(ctx, &mcp.ReadResourceParams{URI: op.Name})
		if err != nil {
			return nil, err
		}
		return &play.Reply{Text: resourceText(r)}, nil
	case play.Prompt:
		return c.prompt(ctx, op)
	case play.Complete:
		ref := mcp.Reference{Type: mcp.RefPrompt, Name: op.Name}
		if op.Ref == "resource" {
			ref = mcp.Reference{Type: mcp.RefResource, URI: op.Name}
		}
		r, err := c.c.Complete(ctx, &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteArgument{Name: op.Arg, Value: op.Value}})
		if err != nil {
			return nil, err
		}
		return &play.Reply{Names: r.Completion.Values}, nil
	case play.Level:
		return &play.Reply{}, c.c.SetLogLevel(ctx, mcp.LoggingLevel(op.Name))
	case play.Subscribe:
		return c.subscribe(ctx, op)
	}
	return nil, fmt.Errorf("unknown operation %q", op.Do)
}

func resourceText(r *mcp.ReadResourceResult) string {
	var b strings.Builder
	for _, c := range r.Contents {
		b.WriteString(c.Text)
	}
	return b.String()
}

func (c *client) list(ctx context.Context, op *play.Op) (*play.Reply, error) {
	r := &play.Reply{Names: []string{}}
	var err error
	add := func(name string, e error) bool {
		if err = e; err == nil {
			r.Names = append(r.Names, name)
		}
		return err == nil
	}
	switch op.Do {
	case play.Tools:
		for t, e := range c.c.Tools(ctx) {
			if e != nil {
				return nil, e
			}
			add(t.Name, nil)
		}
	case play.Resources:
		for t, e := range c.c.Resources(ctx) {
			if e != nil {
				return nil, e
			}
			add(t.URI, nil)
		}
	case play.Templates:
		for t, e := range c.c.ResourceTemplates(ctx) {
			if e != nil {
				return nil, e
			}
			add(t.URITemplate, nil)
		}
	case play.Prompts:
		for t, e := range c.c.Prompts(ctx) {
			if e != nil {
				return nil, e
			}
			add(t.Name, nil)
		}
	}
	return r, err
}

func (c *client) call(ctx context.Context, op *play.Op) (*play.Reply, error) {
	o := &mcp.RequestOptions{}
	if op.Progress {
		o.Progress = func(p mcp.Progress) {
			c.sink(play.Event{Kind: "progress", Text: fmt.Sprintf("%g/%g", p.Done, p.Total)})
		}
	}
	r, err := c.c.CallTool(ctx, &mcp.CallToolParams{Name: op.Name, Arguments: op.Args}, o)
	if err != nil {
		return nil, err
	}
	return &play.Reply{Text: r.Content.Text(), Structured: r.StructuredContent, IsError: r.IsError}, nil
}

func (c *client) prompt(ctx context.Context, op *play.Op) (*play.Reply, error) {
	p := &mcp.GetPromptParams{Name: op.Name}
	if op.Args != nil {
		if err := strict.Unmarshal(op.Args, &p.Arguments); err != nil {
			return nil, err
		}
	}
	r, err := c.c.GetPrompt(ctx, p)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, m := range r.Messages {
		if t, ok := m.Content.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return &play.Reply{Text: b.String()}, nil
}

func (c *client) subscribe(ctx context.Context, op *play.Op) (*play.Reply, error) {
	f := mcp.SubscriptionFilter{ToolsListChanged: true}
	if op.Name != "" {
		f.ResourceSubscriptions = []string{op.Name}
	}
	_, err := c.c.Subscribe(ctx, f, func(_ context.Context, n mcp.Notice) {
		switch {
		case n.Gap:
		case n.Kind == mcp.NoticeTools:
			c.sink(play.Event{Kind: "tools"})
		case n.Kind == mcp.NoticeResource:
			c.sink(play.Event{Kind: "updated", Text: n.URI})
		}
	})
	return &play.Reply{}, err
}
