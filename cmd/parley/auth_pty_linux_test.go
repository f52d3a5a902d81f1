package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/ptytest"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

var loginURL = regexp.MustCompile(`(?s)\r\n\r\n(http://127\.0\.0\.1:[0-9]+/authorize\?.*?)\r\n`)

// shown finds the address of the login page on the screen.
func shown(t *testing.T, p *ptytest.Terminal) string {
	t.Helper()
	found := loginURL.FindAllStringSubmatch(p.Screen(), -1)
	if len(found) == 0 {
		t.Fatalf("no address:\n%s", p.Screen())
	}
	return found[len(found)-1][1]
}

// visit is a browser: on this computer it reaches the callback, elsewhere it ends there.
func visit(t *testing.T, page string, here bool) (end string) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if !here && strings.Contains(r.URL.Path, "/callback") {
			end = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := c.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || here && !strings.Contains(string(body), "The answer was received") {
		t.Errorf("%v: %s", err, body)
	}
	return end
}

// Any command logs in by itself, with a browser here or elsewhere, asks for more when that is needed, and goes on.
func TestLoginAtATerminal(t *testing.T) {
	t.Setenv("BROWSER", "none")
	t.Setenv("NO_COLOR", "1")
	g := guard(t, nil)
	p := ptytest.Open(t)
	code := make(chan int, 1)
	at := &streams{in: p.TTY, out: p.TTY, err: p.TTY}
	start := func(args ...string) { go func() { code <- run(t.Context(), args, at) }() }
	end := func(want int) {
		t.Helper()
		if got := <-code; got != want {
			t.Errorf("exit code %d, want %d\n%s", got, want, p.Screen())
		}
	}

	start("call", g.url, "who")
	p.Expect("asks you to open a page")
	p.Expect("log in at " + g.provider.Issuer())
	p.Expect("Open this page?")
	p.Type("y\n")
	p.Expect("here. c = give up")
	visit(t, shown(t, p), true)
	p.Expect("you are alice")
	end(exitOK)

	start("call", g.url, "pay") // needs another scope
	p.Expect("needs more than you allowed")
	p.Expect("money")
	p.Expect("Open this page?")
	p.Type("y\n")
	p.Expect("here. c = give up")
	p.Type("\nnonsense\n")
	p.Expect("that is not the address")
	p.Type(visit(t, shown(t, p), false) + "\n")
	p.Expect("you are alice")
	end(exitOK)

	start("login", "--again", g.url)
	p.Expect("Open this page?")
	p.Type("n\n")
	p.Expect("was declined")
	end(exitDeclined)

	start("login", "--again", "--scope", "other", g.url)
	p.Expect("other, trips")
	p.Expect("Open this page?")
	p.Type("y\n")
	p.Expect("here. c = give up")
	p.Type("c\n")
	p.Expect("was declined")
	end(exitDeclined)

	g.provider.SetAuto(idp.Auto{SignIn: "alice", Consent: idp.Decline})
	start("login", "--scope", "yet-another", g.url)
	p.Expect("yet-another")
	p.Expect("Open this page?")
	p.Type("y\n")
	p.Expect("here. c = give up")
	visit(t, shown(t, p), true)
	p.Expect("was declined")
	p.Expect("access_denied")
	end(exitDeclined)

	start("logout", g.url)
	p.Expect("Logged out")
	end(exitOK)
	g.provider.SetAuto(idp.Auto{SignIn: "bob", Consent: idp.Approve})
	start("login", g.url)
	p.Expect("Open this page?")
	p.Type("y\n")
	p.Expect("here. c = give up")
	visit(t, shown(t, p), true)
	p.Expect("Logged in.")
	p.Expect("bob")
	end(exitOK)
}

// A tool's question comes to the same keyboard after the login.
func TestKeyboardIsShared(t *testing.T) {
	p := ptytest.Open(t)
	k := newKeyboard(p.TTY)
	if !isTerminal(k) {
		t.Error("it is no terminal")
	}
	p.Type("one\ntwo\nthree\n")
	if line, err := k.line(t.Context()); line != "one" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	buf := make([]byte, 2)
	var got []byte
	for len(got) < len("two\n") {
		n, err := k.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, buf[:n]...)
	}
	if line, err := k.line(t.Context()); string(got) != "two\n" || line != "three" || err != nil {
		t.Errorf("%q, %q, %v", got, line, err)
	}
}
