package mcpauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// served answers requests in memory.
func served(h http.Handler) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Body == nil {
			r.Body = http.NoBody
		}
		defer r.Body.Close()
		w := httptest.NewRecorder()
		in := r.Clone(r.Context())
		in.RequestURI = r.URL.RequestURI()
		h.ServeHTTP(w, in)
		return w.Result(), nil
	})
}

// slowLogin is a person who takes their time.
type slowLogin struct{ takes time.Duration }

func (slowLogin) RedirectURI() string { return "http://127.0.0.1:1/callback" }
func (slowLogin) Close() error        { return nil }
func (l slowLogin) Authorize(ctx context.Context, r *LoginRequest) (url.Values, error) {
	select {
	case <-time.After(l.takes):
		return url.Values{"code": {"c"}, "state": {r.State}}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// patient is a transport to a protected server in memory, for a person who takes their time.
func patient(t *testing.T, takes time.Duration) *Transport {
	t.Helper()
	inner := mcphttp.NewHandler(mcp.NewServer("protected", "1", nil), nil)
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
	for at, doc := range map[string]string{
		"/.well-known/oauth-protected-resource": `{"resource":"http://localhost/mcp","authorization_servers":["http://localhost"]}`,
		"/.well-known/oauth-authorization-server": `{"issuer":"http://localhost","authorization_endpoint":"http://localhost/a","token_endpoint":"http://localhost/t",` +
			`"registration_endpoint":"http://localhost/r","code_challenge_methods_supported":["S256"]}`,
		"/r": `{"client_id":"c"}`,
		"/t": `{"access_token":"good","token_type":"Bearer"}`,
	} {
		mux.HandleFunc(at, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, doc)
		})
	}
	tr, err := NewTransport("http://localhost/mcp", served(mux), &ClientOptions{Login: func(context.Context, *LoginStart) (Login, error) { return slowLogin{takes}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	tr.fetch.gets.Transport, tr.fetch.posts.Transport = served(mux), served(mux)
	return tr
}

// The timeouts of a client do not count the time of the person: not that of connecting, nor that of the probe, after which the server
// would be spoken to in the older way. The login itself ends some time.
func TestLoginHoldsTheTimeouts(t *testing.T) {
	for _, takes := range []time.Duration{time.Second, 9 * time.Minute, 11 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			tr := patient(t, takes)
			start := time.Now()
			c, err := mcp.Connect(t.Context(), mcphttp.Dial("http://localhost/mcp", &mcphttp.DialOptions{Client: &http.Client{Transport: tr}}), nil)
			if took := time.Since(start); took > DefaultLoginTimeout+time.Minute {
				t.Errorf("%v after %v", takes, took)
			}
			if takes > DefaultLoginTimeout {
				if err == nil || !strings.Contains(err.Error(), "LoginTimeout") {
					t.Errorf("%v: error %v", takes, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %v", takes, err)
			}
			if got := c.Server().Revision; got != mcp.Revisions()[len(mcp.Revisions())-1] {
				t.Errorf("%v: revision %v", takes, got)
			}
			if err := errors.Join(c.Close(), tr.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
