package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
)

// open asks for consent to open a page and opens it.
func (p *person) open(ctx context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
	if err := p.begin(ctx); err != nil {
		return p.result(nil, err)
	}
	r := consent.Review(q.URL, &consent.Options{Server: q.Origin, Trusted: p.opts.Trusted})
	text := p.header(q.Asked, "asks you to open a page", q.Message) + p.address(r)
	if r.Refused {
		text += p.indented("! ", "This address must not be opened, so it is not. The server is told that the question was closed.") + p.end()
		return p.result(&mcp.ElicitResult{Action: mcp.ActionCancel}, p.write(text))
	}
	if err := p.write(text + p.end()); err != nil {
		return nil, err
	}
	return p.result(p.agree(ctx, r))
}

// address shows a reviewed URL and what is to be known about it.
func (p *person) address(r *consent.Result) string {
	var b strings.Builder
	b.WriteString(p.quiet(strings.TrimSpace(bar)) + "\n")
	address := "Address   "
	if p.width() < narrow { // a host that is broken in two reads like another one
		b.WriteString(p.framed("", strings.TrimSpace(address)))
		address = "  "
	}
	b.WriteString(p.stress(p.framed(address, consent.Text(r.Display.String(), 1<<16)), r.Display.Domain))
	if r.Domain != "" {
		b.WriteString(p.stress(p.indented("Site      ", r.Domain), r.Domain))
	}
	for _, f := range r.Findings {
		lead := "  "
		if f.Severity >= consent.Warning {
			lead = "! "
		}
		b.WriteString(p.indented(lead, f.Severity.String()+": "+f.Message))
	}
	return b.String()
}

// narrow is when an address gets lines of its own.
const narrow = 60

// stress makes the domain bold, where it stands first and in one piece.
func (p *person) stress(text, domain string) string {
	lead := len(bar + "Address   ")
	if p.width() < narrow {
		lead = len(bar)
	}
	if i := strings.Index(text[min(lead, len(text)):], domain); i >= 0 && domain != "" {
		i += lead
		return text[:i] + p.strong(domain) + text[i+len(domain):]
	}
	return text
}

// agree asks whether to open, with no as the default, and does it.
func (p *person) agree(ctx context.Context, r *consent.Result) (*mcp.ElicitResult, error) {
	for {
		line, err := p.ask(ctx, "Open this page? "+keys("y", "yes", "s", "I open it myself", "n or Enter", "no", "c", "cancel"))
		if errors.Is(err, errMenu) {
			continue
		}
		if err != nil {
			return nil, err
		}
		word := strings.ToLower(strings.TrimSpace(line))
		switch word {
		case "", "n", "no", "d", "decline":
			return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
		case "c", "cancel":
			return &mcp.ElicitResult{Action: mcp.ActionCancel}, nil
		case "y", "yes", "s", "self":
			sure, err := p.sure(ctx, r)
			if err != nil {
				return nil, err
			}
			if sure {
				return &mcp.ElicitResult{Action: mcp.ActionAccept}, p.visit(ctx, r, word[0] == 's')
			}
		}
	}
}

// sure asks once more where the address looks like a trick.
func (p *person) sure(ctx context.Context, r *consent.Result) (bool, error) {
	if r.Worst() < consent.Danger {
		return true, nil
	}
	line, err := p.ask(ctx, "This address looks like a trick. If you know the site, type its name (after \"Site\") to go on")
	if errors.Is(err, errMenu) {
		return false, nil
	}
	return err == nil && strings.EqualFold(strings.TrimSpace(line), r.Domain), err
}

func (p *person) visit(ctx context.Context, r *consent.Result, self bool) error {
	said := "Open this address in your browser:"
	if !self {
		err := p.opts.Open(ctx, r)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			said = "No browser could be opened. Open this address yourself:"
		default:
			said = "Opened in your browser. If nothing shows up, this is the address:"
		}
	}
	return p.write(p.fit(said, 1) + "\n\n" + r.URL + "\n\n" + p.quiet(p.fit("Now waiting for the server, which goes on once you are done there.", 1)) + "\n")
}

// completed says that what a page was opened for is finished.
func (p *person) completed(_ context.Context, q *mcp.OpenQuestion) {
	r := consent.Review(q.URL, nil)
	_ = p.write(p.bar(fmt.Sprintf("What you were sent to %s for is done.", r.Host))) // nobody to tell if it fails
}

// wait keeps the person company until a page is finished.
func (p *person) wait(ctx context.Context, _ *mcp.OpenQuestion) error {
	if err := p.begin(ctx); err != nil && !errors.Is(err, errCancel) {
		return err
	}
	for {
		line, err := p.ask(ctx, "Press Enter once you are done there (this goes on by itself if the server notices), "+keys("c", "give up"))
		switch {
		case errors.Is(err, errMenu):
			continue
		case errors.Is(err, errCancel):
			return mcp.ErrCanceled
		case err != nil:
			return err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "":
			return nil
		case "c", "cancel":
			return mcp.ErrCanceled
		}
	}
}
