package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/ptytest"
)

// The main job, at a terminal: a login, a secret, a form, a grant, an approval, a ticket.
func TestDemoAtATerminal(t *testing.T) {
	t.Setenv("BROWSER", "none")
	t.Setenv("NO_COLOR", "1")
	for _, args := range [][]string{{"demo"}, {"demo", "--era", "legacy"}, {"demo", "--intruder"}} {
		if slices.Contains(args, "legacy") && !legacyBuilt {
			continue
		}
		p := ptytest.Open(t)
		code := make(chan int, 1)
		go func() { code <- run(t.Context(), args, &streams{in: p.TTY, out: p.TTY, err: p.TTY}) }()
		alice := newVisitor(t)
		visit := func(address *regexp.Regexp, end string) {
			t.Helper()
			found := address.FindAllStringSubmatch(p.Screen(), -1)
			if len(found) == 0 {
				t.Fatalf("no address:\n%s", p.Screen())
			}
			if err := alice.walk(t.Context(), found[len(found)-1][1], end); err != nil {
				t.Fatal(err)
			}
		}
		page := func(end string) {
			t.Helper()
			p.Expect("Open this page?")
			p.Type("y\n")
			p.Expect("Open this address yourself:")
			p.Expect("/connect/i/")
			p.Expect("\r\n")
			visit(pageURL, end)
		}
		p.Expect("demands that you log in")
		p.Expect("Open this page?")
		p.Type("y\n")
		p.Expect("c = give up")
		visit(loginURL, "The answer was received")
		page("Saved")
		p.Expect("asks you 3 things")
		p.Expect("1 of 3 › ")
		p.Type("\n")
		p.Expect("2 of 3 › ")
		p.Type("1\n")
		p.Expect("3 of 3 › ")
		p.Type("no\n")
		p.Expect("c = cancel › ")
		p.Type("s\n")
		page("Connected")
		page("Approved")
		p.Expect("for alice@rail-ag.example: Bern to Wien, Second class, at the")
		p.Expect("never passed the client")
		if got := <-code; got != exitOK {
			t.Errorf("exit code %d\n%s", got, p.Screen())
		}
	}
}

var pageURL = regexp.MustCompile(`(http://127\.0\.0\.1:[0-9]+/connect/i/[0-9A-Za-z_-]+)\r\n`)

func TestCallAtATerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	target := serve(t)
	p := ptytest.Open(t)
	code := make(chan int, 1)
	at := &streams{in: p.TTY, out: p.TTY, err: p.TTY}
	go func() { code <- run(t.Context(), []string{"call", target, "seat"}, at) }()
	p.Expect("1 of 3 › ")
	p.Type("\x04")
	p.Expect("Cancelled.")
	if got := <-code; got != exitDeclined {
		t.Errorf("exit code %d\n%s", got, p.Screen())
	}
	// Results are safe to display where they are displayed.
	for _, args := range [][]string{{"read", target, "doc:hello"}, {"call", "--json", target, "sum", "a=1", "b=2"}} {
		before := len(p.Screen())
		if got := run(t.Context(), args, at); got != exitOK {
			t.Errorf("%v: exit code %d\n%s", args, got, p.Screen())
		}
		p.Expect("\r\n")
		if text := strings.ReplaceAll(p.Screen()[before:], "\r\x1b[K", ""); strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%v: %q", args, text)
		}
	}
	if got := run(t.Context(), []string{"read", target, "doc:two"}, at); got != exitLocal {
		t.Errorf("exit code %d", got)
	}
	p.Expect("write them to a file with -o FILE")
	go func() { code <- run(t.Context(), []string{"call", target, "steps"}, at) }()
	p.Expect("] ")
	p.Expect(" 50% half")
	p.Expect("done")
	<-code
}
