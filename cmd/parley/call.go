package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
)

// callCmd calls a tool.
type callCmd struct {
	hostFlags
	Args string `help:"All arguments as a JSON object: the text itself, @FILE, or - for standard input." placeholder:"JSON"`
	Out  string `help:"Save pictures, sounds and other data into this directory." placeholder:"DIR" type:"path"`

	Target string   `arg:"" help:"URL of the server, or \"stdio:\" and a command line."`
	Tool   string   `arg:"" help:"Name of the tool."`
	Words  []string `arg:"" optional:"" name:"argument" help:"Arguments as name=value, converted to the types that the tool wants (again for one more element of a list), or name:=JSON; - reads a JSON object from standard input." sep:"none"`
}

// Run calls the tool and shows its result.
func (c *callCmd) Run(ctx context.Context, s *streams) error {
	ses, err := c.connect(ctx, s, c.Target, true)
	if err != nil {
		return err
	}
	return ses.finish(c.call(ctx, s, ses))
}

func (c *callCmd) call(ctx context.Context, s *streams, ses *session) error {
	tool, err := c.find(ctx, ses)
	if err != nil {
		return err
	}
	args, err := arguments(tool, c.Words, c.Args, s.in)
	if err != nil {
		return err
	}
	res, err := ses.CallTool(ctx, &mcp.CallToolParams{Name: c.Tool, Arguments: args}, &mcp.RequestOptions{Progress: ses.ui.progress})
	ses.ui.done()
	if err != nil {
		return err
	}
	if c.JSON {
		err = printRaw(s.out, ses.results(mcp.MethodToolsCall))
	} else {
		err = (&printer{w: s.out, dir: c.Out, name: "result"}).result(res)
	}
	if err != nil || !res.IsError {
		return err
	}
	code := ses.outcome()
	ses.ui.line(map[int]string{exitTool: "parley: the tool reported an error", exitDeclined: "parley: the tool stopped, because a question was declined or cancelled",
		exitUnavailable: "parley: the tool stopped, because nobody could be asked"}[code])
	return &silentError{code}
}

// find looks the tool up for its arguments; nil when words need not be converted, or the server has no list.
func (c *callCmd) find(ctx context.Context, ses *session) (*mcp.Tool, error) {
	if len(c.Words) == 0 && c.Args != "" || len(c.Words) == 1 && c.Words[0] == "-" || ses.Server().Capabilities.Tools == nil {
		return nil, nil
	}
	var names []string
	for t, err := range ses.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		if t.Name == c.Tool {
			return t, nil
		}
		names = append(names, consent.Line(t.Name, 80))
	}
	hint := ""
	if !ses.asks {
		hint = "\nSome servers hide tools that ask questions: run this in a terminal, with --interact web, or with --answers FILE."
	}
	return nil, usagef("the server has no tool %q%s%s", c.Tool, offered(names), hint)
}

// offered lists names for an error.
func offered(names []string) string {
	const most = 20
	text := ""
	for i, n := range names {
		if i == most {
			return text + fmt.Sprintf("\n  … and %d more", len(names)-most)
		}
		text += "\n  " + n
	}
	if text == "" {
		return "; it has none"
	}
	return "; it has" + text
}

// readCmd reads a resource.
type readCmd struct {
	hostFlags
	Output string `short:"o" help:"Write the contents to this file." placeholder:"FILE" type:"path"`

	Target string `arg:"" help:"URL of the server, or \"stdio:\" and a command line."`
	URI    string `arg:"" name:"uri" help:"URI of the resource."`
}

// Run reads the resource and writes its contents.
func (c *readCmd) Run(ctx context.Context, s *streams) error {
	ses, err := c.connect(ctx, s, c.Target, true)
	if err != nil {
		return err
	}
	return ses.finish(c.read(ctx, s, ses))
}

func (c *readCmd) read(ctx context.Context, s *streams, ses *session) error {
	res, err := ses.ReadResource(ctx, &mcp.ReadResourceParams{URI: c.URI}, &mcp.RequestOptions{Progress: ses.ui.progress})
	ses.ui.done()
	if err != nil {
		return err
	}
	if c.JSON {
		return printRaw(s.out, ses.results(mcp.MethodResourcesRead))
	}
	var all []byte
	binary := false
	for _, part := range res.Contents {
		if part.Blob != nil {
			binary = true
			all = append(all, part.Blob...)
		} else {
			all = append(all, part.Text...)
		}
	}
	switch {
	case c.Output != "" && len(res.Contents) != 1:
		return fmt.Errorf("the resource has %d parts; --json has them one by one", len(res.Contents))
	case c.Output != "":
		if err := save(c.Output, all); err != nil {
			return err
		}
		ses.ui.line(fmt.Sprintf("parley: %d bytes%s written to %s", len(all), about(res.Contents[0].MIMEType, ""), c.Output))
		return nil
	case !isTerminal(s.out): // a program reads it: exactly what the server sent
		_, err = s.out.Write(all)
		return err
	case binary:
		return fmt.Errorf("the resource holds %d bytes that are no text; write them to a file with -o FILE", len(all))
	}
	_, err = fmt.Fprintln(s.out, safe(string(all)))
	return err
}

// promptCmd fetches a prompt.
type promptCmd struct {
	hostFlags
	Out string `help:"Save pictures, sounds and other data into this directory." placeholder:"DIR" type:"path"`

	Target string   `arg:"" help:"URL of the server, or \"stdio:\" and a command line."`
	Name   string   `arg:"" help:"Name of the prompt."`
	Words  []string `arg:"" optional:"" name:"argument" help:"Arguments as name=value." sep:"none"`
}

// Run fetches the prompt and shows its messages.
func (c *promptCmd) Run(ctx context.Context, s *streams) error {
	ses, err := c.connect(ctx, s, c.Target, true)
	if err != nil {
		return err
	}
	return ses.finish(c.get(ctx, s, ses))
}

func (c *promptCmd) get(ctx context.Context, s *streams, ses *session) error {
	args := map[string]string{}
	for _, w := range c.Words {
		name, value, err := cutWord(w)
		if err != nil {
			return err
		}
		args[name] = value
	}
	res, err := ses.GetPrompt(ctx, &mcp.GetPromptParams{Name: c.Name, Arguments: args}, &mcp.RequestOptions{Progress: ses.ui.progress})
	ses.ui.done()
	if err != nil {
		return err
	}
	if c.JSON {
		return printRaw(s.out, ses.results(mcp.MethodPromptsGet))
	}
	p := &printer{w: s.out, dir: c.Out, name: "prompt"}
	if res.Description != "" {
		if err := p.line("# %s", safe(res.Description)); err != nil {
			return err
		}
	}
	for _, m := range res.Messages {
		if err := p.line("%s:", consent.Line(string(m.Role), 40)); err != nil {
			return err
		}
		if err := p.content([]mcp.Content{m.Content}); err != nil {
			return err
		}
	}
	return nil
}

// rawList returns the elements of a list's pages as they came.
func rawList(pages []json.RawMessage, member string) ([]json.RawMessage, error) {
	out := []json.RawMessage{}
	for _, page := range pages {
		elements, err := elementsOf(page, member)
		if err != nil {
			return nil, err
		}
		out = append(out, elements...)
	}
	return out, nil
}
