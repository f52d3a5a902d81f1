package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// An intruder is Bob. He has an account at the same provider, and gets every link that Alice is shown: by phishing, or over her shoulder.
type intruder struct {
	visitor visitor
	world   *demoWorld
	links   int
	forged  int
}

func newIntruder(out io.Writer, w *demoWorld) (*intruder, error) {
	b, err := newBrowser()
	if err != nil {
		return nil, err
	}
	tell := func(format string, args ...any) {
		transcribe(out, "bob, intruding", fmt.Sprintf(format, args...))
	}
	return &intruder{visitor: visitor{name: "Bob", browser: b, site: w.site, tell: tell}, world: w}, nil
}

const wrongPerson = "This request is not yours"

// tryLink opens a link as himself, and sends its form although he is not shown it.
func (i *intruder) tryLink(ctx context.Context, link string) error {
	i.links++
	before, err := i.world.server.stored(ctx)
	if err != nil {
		return err
	}
	i.visitor.tell("has got the link, and opens it in his own browser")
	if err := i.visitor.walk(ctx, link, wrongPerson); err != nil {
		return err
	}
	to, err := url.Parse(link)
	if err != nil {
		return err
	}
	i.visitor.tell("sends its form all the same, with a key of his own and a yes")
	p, err := i.visitor.browser.post(ctx, to, url.Values{"do": {"submit"}, "f-value": {"rk_demo_bobs"}})
	if err != nil {
		return err
	}
	return i.refused(ctx, p, before)
}

// replay opens the address with the provider's answer, which he has got hold of, before Alice's browser does.
func (i *intruder) replay(ctx context.Context, to *url.URL) error {
	i.visitor.tell("has got the answer of Rail AG that is meant for alice's browser, and opens %s://%s%s?… himself", to.Scheme, to.Host, to.Path)
	return i.tryCallback(ctx, to)
}

// forge makes up an answer of the provider for the request behind a link.
func (i *intruder) forge(ctx context.Context, id string) error {
	to, err := url.Parse(i.world.server.pages + "callback/rail?" + url.Values{"state": {id + "0123456789abcdef"}, "code": {"guessed"}}.Encode())
	if err != nil {
		return err
	}
	i.visitor.tell("makes up an answer of Rail AG, and opens %s://%s%s?… with it", to.Scheme, to.Host, to.Path)
	return i.tryCallback(ctx, to)
}

func (i *intruder) tryCallback(ctx context.Context, to *url.URL) error {
	i.forged++
	before, err := i.world.server.stored(ctx)
	if err != nil {
		return err
	}
	redeemed := i.world.company.people.Count(idp.GrantCode)
	p, err := i.visitor.browser.open(ctx, to.String())
	if err != nil {
		return err
	}
	if i.world.company.people.Count(idp.GrantCode) != redeemed {
		return errors.New("the code that Bob replayed was redeemed")
	}
	return i.refused(ctx, p, before)
}

// refused makes sure that a page is a refusal, and that nothing was stored.
func (i *intruder) refused(ctx context.Context, p *webPage, before int) error {
	after, err := i.world.server.stored(ctx)
	switch {
	case err != nil:
		return err
	case p.status < 400:
		return fmt.Errorf("Bob was let in: status %d, %q", p.status, p.title)
	case after != before:
		return fmt.Errorf("after what Bob did there are %d secrets and grants in the store, before there were %d", after, before)
	}
	i.visitor.tell("%s: %d, %q. What the server keeps, of anybody, is as before: %d", i.world.site(p.url), p.status, p.title, after)
	return nil
}

// before has Bob try each link before the person is asked. He makes up an answer of Rail AG, too.
func (i *intruder) before(open func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error)) func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
	return func(ctx context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		if id, ours := strings.CutPrefix(q.URL, i.world.server.pages+"i/"); ours {
			if err := i.tryLink(ctx, q.URL); err != nil {
				return nil, err
			}
			if err := i.forge(ctx, id); err != nil {
				return nil, err
			}
		}
		return open(ctx, q)
	}
}

// failed makes sure that Bob tried, and that Alice can read of it. It does nothing for a nil intruder.
func (i *intruder) failed(ctx context.Context, alice *actor) error {
	if i == nil {
		return nil
	}
	if i.links != 3 || i.forged == 0 {
		return fmt.Errorf("Bob has tried %d links and %d answers, and should have tried 3 and some", i.links, i.forged)
	}
	if alice == nil {
		return nil
	}
	p, err := alice.visitor.browser.open(ctx, i.world.server.pages+"audit")
	if err != nil {
		return err
	}
	n := strings.Count(p.text, "Opened by somebody else")
	if n == 0 {
		return fmt.Errorf("Alice does not read of what Bob tried: %s", p.text)
	}
	alice.say("alice → page", "%s: %q says %d times \"Opened by somebody else\"", i.world.site(p.url), p.title, n)
	return nil
}
