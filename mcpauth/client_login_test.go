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
	if login, err = begin(t.Context(), ""); err != nil {
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
	if login, err = begin(t.Context(), first); err != nil || login.RedirectURI() != first {
		t.Errorf("the port of the registration is not used again: %v", err)
	}
	second, err := begin(t.Context(), first) // taken: another one
	if err != nil || second.RedirectURI() == first {
		t.Errorf("error %v", err)
	}
	_ = second.Close()
	_ = login.Close()
}

func TestLoopbackWithoutAnswer(t *testing.T) {
	nothing := func(context.Context, *mcpauth.LoginRequest) error { return nil }
	login, err := mcpauth.Loopback(&mcpauth.LoopbackOptions{Open: nothing, Timeout: time.Millisecond})(t.Context(), "")
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
		w.mustRefuse(w.transport(o), "begins with")
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
