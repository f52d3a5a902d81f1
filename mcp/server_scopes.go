package mcp

import (
	"context"
	"fmt"
	"slices"
)

// Scopes returns the scopes that the request's caller needs for what it is about: those of the tool, the prompt, the resource or its
// template; for completion/complete those of what is completed, for resources/subscribe and subscriptions/listen those of the
// resources to hear of. It is nil where nothing is needed: for other methods, for what does not exist, and for anonymous callers on
// transports other than HTTP, who have no tokens. It must not be modified.
func (c *Call) Scopes() []string {
	if c.server == nil {
		return nil
	}
	switch p := &c.exchange.params; c.method {
	case MethodToolsCall:
		return c.ScopesOf(KindTool, c.name)
	case MethodPromptsGet:
		return c.ScopesOf(KindPrompt, c.name)
	case MethodResourcesRead:
		return c.ScopesOf(KindResource, c.name)
	case MethodResourcesSubscribe:
		uri, _ := p.text(paramURI)
		return c.ScopesOf(KindResource, uri)
	case MethodComplete:
		return c.completedScopes()
	case MethodListen:
		return c.heardScopes()
	}
	return nil
}

// ScopesOf returns the scopes that the caller needs for something that the server offers; nil if it needs none, as of [Call.Scopes], or
// if there is no such thing. The name of a resource is its URI, that of a template is the template; a URI that is no registered resource
// has the scopes of the first template that matches it. They must not be modified.
func (c *Call) ScopesOf(kind Kind, name string) []string {
	s := c.server
	if s == nil {
		return nil
	}
	if x := c.exchange; x.Headers == nil && !x.Web && c.principal == nil {
		return nil
	}
	switch kind {
	case KindTool:
		if e, ok := s.tools.get(name); ok {
			return e.tool.Scopes
		}
	case KindPrompt:
		if e, ok := s.prompts.get(name); ok {
			return e.prompt.Scopes
		}
	case KindResourceTemplate:
		if e, ok := s.templates.get(name); ok {
			return e.template.Scopes
		}
	case KindResource:
		return s.resourceScopes(name)
	}
	return nil
}

// resourceScopes finds the scopes of a URI as findResource finds what reads it.
func (s *Server) resourceScopes(uri string) []string {
	if e, ok := s.resources.get(uri); ok {
		return e.resource.Scopes
	}
	for _, e := range s.templates.snapshot() {
		if e.match.matches(uri) {
			return e.template.Scopes
		}
	}
	return nil
}

// completedScopes are those of what is completed. Params that cannot be read are refused later.
func (c *Call) completedScopes() []string {
	var ref Reference
	if raw := c.exchange.params.member(paramRef); len(raw) == 0 || unmarshalJSON(raw, &ref) != nil {
		return nil
	}
	switch {
	case ref.Type == RefPrompt:
		return c.ScopesOf(KindPrompt, ref.Name)
	case ref.Type != RefResource:
		return nil
	}
	if _, ok := c.server.templates.get(ref.URI); ok {
		return c.ScopesOf(KindResourceTemplate, ref.URI)
	}
	return c.ScopesOf(KindResource, ref.URI)
}

// heardScopes are those of the resources that a listen stream is to tell of. Params that cannot be read are refused later.
func (c *Call) heardScopes() []string {
	f, err := c.server.listenFilter(c)
	if err != nil {
		return nil
	}
	var all []string
	for _, uri := range f.ResourceSubscriptions {
		for _, scope := range c.ScopesOf(KindResource, uri) {
			if !slices.Contains(all, scope) {
				all = append(all, scope)
			}
		}
	}
	return all
}

// holdsScopes is what [ServerOptions.Authorize] is by default.
func holdsScopes(_ context.Context, c *Call) error {
	for _, scope := range c.Scopes() {
		if !c.principal.HasScope(scope) {
			return missingScopeError(scope)
		}
	}
	return nil
}

// A missingScopeError says which scope the caller lacks. It is for the log.
type missingScopeError string

func (e missingScopeError) Error() string {
	return fmt.Sprintf("the caller lacks the scope %q; mcpauth.Resource.Protect tells clients which scopes they need", string(e))
}

// checkScopes holds declared scopes to the grammar of RFC 6749 section 3.3, since challenges carry them.
func checkScopes(scopes []string) error {
	for _, s := range scopes {
		if s == "" {
			return fmt.Errorf("in Scopes: a scope is empty")
		}
		for _, b := range []byte(s) {
			if b <= ' ' || b > '~' || b == '"' || b == '\\' {
				return fmt.Errorf("in Scopes: %q: visible ASCII characters but for %s and %s are allowed", s, `"`, `\`)
			}
		}
	}
	return nil
}
