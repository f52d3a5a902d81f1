package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
)

// A visitor is a person who is played at a browser: they do what each page asks for.
type visitor struct {
	name     string // as the providers call them
	browser  *browser
	site     func(*url.URL) string // whose a page is
	tell     func(format string, args ...any)
	code     string // that the host has shown, for a server on this computer
	mistyped bool
	// callback is called with the address at which a provider's answer comes in, before it is opened. nil: nobody looks.
	callback func(ctx context.Context, to *url.URL) error
}

// maxSteps bounds a way through pages.
const maxSteps = 12

// walk goes from page to page until one begins with a text.
func (v *visitor) walk(ctx context.Context, address, end string) error {
	p, err := v.browser.open(ctx, address)
	for range maxSteps {
		switch {
		case err != nil:
			return err
		case p.next != nil && v.callback != nil:
			if err := v.callback(ctx, p.next); err != nil {
				return err
			}
			p, err = v.browser.open(ctx, p.next.String())
			continue
		case strings.HasPrefix(p.heading(), end):
			v.tell("%s: %q", v.site(p.url), p.heading())
			return nil
		}
		p, err = v.step(ctx, p)
	}
	if err == nil {
		err = fmt.Errorf("%s has not come to the page %q, but to %q", v.name, end, p.heading())
	}
	return err
}

// heading is what a page begins with.
func (p *webPage) heading() string {
	if p.title != "" {
		return p.title
	}
	text, _, _ := strings.Cut(p.text, ".")
	return text
}

// has reports whether a page has a button that begins so.
func (p *webPage) has(label string) (string, bool) {
	for _, f := range p.forms {
		for _, b := range f.buttons {
			if strings.HasPrefix(b.label, label) {
				return b.label, true
			}
		}
	}
	return "", false
}

// step does what one page asks for.
func (v *visitor) step(ctx context.Context, p *webPage) (*webPage, error) {
	if _, ok := p.has("Save"); ok {
		return v.bringKey(ctx, p)
	}
	if p.title == "Enter the code from your app" {
		v.tell("%s: %q; types the code that the host has shown", v.site(p.url), p.title)
		return v.browser.press(ctx, p, "Continue", "code", v.code)
	}
	for _, label := range []string{"Continue as " + v.name, "Continue to ", "Allow", "Approve"} {
		if found, ok := p.has(label); ok {
			if label != "Continue to " {
				found = label // without the address below it
			}
			v.tell("%s: %q; presses %q", v.site(p.url), p.title, found)
			return v.browser.press(ctx, p, label)
		}
	}
	return nil, fmt.Errorf("%s does not know what to do at the page %q (status %d): %s", v.name, p.title, p.status, p.text)
}

// bringKey follows the link to where the API key is, and types it; wrongly at first.
func (v *visitor) bringKey(ctx context.Context, p *webPage) (*webPage, error) {
	if !v.mistyped {
		v.mistyped = true
		v.tell("%s: %q; types half of the key and presses \"Save\"", v.site(p.url), p.title)
		next, err := v.browser.press(ctx, p, "Save", "f-value", "rk_demo_")
		if err == nil && !strings.Contains(next.text, "Rail AG does not know this key") {
			err = fmt.Errorf("a wrong API key was not refused: %s", next.text)
		}
		if err == nil {
			v.tell("%s: \"Rail AG does not know this key\"", v.site(p.url))
		}
		return next, err
	}
	for _, link := range p.links {
		if link.Path != "/account/key" {
			continue
		}
		there, err := v.browser.open(ctx, link.String())
		if err != nil {
			return nil, err
		}
		v.tell("%s: %q; copies it", v.site(there.url), there.title)
		v.tell("%s: types all %d characters of it and presses \"Save\"", v.site(p.url), len(there.password))
		return v.browser.press(ctx, p, "Save", "f-value", there.password)
	}
	return nil, fmt.Errorf("the page %q does not say where the key is", p.title)
}
