package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// A browser is that of a person who is played: it keeps cookies, follows redirects, and fills in forms.
type browser struct {
	http *http.Client
	stop func(*url.URL) bool // a redirect that is not followed; nil: none
}

func newBrowser() (*browser, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	b := &browser{}
	b.http = &http.Client{Jar: jar, Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 10 || b.stop != nil && b.stop(r.URL) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return b, nil
}

// A webPage is what a browser shows.
type webPage struct {
	url      *url.URL
	status   int
	next     *url.URL // where it would have been redirected to
	title    string   // the first heading
	text     string
	forms    []webForm
	links    []*url.URL
	password string // the text of the element with the id "key"
}

// A webForm is a form of a page.
type webForm struct {
	action  *url.URL
	values  url.Values
	buttons []webButton
}

type webButton struct{ name, value, label string }

// open loads a page.
func (b *browser) open(ctx context.Context, address string) (*webPage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return b.do(req)
}

// press presses the button of a page that begins with a label; fields are names and values that are typed before.
func (b *browser) press(ctx context.Context, p *webPage, label string, fields ...string) (*webPage, error) {
	for _, f := range p.forms {
		for _, button := range f.buttons {
			if !strings.HasPrefix(button.label, label) {
				continue
			}
			values := url.Values{}
			for name, v := range f.values {
				values[name] = v
			}
			if button.name != "" {
				values.Set(button.name, button.value)
			}
			for i := 0; i+1 < len(fields); i += 2 {
				values.Set(fields[i], fields[i+1])
			}
			return b.post(ctx, f.action, values)
		}
	}
	return nil, fmt.Errorf("the page %q has no button %q", p.title, label)
}

// post sends a form, as browsers do: with its origin.
func (b *browser) post(ctx context.Context, to *url.URL, values url.Values) (*webPage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(values.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", to.Scheme+"://"+to.Host)
	return b.do(req)
}

func (b *browser) do(req *http.Request) (*webPage, error) {
	res, err := b.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	root, err := html.Parse(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	p := &webPage{url: res.Request.URL, status: res.StatusCode}
	if to, err := res.Location(); err == nil {
		p.next = to
	}
	p.read(root)
	return p, nil
}

// read takes from a page what a person sees.
func (p *webPage) read(root *html.Node) {
	p.text = textOf(root)
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch {
		case n.Data == "h1" && p.title == "":
			p.title = textOf(n)
		case n.Data == "a":
			if u, err := p.url.Parse(attribute(n, "href")); err == nil {
				p.links = append(p.links, u)
			}
		case n.Data == "form":
			p.forms = append(p.forms, p.form(n))
		case attribute(n, "id") == "key":
			p.password = textOf(n)
		}
	}
}

func (p *webPage) form(n *html.Node) webForm {
	f := webForm{action: p.url, values: url.Values{}}
	if u, err := p.url.Parse(attribute(n, "action")); err == nil {
		f.action = u
	}
	for c := range n.Descendants() {
		switch {
		case c.Type != html.ElementNode:
		case c.Data == "input" && attribute(c, "type") == "hidden":
			f.values.Add(attribute(c, "name"), attribute(c, "value"))
		case c.Data == "button":
			f.buttons = append(f.buttons, webButton{attribute(c, "name"), attribute(c, "value"), textOf(c)})
		}
	}
	return f
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// textOf is the text of an element, with its white space folded.
func textOf(n *html.Node) string {
	var words []string
	for c := range n.Descendants() {
		if c.Type == html.TextNode && c.Parent.Data != "style" && c.Parent.Data != "script" {
			words = append(words, strings.Fields(c.Data)...)
		}
	}
	return strings.Join(words, " ")
}
