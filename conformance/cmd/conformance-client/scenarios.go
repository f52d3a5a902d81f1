package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/mcp"
)

// scenarios are those that want more than listing the tools and calling the first.
var scenarios = map[string]func(ctx context.Context, h *host) error{
	"initialize":                          list,
	"request-metadata":                    list,
	"json-schema-ref-no-deref":            list,
	"tools_call":                          call("add_numbers", `{"a":5,"b":3}`),
	"elicitation-sep1034-client-defaults": call("test_client_elicitation_defaults", `{}`),
	"sse-retry":                           call("test_reconnection", `{}`),
	"http-invalid-tool-headers":           listAndCallAll,
	"http-standard-headers":               everything,
	"http-custom-headers":                 callFromContext,
	"sep-2322-client-request-state":       rounds,
	"json-schema-2020-12-preservation":    echoSchema,
}

// accept fills a form as a person would who takes what is proposed: defaults where there are any, something acceptable elsewhere.
func accept(q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
	values := map[string]json.RawMessage{}
	for _, f := range q.Form.Fields {
		switch {
		case f.Default != nil:
			values[f.Name] = f.Default
		case f.Required:
			values[f.Name] = sample(&f)
		}
	}
	content, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: content}, nil
}

func sample(f *form.Field) json.RawMessage {
	switch f.Kind {
	case form.Boolean:
		return json.RawMessage(`true`)
	case form.Integer, form.Number:
		return json.RawMessage(`1`)
	case form.Choice, form.MultiChoice:
		value, err := f.ParseText(f.Options[0].Value)
		if err != nil {
			return json.RawMessage(`null`)
		}
		return value
	default:
		return json.RawMessage(`"Alice"`)
	}
}

func list(ctx context.Context, h *host) error {
	_, err := tools(ctx, h)
	return err
}

func tools(ctx context.Context, h *host) ([]*mcp.Tool, error) {
	var all []*mcp.Tool
	for t, err := range h.client.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func (h *host) call(ctx context.Context, name, arguments string) error {
	_, err := h.client.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return fmt.Errorf("calling %s: %w", name, err)
	}
	return nil
}

func call(name, arguments string) func(context.Context, *host) error {
	return func(ctx context.Context, h *host) error {
		if err := list(ctx, h); err != nil {
			return err
		}
		return h.call(ctx, name, arguments)
	}
}

// listAndCall calls the first tool that there is, as for the scenarios about authorization.
func listAndCall(ctx context.Context, h *host) error {
	all, err := tools(ctx, h)
	if err != nil || len(all) == 0 {
		return err
	}
	return h.call(ctx, all[0].Name, `{}`)
}

func listAndCallAll(ctx context.Context, h *host) error {
	all, err := tools(ctx, h)
	if err != nil {
		return err
	}
	for _, t := range all {
		if err := h.call(ctx, t.Name, `{}`); err != nil {
			return err
		}
	}
	return nil
}

// everything uses each tool, prompt and resource that the server lists.
func everything(ctx context.Context, h *host) error {
	if err := listAndCallAll(ctx, h); err != nil {
		return err
	}
	for p, err := range h.client.Prompts(ctx) {
		if err != nil {
			return err
		}
		if _, err := h.client.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.Name}); err != nil {
			return fmt.Errorf("prompt %s: %w", p.Name, err)
		}
	}
	for r, err := range h.client.Resources(ctx) {
		if err != nil {
			return err
		}
		if _, err := h.client.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.URI}); err != nil {
			return fmt.Errorf("resource %s: %w", r.URI, err)
		}
	}
	return nil
}

func callFromContext(ctx context.Context, h *host) error {
	if err := list(ctx, h); err != nil {
		return err
	}
	for _, c := range h.context.ToolCalls {
		if err := h.call(ctx, c.Name, string(c.Arguments)); err != nil {
			return err
		}
	}
	return nil
}

// rounds plays the multi-round scenario: while one call waits for an answer, another one is made.
func rounds(ctx context.Context, h *host) error {
	if err := list(ctx, h); err != nil {
		return err
	}
	h.between = func(ctx context.Context) error { return h.call(ctx, "test_mrtr_unrelated", `{}`) }
	if err := h.call(ctx, "test_mrtr_echo_state", `{}`); err != nil {
		return err
	}
	h.between = nil
	if err := h.call(ctx, "test_mrtr_no_state", `{}`); err != nil {
		return err
	}
	return h.call(ctx, "test_mrtr_no_result_type", `{}`)
}

// echoSchema hands a tool's input schema back as the server sent it.
func echoSchema(ctx context.Context, h *host) error {
	all, err := tools(ctx, h)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.Name == "json_schema_2020_12_tool" {
			return h.call(ctx, "json_schema_echo", `{"schema":`+string(t.InputSchema)+`}`)
		}
	}
	return fmt.Errorf("the server lists no json_schema_2020_12_tool")
}
