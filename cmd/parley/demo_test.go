package main

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/interactor/scripted"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

func TestDemoPlaysTheWholeFlow(t *testing.T) {
	t.Parallel()
	modern := []string{"revision 2026-07-28", "result input_required: questions \"seat\"", "with the answers to \"connect/secret/stations\" and the sealed state"}
	legacy := []string{"revision 2025-11-25", "request elicitation/create, form: Where would you like to sit", "request elicitation/create, url: Travel desk asks for your approval"}
	both := append(append([]string{}, legacy...), modern...)
	if !legacyBuilt {
		legacy, both = nil, modern
	}
	bob := []string{"\"This request is not yours\"", "is as before: 0", "is as before: 2", "that is meant for alice's browser", "\"Opened by somebody else\""}
	for name, tt := range map[string]struct {
		args []string
		want []string
		not  string
	}{
		"auto":     {[]string{"demo", "--auto"}, both, "bob"},
		"piped":    {[]string{"demo"}, both, ""}, // no terminal: auto
		"modern":   {[]string{"demo", "--auto", "--era", "modern"}, modern, "initialize"},
		"legacy":   {[]string{"demo", "--auto", "--era", "legacy"}, legacy, "input_required"},
		"stdio":    {[]string{"demo", "--auto", "--stdio"}, append([]string{"over standard input and output", "types the code that the host has shown"}, both...), "HTTP"},
		"intruder": {[]string{"demo", "--auto", "--intruder"}, append(bob, both...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.want == nil {
				t.Skip("this build has no handshake era")
			}
			got := parley(t, "", tt.args...)
			tt.want = slices.Clone(tt.want)
			if name != "stdio" {
				tt.want = append(tt.want, "401: log in first", "presses \"Continue as Alice\"")
			}
			got.want(t, exitOK, append(tt.want, "\"Rail AG does not know this key\"", "\"Saved\"", "\"Connected\"", "presses \"Approve\"",
				" for alice@rail-ag.example: Bern to Wien, First class, at the window, quiet coach, €", "The key never passed the client")...)
			if tt.not != "" && strings.Contains(got.out, tt.not) {
				t.Errorf("%q in %s", tt.not, got.out)
			}
			if strings.Contains(got.out+got.err, "rk_demo_") {
				t.Error("the output has the key")
			}
		})
	}
	parley(t, "", "demo", "--stdio", "--intruder").want(t, exitUsage, "leave out --stdio")
}

// newDemo starts the demo's world and connects its host to it, with somebody who answers the form and logs in as Alice.
func newDemo(t *testing.T, era demoEra, open func(ctx context.Context, w *demoWorld, alice *actor, page string) error) (*demoWorld, *mcp.Client) {
	t.Helper()
	w, err := (&demoCmd{}).start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	alice, err := newActor(t.Output(), w.site, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := alice.script.Interactor(&scripted.Options{Visit: func(ctx context.Context, _ *mcp.OpenQuestion, page string) error {
		return open(ctx, w, alice, page)
	}})
	transport, hangUp, err := w.dial((&demoCmd{}).login(nil, nil, nil, alice))
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.Connect(t.Context(), transport, &mcp.ClientOptions{Interactor: in, Revisions: era.revisions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), hangUp(), w.Close(), w.remove()); err != nil {
			t.Error(err)
		}
	})
	return w, client
}

// What the tool returns depends on the pages, not on what the client says: threat of a client that accepts for its person.
func TestDemoAcceptIsNotCompletion(t *testing.T) {
	for _, era := range (&demoCmd{Era: "both"}).eras() {
		t.Run(era.name, func(t *testing.T) {
			w, client := newDemo(t, era, func(context.Context, *demoWorld, *actor, string) error { return nil })
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			if got, err := mcp.CallTool[ticket](ctx, client, "book", demoJourney); err == nil {
				t.Errorf("a ticket that nobody approved: %+v", got)
			}
			if n, err := w.server.stored(t.Context()); n != 0 || err != nil {
				t.Errorf("%d %v", n, err)
			}
		})
	}
}

func TestDemoDeclinedAtThePage(t *testing.T) {
	_, client := newDemo(t, (&demoCmd{}).eras()[0], func(ctx context.Context, _ *demoWorld, alice *actor, page string) error {
		p, err := alice.visitor.browser.open(ctx, page)
		for err == nil {
			if _, ok := p.has("Save"); ok {
				p, err = alice.visitor.browser.press(ctx, p, "Decline")
				if err == nil && p.title != "Declined" {
					err = errors.New(p.text)
				}
				return err
			}
			p, err = alice.visitor.step(ctx, p)
		}
		return err
	})
	if got, err := mcp.CallTool[ticket](t.Context(), client, "book", demoJourney); err == nil || !strings.Contains(err.Error(), "declined") {
		t.Errorf("%+v %v", got, err)
	}
}

// The story fails where it does not end as it is told.
func TestDemoChecksItself(t *testing.T) {
	w, err := (&demoCmd{Stdio: true}).start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(w.Close(), w.remove()) }()
	out := &streams{out: t.Output()}
	wire := &wireRecord{}
	fails := func(what, text string) {
		t.Helper()
		if err := w.secretKept(out, wire); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", what, err)
		}
	}
	fails("no message", "were not recorded")
	wire.see(toServer, &jsonrpc.Message{Method: "x", Params: json.RawMessage(`{}`)}, nil)
	fails("no file", "has kept nothing")
	file := filepath.Join(w.dir, demoStoreFile)
	if err := os.WriteFile(file, []byte("…"+w.company.key), 0o600); err != nil {
		t.Fatal(err)
	}
	fails("in the store", "is in demo.db as it is")
	wire.see(toHost, &jsonrpc.Message{Method: "x", Params: json.RawMessage(`{"key":"` + w.company.key + `"}`)}, nil)
	fails("on the wire", "is in the messages")

	good := ticket{Number: "1", Passenger: "alice@rail-ag.example", From: "Bern", To: "Wien", Class: "first", Place: "window", Quiet: true, Fare: "1", ApprovedAt: time.Now()}
	if err := check(good, nil); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*ticket){
		"another journey": func(g *ticket) { g.To = "Praha" },
		"no approval":     func(g *ticket) { g.ApprovedAt = time.Time{} },
		"another seat":    func(g *ticket) { g.Quiet = false },
		"another account": func(g *ticket) { g.Passenger = "bob@rail-ag.example" },
		"no pages":        func(*ticket) {},
	} {
		alice, err := newActor(t.Output(), w.site, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := good
		change(&got)
		if check(got, alice) == nil {
			t.Errorf("%s passes", what)
		}
	}
	if (&intruder{}).failed(t.Context(), nil) == nil {
		t.Error("an intruder who did nothing passes")
	}
}

// The same at pages in the browser: form, consent, and the pages of the server, with an intruder in between.
func TestDemoInTheBrowser(t *testing.T) {
	t.Setenv("BROWSER", "none")
	pages := &pageReader{t: t, found: make(chan string, 20)}
	code := make(chan int, 1)
	go func() {
		code <- run(t.Context(), []string{"demo", "--interact", "web", "--intruder"}, &streams{in: strings.NewReader(""), out: io.Discard, err: pages})
	}()
	alice := newVisitor(t)
	post := func(v url.Values) string {
		select {
		case page := <-pages.found:
			res, err := alice.browser.http.PostForm(page, v)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, _ := io.ReadAll(res.Body)
			return string(body)
		case got := <-code:
			t.Fatalf("exit code %d\n%s", got, pages.String())
		}
		return ""
	}
	visit := func(address, end string) {
		t.Helper()
		next := html.UnescapeString(regexp.MustCompile(address).FindString(post(url.Values{"choice": {"accept"}})))
		if err := alice.walk(t.Context(), next, end); err != nil {
			t.Fatal(err)
		}
	}
	const desk = `http://[0-9.:]+/connect/i/[0-9A-Za-z_-]+`
	visit(`http://[0-9.:]+/authorize[^"]+`, "The answer was received")
	visit(desk, "Saved")
	post(url.Values{"choice": {"accept"}, "f0": {"0"}, "f1": {"1"}, "f2": {"true"}})
	visit(desk, "Connected")
	visit(desk, "Approved")
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d\n%s", got, pages.String())
	}
}

// newVisitor is Alice, at a browser.
func newVisitor(t *testing.T) *visitor {
	t.Helper()
	b, err := newBrowser()
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{name: "Alice", browser: b, site: (*url.URL).String, tell: t.Logf}
}

// The API key's page is for browsers that mean it.
func TestDemoKeyPage(t *testing.T) {
	company, err := startRailAG()
	if err != nil {
		t.Fatal(err)
	}
	defer company.Close()
	for host, want := range map[string]int{"": http.StatusOK, "evil.example": http.StatusMisdirectedRequest} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, company.site.URL()+"/account/key", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != want || strings.Contains(string(body), company.key) != (want == http.StatusOK) {
			t.Errorf("%q: %d %s", host, res.StatusCode, body)
		}
	}
}

// A pageReader finds addresses in what is written to it.
type pageReader struct {
	t     *testing.T
	found chan string

	mu   sync.Mutex
	text strings.Builder
}

func (p *pageReader) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Write(b)
	if page := regexp.MustCompile(`http://[^\s]+`).FindString(string(b)); page != "" {
		p.found <- page
	}
	return len(b), nil
}

func (p *pageReader) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func TestVersionAndUsage(t *testing.T) {
	parley(t, "", "version").want(t, exitOK, "parley ", "2026-07-28")
	parley(t, "", "--help").want(t, exitOK, "Exit codes:", "demo")
	parley(t, "").want(t, exitOK, "Exit codes:")
	parley(t, "", "nonsense\x1b[2J").want(t, exitUsage, "--help")
	parley(t, "", "demo", "--era", "stone").want(t, exitUsage, "--era")
}
