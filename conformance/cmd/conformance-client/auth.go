package main

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
)

// What a host would have set up: the suite's redirect URI is never contacted, and its metadata document is not looked at.
const (
	redirectURI       = "http://localhost:3000/callback"
	clientMetadataURL = "https://conformance-test.local/client-metadata.json"
)

// authContext is what the scenarios about authorization hand to the client.
type authContext struct {
	ClientID         string `json:"client_id"`
	ClientSecret     string `json:"client_secret"`
	Issuer           string `json:"issuer"`
	PrivateKeyPEM    string `json:"private_key_pem"`
	SigningAlgorithm string `json:"signing_algorithm"`
	IDPClientID      string `json:"idp_client_id"`
	IDPIDToken       string `json:"idp_id_token"`
	IDPIssuer        string `json:"idp_issuer"`
	IDPTokenEndpoint string `json:"idp_token_endpoint"`
	ValidJWT         string `json:"valid_jwt"`
}

// transport is that of a host which can log in.
func (h *host) transport() (mcp.Transport, error) {
	if !strings.HasPrefix(h.scenario, "auth/") {
		return mcphttp.Dial(h.url), nil
	}
	o := &mcpauth.ClientOptions{
		Login:             mcpauth.FollowRedirect(nil, redirectURI),
		ClientMetadataURL: clientMetadataURL,
		DPoP:              strings.HasPrefix(h.scenario, "auth/dpop"),
		Logger:            slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if err := h.credentials(o); err != nil {
		return nil, err
	}
	auth, err := mcpauth.NewTransport(h.url, nil, o)
	if err != nil {
		return nil, err
	}
	return mcphttp.Dial(h.url, &mcphttp.DialOptions{Client: &http.Client{Transport: auth}}), nil
}

// credentials adds what the host has got beforehand.
func (h *host) credentials(o *mcpauth.ClientOptions) error {
	c := &h.context.authContext
	reg := &mcpauth.Registration{Issuer: c.Issuer, ClientID: c.ClientID, ClientSecret: c.ClientSecret, Algorithm: c.SigningAlgorithm}
	switch h.scenario {
	case "auth/client-credentials-jwt":
		key, err := privateKey(c.PrivateKeyPEM)
		if err != nil {
			return err
		}
		reg.PrivateKey = key
		o.Grant = mcpauth.ClientCredentials()
	case "auth/client-credentials-basic":
		o.Grant = mcpauth.ClientCredentials()
	case "auth/enterprise-managed-authorization":
		o.Grant = mcpauth.EnterpriseManaged(&mcpauth.Enterprise{
			TokenEndpoint: c.IDPTokenEndpoint,
			Client:        &mcpauth.Registration{Issuer: c.IDPIssuer, ClientID: c.IDPClientID},
			SubjectToken:  func(context.Context) (string, string, error) { return c.IDPIDToken, mcpauth.TokenTypeID, nil },
		})
	case "auth/wif-jwt-bearer":
		o.Grant = mcpauth.JWTBearer(func(context.Context, *mcpauth.GrantRequest) (string, error) { return c.ValidJWT, nil })
	case "auth/pre-registration":
	default:
		return nil
	}
	// Some scenarios do not say which issuer the client is registered with. The suite has only one a scenario.
	o.Registered = func(_ context.Context, issuer string) (*mcpauth.Registration, error) {
		if c.Issuer != "" && issuer != c.Issuer {
			return nil, nil
		}
		reg.Issuer = issuer
		return reg, nil
	}
	return nil
}

func privateKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, fmt.Errorf("private_key_pem is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("private_key_pem holds a %T", key)
	}
	return signer, nil
}
