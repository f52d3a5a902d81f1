package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/interactor/terminal"
	"github.com/seed38e7925c/parley/interactor/web"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
)

// loginCmd logs in.
type loginCmd struct {
	authFlags
	Interact string `enum:"auto,terminal,web" default:"auto" help:"Where you are asked before the login page is opened: in the terminal, or on a page in the browser."`
	Again    bool   `help:"Log in anew although a login is in force, for instance as somebody else or with another --scope."`
	Verbose  bool   `short:"v" help:"Show each step."`

	Server string `arg:"" help:"URL of the server."`
}

// Run logs in and says as whom.
func (c *loginCmd) Run(ctx context.Context, s *streams) error {
	if !isHTTP(c.Server) {
		return usagef("%q is no http or https URL; a stdio server takes credentials from its environment (--env)", c.Server)
	}
	p := c.person(s)
	t, err := c.transport(c.Server, p)
	if err != nil {
		return err
	}
	defer t.Close()
	return c.login(ctx, s, t, p.ui)
}

func (c *loginCmd) login(ctx context.Context, s *streams, t *mcpauth.Transport, u *ui) error {
	had, err := c.inForce(ctx, t)
	if err != nil {
		return err
	}
	if had != nil {
		fmt.Fprintf(s.out, "You are logged in already (--again logs in anew).\n%s", statusText(had, c.kept(ctx, u, had)))
		return nil
	}
	open, err := probe(ctx, mcphttp.DefaultTransport(), c.Server)
	if err != nil {
		return connectError{err}
	}
	if open.ok() {
		d, err := t.Discover(ctx, nil)
		if err != nil || d.Legacy {
			fmt.Fprintf(s.out, "The server demands no login.\n")
			return nil
		}
	}
	if err := t.Login(ctx, c.wanted(open.challenge)); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx) // the login ends with this program
		}
		return connectError{fmt.Errorf("logging in: %w", err)}
	}
	now, err := t.Status(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Logged in.\n%s", statusText(now, c.kept(ctx, u, now)))
	if seen, err := probe(ctx, t, c.Server); err == nil && seen.refused() {
		return fmt.Errorf("the login succeeded, and the server refuses its token all the same: %s", seen.text())
	}
	return nil
}

// inForce is the login that the server accepts, unless another one is wanted; nil if there is none.
func (c *loginCmd) inForce(ctx context.Context, t *mcpauth.Transport) (*mcpauth.Status, error) {
	had, err := t.Status(ctx)
	if err != nil || had == nil || c.Again || len(c.Scope) > 0 {
		return nil, err
	}
	if seen, err := probe(ctx, t, c.Server); err != nil || seen.refused() {
		return nil, ctx.Err() // a new one will tell
	}
	return t.Status(ctx) // it may have been renewed
}

// wanted adds to a challenge the scopes that the person names.
func (c *loginCmd) wanted(ch *mcpauth.Challenge) *mcpauth.Challenge {
	if ch == nil || len(c.Scope) == 0 {
		return ch
	}
	more := *ch
	more.Scopes = append(slices.Clone(ch.Scopes), c.Scope...)
	return &more
}

// kept says where a login is.
func (f *authFlags) kept(ctx context.Context, u *ui, st *mcpauth.Status) string {
	if f.Tokens == "memory" {
		return "memory: it is gone when this program ends"
	}
	dir, err := f.dir()
	if err != nil {
		return ""
	}
	return newLoginStore(f.Tokens, dir, u).where(ctx, st.Server)
}

// person is whoever sits at the terminal or the browser.
func (c *loginCmd) person(s *streams) *person {
	p := &person{w: s.err, ui: newUI(s.err), dialog: new(sync.Mutex), verbose: c.Verbose}
	p.keys = keyboardOf(s, c.Interact)
	switch {
	case c.Interact == "web":
		p.in = web.New(&web.Options{Tell: tellPage(s.err)})
	case p.keys != nil:
		p.in = terminal.New(p.keys, s.err)
	case c.Interact == "terminal":
		p.in = terminal.New(s.in, s.err)
	}
	return p
}

// A probed is what a server answers to a request that anybody may make.
type probed struct {
	status    int
	challenge *mcpauth.Challenge
}

func (p *probed) refused() bool {
	return p.status == http.StatusUnauthorized || p.status == http.StatusForbidden
}

func (p *probed) ok() bool { return !p.refused() }

// text is what the server said.
func (p *probed) text() string {
	text := fmt.Sprintf("status %d %s", p.status, http.StatusText(p.status))
	if c := p.challenge; c != nil {
		for _, more := range []string{c.Error, c.Description} {
			if more != "" {
				text += ", " + consent.Line(more, 300)
			}
		}
	}
	return text
}

// probe asks a server what it is, which every server answers that demands no login.
func probe(ctx context.Context, rt http.RoundTripper, server string) (*probed, error) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"parley","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", "server/discover")
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection can be used again
	return &probed{status: resp.StatusCode, challenge: mcpauth.ParseChallenge(resp.Header)}, nil
}
