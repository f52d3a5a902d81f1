package mcpauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
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
	Had    []string // what there was, if this login is for more; nil: nothing
	State  string   // what the callback must carry; anything else is not an answer
	URL    string   // where the person agrees

	// RedirectURI is where the answer comes back, for hosts that have the person copy it.
	RedirectURI string
	// Problem says what was wrong with the address that was pasted before; empty at first.
	Problem string
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

// A LoginFunc opens a Login.
type LoginFunc func(ctx context.Context, s *LoginStart) (Login, error)

// A LoginStart is what is known before a login begins.
type LoginStart struct {
	// Issuer is the authorization server.
	Issuer string
	// Registers says that the client will register itself, so that any redirect URI will do. Otherwise it must be one that the client is
	// registered with, or that its metadata document names.
	Registers bool
	// Registered are the redirect URIs of earlier dynamic registrations, the last one first: using one of them again saves another
	// registration.
	Registered []string
}

// LoopbackOptions tune [Loopback]. Nil and zero values mean the defaults.
type LoopbackOptions struct {
	// RedirectURI is where the answer comes back to: http on 127.0.0.1, [::1] or localhost, as it was registered or is published in the
	// client metadata document ([ClientDocument]). Without a port any free one is used and put into it, those of earlier
	// registrations first; authorization servers allow that (RFC 8252 section 7.3). Default "http://127.0.0.1/callback", and a path of
	// its own for each authorization server where the client registers itself: one that mixes logins up gets no code of another.
	RedirectURI string
	// Timeout bounds how long the person may take. Default 5 minutes.
	Timeout time.Duration
	// Open shows the URL to the person. Default: consent.Review and consent.Open, that is the browser of the system. A host without
	// a browser prints the URL here.
	Open func(ctx context.Context, r *LoginRequest) error
	// Paste, if set, waits beside the callback server for the address that the browser ended at, copied by hand, since a browser on
	// another computer cannot reach this one. ctx ends when the answer came otherwise; Paste must then return. Text that is no such address leads to
	// another call, with r.Problem, three times at most.
	Paste func(ctx context.Context, r *LoginRequest) (callback string, err error)
}

// Loopback returns the login by browser (RFC 8252 section 7.3): a server on this computer takes the callback. Only a callback with the
// state of this login is an answer, and only the first; requests with another Host are refused.
func Loopback(o *LoopbackOptions) LoginFunc {
	var opts LoopbackOptions
	if o != nil {
		opts = *o
	}
	opts.Timeout = cmp.Or(opts.Timeout, 5*time.Minute)
	if opts.Open == nil {
		opts.Open = openBrowser
	}
	return func(ctx context.Context, start *LoginStart) (Login, error) {
		uri, err := url.Parse(cmp.Or(opts.RedirectURI, start.redirectURI()))
		if err != nil || uri.Scheme != "http" || !loopbackHost(uri.Hostname()) || uri.RawQuery != "" || uri.Fragment != "" || uri.User != nil {
			return nil, fmt.Errorf("mcpauth: LoopbackOptions.RedirectURI: expected http on 127.0.0.1, [::1] or localhost, got %q", opts.RedirectURI)
		}
		if uri.Path == "" {
			uri.Path = "/"
		}
		listeners, err := listenLoopback(ctx, uri, start.Registered)
		if err != nil {
			return nil, fmt.Errorf("mcpauth: listening for the callback: %w", err)
		}
		l := &loopbackLogin{opts: opts, uri: uri, answers: make(chan answer, 2)}
		l.srv = &http.Server{Handler: l, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10}
		l.served = make([]error, len(listeners))
		for i, ln := range listeners {
			l.done.Go(func() { l.served[i] = l.srv.Serve(ln) })
		}
		return l, nil
	}
}

// redirectURI is the default one.
func (s *LoginStart) redirectURI() string {
	const usual = "http://127.0.0.1/callback"
	if !s.Registers {
		return usual
	}
	sum := sha256.Sum256([]byte(s.Issuer))
	return usual + "/" + hex.EncodeToString(sum[:8])
}

// listenLoopback listens where uri says, and puts the port into it if it has none.
func listenLoopback(ctx context.Context, uri *url.URL, registered []string) ([]net.Listener, error) {
	if port := uri.Port(); port != "" {
		return listenPort(ctx, uri.Hostname(), port)
	}
	ports := []string{}
	for _, r := range registered {
		if u, err := url.Parse(r); err == nil && u.Scheme == uri.Scheme && u.Hostname() == uri.Hostname() && u.Path == uri.Path && u.Port() != "" {
			ports = append(ports, u.Port())
		}
	}
	const tries = 5 // a free port of IPv4 may be taken at IPv6
	var failed error
	for i := range len(ports) + tries {
		port := "0"
		if i < len(ports) {
			port = ports[i]
		}
		ls, err := listenPort(ctx, uri.Hostname(), port)
		if err == nil {
			_, port, _ := net.SplitHostPort(ls[0].Addr().String())
			uri.Host = net.JoinHostPort(uri.Hostname(), port)
			return ls, nil
		}
		failed = err
	}
	return nil, failed
}

// listenPort listens on a port of this computer. localhost is both of its addresses, so that nobody else gets what is sent to one.
func listenPort(ctx context.Context, host, port string) ([]net.Listener, error) {
	var lc net.ListenConfig
	if !strings.EqualFold(host, "localhost") {
		ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, port))
		return []net.Listener{ln}, err
	}
	four, err := lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, err
	}
	probe, err := lc.Listen(ctx, "tcp6", "[::1]:0")
	if err != nil { // no IPv6 here
		return []net.Listener{four}, nil
	}
	_ = probe.Close()
	_, port, _ = net.SplitHostPort(four.Addr().String())
	six, err := lc.Listen(ctx, "tcp6", net.JoinHostPort("::1", port))
	if err != nil {
		return nil, errors.Join(err, four.Close())
	}
	return []net.Listener{four, six}, nil
}

func openBrowser(ctx context.Context, r *LoginRequest) error {
	reviewed := consent.Review(r.URL, &consent.Options{Server: r.Server})
	if reviewed.Refused {
		return fmt.Errorf("mcpauth: the authorization URL must not be opened: %v", reviewed.Findings)
	}
	return consent.Open(ctx, reviewed)
}

type loopbackLogin struct {
	opts    LoopbackOptions
	uri     *url.URL
	srv     *http.Server
	done    sync.WaitGroup
	served  []error // read after done
	answers chan answer

	mu    sync.Mutex
	state string // of the login under way; empty: none, or answered
}

// An answer is what a login ends with.
type answer struct {
	query url.Values
	err   error
}

// RedirectURI implements [Login].
func (l *loopbackLogin) RedirectURI() string { return l.uri.String() }

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
	if l.opts.Paste != nil {
		l.done.Go(func() {
			q, err := pasted(ctx, r, l.opts.Paste)
			if ctx.Err() == nil {
				l.answers <- answer{q, err} // has room: one from here and one from the callback
			}
		})
	}
	select {
	case a := <-l.answers:
		return a.query, a.err
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
	if !strings.EqualFold(r.Host, l.uri.Host) || r.Method != http.MethodGet || r.URL.Path != l.uri.Path {
		http.Error(w, "This is not the page of a login.", http.StatusNotFound)
		return
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || !l.take(q.Get("state")) {
		http.Error(w, "This answers no login that is under way. Begin again in the program that asked for it.", http.StatusBadRequest)
		return
	}
	l.answers <- answer{query: q} // has room: one answer is taken
	h.Set("Content-Type", "text/html; charset=utf-8")
	style := sha256.Sum256([]byte(callbackStyle))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(style[:])+"'; frame-ancestors 'none'")
	_, _ = w.Write([]byte(callbackPage))
}

// The page that a login ends at: nothing in it comes from the request.
const (
	callbackStyle = "body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:12vh auto;padding:0 1rem;color-scheme:light dark}h1{font-size:1.5rem}"
	callbackPage  = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">` +
		`<title>The answer was received</title><style>` + callbackStyle + `</style></head><body><main><h1>The answer was received</h1>` +
		`<p>You can close this page and go back to the program.</p></main></body></html>` + "\n"
)

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
	for _, served := range l.served {
		if !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
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
	return func(context.Context, *LoginStart) (Login, error) {
		return &followLogin{client: &c, uri: redirectURI}, nil
	}
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
// computer, and returns the address that the browser ended at, copied by hand; text that is no such address leads to another call, with
// r.Problem, three times at most. The redirect URI must be one that the client is registered with; nothing listens there.
func PasteCallback(redirectURI string, show func(ctx context.Context, r *LoginRequest) (callback string, err error)) LoginFunc {
	return func(context.Context, *LoginStart) (Login, error) {
		return &pasteLogin{uri: redirectURI, show: show}, nil
	}
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
	return pasted(ctx, r, l.show)
}

// pasted has the person copy an address until it is one that answers the login.
func pasted(ctx context.Context, r *LoginRequest, show func(ctx context.Context, r *LoginRequest) (string, error)) (url.Values, error) {
	const tries = 3
	again := *r
	for i := 1; ; i++ {
		text, err := show(ctx, &again)
		if err != nil {
			return nil, err
		}
		q, err := parseCallback(r, text)
		if err == nil {
			return q, nil
		}
		if i == tries || ctx.Err() != nil {
			return nil, err
		}
		again.Problem = err.Error()
	}
}

// parseCallback reads an address that a person copied.
func parseCallback(r *LoginRequest, text string) (url.Values, error) {
	base, query, found := strings.Cut(strings.TrimSpace(text), "?")
	if !found || base != r.RedirectURI {
		return nil, mismatch("that is not the address at which the login ends (it begins otherwise)", r.RedirectURI+"?", base, "copy the whole address from the browser")
	}
	query, _, _ = strings.Cut(query, "#")
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("the address is damaged: %w", err)
	}
	if q.Get("state") != r.State {
		return nil, errors.New("the address is the answer to another login: its state is not that of this one")
	}
	return q, nil
}
