package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// ListTools fetches one page of the server's tools; nil params mean the first. Tools that cannot be used are left out with a line in
// the client's log: those without a name or a schema, and over HTTP those whose x-mcp-header is invalid. A tool that is fine stays
// fine beside one that is not.
func (c *Client) ListTools(ctx context.Context, p *ListToolsParams, opts ...*RequestOptions) (*ListToolsResult, error) {
	res, _, err := c.toolsPage(ctx, p, pickOptions(opts))
	return res, err
}

func (c *Client) toolsPage(ctx context.Context, p *ListToolsParams, o *RequestOptions) (*ListToolsResult, pageFacts, error) {
	res := new(ListToolsResult)
	items, facts, err := fetchPage[Tool](ctx, c, pageQuery{MethodToolsList, "tools", p, o}, res)
	if err != nil {
		return nil, facts, err
	}
	conn, err := c.connection(ctx)
	if err != nil {
		return nil, facts, err
	}
	res.Tools = c.tools.learn(c, conn.agreed(), items)
	return res, facts, nil
}

// ListPrompts fetches one page of the server's prompts; nil params mean the first.
func (c *Client) ListPrompts(ctx context.Context, p *ListPromptsParams, opts ...*RequestOptions) (*ListPromptsResult, error) {
	res, _, err := c.promptsPage(ctx, p, pickOptions(opts))
	return res, err
}

func (c *Client) promptsPage(ctx context.Context, p *ListPromptsParams, o *RequestOptions) (*ListPromptsResult, pageFacts, error) {
	res := new(ListPromptsResult)
	items, facts, err := fetchPage[Prompt](ctx, c, pageQuery{MethodPromptsList, "prompts", p, o}, res)
	res.Prompts = keep(c, MethodPromptsList, items, func(p *Prompt) bool { return p.Name != "" })
	return res, facts, err
}

// ListResources fetches one page of the server's resources; nil params mean the first.
func (c *Client) ListResources(ctx context.Context, p *ListResourcesParams, opts ...*RequestOptions) (*ListResourcesResult, error) {
	res, _, err := c.resourcesPage(ctx, p, pickOptions(opts))
	return res, err
}

func (c *Client) resourcesPage(ctx context.Context, p *ListResourcesParams, o *RequestOptions) (*ListResourcesResult, pageFacts, error) {
	res := new(ListResourcesResult)
	items, facts, err := fetchPage[Resource](ctx, c, pageQuery{MethodResourcesList, "resources", p, o}, res)
	res.Resources = keep(c, MethodResourcesList, items, func(r *Resource) bool { return r.URI != "" })
	return res, facts, err
}

// ListResourceTemplates fetches one page of the server's resource templates; nil params mean the first.
func (c *Client) ListResourceTemplates(ctx context.Context, p *ListResourceTemplatesParams, opts ...*RequestOptions) (*ListResourceTemplatesResult, error) {
	res, _, err := c.templatesPage(ctx, p, pickOptions(opts))
	return res, err
}

func (c *Client) templatesPage(ctx context.Context, p *ListResourceTemplatesParams, o *RequestOptions) (*ListResourceTemplatesResult, pageFacts, error) {
	res := new(ListResourceTemplatesResult)
	items, facts, err := fetchPage[ResourceTemplate](ctx, c, pageQuery{MethodResourcesTemplatesList, "resourceTemplates", p, o}, res)
	res.ResourceTemplates = keep(c, MethodResourcesTemplatesList, items, func(t *ResourceTemplate) bool { return t.URITemplate != "" })
	return res, facts, err
}

// Tools returns the server's tools, page after page as they are needed, each name once. An iteration ends with an error when a page
// cannot be had, when the server's cursors go in a circle, and beyond [ClientOptions.MaxPages].
func (c *Client) Tools(ctx context.Context, opts ...*RequestOptions) iter.Seq2[*Tool, error] {
	o := pickOptions(opts)
	return pages(c, MethodToolsList, func(t *Tool) string { return t.Name }, func(p *PaginatedParams) ([]*Tool, *Cursor, pageFacts, error) {
		res, facts, err := c.toolsPage(ctx, p, o)
		if err != nil {
			return nil, nil, facts, err
		}
		return res.Tools, res.NextCursor, facts, nil
	})
}

// Prompts returns the server's prompts, as [Client.Tools] does tools.
func (c *Client) Prompts(ctx context.Context, opts ...*RequestOptions) iter.Seq2[*Prompt, error] {
	o := pickOptions(opts)
	return pages(c, MethodPromptsList, func(p *Prompt) string { return p.Name }, func(p *PaginatedParams) ([]*Prompt, *Cursor, pageFacts, error) {
		res, facts, err := c.promptsPage(ctx, p, o)
		return res.Prompts, res.NextCursor, facts, err
	})
}

// Resources returns the server's resources, as [Client.Tools] does tools.
func (c *Client) Resources(ctx context.Context, opts ...*RequestOptions) iter.Seq2[*Resource, error] {
	o := pickOptions(opts)
	return pages(c, MethodResourcesList, func(r *Resource) string { return r.URI }, func(p *PaginatedParams) ([]*Resource, *Cursor, pageFacts, error) {
		res, facts, err := c.resourcesPage(ctx, p, o)
		return res.Resources, res.NextCursor, facts, err
	})
}

// ResourceTemplates returns the server's resource templates, as [Client.Tools] does tools.
func (c *Client) ResourceTemplates(ctx context.Context, opts ...*RequestOptions) iter.Seq2[*ResourceTemplate, error] {
	o := pickOptions(opts)
	return pages(c, MethodResourcesTemplatesList, func(t *ResourceTemplate) string { return t.URITemplate }, func(p *PaginatedParams) ([]*ResourceTemplate, *Cursor, pageFacts, error) {
		res, facts, err := c.templatesPage(ctx, p, o)
		return res.ResourceTemplates, res.NextCursor, facts, err
	})
}

// A pageQuery asks for one page of a list.
type pageQuery struct {
	method, field string
	params        *PaginatedParams
	opts          *RequestOptions
}

// pageFacts tell where a page came from and what it looked like.
type pageFacts struct {
	fresh bool // asked for, not kept
	raw   json.RawMessage
}

// fetchPage fetches one page, decodes what surrounds the items into res, and returns the items one by one, those that are malformed
// left out.
func fetchPage[T any](ctx context.Context, c *Client, q pageQuery, res any) ([]*T, pageFacts, error) {
	var (
		raw    json.RawMessage
		params any
		facts  pageFacts
		err    error
	)
	if q.params != nil {
		params = q.params
	}
	if facts.fresh, err = c.cached(ctx, q.method, params, &raw, q.opts); err != nil {
		return nil, facts, err
	}
	facts.raw = raw
	bad := func(err error) error { return &ResultError{Method: q.method, Result: raw, Err: err} }
	list := memberOf(raw, q.field)
	var items []json.RawMessage
	if len(list) == 0 || list[0] != '[' {
		return nil, facts, bad(fmt.Errorf("it has no list %q", q.field))
	}
	if items, err = elementsOf(list, maxListItems); err != nil {
		return nil, facts, bad(err)
	}
	rest, err := withMembers(raw, member{q.field, json.RawMessage("[]")})
	if err != nil {
		return nil, facts, bad(err)
	}
	if err := decodeResult(q.method, rest, res); err != nil {
		return nil, facts, err
	}
	out := make([]*T, 0, len(items))
	left := omissions{client: c}
	defer left.end()
	for i, item := range items {
		v := new(T)
		if err := unmarshalJSON(item, v); err != nil || string(item) == "null" {
			left.note("mcp: left out a malformed entry of a list", "method", q.method, "index", i, "err", err)
			continue
		}
		out = append(out, v)
	}
	return out, facts, nil
}

// omissions tells the log what was left out of a list, and after a while only how much more.
type omissions struct {
	client *Client
	n      int
}

// maxOmissionsTold bounds the lines for one list.
const maxOmissionsTold = 10

func (o *omissions) note(msg string, args ...any) {
	if o.n++; o.n <= maxOmissionsTold {
		o.client.log.Warn(msg, append([]any{"server", o.client.origin}, args...)...)
	}
}

func (o *omissions) end() {
	if more := o.n - maxOmissionsTold; more > 0 {
		o.client.log.Warn("mcp: left out more entries of the list", "server", o.client.origin, "entries", more)
	}
}

// keep leaves out entries that nobody could refer to.
func keep[T any](c *Client, method string, items []*T, ok func(*T) bool) []*T {
	out := make([]*T, 0, len(items))
	left := omissions{client: c}
	defer left.end()
	for _, v := range items {
		if !ok(v) {
			left.note("mcp: left out an entry of a list that has no name", "method", method)
			continue
		}
		out = append(out, v)
	}
	return out
}

// pages iterates over all pages of a list.
func pages[T any](c *Client, method string, key func(*T) string, fetch func(*PaginatedParams) ([]*T, *Cursor, pageFacts, error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		w := &pageWalk{client: c, method: method}
		w.restart()
		names := make(map[string]bool)
		for {
			items, next, facts, err := fetch(w.params)
			if err != nil && w.stale(err) {
				continue
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if w.repeats(facts) {
				return
			}
			for _, v := range items {
				if names[key(v)] {
					continue
				}
				names[key(v)] = true
				if !yield(v, nil) {
					return
				}
			}
			if next == nil {
				return
			}
			if err := w.advance(*next, len(names)); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// A pageWalk is the state of an iteration over pages.
type pageWalk struct {
	client    *Client
	method    string
	params    *PaginatedParams
	seen      map[Cursor]bool
	last      json.RawMessage // the page before
	kept      bool            // a page came from the cache
	restarted bool
}

func (w *pageWalk) restart() {
	w.params, w.seen, w.last, w.kept = &PaginatedParams{}, make(map[Cursor]bool), nil, false
}

// stale deals with a cursor that the server refuses although it came from a page that was kept: the kept pages are dropped and the
// iteration begins again, once.
func (w *pageWalk) stale(err error) bool {
	var e *jsonrpc.Error
	if !w.kept || w.restarted || w.params.Cursor == nil || !errors.As(err, &e) {
		return false
	}
	w.restarted = true
	w.client.opts.Cache.drop(w.client.cacheServer(), func(k cacheKey) bool { return k.method == w.method })
	w.restart()
	return true
}

// repeats reports whether an empty cursor brought the page before once more: some servers of the handshake era mean by it that there
// is no other.
func (w *pageWalk) repeats(facts pageFacts) bool {
	w.kept = w.kept || !facts.fresh
	again := w.params.Cursor != nil && *w.params.Cursor == "" && string(facts.raw) == string(w.last)
	w.last = facts.raw
	return again
}

// advance goes on to the next page.
func (w *pageWalk) advance(next Cursor, items int) error {
	limit := w.client.opts.MaxPages
	switch {
	case w.seen[next]:
		return &ResultError{Method: w.method, Result: w.last, Err: fmt.Errorf("the cursor %q came before: the pages go in a circle", clip(string(next), 50))}
	case len(w.seen)+1 >= limit:
		return fmt.Errorf("mcp: %s: more than %d pages (ClientOptions.MaxPages)", w.method, limit)
	case items > maxListItems:
		return fmt.Errorf("mcp: %s: more than %d entries", w.method, maxListItems)
	}
	w.seen[next] = true
	w.params = &PaginatedParams{Cursor: &next}
	return nil
}
