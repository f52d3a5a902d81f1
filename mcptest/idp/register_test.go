package idp_test

import (
	"testing"

	"github.com/seed38e7925c/parley/mcptest/idp"
)

// Registered clients are what they said, and what makes no sense is refused.
func TestRegistration(t *testing.T) {
	p := idp.Start(t, &idp.Options{Auto: auto})
	uri := []string{callback}
	public := newSigner(t).public()
	for name, c := range map[string]struct {
		metadata doc
		want     string
	}{
		"native":           {doc{"redirect_uris": uri, "application_type": "native", "token_endpoint_auth_method": "none", "grant_types": []string{"authorization_code", "refresh_token"}}, ""},
		"web":              {doc{"redirect_uris": []string{"https://a.example/cb"}, "application_type": "web", "unknown": doc{"x": 1}}, ""},
		"own scheme":       {doc{"redirect_uris": []string{"com.example.app:/cb"}, "token_endpoint_auth_method": "none"}, ""},
		"key":              {doc{"redirect_uris": uri, "token_endpoint_auth_method": "private_key_jwt", "jwks": doc{"keys": []any{public}}}, ""},
		"key missing":      {doc{"redirect_uris": uri, "token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"},
		"web on loopback":  {doc{"redirect_uris": uri, "application_type": "web"}, "invalid_redirect_uri"},
		"web, own scheme":  {doc{"redirect_uris": []string{"com.example.app:/cb"}, "application_type": "web"}, "invalid_redirect_uri"},
		"no redirects":     {doc{"client_name": "x"}, "invalid_redirect_uri"},
		"http elsewhere":   {doc{"redirect_uris": []string{"http://a.example/cb"}}, "invalid_redirect_uri"},
		"javascript":       {doc{"redirect_uris": []string{"javascript:alert(1)"}}, "invalid_redirect_uri"},
		"data":             {doc{"redirect_uris": []string{"DATA:text/html,x"}}, "invalid_redirect_uri"},
		"fragment":         {doc{"redirect_uris": []string{"https://a.example/#"}}, "invalid_redirect_uri"},
		"relative":         {doc{"redirect_uris": []string{"/cb"}}, "invalid_redirect_uri"},
		"user information": {doc{"redirect_uris": []string{"https://a.example@evil.test/cb"}}, "invalid_redirect_uri"},
		"implicit":         {doc{"redirect_uris": uri, "response_types": []string{"token"}}, "invalid_client_metadata"},
		"for itself":       {doc{"redirect_uris": uri, "grant_types": []string{"client_credentials"}}, "invalid_client_metadata"},
		"unknown method":   {doc{"redirect_uris": uri, "token_endpoint_auth_method": "tls_client_auth"}, "invalid_client_metadata"},
	} {
		status, d := tryRegister(t, p, c.metadata)
		if c.want != "" {
			refused(t, name, c.want, status, d)
			continue
		}
		if status != 201 || d["client_id"] == "" {
			t.Errorf("%s: status %d, %v", name, status, d)
		}
		if hasSecret := d["client_secret"] != nil; hasSecret != (name == "web") {
			t.Errorf("%s: %v", name, d)
		}
	}
	for _, body := range []string{"", "[]", "{", `{"redirect_uris":"x"}`, `{"redirect_uris":[],"redirect_uris":[]}`} {
		status, d := postJSON(t, p.Issuer()+idp.Register, body)
		refused(t, body, "invalid_client_metadata", status, d)
	}
	closed := idp.Start(t, &idp.Options{NoRegistration: true})
	if _, d := fetchJSON(t, closed.Issuer()+"/.well-known/openid-configuration"); d["registration_endpoint"] != nil {
		t.Error("registration is announced")
	}
}
