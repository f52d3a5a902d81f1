package mcpauth

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// Protect returns options for a server whose tools, prompts and resources are protected by their Scopes: o, which may be nil and is not
// changed, with [mcp.ServerOptions.Authorize] and, by [ResourceOptions.Hide], Visible. Hooks that o has are called afterwards.
func (r *Resource) Protect(o *mcp.ServerOptions) *mcp.ServerOptions {
	var p mcp.ServerOptions
	if o != nil {
		p = *o
	}
	if then := p.Authorize; then == nil {
		p.Authorize = r.Authorize
	} else {
		p.Authorize = func(ctx context.Context, call *mcp.Call) error {
			if err := r.Authorize(ctx, call); err != nil {
				return err
			}
			return then(ctx, call)
		}
	}
	if !r.opts.Hide {
		return &p
	}
	if then := p.Visible; then == nil {
		p.Visible = r.Visible
	} else {
		p.Visible = func(call *mcp.Call, kind mcp.Kind, name string) bool {
			return r.Visible(call, kind, name) && then(call, kind, name)
		}
	}
	return &p
}

// Authorize refuses a call whose caller lacks scopes that it needs ([mcp.Call.Scopes]), with a status of 403 and a challenge that names
// all scopes that the call needs; an anonymous one with 401. Callers on stdio and pipes, who have no tokens, are not asked for any. It is
// [mcp.ServerOptions.Authorize].
//
// Where the resource hides what cannot be used, what the call is about is left to Visible.
func (r *Resource) Authorize(_ context.Context, call *mcp.Call) error {
	needed := call.Scopes()
	p := call.Principal()
	if len(needed) == 0 || r.opts.Hide && hidden(call.Method()) || holds(p, needed) {
		return nil
	}
	all := slices.Clone(r.opts.Scopes)
	for _, s := range needed {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if p == nil {
		return r.refuse(http.StatusUnauthorized, challenge{scopes: all}, "an access token is needed for this")
	}
	return r.insufficient(all)
}

// hidden reports whether what a request is about is hidden from who cannot use it, so that its scopes must not be told.
func hidden(method string) bool {
	switch method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead, mcp.MethodComplete, mcp.MethodResourcesSubscribe, mcp.MethodListen:
		return true
	}
	return false
}

// insufficient makes the refusal of a token that is valid and does not suffice.
func (r *Resource) insufficient(scopes []string) *mcphttp.AuthError {
	message := fmt.Sprintf("this needs the scope %s", strings.Join(scopes, " "))
	return r.refuse(http.StatusForbidden, challenge{code: "insufficient_scope", description: message, scopes: scopes}, message)
}

// Visible reports whether a caller's scopes suffice for something. It is [mcp.ServerOptions.Visible] where [ResourceOptions.Hide] is set.
func (r *Resource) Visible(call *mcp.Call, kind mcp.Kind, name string) bool {
	needed := call.ScopesOf(kind, name)
	return len(needed) == 0 || holds(call.Principal(), needed)
}
