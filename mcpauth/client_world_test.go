package mcpauth_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/mcpauth"
)

const redirectURI = "http://localhost:3000/callback"

// A world is a protected MCP server and its authorization server. Tests change what they say before or between requests.
type world struct {
	t       *testing.T
	rs, as  *httptest.Server
	mu      sync.Mutex
	log     []string // of the authorization server: what was asked
	forms   []url.Values
	headers []http.Header
	reg     map[string]any // the last registration
	authURL url.Values     // the last authorization request

	challenge func() string                           // of the resource server
	prm       func() (int, any)                       // resource metadata
	prmAt     string                                  // its path
	meta      func() map[string]any                   // authorization server metadata
	accept    func(token string, r *http.Request) int // status for a request
	callback  func(q url.Values)                      // changes the callback
	answer    func(f url.Values) (int, string)        // token endpoint; "" for the usual
	clientID  func() string                           // of a registration; nil for the usual
	expires   float64
	issued    int
	verifier  map[string]string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, prmAt: "/.well-known/oauth-protected-resource/mcp", verifier: map[string]string{}}
	w.rs = httptest.NewServer(http.HandlerFunc(w.serveRS))
	w.as = httptest.NewServer(http.HandlerFunc(w.serveAS))
	t.Cleanup(w.rs.Close)
	t.Cleanup(w.as.Close)
	w.challenge = func() string { return `Bearer resource_metadata="` + w.rs.URL + w.prmAt + `"` }
	w.prm = func() (int, any) {
		return 200, map[string]any{"resource": w.url(), "authorization_servers": []string{w.as.URL}}
	}
	w.meta = w.usualMeta
	w.accept = func(token string, _ *http.Request) int {
		if token == fmt.Sprintf("Bearer token-%d", w.issued) {
			return 200
		}
		return 401
	}
	return w
}

func (w *world) url() string { return w.rs.URL + "/mcp" }

func (w *world) usualMeta() map[string]any {
	return map[string]any{"issuer": w.as.URL, "authorization_endpoint": w.as.URL + "/authorize", "token_endpoint": w.as.URL + "/token",
		"registration_endpoint": w.as.URL + "/register", "code_challenge_methods_supported": []string{"S256"}}
}

func (w *world) serveRS(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/.well-known/") || r.URL.Path == w.prmAt {
		w.log = append(w.log, "RS "+r.URL.Path)
		if r.URL.Path != w.prmAt {
			http.Error(rw, "no", 404)
			return
		}
		status, doc := w.prm()
		writeJSON(rw, status, doc)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	if status := w.accept(r.Header.Get("Authorization"), r); status != 200 {
		if status == 401 || status == 403 {
			rw.Header().Set("WWW-Authenticate", w.challenge())
		}
		rw.WriteHeader(status)
		return
	}
	_, _ = io.WriteString(rw, "welcome")
}

func writeJSON(rw http.ResponseWriter, status int, doc any) {
	if s, ok := doc.(string); ok {
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, s)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(doc)
}

func (w *world) serveAS(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, "AS "+r.URL.Path)
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		writeJSON(rw, 200, w.meta())
	case "/register":
		w.reg = map[string]any{}
		_ = json.NewDecoder(r.Body).Decode(&w.reg)
		id := "dcr-client"
		if w.clientID != nil {
			id = w.clientID()
		}
		writeJSON(rw, 201, map[string]any{"client_id": id})
	case "/authorize":
		w.authURL = r.URL.Query()
		code := fmt.Sprintf("code-%d", len(w.log))
		w.verifier[code] = w.authURL.Get("code_challenge")
		q := url.Values{"code": {code}, "state": {w.authURL.Get("state")}}
		if w.callback != nil {
			w.callback(q)
		}
		http.Redirect(rw, r, w.authURL.Get("redirect_uri")+"?"+q.Encode(), http.StatusFound)
	case "/token":
		w.serveToken(rw, r)
	default:
		http.Error(rw, "no", 404)
	}
}

func (w *world) serveToken(rw http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	w.forms = append(w.forms, r.PostForm)
	w.headers = append(w.headers, r.Header.Clone())
	if w.answer != nil {
		if status, body := w.answer(r.PostForm); status != 0 {
			if status == 307 {
				rw.Header().Set("Location", w.rs.URL+"/stolen")
			}
			writeJSON(rw, status, body)
			return
		}
	}
	if r.PostForm.Get("grant_type") == "authorization_code" {
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if w.verifier[r.PostForm.Get("code")] != base64.RawURLEncoding.EncodeToString(sum[:]) {
			writeJSON(rw, 400, map[string]any{"error": "invalid_grant"})
			return
		}
	}
	w.issued++
	doc := map[string]any{"access_token": fmt.Sprintf("token-%d", w.issued), "token_type": "bearer", "refresh_token": fmt.Sprintf("refresh-%d", w.issued)}
	if w.expires > 0 {
		doc["expires_in"] = w.expires
	}
	writeJSON(rw, 200, doc)
}

func (w *world) asked(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(w.log), func(s string) bool { return s != what }))
}

// change sets the world under its lock.
func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// transport logs in without a person.
func (w *world) transport(o *mcpauth.ClientOptions) *mcpauth.Transport {
	w.t.Helper()
	if o == nil {
		o = &mcpauth.ClientOptions{}
	}
	if o.Login == nil {
		o.Login = mcpauth.FollowRedirect(nil, redirectURI)
	}
	tr, err := mcpauth.NewTransport(w.url(), nil, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return tr
}

// post sends a request and returns the status.
func post(tr http.RoundTripper, u string) (int, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, u, strings.NewReader(`{}`))
	if err != nil {
		return 0, err
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, nil
}

func (w *world) mustPost(tr http.RoundTripper) {
	w.t.Helper()
	if status, err := post(tr, w.url()); err != nil || status != 200 {
		w.t.Fatalf("status %d, error %v", status, err)
	}
}

// mustRefuse demands that a request fails with certain words, and that nothing was asked for at the token endpoint.
func (w *world) mustRefuse(tr http.RoundTripper, words ...string) {
	w.t.Helper()
	_, err := post(tr, w.url())
	if err == nil {
		w.t.Fatal("no error")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.t.Errorf("error %q does not say %q", err, word)
		}
	}
	if n := w.asked("AS /token"); n != 0 {
		w.t.Errorf("the token endpoint was asked %d times", n)
	}
}
