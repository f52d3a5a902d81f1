package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcpauth/keyring"
)

// explainLogin puts what is wrong with a login so that both sides and the next step can be seen; empty for other errors.
func explainLogin(err error) string {
	var mismatch *mcpauth.MismatchError
	var oauth *mcpauth.OAuthError
	var refused *mcp.TransportError
	switch {
	case errors.Is(err, errNoLogin):
		return errNoLogin.Error() + "\nRun \"parley login URL\" in a terminal, or --interact web for a page in the browser. A token of your own goes into --header."
	case errors.Is(err, mcpauth.ErrLoginDeclined):
		return "the login was declined, and nothing was done" + because(oauthOf(err)) + "\nYou are not asked again while this program runs. \"parley login URL\" begins anew."
	case errors.As(err, &mismatch):
		return fmt.Sprintf("the login was stopped: %s\n  expected  %s\n  got       %s\n  next      %s", mismatch.What, mismatch.Expected, mismatch.Got, nextStep(mismatch.Next))
	case errors.As(err, &oauth):
		return oauth.Error() + "\n  next      " + oauthStep(oauth)
	case errors.Is(err, keyring.ErrUnavailable):
		return err.Error() + "\n  next      --tokens file (or PARLEY_TOKENS=file) keeps logins in files that only you can read"
	case errors.As(err, &refused) && refused.Status == 401:
		return err.Error() + "\n  next      \"parley whoami URL --verbose\" shows what the server demands, and each step on the way there"
	case strings.Contains(err.Error(), "ClientOptions.Registrations"):
		return strings.Replace(err.Error(), "put the client id into ClientOptions.Registrations", "give the client id with --client-id", 1)
	}
	return ""
}

func oauthOf(err error) *mcpauth.OAuthError {
	var e *mcpauth.OAuthError
	errors.As(err, &e)
	return e
}

func because(e *mcpauth.OAuthError) string {
	if e == nil {
		return ""
	}
	return ": " + strings.TrimPrefix(e.Error(), "mcpauth: ")
}

// nextStep names flags instead of fields of options.
func nextStep(s string) string {
	return strings.ReplaceAll(s, "(ClientOptions.AllowIssuerSlash)", "(--allow-issuer-slash)")
}

func oauthStep(e *mcpauth.OAuthError) string {
	switch e.Code {
	case "invalid_client", "unauthorized_client":
		return "the authorization server does not know this client (any more): try again, which registers it anew, or check --client-id"
	case "invalid_scope":
		return "it does not give what was asked for: name other scopes with --scope"
	case "invalid_target":
		return "it issues no tokens for this server: ask whoever runs the two to make them agree"
	case "invalid_grant":
		return "what was presented is used up or over: \"parley login URL\" logs in anew"
	case "invalid_redirect_uri":
		return "it takes other redirect URIs: name one of them with --callback"
	}
	if e.Status == http.StatusNotFound && e.Code == "" {
		return "there is no such endpoint: the MCP server may publish no metadata, so that its own address was tried; \"parley whoami URL --verbose\" shows each step"
	}
	if e.Definite() {
		return "\"parley whoami URL --verbose\" shows each step"
	}
	return "try again in a moment"
}
