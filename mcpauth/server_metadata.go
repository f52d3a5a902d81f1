package mcpauth

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/mcphttp"
)

// wellKnownResource is where protected resource metadata is (RFC 9728 section 3).
const wellKnownResource = "/.well-known/oauth-protected-resource"

// resourceDocument is protected resource metadata (RFC 9728 section 2, RFC 9449 section 5.1).
type resourceDocument struct {
	Resource       string   `json:"resource"`
	Servers        []string `json:"authorization_servers"`
	Scopes         []string `json:"scopes_supported,omitempty"`
	Methods        []string `json:"bearer_methods_supported"`
	Name           string   `json:"resource_name,omitempty"`
	Documentation  string   `json:"resource_documentation,omitempty"`
	DPoPAlgorithms []string `json:"dpop_signing_alg_values_supported"`
	DPoPRequired   bool     `json:"dpop_bound_access_tokens_required,omitempty"`
}

// describe encodes the metadata.
func (r *Resource) describe() ([]byte, error) {
	return jsonv2.Marshal(&resourceDocument{
		Resource: r.id, Servers: r.opts.AuthorizationServers, Scopes: r.opts.ScopesSupported, Methods: []string{"header"},
		Name: r.opts.Name, Documentation: r.opts.Documentation,
		DPoPAlgorithms: strings.Fields(r.dpop.algorithms), DPoPRequired: r.dpop.required,
	})
}

// MetadataPath returns the path of the metadata, as made of the URL of the resource: for https://travel.example/mcp it is
// /.well-known/oauth-protected-resource/mcp.
func (r *Resource) MetadataPath() string { return wellKnownResource + r.url.EscapedPath() }

// metadataURL is where challenges say that the metadata is.
func (r *Resource) metadataURL() string { return origin(r.url) + r.MetadataPath() }

// MetadataHandler returns the handler of the protected resource metadata, at whatever path it is mounted: [Resource.MetadataPath] is what
// challenges name; clients look at /.well-known/oauth-protected-resource too. Pages of any origin can read it.
func (r *Resource) MetadataHandler() http.Handler { return http.HandlerFunc(r.serveMetadata) }

func (r *Resource) serveMetadata(w http.ResponseWriter, req *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	switch req.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET, HEAD")
		h.Set("Access-Control-Allow-Headers", "MCP-Protocol-Version, Authorization, Content-Type")
		h.Set("Access-Control-Max-Age", "7200")
		h.Set("Allow", "GET, HEAD, OPTIONS")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "the metadata can only be read", http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(r.document)))
	if req.Method == http.MethodGet {
		_, _ = w.Write(r.document)
	}
}

// Mount registers an MCP endpoint at the path of the resource's URL, and the metadata at its places. Of several resources on one mux only
// one can have the metadata at the origin's root; mount the others by hand, with [Resource.MetadataPath].
func (r *Resource) Mount(mux *http.ServeMux, endpoint http.Handler) {
	mcphttp.Mount(mux, r.url.Path, endpoint)
	for _, path := range r.metadataPaths() {
		mux.Handle(path, r.MetadataHandler())
	}
}

// metadataPaths are the places where clients look for the metadata.
func (r *Resource) metadataPaths() []string {
	return slices.Compact([]string{wellKnownResource + r.url.Path, wellKnownResource})
}

// HTTP returns options for an endpoint that is protected: o, which may be nil and is not changed, with Authenticate, and, for
// [mcphttp.ListenAndServe] and [mcphttp.Serve], with the path and the host of the resource's URL and with the metadata in front of
// Fallback. It panics if o has an Authenticate of its own: only one can say who calls.
func (r *Resource) HTTP(o *mcphttp.Options) *mcphttp.Options {
	var p mcphttp.Options
	if o != nil {
		p = *o
	}
	if p.Authenticate != nil {
		panic("mcpauth: Resource.HTTP: the options have an Authenticate already")
	}
	p.Authenticate = r.Authenticate
	if p.Path == "" {
		p.Path = r.url.Path
	}
	if p.Path == "" {
		p.Path = "/"
	}
	p.AllowedHosts = append(slices.Clone(p.AllowedHosts), r.url.Host)
	p.Fallback = r.withMetadata(p.Fallback)
	return &p
}

// withMetadata serves the metadata, and everything else by another handler.
func (r *Resource) withMetadata(next http.Handler) http.Handler {
	paths := r.metadataPaths()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case slices.Contains(paths, strings.TrimSuffix(req.URL.Path, "/")):
			r.serveMetadata(w, req)
		case next != nil:
			next.ServeHTTP(w, req)
		default:
			http.Error(w, "nothing is here; the MCP endpoint of this server is "+r.id, http.StatusNotFound)
		}
	})
}
