package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed38e7925c/parley/mcp"
)

// sample shows a request to the model, and then what the model answered, and lets the person approve each.
func (p *person) sample(ctx context.Context, q *mcp.SampleQuestion) (*mcp.CreateMessageResult, error) {
	if err := p.begin(ctx); err != nil {
		return nil, declined(err)
	}
	text := p.header(q.Asked, "wants to ask your model", "")
	if q.Params.SystemPrompt != "" {
		text += p.indented("system     ", q.Params.SystemPrompt)
	}
	for _, m := range q.Params.Messages {
		text += p.indented(fmt.Sprintf("%-10s ", role(m.Role)), blocks(m.Content))
	}
	for _, t := range q.Params.Tools {
		text += p.indented("tool       ", t.Name)
	}
	text += p.bar(fmt.Sprintf("At most %d tokens.", q.Params.MaxTokens)) + p.end()
	if err := p.write(text); err != nil {
		return nil, err
	}
	if err := p.approve(ctx, "Let the model answer this? "+keys("y", "yes", "n or Enter", "no")); err != nil {
		return nil, err
	}
	res, err := p.opts.Model(ctx, q.Params)
	if err != nil {
		return nil, fmt.Errorf("%w: the model: %w", mcp.ErrUnavailable, err)
	}
	if err := p.write(p.indented(fmt.Sprintf("%-10s ", role(res.Role)), blocks(res.Content)) + p.end()); err != nil {
		return nil, err
	}
	if err := p.approve(ctx, "Send this answer to the server? "+keys("y", "yes", "n or Enter", "no")); err != nil {
		return nil, err
	}
	return res, p.write("\n")
}

func (p *person) approve(ctx context.Context, prompt string) error {
	line, err := p.ask(ctx, prompt)
	if err != nil {
		return declined(err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return mcp.ErrDeclined
}

func declined(err error) error {
	if errors.Is(err, errMenu) || errors.Is(err, errCancel) {
		return mcp.ErrCanceled
	}
	return err
}

func role(r mcp.Role) string {
	if r == mcp.RoleUser || r == mcp.RoleAssistant {
		return string(r)
	}
	return "?"
}

// blocks shows what a message holds.
func blocks(content mcp.SamplingContent) string {
	var out []string
	for _, c := range content {
		switch c := c.(type) {
		case *mcp.TextContent:
			out = append(out, c.Text)
		case *mcp.ImageContent:
			out = append(out, fmt.Sprintf("[picture, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.AudioContent:
			out = append(out, fmt.Sprintf("[sound, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.ToolUseContent:
			out = append(out, fmt.Sprintf("[uses the tool %s: %s]", c.Name, c.Input))
		case *mcp.ToolResultContent:
			out = append(out, "[result of a tool] "+c.Content.Text())
		default:
			out = append(out, "["+c.Type()+"]")
		}
	}
	return strings.Join(out, "\n")
}
