package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
)

// authFlags are about logging in at http servers.
type authFlags struct {
	Tokens           string        `enum:"auto,keyring,file,memory" default:"auto" env:"PARLEY_TOKENS" group:"Logging in" help:"Where logins are kept: the keyring of the system, files that only you can read, or nowhere. auto: the keyring where there is one."`
	TokensDir        string        `env:"PARLEY_TOKENS_DIR" placeholder:"DIR" group:"Logging in" help:"Folder of the files. The default is parley/logins in your folder for configuration."`
	Scope            []string      `placeholder:"SCOPE" group:"Logging in" help:"A scope to ask for when the server names none. May be repeated."`
	ClientID         string        `env:"PARLEY_CLIENT_ID" placeholder:"ID" group:"Logging in" help:"The client id that this program was registered with at the authorization server, if it does not register by itself."`
	ClientSecret     string        `env:"PARLEY_CLIENT_SECRET" placeholder:"@FILE" group:"Logging in" help:"File with the secret that goes with --client-id; needs --issuer."`
	ClientDocument   string        `env:"PARLEY_CLIENT_DOCUMENT" placeholder:"URL" group:"Logging in" help:"URL of a client metadata document to be known by."`
	Issuer           string        `env:"PARLEY_ISSUER" placeholder:"URL" group:"Logging in" help:"The only authorization server that --client-id is for. The default is the one that the server names."`
	Callback         string        `placeholder:"URL" group:"Logging in" help:"The redirect URI to use, as it is registered: http on 127.0.0.1, [::1] or localhost; without a port any free one is used."`
	EgressProxy      string        `env:"PARLEY_EGRESS_PROXY" placeholder:"URL" group:"Logging in" help:"Proxy for places that servers name. It is told addresses that were checked, never names. HTTPS_PROXY is not used for them."`
	AllowNetwork     []string      `placeholder:"CIDR" group:"Logging in" help:"A private network that servers may name places in, such as 10.1.0.0/16. May be repeated."`
	AllowIssuerSlash bool          `group:"Logging in" help:"Take an authorization server whose name differs by the slash at its end alone, as some are published."`
	LoginTimeout     time.Duration `default:"5m" group:"Logging in" help:"How long you may take to log in."`
}

// transport makes what authorizes requests to a server.
func (f *authFlags) transport(server string, p *person) (*mcpauth.Transport, error) {
	o := &mcpauth.ClientOptions{ClientName: "Parley", ClientMetadataURL: f.ClientDocument, Scopes: f.Scope, AllowIssuerSlash: f.AllowIssuerSlash,
		Login: p.login(f.Callback, f.LoginTimeout), LoginTimeout: 2 * f.LoginTimeout, Logger: slog.New(&authLog{ui: p.ui, verbose: p.verbose})}
	if len(f.Scope) == 0 {
		o.Scopes = nil
	}
	var err error
	if o.Store, err = f.store(p.ui); err != nil {
		return nil, err
	}
	if f.EgressProxy != "" {
		if o.Proxy, err = url.Parse(f.EgressProxy); err != nil {
			return nil, usagef("--egress-proxy: want a URL such as http://proxy:3128")
		}
	}
	for _, n := range f.AllowNetwork {
		prefix, err := netip.ParsePrefix(n)
		if err != nil {
			return nil, usagef("--allow-network %q: want a network such as 10.1.0.0/16", n)
		}
		o.AllowNetworks = append(o.AllowNetworks, prefix)
	}
	if o.Registered, err = f.registered(); err != nil {
		return nil, err
	}
	t, err := mcpauth.NewTransport(server, mcphttp.DefaultTransport(), o)
	if err != nil {
		return nil, usageError{err}
	}
	return t, nil
}

// registered is the registration that the flags tell of; nil if they tell of none. A secret is for the issuer that the person names.
func (f *authFlags) registered() (func(context.Context, string) (*mcpauth.Registration, error), error) {
	switch {
	case f.ClientID == "" && f.ClientSecret == "":
		return nil, nil
	case f.ClientID == "":
		return nil, usagef("--client-secret needs --client-id")
	case f.ClientSecret != "" && f.Issuer == "":
		return nil, usagef("--client-secret needs --issuer: the secret is sent to that authorization server only")
	}
	secret := ""
	if f.ClientSecret != "" {
		name, ok := strings.CutPrefix(f.ClientSecret, "@")
		if !ok {
			return nil, usagef("--client-secret: want @FILE, since what stands on a command line is no secret")
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, usagef("--client-secret: %w", err)
		}
		secret = strings.TrimSpace(string(data))
	}
	return func(_ context.Context, issuer string) (*mcpauth.Registration, error) {
		if f.Issuer != "" && f.Issuer != issuer {
			return nil, nil
		}
		return &mcpauth.Registration{Issuer: issuer, ClientID: f.ClientID, ClientSecret: secret}, nil
	}, nil
}

// dir is the folder of logins.
func (f *authFlags) dir() (string, error) {
	if f.TokensDir != "" {
		return f.TokensDir, nil
	}
	base, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder to keep logins in (%w): name one with --tokens-dir, or use --tokens memory", err)
	}
	return filepath.Join(base, "parley", "logins"), nil
}

// store is where logins are kept.
func (f *authFlags) store(u *ui) (mcpauth.Store, error) {
	if f.Tokens == "memory" {
		return mcpauth.NewMemoryStore(), nil
	}
	dir, err := f.dir()
	if err != nil {
		return nil, err
	}
	return newLoginStore(f.Tokens, dir, u), nil
}

// authLog shows what mcpauth says of discovery: all of it with --verbose, and warnings in any case.
type authLog struct {
	ui      *ui
	verbose bool
	attrs   string
}

// Enabled implements slog.Handler.
func (l *authLog) Enabled(_ context.Context, level slog.Level) bool {
	return l.verbose || level >= slog.LevelWarn
}

// Handle implements slog.Handler.
func (l *authLog) Handle(_ context.Context, r slog.Record) error {
	text := "auth: " + strings.TrimPrefix(r.Message, "mcpauth: ") + l.attrs
	r.Attrs(func(a slog.Attr) bool {
		text += attr(a)
		return true
	})
	l.ui.line(text)
	return nil
}

func attr(a slog.Attr) string {
	value := consent.Line(a.Value.String(), 1000)
	switch a.Key {
	case "url":
		return " at " + value
	case "err":
		return ": " + strings.TrimPrefix(value, "mcpauth: ")
	}
	return ", " + a.Key + " " + value
}

// WithAttrs implements slog.Handler.
func (l *authLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *l
	for _, a := range attrs {
		more.attrs += attr(a)
	}
	return &more
}

// WithGroup implements slog.Handler. There are no groups here.
func (l *authLog) WithGroup(string) slog.Handler { return l }

// authorizes reports whether headers bring credentials, so that no others are needed.
func authorizes(header map[string][]string) bool {
	for name := range header {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

var errNoLogin = errors.New("the server demands a login, and there is nobody here who could log in")
