package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
)

// lsCmd lists what a server offers.
type lsCmd struct {
	hostFlags
	Target string `arg:"" help:"URL of the server, or \"stdio:\" and a command line."`
}

// An inventory is everything that a server lists.
type inventory struct {
	tools     []*mcp.Tool
	resources []*mcp.Resource
	templates []*mcp.ResourceTemplate
	prompts   []*mcp.Prompt
}

// Run lists the server.
func (c *lsCmd) Run(ctx context.Context, s *streams) error {
	// Some servers list only what the client's capabilities allow, so it declares what call would with somebody at the terminal.
	ses, err := c.connect(ctx, s, c.Target, false)
	if err != nil {
		return err
	}
	return ses.finish(c.list(ctx, s, ses))
}

func (c *lsCmd) list(ctx context.Context, s *streams, ses *session) error {
	inv, err := collect(ctx, ses)
	if err != nil {
		return err
	}
	if c.JSON {
		return printInventory(s.out, ses)
	}
	_, err = io.WriteString(s.out, serverText(c.Target, ses.Server())+inv.text())
	return err
}

// all collects a list; a server that declares a capability and does not know its list has none.
func all[T any](list iter.Seq2[T, error]) ([]T, error) {
	var out []T
	for v, err := range list {
		if err != nil {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}

func collect(ctx context.Context, ses *session) (inv inventory, err error) {
	caps := ses.Server().Capabilities
	if caps.Tools != nil {
		if inv.tools, err = all(ses.Tools(ctx)); err != nil {
			return inv, err
		}
	}
	if caps.Resources != nil {
		if inv.resources, err = all(ses.Resources(ctx)); err != nil {
			return inv, err
		}
		if inv.templates, err = all(ses.ResourceTemplates(ctx)); err != nil {
			if !unknownMethod(err) { // many servers have resources and no templates
				return inv, err
			}
		}
	}
	if caps.Prompts != nil {
		if inv.prompts, err = all(ses.Prompts(ctx)); err != nil {
			return inv, err
		}
	}
	return inv, nil
}

// serverText says what the server is.
func serverText(target string, info mcp.ServerInfo) string {
	var b strings.Builder
	name := strings.TrimSpace(consent.Line(info.Implementation.Name, 100) + " " + consent.Line(info.Implementation.Version, 60))
	if title := consent.Line(info.Implementation.Title, 100); title != "" && title != info.Implementation.Name {
		name += " (" + title + ")"
	}
	if name == "" {
		name = "a server that does not say its name"
	}
	fmt.Fprintf(&b, "%s\nat        %s\nrevision  %s\n", name, consent.Line(target, 500), info.Revision)
	if offers := capabilities(&info.Capabilities); offers != "" {
		fmt.Fprintf(&b, "offers    %s\n", offers)
	}
	for _, more := range [][2]string{{"about", info.Implementation.Description}, {"website", info.Implementation.WebsiteURL}} {
		if more[1] != "" {
			fmt.Fprintf(&b, "%-9s %s\n", more[0], consent.Line(more[1], 500))
		}
	}
	if info.Instructions != "" {
		b.WriteString("instructions for the model:\n" + indentText("  ", consent.Text(info.Instructions, 2000)))
	}
	return b.String()
}

func capabilities(c *mcp.ServerCapabilities) string {
	var out []string
	add := func(there bool, name string) {
		if there {
			out = append(out, name)
		}
	}
	add(c.Tools != nil && !c.Tools.ListChanged, "tools")
	add(c.Tools != nil && c.Tools.ListChanged, "tools (tells of changes)")
	add(c.Resources != nil && !c.Resources.Subscribe, "resources")
	add(c.Resources != nil && c.Resources.Subscribe, "resources (can be subscribed to)")
	add(c.Prompts != nil, "prompts")
	add(c.Completions != nil, "completions")
	add(c.Logging != nil, "logging")
	add(c.Tasks != nil, "tasks")
	for name := range c.Extensions {
		out = append(out, "extension "+consent.Line(name, 100))
	}
	return strings.Join(out, ", ")
}

// text is the inventory for people.
func (inv *inventory) text() string {
	var b strings.Builder
	section := func(title string, n int) {
		if n > 0 {
			fmt.Fprintf(&b, "\n%s\n", title)
		}
	}
	section("Tools", len(inv.tools))
	for _, t := range inv.tools {
		entry(&b, t.Name, titleOf(t), t.Description)
		schema := schemaOf(t.InputSchema)
		for _, name := range sorted(&schema) {
			b.WriteString("      " + describe(name, &schema) + "\n")
		}
		if hints := hints(t); hints != "" {
			b.WriteString("      it says of itself: " + hints + "\n")
		}
	}
	section("Resources", len(inv.resources))
	for _, r := range inv.resources {
		entry(&b, r.URI, r.Name, r.Description)
		if facts := facts(r); facts != "" {
			b.WriteString("      " + facts + "\n")
		}
	}
	section("Resource templates", len(inv.templates))
	for _, t := range inv.templates {
		entry(&b, t.URITemplate, t.Name, t.Description)
	}
	section("Prompts", len(inv.prompts))
	for _, p := range inv.prompts {
		entry(&b, p.Name, p.Title, p.Description)
		for _, a := range p.Arguments {
			text := consent.Line(a.Name, 80)
			if a.Required {
				text += "  required"
			}
			if a.Description != "" {
				text += ": " + consent.Line(a.Description, 0)
			}
			b.WriteString("      " + text + "\n")
		}
	}
	if b.Len() == 0 {
		b.WriteString("\nIt lists nothing.\n")
	}
	return b.String()
}

func entry(b *strings.Builder, name, title, description string) {
	fmt.Fprintf(b, "  %s", consent.Line(name, 300))
	if title != "" && title != name {
		fmt.Fprintf(b, "  (%s)", consent.Line(title, 100))
	}
	b.WriteString("\n")
	if description != "" {
		b.WriteString(indentText("      ", consent.Text(description, 600)))
	}
}

func indentText(lead, text string) string {
	var b strings.Builder
	for _, l := range strings.Split(text, "\n") {
		b.WriteString(strings.TrimRight(lead+l, " ") + "\n")
	}
	return b.String()
}

func titleOf(t *mcp.Tool) string {
	if t.Title == "" && t.Annotations != nil {
		return t.Annotations.Title
	}
	return t.Title
}

// hints are what a tool says about how it behaves.
func hints(t *mcp.Tool) string {
	var out []string
	if a := t.Annotations; a != nil {
		switch {
		case a.ReadOnlyHint:
			out = append(out, "changes nothing")
		case a.DestructiveHint != nil && *a.DestructiveHint:
			out = append(out, "may destroy")
		case a.DestructiveHint != nil:
			out = append(out, "destroys nothing")
		}
		if a.IdempotentHint {
			out = append(out, "can be repeated")
		}
		if a.OpenWorldHint != nil && !*a.OpenWorldHint {
			out = append(out, "stays within its system")
		}
	}
	if t.Execution != nil && t.Execution.TaskSupport == mcp.TaskRequired {
		out = append(out, "runs as a task only")
	}
	return strings.Join(out, ", ")
}

func facts(r *mcp.Resource) string {
	var out []string
	if r.MIMEType != "" {
		out = append(out, consent.Line(r.MIMEType, 100))
	}
	if r.Size != nil {
		out = append(out, fmt.Sprintf("%d bytes", *r.Size))
	}
	return strings.Join(out, ", ")
}

// printInventory prints everything as JSON: the lists' elements exactly as they came.
func printInventory(w io.Writer, ses *session) error {
	info := ses.Server()
	out := struct {
		Server            mcp.Implementation     `json:"serverInfo"`
		Revision          string                 `json:"protocolVersion"`
		Capabilities      mcp.ServerCapabilities `json:"capabilities"`
		Instructions      string                 `json:"instructions,omitempty"`
		Tools             []json.RawMessage      `json:"tools"`
		Resources         []json.RawMessage      `json:"resources"`
		ResourceTemplates []json.RawMessage      `json:"resourceTemplates"`
		Prompts           []json.RawMessage      `json:"prompts"`
	}{Server: info.Implementation, Revision: info.Revision.String(), Capabilities: info.Capabilities, Instructions: info.Instructions}
	for _, l := range []struct {
		method, member string
		into           *[]json.RawMessage
	}{
		{mcp.MethodToolsList, "tools", &out.Tools}, {mcp.MethodResourcesList, "resources", &out.Resources},
		{mcp.MethodResourcesTemplatesList, "resourceTemplates", &out.ResourceTemplates}, {mcp.MethodPromptsList, "prompts", &out.Prompts},
	} {
		var err error
		if *l.into, err = rawList(ses.results(l.method), l.member); err != nil {
			return err
		}
	}
	raw, err := jsonv2.Marshal(&out, jsontext.Multiline(false))
	if err != nil {
		return err
	}
	return printRaw(w, []json.RawMessage{json.RawMessage(raw)})
}

func elementsOf(page json.RawMessage, member string) ([]json.RawMessage, error) {
	var members map[string]jsontext.Value
	if err := jsonv2.Unmarshal(page, &members); err != nil {
		return nil, err
	}
	var elements []json.RawMessage
	err := jsonv2.Unmarshal(members[member], &elements)
	return elements, err
}
