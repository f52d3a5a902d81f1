package main

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/interactor/scripted"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
)

func TestDemoPlaysTheWholeFlow(t *testing.T) {
	t.Parallel()
	modern := []string{"revision 2026-07-28", "result input_required: questions \"seat\"", "with the answers to \"confirm\" and the sealed state"}
	legacy := []string{"revision 2025-11-25", "request elicitation/create, form: Where would you like to sit", "request elicitation/create, url: Please confirm"}
	both := append(append([]string{}, legacy...), modern...)
	if !legacyBuilt {
		legacy, both = nil, modern
	}
	for name, tt := range map[string]struct {
		args []string
		want []string
		not  string
	}{
		"auto":   {[]string{"demo", "--auto"}, both, ""},
		"piped":  {[]string{"demo"}, both, ""}, // no terminal: auto
		"modern": {[]string{"demo", "--auto", "--era", "modern"}, modern, "initialize"},
		"legacy": {[]string{"demo", "--auto", "--era", "legacy"}, legacy, "input_required"},
		"stdio":  {[]string{"demo", "--auto", "--stdio"}, append([]string{"over standard input and output"}, both...), "HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.want == nil {
				t.Skip("this build has no handshake era")
			}
			got := parley(t, "", tt.args...)
			tt.want = slices.Clone(tt.want)
			if name != "stdio" {
				tt.want = append(tt.want, "401: log in first", "signs in as Alice", "for alice: Bern")
			}
			got.want(t, exitOK, append(tt.want, "presses \"Confirm and buy\"", ": Bern to Wien, first class, window, quiet coach, € 129.00, confirmed at")...)
			if tt.not != "" && strings.Contains(got.out, tt.not) {
				t.Errorf("%q in %s", tt.not, got.out)
			}
		})
	}
}

// demoWorld is the demo's server with its provider, where Alice agrees.
func demoWorld(t *testing.T) *demoServer {
	t.Helper()
	provider, err := demoProvider(true)
	if err != nil {
		t.Fatal(err)
	}
	d, err := startDemoServer(t.Context(), provider)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func (d *demoServer) dial(t *testing.T) mcp.Transport {
	t.Helper()
	transport, auth, err := demoDial(d.url, mcpauth.FollowRedirect(nil, "http://127.0.0.1:1/callback"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = auth.Close() })
	return transport
}

// What the tool returns depends on the page, not on what the client says: threat of a client that accepts for its person.
func TestDemoAcceptIsNotConfirmation(t *testing.T) {
	for _, era := range (&demoCmd{Era: "both"}).eras() {
		t.Run(era.name, func(t *testing.T) {
			d := demoWorld(t)
			answers := []scripted.Answer{{Action: mcp.ActionAccept, Kind: scripted.KindURL}}
			answers = append(answers, newActor(nil).script.Answers()[0])
			page := ""
			visit := make(chan func(context.Context) error, 1)
			script, err := scripted.New(answers...)
			if err != nil {
				t.Fatal(err)
			}
			in := script.Interactor(&scripted.Options{Visit: func(ctx context.Context, _ *mcp.OpenQuestion, u string) error {
				page = u
				return (<-visit)(ctx)
			}})
			client, err := mcp.Connect(t.Context(), d.dial(t), &mcp.ClientOptions{Interactor: in, Revisions: era.revisions})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()

			// Accepted, but nobody presses anything: no ticket.
			visit <- func(context.Context) error { return nil }
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			got, err := mcp.CallTool[ticket](ctx, client, "book", demoJourney)
			cancel()
			if err == nil {
				t.Errorf("a ticket that nobody confirmed: %+v", got)
			}
			if o := d.desk.order(page[strings.LastIndex(page, "/")+1:]); o == nil || !o.confirmed.IsZero() {
				t.Errorf("the order is %+v", o)
			}
		})
	}
}

func TestDemoRefusedAtThePage(t *testing.T) {
	d := demoWorld(t)
	in := newActor(nil).script.Interactor(&scripted.Options{Visit: func(_ context.Context, _ *mcp.OpenQuestion, u string) error {
		res, err := http.PostForm(u, url.Values{"choice": {"refuse"}})
		if err == nil {
			res.Body.Close()
		}
		return err
	}})
	client, err := mcp.Connect(t.Context(), d.dial(t), &mcp.ClientOptions{Interactor: in})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if got, err := mcp.CallTool[ticket](t.Context(), client, "book", demoJourney); err == nil || !strings.Contains(err.Error(), "refused at the page") {
		t.Errorf("%+v %v", got, err)
	}
}

// The same at pages in the browser: form, consent, and the page of the server.
func TestDemoInTheBrowser(t *testing.T) {
	t.Setenv("BROWSER", "none")
	pages := &pageReader{t: t, found: make(chan string, 8)}
	code := make(chan int, 1)
	go func() {
		code <- run(t.Context(), []string{"demo", "--interact", "web"}, &streams{in: strings.NewReader(""), out: pages, err: pages})
	}()
	post := func(page string, v url.Values) string {
		res, err := http.PostForm(page, v)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return string(body)
	}
	next := post(<-pages.found, url.Values{"choice": {"accept"}}) // the login
	signInByForms(t, regexp.MustCompile(`http://[0-9.:]+/authorize[^"]+`).FindString(next))
	post(<-pages.found, url.Values{"choice": {"accept"}, "f0": {"0"}, "f1": {"1"}, "f2": {"true"}})
	next = post(<-pages.found, url.Values{"choice": {"accept"}})
	confirm := regexp.MustCompile(`http://[0-9.:]+/confirm/[0-9a-f]+`).FindString(next)
	post(confirm, url.Values{"choice": {"confirm"}})
	if got := <-code; got != exitOK || !strings.Contains(pages.String(), "first class, aisle, quiet coach, € 129.00") {
		t.Errorf("exit code %d\n%s", got, pages.String())
	}
}

// signInByForms does at the provider's pages what a person does: continues as the first one, and allows it.
func signInByForms(t *testing.T, page string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := c.Get(html.UnescapeString(page))
	for range 3 {
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		text, _, found := strings.Cut(string(body), "</form>")
		if !found {
			if !strings.Contains(text, "The answer was received") {
				t.Errorf("the login ended at %s", text)
			}
			return
		}
		values := url.Values{}
		for _, m := range regexp.MustCompile(`(?:name="([^"]+)" value="([^"]*)")`).FindAllStringSubmatch(text, -1) {
			if !values.Has(m[1]) { // of two buttons the first
				values.Set(m[1], html.UnescapeString(m[2]))
			}
		}
		to, err2 := res.Request.URL.Parse(html.UnescapeString(regexp.MustCompile(`action="([^"]+)"`).FindStringSubmatch(text)[1]))
		if err2 != nil {
			t.Fatal(err2)
		}
		res, err = c.PostForm(to.String(), values)
	}
	t.Error("the login does not end")
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

func TestDemoPage(t *testing.T) {
	d := &desk{base: "http://127.0.0.1:1/", orders: map[string]*order{}}
	o := d.offer(journey{From: "<b>Bern", To: "Wien"}, seat{Class: "second", Place: "aisle"})
	h := d.pages("127.0.0.1:1")
	do := func(method, target, body string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:1"+target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i+1 < len(header); i += 2 {
			if header[i] == "Host" {
				r.Host = header[i+1]
			}
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	path := "/confirm/" + o.ID
	for _, tt := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		text                     string
	}{
		{"show", "GET", path, "", nil, 200, "&lt;b&gt;Bern"},
		{"prefetch changes nothing", "HEAD", path, "", nil, 200, ""},
		{"unknown", "GET", "/confirm/0", "", nil, 404, "does not belong"},
		{"unknown post", "POST", "/confirm/0", "choice=confirm", nil, 404, "does not belong"},
		{"rebinding", "GET", path, "", []string{"Host", "evil.example"}, 421, ""},
		{"other origin", "POST", path, "choice=confirm", []string{"Sec-Fetch-Site", "cross-site"}, 403, ""},
		{"no choice", "POST", path, "choice=x", nil, 400, "choose one"},
		{"confirm", "POST", path, "choice=confirm", nil, 200, "Thank you"},
		{"again", "POST", path, "choice=refuse", nil, 409, "before"},
		{"after", "GET", path, "", nil, 200, "was settled"},
		{"brings its style", "GET", path, "", nil, 200, "color-scheme"},
	} {
		w := do(tt.method, tt.path, tt.body, tt.header...)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.text) {
			t.Errorf("%s: %d %s", tt.name, w.Code, w.Body)
		}
		if tt.status == 200 && !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: no policy", tt.name)
		}
	}
	if d.confirmedAt(o.ID).IsZero() {
		t.Error("it was confirmed, and a second decision does not change that")
	}
}

func TestVersionAndUsage(t *testing.T) {
	parley(t, "", "version").want(t, exitOK, "parley ", "2026-07-28")
	parley(t, "", "--help").want(t, exitOK, "Exit codes:", "demo")
	parley(t, "").want(t, exitOK, "Exit codes:")
	parley(t, "", "nonsense\x1b[2J").want(t, exitUsage, "--help")
	parley(t, "", "demo", "--era", "stone").want(t, exitUsage, "--era")
}
