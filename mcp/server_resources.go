package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"

	"github.com/seed38e7925c/parley/internal/era"
)

// A ResourceHandler reads a resource. Contents without a URI get that of the request, those without a MIME type that of the resource.
// An error that wraps [ErrNotFound] says that there is no such resource.
type ResourceHandler func(ctx context.Context, call *Call) (*ReadResourceResult, error)

// A TemplateHandler reads a resource of a template; vars are the values that the URI has for the template's variables.
type TemplateHandler func(ctx context.Context, call *Call, vars TemplateVars) (*ReadResourceResult, error)

// TemplateVars are the values of a URI template's variables, decoded. They come from the client: a value may hold "..", slashes where
// the template allows them, or anything else that percent-encoding can write.
type TemplateVars map[string][]string

// Get returns the first value of a variable, "" if it has none.
func (v TemplateVars) Get(name string) string {
	if values := v[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// A resourceEntry is a registered resource.
type resourceEntry struct {
	resource *Resource // the server's own copy
	seq      int64
	read     ResourceHandler
	wire     [era.Latest + 1]atomic.Pointer[[]byte]
}

func (e *resourceEntry) id() string    { return e.resource.URI }
func (e *resourceEntry) order() *int64 { return &e.seq }

// A templateEntry is a registered resource template.
type templateEntry struct {
	template *ResourceTemplate // the server's own copy
	seq      int64
	match    *templateMatcher
	read     TemplateHandler
	complete atomic.Pointer[CompleteHandler]
	wire     [era.Latest + 1]atomic.Pointer[[]byte]
}

func (e *templateEntry) id() string    { return e.template.URITemplate }
func (e *templateEntry) order() *int64 { return &e.seq }

// AddResource adds a resource to the server and tells clients that the list has changed. It panics if the resource cannot be
// registered; [RegisterResource] returns the error instead.
func AddResource(s *Server, r *Resource, h ResourceHandler) {
	if err := RegisterResource(s, r, h); err != nil {
		panic(err)
	}
}

// RegisterResource is [AddResource] for resources that are not known when the program is written: it returns what is wrong, such as a
// URI that is none or is taken.
func RegisterResource(s *Server, r *Resource, h ResourceHandler) error {
	switch {
	case h == nil:
		return errors.New("mcp: a resource needs a handler")
	case r == nil || r.URI == "":
		return errors.New("mcp: a resource needs a URI")
	case r.Name == "":
		return fmt.Errorf("mcp: resource %q needs a name", r.URI)
	}
	if u, err := url.Parse(r.URI); err != nil || u.Scheme == "" {
		return fmt.Errorf("mcp: resource %q: the URI must be absolute, as in file:///etc/motd", r.URI)
	}
	if err := errors.Join(checkDeclared(r.Asks), checkScopes(r.Scopes)); err != nil {
		return fmt.Errorf("mcp: resource %q: %w", clip(r.URI, maxQuotedName), err)
	}
	resource := *r
	resource.Asks = declare(r.Asks)
	if err := s.resources.add(&resourceEntry{resource: &resource, read: h}); err != nil {
		return fmt.Errorf("mcp: resource %w", err)
	}
	s.changed(resourcesChanged)
	return nil
}

// AddResourceTemplate adds a template of RFC 6570, as in "file:///logs/{day}", whose resources h reads. A URI that is a registered
// resource is read as that; otherwise the first template that matches wins, in the order of registration. It panics if the template
// cannot be registered; [RegisterResourceTemplate] returns the error instead.
func AddResourceTemplate(s *Server, t *ResourceTemplate, h TemplateHandler) {
	if err := RegisterResourceTemplate(s, t, h); err != nil {
		panic(err)
	}
}

// RegisterResourceTemplate is [AddResourceTemplate] for templates that are not known when the program is written: it returns what is
// wrong.
func RegisterResourceTemplate(s *Server, t *ResourceTemplate, h TemplateHandler) error {
	switch {
	case h == nil:
		return errors.New("mcp: a resource template needs a handler")
	case t == nil || t.URITemplate == "":
		return errors.New("mcp: a resource template needs a URI template")
	case t.Name == "":
		return fmt.Errorf("mcp: resource template %q needs a name", t.URITemplate)
	}
	match, err := newTemplateMatcher(t.URITemplate)
	if err != nil {
		return fmt.Errorf("mcp: resource template %q: %w", clip(t.URITemplate, maxQuotedName), err)
	}
	if err := errors.Join(checkDeclared(t.Asks), checkScopes(t.Scopes)); err != nil {
		return fmt.Errorf("mcp: resource template %q: %w", clip(t.URITemplate, maxQuotedName), err)
	}
	template := *t
	template.Asks = declare(t.Asks)
	if err := s.templates.add(&templateEntry{template: &template, match: match, read: h}); err != nil {
		return fmt.Errorf("mcp: resource template %w", err)
	}
	s.changed(resourcesChanged)
	return nil
}

// RemoveResources removes resources by their URIs, tells clients that the list has changed, and returns how many there were.
func (s *Server) RemoveResources(uris ...string) int {
	return s.removedResources(s.resources.remove(uris...))
}

// RemoveResourceTemplates removes templates as they were registered, tells clients that the list has changed, and returns how many
// there were.
func (s *Server) RemoveResourceTemplates(templates ...string) int {
	return s.removedResources(s.templates.remove(templates...))
}

func (s *Server) removedResources(n int) int {
	if n > 0 {
		s.changed(resourcesChanged)
	}
	return n
}

// item returns the resource as it stands in lists of the revision.
func (e *resourceEntry) item(rev Revision) []byte {
	return cachedItem(&e.wire[rev], func() ([]byte, error) {
		r, f := *e.resource, &rev.Rules().Fields
		r.Title, r.Icons, r.Meta, r.Annotations = fitListed(f, r.Title, r.Icons, r.Meta, r.Annotations)
		return marshalJSON(&r)
	})
}

// item returns the template as it stands in lists of the revision.
func (e *templateEntry) item(rev Revision) []byte {
	return cachedItem(&e.wire[rev], func() ([]byte, error) {
		t, f := *e.template, &rev.Rules().Fields
		t.Title, t.Icons, t.Meta, t.Annotations = fitListed(f, t.Title, t.Icons, t.Meta, t.Annotations)
		return marshalJSON(&t)
	})
}

// cachedItem encodes an entry once. Descriptions of resources always encode.
func cachedItem(cache *atomic.Pointer[[]byte], encode func() ([]byte, error)) []byte {
	if p := cache.Load(); p != nil {
		return *p
	}
	enc, err := encode()
	if err != nil {
		enc = nil
	}
	cache.Store(&enc)
	return enc
}

// fitListed drops descriptive members that the revision lacks.
func fitListed(f *era.Fields, title string, icons []Icon, meta Meta, a *Annotations) (string, []Icon, Meta, *Annotations) {
	if !f.Title {
		title = ""
	}
	if !f.Icons {
		icons = nil
	}
	if !f.Meta {
		meta = nil
	}
	if a != nil && !f.LastModified {
		plain := *a
		plain.LastModified = ""
		a = &plain
	}
	return title, icons, meta, a
}

// listResources serves resources/list.
func (s *Server) listResources(_ context.Context, c *Call) (any, error) {
	return listPage(s, c, &s.resources, "resources", KindResource)
}

// listTemplates serves resources/templates/list.
func (s *Server) listTemplates(_ context.Context, c *Call) (any, error) {
	return listPage(s, c, &s.templates, "resourceTemplates", KindResourceTemplate)
}

// readResource serves resources/read.
func (s *Server) readResource(ctx context.Context, c *Call) (any, error) {
	uri, state := c.exchange.params.text(paramURI)
	if state != era.Valid {
		return nil, invalidParams("params.uri must be a string: the URI of the resource")
	}
	asks, mime, read := s.findResource(c, uri)
	if read == nil {
		return nil, notFound(c)
	}
	return ask(ctx, c, asks, func(ctx context.Context) (any, error) {
		result, err := read(ctx, c)
		switch {
		case err != nil:
			return nil, err
		case result == nil:
			return nil, errNoResult
		}
		return fillContents(result, uri, mime), nil
	})
}

// findResource finds what reads a URI: a resource of that URI, or the first template that matches.
func (s *Server) findResource(c *Call, uri string) (asks []*Question, mime string, read ResourceHandler) {
	if e, ok := s.resources.get(uri); ok {
		if !s.visible(c, KindResource, uri) {
			return nil, "", nil
		}
		return e.resource.Asks, e.resource.MIMEType, e.read
	}
	for _, e := range s.templates.snapshot() {
		vars := e.match.match(uri)
		if vars == nil || !s.visible(c, KindResourceTemplate, e.id()) {
			continue
		}
		return e.template.Asks, e.template.MIMEType, func(ctx context.Context, c *Call) (*ReadResourceResult, error) {
			return e.read(ctx, c, vars)
		}
	}
	return nil, "", nil
}

// fillContents gives contents the URI and MIME type that their handler left out.
func fillContents(r *ReadResourceResult, uri, mime string) *ReadResourceResult {
	out := *r
	out.Contents = make([]*ResourceContents, 0, len(r.Contents))
	for _, rc := range r.Contents {
		if rc == nil {
			continue
		}
		filled := *rc
		if filled.URI == "" {
			filled.URI = uri
		}
		if filled.MIMEType == "" {
			filled.MIMEType = mime
		}
		out.Contents = append(out.Contents, &filled)
	}
	return &out
}

// unknownName says that there is no tool or prompt of that name. The data lets clients tell it from bad arguments.
func unknownName(what, name string) *Error {
	e := invalidParams("unknown %s: %s", what, clip(name, maxQuotedName))
	e.Data = nameData(what, name)
	return e
}

// nameData is {"what":"name"}.
func nameData(what, name string) json.RawMessage {
	data := append(appendText([]byte{'{'}, what), ':')
	return append(appendText(data, name), '}')
}

// notFound says that what the call is about does not exist, in the words of its revision.
func notFound(c *Call) *Error {
	name := clip(c.name, maxQuotedName)
	if c.method == MethodPromptsGet {
		return &Error{Code: CodeInvalidParams, Message: "not found: " + name, Data: nameData("prompt", c.name)}
	}
	if c.method != MethodResourcesRead && c.method != MethodResourcesSubscribe {
		return invalidParams("not found: %s", name)
	}
	return &Error{
		Code:    c.rev.Rules().CodeResourceNotFound,
		Message: "resource not found: " + name,
		Data:    nameData("uri", c.name),
	}
}
