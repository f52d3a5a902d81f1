package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/consent"
)

// A LoginRequest is what a person is asked to do.
type LoginRequest struct {
	Server string   // the MCP server that demands it
	Issuer string   // the authorization server
	Scopes []string // what is asked for
	State  string   // what the callback must carry; anything else is not an answer
	URL    string   // where the person agrees
}

// A Login is one way to ask a person, open for one login.
type Login interface {
	// RedirectURI is where the authorization server sends the answer. It does not change.
	RedirectURI() string
	// Authorize shows r.URL to the person and returns the query of the callback, unchecked. An error ends the login; one that is
	// [ErrLoginDeclined] keeps the person from being asked again.
	Authorize(ctx context.Context, r *LoginRequest) (url.Values, error)
	// Close releases what RedirectURI stands for.
	Close() error
}

// A LoginFunc opens a Login. registered is the redirect URI of an earlier dynamic registration, or empty: reusing it saves another one.
type LoginFunc func(ctx context.Context, registered string) (Login, error)

// LoopbackOptions tune [Loopback]. Nil and zero values mean the defaults.
type LoopbackOptions struct {
	// Port to listen on. Default: the one of the earlier registration if it is free, else any.
	Port int
	// Path of the redirect URI. Default "/callback".
	Path string
	// Timeout bounds how long the person may take. Default 5 minutes.
	Timeout time.Duration
	// Open shows the URL to the person. Default: consent.Review and consent.Open, that is the browser of the system. A host without
	// a browser prints the URL here.
	Open func(ctx context.Context, r *LoginRequest) error
}

// Loopback returns the login by browser (RFC 8252 section 7.3): a server on 127.0.0.1 takes the callback. Only a callback with the state
// of this login is an answer, and only the first; requests with another Host are refused.
func Loopback(o *LoopbackOptions) LoginFunc {
	var opts LoopbackOptions
	if o != nil {
		opts = *o
	}
	if opts.Path == "" {
		opts.Path = "/callback"
	}
	if opts.Timeout == 0 {
		opts.Timeout = 5 * time.Minute
	}
	if opts.Open == nil {
		opts.Open = openBrowser
	}
	return func(ctx context.Context, registered string) (Login, error) {
		ln, err := listenLoopback(ctx, opts.Port, registered)
		if err != nil {
			return nil, fmt.Errorf("mcpauth: listening for the callback: %w", err)
		}
		l := &loopbackLogin{opts: opts, answers: make(chan url.Values, 1), host: ln.Addr().String()}
		l.srv = &http.Server{Handler: l, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10}
		l.done.Go(func() { l.served = l.srv.Serve(ln) })
		return l, nil
	}
}

func listenLoopback(ctx context.Context, port int, registered string) (net.Listener, error) {
	var lc net.ListenConfig
	if port == 0 {
		if u, err := url.Parse(registered); err == nil && u.Hostname() == "127.0.0.1" && u.Port() != "" {
			if ln, err := lc.Listen(ctx, "tcp4", u.Host); err == nil {
				return ln, nil
			}
		}
	}
	return lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

func openBrowser(ctx context.Context, r *LoginRequest) error {
	reviewed := consent.Review(r.URL, &consent.Options{Server: r.Server, Trusted: []string{r.Issuer}})
	if reviewed.Refused {
		return fmt.Errorf("mcpauth: the authorization URL must not be opened: %v", reviewed.Findings)
	}
	return consent.Open(ctx, reviewed)
}

type loopbackLogin struct {
	opts    LoopbackOptions
	srv     *http.Server
	host    string
	done    sync.WaitGroup
	served  error // read after done
	answers chan url.Values

	mu    sync.Mutex
	state string // of the login under way; empty: none, or answered
}

// RedirectURI implements [Login].
func (l *loopbackLogin) RedirectURI() string { return "http://" + l.host + l.opts.Path }

// Authorize implements [Login].
func (l *loopbackLogin) Authorize(ctx context.Context, r *LoginRequest) (url.Values, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.opts.Timeout, fmt.Errorf("nobody logged in within %v", l.opts.Timeout))
	defer cancel()
	l.mu.Lock()
	l.state = r.State
	l.mu.Unlock()
	if err := l.opts.Open(ctx, r); err != nil {
		return nil, err
	}
	select {
	case v := <-l.answers:
		return v, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ServeHTTP takes the callback.
func (l *loopbackLogin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if r.Host != l.host || r.Method != http.MethodGet || r.URL.Path != l.opts.Path {
		http.Error(w, "This is not the page of a login.", http.StatusNotFound)
		return
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || !l.take(q.Get("state")) {
		http.Error(w, "This answers no login that is under way. Begin again in the program that asked for it.", http.StatusBadRequest)
		return
	}
	l.answers <- q // has room: one answer is taken
	_, _ = w.Write([]byte("The answer was received. You can close this page and go back to the program.\n"))
}

// take reports whether a state is the one that is waited for, once.
func (l *loopbackLogin) take(state string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if state == "" || state != l.state {
		return false
	}
	l.state = ""
	return true
}

// Close implements [Login].
func (l *loopbackLogin) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := l.srv.Shutdown(ctx)
	if err != nil {
		err = l.srv.Close()
	}
	l.done.Wait()
	if !errors.Is(l.served, http.ErrServerClosed) {
		err = errors.Join(err, l.served)
	}
	return err
}

// FollowRedirect returns a login without a person, for tests: the authorization endpoint is asked directly and must redirect at once. The
// redirect URI is never contacted. A nil client means one without proxy.
func FollowRedirect(client *http.Client, redirectURI string) LoginFunc {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if client != nil {
		c = *client
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(context.Context, string) (Login, error) { return &followLogin{client: &c, uri: redirectURI}, nil }
}

type followLogin struct {
	client *http.Client
	uri    string
}

// RedirectURI implements [Login].
func (l *followLogin) RedirectURI() string { return l.uri }

// Close implements [Login].
func (l *followLogin) Close() error { return nil }

// Authorize implements [Login].
func (l *followLogin) Authorize(ctx context.Context, r *LoginRequest) (url.Values, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)
	if err != nil {
		return nil, err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		return nil, fmt.Errorf("the authorization endpoint answered %s without a redirect", resp.Status)
	}
	if base, _, _ := strings.Cut(to.String(), "?"); base != l.uri {
		return nil, fmt.Errorf("the authorization endpoint redirects to %q instead of %q", clip(base), l.uri)
	}
	return to.Query(), nil
}

// PasteCallback returns a login for hosts where no browser can reach the program: show tells the person the URL to open on any
// computer, and returns the address that the browser ended at, copied by hand. The redirect URI must be one that the client is
// registered with; nothing listens there.
func PasteCallback(redirectURI string, show func(ctx context.Context, r *LoginRequest) (callback string, err error)) LoginFunc {
	return func(context.Context, string) (Login, error) { return &pasteLogin{uri: redirectURI, show: show}, nil }
}

type pasteLogin struct {
	uri  string
	show func(ctx context.Context, r *LoginRequest) (string, error)
}

// RedirectURI implements [Login].
func (l *pasteLogin) RedirectURI() string { return l.uri }

// Close implements [Login].
func (l *pasteLogin) Close() error { return nil }

// Authorize implements [Login].
func (l *pasteLogin) Authorize(ctx context.Context, r *LoginRequest) (url.Values, error) {
	pasted, err := l.show(ctx, r)
	if err != nil {
		return nil, err
	}
	base, query, found := strings.Cut(strings.TrimSpace(pasted), "?")
	if !found || base != l.uri {
		return nil, fmt.Errorf("expected an address that begins with %q and has a code", l.uri+"?")
	}
	query, _, _ = strings.Cut(query, "#")
	return url.ParseQuery(query)
}
