package mcpauth

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ClientDocument returns the Client ID Metadata Document to publish at o.ClientMetadataURL, for a client that logs in with these
// redirect URIs. What is published and [LoopbackOptions].RedirectURI must agree: publish http://127.0.0.1/callback without a port, or the
// port that is listened on.
func ClientDocument(o *ClientOptions, redirectURIs ...string) ([]byte, error) {
	if o == nil || !documentURL(o.ClientMetadataURL) || len(redirectURIs) == 0 {
		return nil, errors.New("mcpauth: ClientDocument: ClientOptions.ClientMetadataURL and at least one redirect URI are needed")
	}
	opts := *o
	if err := opts.check(); err != nil {
		return nil, err
	}
	doc := opts.clientMetadata(redirectURIs, AuthNone)
	doc["client_id"] = o.ClientMetadataURL
	return json.Marshal(doc, json.Deterministic(true), jsontext.WithIndent("  "))
}

// clientMetadata is what a client says about itself (RFC 7591 section 2).
func (o *ClientOptions) clientMetadata(redirectURIs []string, method string) map[string]any {
	return map[string]any{
		"client_name":                o.ClientName,
		"redirect_uris":              redirectURIs,
		"grant_types":                []string{"authorization_code", "refresh_token"},
		"response_types":             []string{"code"},
		"token_endpoint_auth_method": method,
		"application_type":           applicationType(redirectURIs[0]),
	}
}
