package connect

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

// Options describe a desk. ServerName, BaseURL, Store, Keys and Identity are needed; the zero value of each other field is its default.
type Options struct {
	// ServerName is what the server calls itself on its pages, for people to recognise.
	ServerName string
	// BaseURL is where the desk is reached, with its path, such as https://travel.example/connect/. It is https; http is for loopback
	// addresses only. The desk expects requests with this path, however it is mounted.
	BaseURL string
	// Store keeps everything. Replicas share one.
	Store Store
	// Keys seal what the store keeps. Replicas share them.
	Keys *Keys
	// Identity says who is at a browser and who is behind a call: [LocalUser] for a server on standard input and output, otherwise the
	// way to sign in where the callers of the server do.
	Identity Identity
	// Tenant names the tenant of a caller. What belongs to one tenant is never found for another. nil: there is one, without a name.
	Tenant func(*mcp.Principal) string

	// Lifetime is how long a person has to finish an interaction. The default is 15 minutes.
	Lifetime time.Duration
	// MaxOpenPerPerson bounds the unfinished interactions of one person. The default is 20.
	MaxOpenPerPerson int
	// MaxOpenPerTool bounds the unfinished interactions of one person for one tool of one client. The default is 5.
	MaxOpenPerTool int
	// MaxResult bounds, in bytes, the result of an approved action that is kept for retries. The default is 65536.
	MaxResult int
	// AuditRetention is how long it is remembered what happened. The default is 90 days.
	AuditRetention time.Duration
	// Logger gets what must not be told to anybody else. The default is slog.Default().
	Logger *slog.Logger
}

// Defaults of Options.
const (
	defaultLifetime         = 15 * time.Minute
	defaultMaxOpenPerPerson = 20
	defaultMaxOpenPerTool   = 5
	defaultMaxResult        = 64 << 10
	defaultAuditRetention   = 90 * 24 * time.Hour
)

// resolved returns the options with their defaults, and the base URL read.
func (o *Options) resolved() (Options, *url.URL, error) {
	if o == nil {
		o = &Options{}
	}
	r := *o
	base, err := parseBase(r.BaseURL)
	errs := []error{err,
		positive("Lifetime", &r.Lifetime, defaultLifetime),
		positive("MaxOpenPerPerson", &r.MaxOpenPerPerson, defaultMaxOpenPerPerson),
		positive("MaxOpenPerTool", &r.MaxOpenPerTool, defaultMaxOpenPerTool),
		positive("MaxResult", &r.MaxResult, defaultMaxResult),
		positive("AuditRetention", &r.AuditRetention, defaultAuditRetention),
	}
	if strings.TrimSpace(r.ServerName) == "" {
		errs = append(errs, errors.New("connect: Options.ServerName is empty: people must see who asks"))
	}
	if r.Store == nil {
		errs = append(errs, errors.New("connect: Options.Store is nil: use sqlite.Open on one machine, postgres.Open for several"))
	}
	if r.Keys == nil {
		errs = append(errs, errors.New("connect: Options.Keys is nil: use KeysFromFile"))
	}
	if r.Identity == nil {
		errs = append(errs, errors.New("connect: Options.Identity is nil: use LocalUser for a server on standard input and output, OIDC otherwise"))
	}
	if r.Logger == nil {
		r.Logger = slog.Default()
	}
	return r, base, errors.Join(errs...)
}

// parseBase reads Options.BaseURL.
func parseBase(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("connect: Options.BaseURL: %w", err)
	case u.Scheme != "https" && u.Scheme != "http", u.Host == "", u.Opaque != "":
		return nil, fmt.Errorf("connect: Options.BaseURL %q must be absolute, such as https://travel.example/connect/", text)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("connect: Options.BaseURL %q must be https; http is for loopback addresses only", text)
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("connect: Options.BaseURL %q must have no user, query or fragment", text)
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	if strings.ContainsAny(u.Path, "{}% ") || u.RawPath != "" {
		return nil, fmt.Errorf("connect: Options.BaseURL %q must have a plain path", text)
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// positive fills in a default and refuses what is negative.
func positive[N int | time.Duration](field string, p *N, def N) error {
	if *p < 0 {
		return fmt.Errorf("connect: Options.%s is %v; it must not be negative", field, *p)
	}
	if *p == 0 {
		*p = def
	}
	return nil
}
