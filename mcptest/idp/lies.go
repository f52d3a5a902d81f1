package idp

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Lies change what the provider says, for tests of those who must not believe it. nil: the truth. They are called one
// at a time, whatever goroutine a request is served by, and must not call the provider.
type Lies struct {
	// Metadata changes the metadata document: another issuer, no S256, an http endpoint, megabytes.
	Metadata func(doc map[string]any)
	// Callback changes the answer of the authorization endpoint, errors too: iss, state, code.
	Callback func(q url.Values)
	// AccessToken and IDToken change the claims of what is signed.
	AccessToken func(claims map[string]any)
	IDToken     func(claims map[string]any)
	// TokenAnswer changes the answer of the token endpoint when it is not an error: token_type, expires_in, scope.
	TokenAnswer func(doc map[string]any)
}

// Lie replaces the lies; the zero value ends them.
func (p *Provider) Lie(l Lies) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lies = l
}

// A Fault stands before an endpoint: it answers itself, or delays, or calls next.
type Fault func(next http.Handler) http.Handler

// Break puts a fault before an endpoint, such as [Token]; nil repairs it.
func (p *Provider) Break(endpoint string, f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[endpoint] = f
}

// Repair ends all faults and lies.
func (p *Provider) Repair() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.lies = map[string]Fault{}, Lies{}
}

// Slow delays the answer, or until the client is gone.
func Slow(d time.Duration) Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if pause(r.Context(), d) {
				next.ServeHTTP(w, r)
			}
		})
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Drip sends one space every d, without an end, as long as the client listens.
func Drip(d time.Duration) Fault {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for pause(r.Context(), d) {
				if _, err := w.Write([]byte{' '}); err != nil {
					return
				}
				if err := http.NewResponseController(w).Flush(); err != nil {
					return
				}
			}
		})
	}
}

// Huge answers with a JSON string of n bytes.
func Huge(n int) Fault {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			chunk := []byte(strings.Repeat("x", 1<<16))
			_, err := w.Write([]byte{'"'})
			for left := n; left > 0 && err == nil; left -= len(chunk) {
				_, err = w.Write(chunk[:min(left, len(chunk))])
			}
			if err == nil {
				_, _ = w.Write([]byte{'"'}) // the client may be gone
			}
		})
	}
}

// Fail answers with a status and an OAuth error; with an empty code, by a page that is no JSON.
func Fail(status int, code string) Fault {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if code == "" {
				http.Error(w, "<html>"+strconv.Itoa(status)+"</html>", status)
				return
			}
			writeError(w, &oauthError{status, code, "a test wanted this error"})
		})
	}
}

// Redirect answers with a redirect that keeps the method and the body (307).
func Redirect(to string) Fault {
	return func(http.Handler) http.Handler { return http.RedirectHandler(to, http.StatusTemporaryRedirect) }
}

// Lost does what is asked and loses the answer: the connection breaks.
func Lost() Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&nowhere{header: http.Header{}}, r)
			panic(http.ErrAbortHandler)
		})
	}
}

type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) WriteHeader(int)             {}
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }

// Times lets a fault happen n times; after that all is well.
func Times(n int, f Fault) Fault {
	var left atomic.Int64
	left.Store(int64(n))
	return func(next http.Handler) http.Handler {
		broken := f(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if left.Add(-1) >= 0 {
				broken.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// ForGrant lets a fault happen to token requests with one grant type only, such as renewals.
func ForGrant(grantType string, f Fault) Fault {
	return func(next http.Handler) http.Handler {
		broken := f(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body) // bounded by the provider
			if err != nil {
				writeError(w, refuse("invalid_request", "the form cannot be read"))
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if form, err := url.ParseQuery(string(body)); err == nil && form.Get("grant_type") == grantType {
				broken.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// lied applies a lie to a copy of what would be said.
func lied(lie func(map[string]any), doc map[string]any) map[string]any {
	if lie == nil {
		return doc
	}
	doc = maps.Clone(doc)
	lie(doc)
	return doc
}
