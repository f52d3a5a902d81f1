package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
)

// A person is whoever can be asked to log in while a command runs: in the way in which servers' questions are asked.
type person struct {
	in      *mcp.Interactor // nil: nobody
	keys    *keyboard       // nil: no terminal
	w       io.Writer
	ui      *ui
	dialog  *sync.Mutex // held while somebody is asked something
	verbose bool
}

// login is how the person logs in: they agree to open the page, and the answer comes back to this computer, or is pasted.
func (p *person) login(callback string, timeout time.Duration) mcpauth.LoginFunc {
	o := &mcpauth.LoopbackOptions{RedirectURI: callback, Timeout: timeout, Open: p.open}
	if p.keys != nil {
		o.Paste = p.paste
	}
	begin := mcpauth.Loopback(o)
	return func(ctx context.Context, start *mcpauth.LoginStart) (mcpauth.Login, error) {
		if p.in == nil || p.in.Open == nil {
			return nil, errNoLogin // before anything is registered
		}
		return begin(ctx, start)
	}
}

// open has the person agree to open the page, with the same look at its address as for pages of servers.
func (p *person) open(ctx context.Context, r *mcpauth.LoginRequest) error {
	p.dialog.Lock()
	defer p.dialog.Unlock()
	defer p.ui.pause()()
	res, err := p.in.Open(ctx, &mcp.OpenQuestion{Asked: mcp.Asked{Origin: originOf(r.Server)}, Message: loginText(r), URL: r.URL})
	switch {
	case errors.Is(err, mcp.ErrUnavailable):
		return fmt.Errorf("%w: %w", errNoLogin, err)
	case err != nil:
		return err
	case res.Action != mcp.ActionAccept:
		return mcpauth.ErrLoginDeclined
	}
	return nil
}

// loginText says what the person is asked for.
func loginText(r *mcpauth.LoginRequest) string {
	issuer, scopes := consent.Line(r.Issuer, 300), r.Scopes
	text := "It wants you to log in at " + issuer + ". What you enter there stays there; this program gets the permission to act for you"
	if r.Had != nil {
		text = "What you want it to do needs more than you allowed it before. It wants you to log in again at " + issuer + ", for more"
		scopes = slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(r.Had, s) })
	}
	if len(scopes) > 0 {
		noun := "scope "
		if len(scopes) > 1 {
			noun = "scopes "
		}
		text += ", with the " + noun + consent.Line(strings.Join(scopes, ", "), 1000)
	}
	return text + "."
}

func originOf(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	return u.Host
}

// paste waits for the address that the browser ended at, for browsers on other computers.
func (p *person) paste(ctx context.Context, r *mcpauth.LoginRequest) (string, error) {
	p.dialog.Lock()
	defer p.dialog.Unlock()
	defer p.ui.pause()()
	if r.Problem != "" {
		fmt.Fprintf(p.w, "%s\n", ownLine(strings.TrimPrefix(r.Problem, "mcpauth: ")))
	} else {
		fmt.Fprintf(p.w, "If the browser is on another computer, it ends at a page that cannot be\nshown: paste the address of that page here. c = give up\n")
	}
	for {
		fmt.Fprint(p.w, "› ")
		line, err := p.keys.line(ctx)
		switch {
		case ctx.Err() != nil: // the answer came by itself
			fmt.Fprint(p.w, "\n")
			return "", context.Cause(ctx)
		case errors.Is(err, io.EOF), strings.EqualFold(line, "c"), strings.EqualFold(line, "cancel"):
			fmt.Fprint(p.w, "\n")
			return "", mcpauth.ErrLoginDeclined
		case err != nil:
			return "", err
		case line != "":
			return line, nil
		}
	}
}
