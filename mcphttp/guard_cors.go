package mcphttp

import (
	"net/http"
	"strings"
)

// Headers that a browser may send and read across origins.
const (
	corsRequestHeaders = "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, " +
		"Last-Event-ID, DPoP, Traceparent, Tracestate, Baggage"
	corsExposedHeaders = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, DPoP-Nonce, Retry-After"
	corsMaxAge         = "7200"
)

// corsHeaders adds what lets a page of a listed origin read the answer, whatever the answer will be.
func (h *Handler) corsHeaders(w http.ResponseWriter, r *http.Request) {
	if len(h.guard.origins) == 0 && !h.guard.anyOrigin {
		return
	}
	out := w.Header()
	out.Add("Vary", "Origin")
	if origin := h.guard.listedOrigin(r.Header.Get("Origin")); origin != "" {
		out.Set("Access-Control-Allow-Origin", origin)
		out.Set("Access-Control-Expose-Headers", corsExposedHeaders)
	}
}

// preflight answers OPTIONS. It comes before authorization, because browsers send no credentials with it.
func (h *Handler) preflight(w http.ResponseWriter, r *http.Request) {
	out := w.Header()
	origin := h.guard.listedOrigin(r.Header.Get("Origin"))
	if origin == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		out.Set("Allow", h.methods+", OPTIONS")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	out.Set("Access-Control-Allow-Methods", h.methods)
	out.Set("Access-Control-Allow-Headers", allowedHeaders(r.Header.Get("Access-Control-Request-Headers")))
	out.Set("Access-Control-Max-Age", corsMaxAge)
	out.Add("Vary", "Access-Control-Request-Headers")
	w.WriteHeader(http.StatusNoContent)
}

// allowedHeaders adds the Mcp-Param-* headers that the browser asks for, whose names come from tools, to the fixed ones.
func allowedHeaders(requested string) string {
	list := corsRequestHeaders
	for name := range strings.SplitSeq(requested, ",") {
		name = strings.TrimSpace(name)
		if len(name) > len(paramPrefix) && strings.EqualFold(name[:len(paramPrefix)], paramPrefix) && isToken(name) {
			list += ", " + name
		}
	}
	return list
}

// paramPrefix begins the headers that mirror tool arguments.
const paramPrefix = "Mcp-Param-"

// isToken reports whether s is an RFC 9110 token.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 0x7f || c <= ' ' || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
