package mcpauth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcpauth"
)

func get(t *testing.T, u, host string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		req.Host = host
	}
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if strings.Contains(string(body), "<script") {
		t.Error("the page repeats what it was sent")
	}
	return resp.StatusCode
}

// The callback server takes one answer, with the state of this login, to its own address.
func TestLoopback(t *testing.T) {
	var login mcpauth.Login
	open := func(ctx context.Context, r *mcpauth.LoginRequest) error {
		base := login.RedirectURI()
		for _, c := range []struct {
			u, host string
			want    int
		}{
			{base + "?code=x&state=guess", "", 400},
			{base + "?code=x", "", 400},
			{base + "?code=x&state=" + r.State, "evil.test", 404},
			{strings.Replace(base, "/callback", "/other", 1) + "?state=" + r.State, "", 404},
			{base + "?code=x&state=%zz", "", 400},
			{base + "?code=<script>&state=" + r.State, "", 200},
			{base + "?code=again&state=" + r.State, "", 400},
		} {
			if got := get(t, c.u, c.host); got != c.want {
				t.Errorf("%s (%s): status %d, want %d", c.u, c.host, got, c.want)
			}
		}
		return nil
	}
	begin := mcpauth.Loopback(&mcpauth.LoopbackOptions{Open: open})
	var err error
	if login, err = begin(t.Context(), &mcpauth.LoginStart{}); err != nil {
		t.Fatal(err)
	}
	if u, err := url.Parse(login.RedirectURI()); err != nil || u.Hostname() != "127.0.0.1" || u.Path != "/callback" {
		t.Errorf("redirect URI %s", login.RedirectURI())
	}
	q, err := login.Authorize(t.Context(), &mcpauth.LoginRequest{State: "the-state"})
	if err != nil || q.Get("code") != "<script>" {
		t.Errorf("answer %v, error %v", q, err)
	}
	first := login.RedirectURI()
	if err := login.Close(); err != nil {
		t.Error(err)
	}
	if login, err = begin(t.Context(), &mcpauth.LoginStart{Registered: []string{first}}); err != nil || login.RedirectURI() != first {
		t.Errorf("the port of the registration is not used again: %v", err)
	}
	second, err := begin(t.Context(), &mcpauth.LoginStart{Registered: []string{first}}) // taken: another one
	if err != nil || second.RedirectURI() == first {
		t.Errorf("error %v", err)
	}
	_ = second.Close()
	_ = login.Close()
}

func TestLoopbackWithoutAnswer(t *testing.T) {
	nothing := func(context.Context, *mcpauth.LoginRequest) error { return nil }
	login, err := mcpauth.Loopback(&mcpauth.LoopbackOptions{Open: nothing, Timeout: time.Millisecond})(t.Context(), &mcpauth.LoginStart{})
	if err != nil {
		t.Fatal(err)
	}
	defer login.Close()
	if _, err := login.Authorize(t.Context(), &mcpauth.LoginRequest{State: "s"}); err == nil || !strings.Contains(err.Error(), "nobody logged in") {
		t.Errorf("error %v", err)
	}
}

func TestLoginByLoopback(t *testing.T) {
	w := newWorld(t)
	open := func(_ context.Context, r *mcpauth.LoginRequest) error {
		resp, err := http.Get(r.URL) // a browser follows the redirect
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	w.mustPost(w.transport(&mcpauth.ClientOptions{Login: mcpauth.Loopback(&mcpauth.LoopbackOptions{Open: open})}))
	http.DefaultClient.CloseIdleConnections()
}

func TestLoginByPasting(t *testing.T) {
	w := newWorld(t)
	paste := ""
	o := &mcpauth.ClientOptions{Login: mcpauth.PasteCallback(redirectURI, func(_ context.Context, r *mcpauth.LoginRequest) (string, error) {
		if paste == "no" {
			return "", mcpauth.ErrLoginDeclined
		}
		if paste != "" {
			return paste, nil
		}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(must(http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL, nil)))
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		return " " + resp.Header.Get("Location") + "#_\n", nil
	})}
	for _, paste = range []string{"https://evil.test/?code=x", redirectURI, "hello"} {
		w.mustRefuse(w.transport(o), "begins")
	}
	paste = ""
	w.mustPost(w.transport(o))
	paste = "no"
	if _, err := post(w.transport(o), w.url()); !errors.Is(err, mcpauth.ErrLoginDeclined) {
		t.Errorf("error %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Documents name the redirect URI that is listened on: the host as it is written, any port if none is written.
func TestCaseA12LoopbackAgreesWithTheDocument(t *testing.T) {
	for uri, want := range map[string]string{"": "http://127.0.0.1:", "http://localhost/cb": "http://localhost:", "http://[::1]/cb": "http://[::1]:", "http://127.0.0.1": "http://127.0.0.1:"} {
		var login mcpauth.Login
		open := func(_ context.Context, r *mcpauth.LoginRequest) error {
			for _, host := range []string{"127.0.0.1", "[::1]"} { // localhost is both
				u, _ := url.Parse(login.RedirectURI())
				if u.Hostname() != "localhost" && u.Hostname() != strings.Trim(host, "[]") {
					continue
				}
				got := get(t, "http://"+host+":"+u.Port()+u.Path+"?state=wrong", u.Host)
				if got != 400 {
					t.Errorf("%s at %s: status %d", uri, host, got)
				}
			}
			if got := get(t, login.RedirectURI()+"?code=c&state="+r.State, ""); got != 200 {
				t.Errorf("%s: status %d", uri, got)
			}
			return nil
		}
		var err error
		if login, err = mcpauth.Loopback(&mcpauth.LoopbackOptions{RedirectURI: uri, Open: open})(t.Context(), &mcpauth.LoginStart{Registered: []string{"http://127.0.0.1:1/other", "http://localhost:1/cb"}}); err != nil {
			if strings.Contains(uri, "::1") {
				t.Logf("no IPv6 here: %v", err)
				continue
			}
			t.Fatal(err)
		}
		if got := login.RedirectURI(); !strings.HasPrefix(got, want) || strings.HasSuffix(got, ":") {
			t.Errorf("%s: %s", uri, got)
		}
		if _, err := login.Authorize(t.Context(), &mcpauth.LoginRequest{State: "s"}); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
		fixed := login.RedirectURI()
		if _, err := mcpauth.Loopback(&mcpauth.LoopbackOptions{RedirectURI: fixed})(t.Context(), &mcpauth.LoginStart{}); err == nil {
			t.Errorf("%s: a port that is taken was replaced, although the redirect URI names it", fixed)
		}
		if err := login.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, uri := range []string{"https://127.0.0.1/cb", "http://host.test/cb", "http://127.0.0.1/cb?x=1", "http://u@127.0.0.1/cb", "://", "http://localhost.evil.test/cb"} {
		if _, err := mcpauth.Loopback(&mcpauth.LoopbackOptions{RedirectURI: uri})(t.Context(), &mcpauth.LoginStart{}); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%s: error %v", uri, err)
		}
	}
}

// The browser may be on another computer: the address is pasted, or the callback comes, whatever is first.
func TestLoginByLoopbackOrPasting(t *testing.T) {
	for _, how := range []string{"callback", "pasted", "declined", "nonsense"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			waiting := make(chan struct{})
			tries := 0
			o := &mcpauth.LoopbackOptions{
				Open: func(_ context.Context, r *mcpauth.LoginRequest) error {
					if how != "callback" {
						return nil
					}
					resp, err := http.Get(r.URL)
					if err == nil {
						_ = resp.Body.Close()
					}
					return err
				},
				Paste: func(ctx context.Context, r *mcpauth.LoginRequest) (string, error) {
					tries++
					switch {
					case how == "callback":
						defer close(waiting)
						<-ctx.Done()
						return "", ctx.Err()
					case how == "declined":
						return "", mcpauth.ErrLoginDeclined
					case how == "nonsense" || tries == 1 && r.Problem == "":
						return "nonsense", nil
					case tries == 2 && strings.Contains(r.Problem, "begins"):
						return r.RedirectURI + "?code=x&state=other", nil
					case !strings.Contains(r.Problem, "another login"):
						t.Errorf("problem %q", r.Problem)
					}
					resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(must(http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)))
					if err != nil {
						return "", err
					}
					return resp.Header.Get("Location"), resp.Body.Close()
				},
			}
			tr := w.transport(&mcpauth.ClientOptions{Login: mcpauth.Loopback(o)})
			switch how {
			case "declined":
				if _, err := post(tr, w.url()); !errors.Is(err, mcpauth.ErrLoginDeclined) {
					t.Errorf("error %v", err)
				}
			case "nonsense":
				w.mustRefuse(tr, "not the address", "nonsense")
			default:
				w.mustPost(tr)
			}
			if how == "callback" {
				<-waiting
				http.DefaultClient.CloseIdleConnections()
			}
		})
	}
}
