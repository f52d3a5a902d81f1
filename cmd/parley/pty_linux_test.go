package main

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/ptytest"
)

// The main job, at a terminal: a form, a page, a ticket.
func TestDemoAtATerminal(t *testing.T) {
	t.Setenv("BROWSER", "none")
	t.Setenv("NO_COLOR", "1")
	for _, args := range [][]string{{"demo"}, {"demo", "--era", "legacy"}} {
		if len(args) > 1 && !legacyBuilt {
			continue
		}
		p := ptytest.Open(t)
		code := make(chan int, 1)
		go func() { code <- run(t.Context(), args, &streams{in: p.TTY, out: p.TTY, err: p.TTY}) }()
		p.Expect("demands that you log in")
		p.Expect("Open this page?")
		p.Type("y\n")
		p.Expect("c = give up")
		signInByForms(t, shown(t, p))
		p.Expect("asks you 3 things")
		p.Expect("1 of 3 › ")
		p.Type("\n")
		p.Expect("2 of 3 › ")
		p.Type("1\n")
		p.Expect("3 of 3 › ")
		p.Type("no\n")
		p.Expect("c = cancel › ")
		p.Type("s\n")
		p.Expect("Open this page?")
		p.Type("y\n")
		p.Expect("Open this address yourself:")
		text := p.Expect("/confirm/")
		base := strings.TrimSpace(text)
		id := regexp.MustCompile(`^[0-9a-f]+`).FindString(p.Expect("\r\n"))
		res, err := http.PostForm(base+"/confirm/"+id, url.Values{"choice": {"confirm"}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		p.Expect("Ticket T-" + id[:8] + " for alice: Bern to Wien, second class, window, € 79.00,")
		if got := <-code; got != exitOK {
			t.Errorf("exit code %d\n%s", got, p.Screen())
		}
	}
}

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
