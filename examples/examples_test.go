// Package examples_test builds and runs the examples, with a scripted person where one is asked.
package examples_test

import (
	"context"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
	"github.com/seed38e7925c/parley/mcptest/idp"
	"github.com/seed38e7925c/parley/mcptest/railway"
)

// maxLines bounds an example.
const maxLines = 80

// build compiles an example.
func build(t *testing.T, name string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(name, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), "\n"); n >= maxLines {
		t.Errorf("%s has %d lines; an example has less than %d", name, n, maxLines)
	}
	binary := filepath.Join(t.TempDir(), name)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// start runs an example in a folder of its own and connects to it.
func start(t *testing.T, name string, person *mcp.Interactor, env ...string) *mcp.Client {
	t.Helper()
	server := mcp.Command(build(t, name), nil, &mcp.CommandOptions{Dir: t.TempDir(), Env: append(os.Environ(), env...), Stderr: t.Output()})
	c, err := mcp.Connect(t.Context(), server, &mcp.ClientOptions{Interactor: person})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// serve runs an example that listens, until the test ends; it returns once the example answers.
func serve(t *testing.T, name, address string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), build(t, name))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = t.TempDir(), append(os.Environ(), env...), t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the test's context has ended it
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.Split(address, "/")[2])
		if err == nil {
			_ = conn.Close()
			return
		}
		<-tick.C
	}
	t.Fatalf("%s does not listen", name)
}

// freePort returns an address of this computer that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// call calls a tool whose structured result has one text.
func call(t *testing.T, c *mcp.Client, tool string, args map[string]any) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res, err := mcp.CallTool[map[string]string](ctx, c, tool, args)
	for _, text := range res {
		return text, err
	}
	return "", err
}

// A person opens the pages that they are asked to open, types the code that the client has shown, and answers.
type person struct {
	t      *testing.T
	answer url.Values // what the form is filled in with
	pages  sync.WaitGroup
	asked  int
}

func newPerson(t *testing.T, answer url.Values) (*person, *mcp.Interactor) {
	p := &person{t: t, answer: answer}
	t.Cleanup(p.pages.Wait)
	return p, &mcp.Interactor{Open: func(_ context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		p.asked++
		p.pages.Go(func() { p.visit(q) })
		return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
	}}
}

var (
	code  = regexp.MustCompile(`[0-9A-Z]{5}-[0-9A-Z]{5}`)
	token = regexp.MustCompile(`name="csrf" value="([^"]*)"`)
	link  = regexp.MustCompile(`<a href="([^"]*)"`)

	consent = regexp.MustCompile(`<form method="post" action="(http[^"]*/consent)"`)
)

// visit answers one page.
func (p *person) visit(q *mcp.OpenQuestion) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Error(err)
		return
	}
	browser := &http.Client{Jar: jar, Timeout: time.Minute}
	page := p.post(browser, q.URL+"/code", url.Values{"code": {code.FindString(q.Message)}})
	form := url.Values{"do": {"submit"}}
	for name, values := range p.answer {
		form[name] = values
	}
	if m := token.FindStringSubmatch(page); m != nil {
		form.Set("csrf", m[1])
	}
	page = p.post(browser, q.URL, form)
	if m := consent.FindStringSubmatch(page); m != nil { // at the other company
		form := hidden(page)
		form.Set("answer", "allow")
		p.post(browser, m[1], form)
	}
	if m := link.FindStringSubmatch(page); m != nil && strings.Contains(page, "A shop") {
		p.get(browser, strings.ReplaceAll(m[1], "&amp;", "&"))
	}
}

func (p *person) post(browser *http.Client, address string, form url.Values) string {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Error(err)
		return ""
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.do(browser, req)
}

func (p *person) get(browser *http.Client, address string) string {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
	if err != nil {
		p.t.Error(err)
		return ""
	}
	return p.do(browser, req)
}

func (p *person) do(browser *http.Client, req *http.Request) string {
	res, err := browser.Do(req)
	if err != nil {
		p.t.Error(err)
		return ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Error(err)
	}
	return string(body)
}

func TestHello(t *testing.T) {
	c := start(t, "hello", nil)
	if text, err := call(t, c, "greet", map[string]any{"name": "Ada"}); err != nil || text != "Hello, Ada." {
		t.Errorf("%q, %v", text, err)
	}
}

// TestSecret types a wrong key, then the right one; the next call needs nobody.
func TestSecret(t *testing.T) {
	api := railway.Start(t, &railway.Options{Keys: map[string]string{"rk_right": "alice"}})
	wrong, asks := newPerson(t, url.Values{"f-value": {"rk_right"}})
	c := start(t, "secret", asks, "STATIONS_API="+api.URL())
	for range 2 {
		if text, err := call(t, c, "stations", nil); err != nil || text != "200 OK" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if wrong.asked != 1 {
		t.Errorf("the person was asked %d times", wrong.asked)
	}
}

// TestApproval approves one transfer and declines another.
func TestApproval(t *testing.T) {
	p, asks := newPerson(t, nil)
	c := start(t, "approval", asks)
	args := map[string]any{"to": "Ada", "amount": 42}
	if text, err := call(t, c, "transfer", args); err != nil || !strings.HasPrefix(text, "sent, with reference ") {
		t.Errorf("%q, %v", text, err)
	}
	p.answer = url.Values{"do": {"decline"}}
	if text, err := call(t, c, "transfer", args); err == nil || !strings.Contains(err.Error(), "declined") {
		t.Errorf("%q, %v", text, err)
	}
}

// TestPage pays at a shop and comes back.
func TestPage(t *testing.T) {
	var mu sync.Mutex
	paid := map[string]bool{}
	mux := http.NewServeMux()
	mux.HandleFunc("/pay", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paid[r.FormValue("order")] = true
		fmt.Fprintf(w, `<title>A shop</title><a href="%s">Paid, go back</a>`, strings.ReplaceAll(r.FormValue("back"), "&", "&amp;"))
	})
	mux.HandleFunc("/paid", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !paid[r.FormValue("order")] {
			http.Error(w, "not paid", http.StatusPaymentRequired)
		}
	})
	shop := httptest.NewServer(mux)
	t.Cleanup(shop.Close)
	_, asks := newPerson(t, nil)
	c := start(t, "page", asks, "SHOP="+shop.URL)
	if text, err := call(t, c, "buy", map[string]any{"item": "A book"}); err != nil || text != "A book is on its way" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestGrant gives access at another company, once.
func TestGrant(t *testing.T) {
	company := idp.Start(t, &idp.Options{Auto: idp.Auto{SignIn: "alice"}})
	api := railway.Start(t, &railway.Options{Check: company.Check})
	if err := company.AddClient(&idp.Client{ID: "tickets", RedirectURIs: []string{"http://127.0.0.1/callback/rail"}}); err != nil {
		t.Fatal(err)
	}
	p, asks := newPerson(t, nil)
	c := start(t, "grant", asks, "RAIL_API="+api.URL(), "RAIL_ISSUER="+company.Issuer())
	for range 2 {
		if text, err := call(t, c, "account", nil); err != nil || text != "200 OK" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if p.asked != 1 || api.Count("GET /me") != 2 {
		t.Errorf("the person was asked %d times, the API %d times", p.asked, api.Count("GET /me"))
	}
}

// TestHosted: each person of a server on the network has a phrase of their own, and a link is of no use to another one.
func TestHosted(t *testing.T) {
	address := freePort(t)
	issuer := idp.Start(t, &idp.Options{Auto: idp.Auto{Consent: idp.Approve}})
	own := &idp.Client{ID: "notes", Secret: "s", RedirectURIs: []string{"http://" + address + "/connect/signin/callback"}}
	if err := issuer.AddClient(own); err != nil {
		t.Fatal(err)
	}
	serve(t, "hosted", "http://"+address+"/mcp", "URL=http://"+address+"/", "LISTEN="+address, "ISSUER="+issuer.Issuer(), "CLIENT_ID=notes", "CLIENT_SECRET=s")
	for _, who := range []string{"alice", "bob"} {
		token, err := issuer.Mint(&idp.Ticket{Subject: who, ClientID: "app", Resource: "http://" + address + "/mcp"})
		if err != nil {
			t.Fatal(err)
		}
		p := &person{t: t, answer: url.Values{"f-value": {"open sesame, says " + who}}}
		transport := mcphttp.Dial("http://"+address+"/mcp", &mcphttp.DialOptions{Header: http.Header{"Authorization": {"Bearer " + token}}})
		c, err := mcp.Connect(t.Context(), transport, &mcp.ClientOptions{Interactor: &mcp.Interactor{
			Open: func(_ context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
				if page := p.at(issuer, "carol", q.URL); !strings.Contains(page, "This request is not yours") {
					t.Errorf("carol sees %s", page)
				}
				if page := p.at(issuer, who, q.URL); !strings.Contains(page, "Saved") {
					t.Errorf("%s sees %s", who, page)
				}
				return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
			}}})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := call(t, c, "unlock", nil); err != nil || text != "the notes of "+who+" are open" {
			t.Errorf("%q, %v", text, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// at has somebody open a link, sign in, and fill in the form; the last page counts.
func (p *person) at(issuer *idp.Server, who, link string) string {
	issuer.AddUser(idp.User{Subject: who})
	jar, err := cookiejar.New(nil)
	if err == nil {
		err = issuer.SignIn(jar, who)
	}
	if err != nil {
		p.t.Error(err)
		return ""
	}
	browser := &http.Client{Jar: jar, Timeout: time.Minute}
	page := p.get(browser, link)
	if m := action.FindStringSubmatch(page); m != nil { // the sign-in, which comes back to the link
		page = p.post(browser, "http://"+strings.Split(link, "/")[2]+m[1], hidden(page))
	}
	if !strings.Contains(page, `name="f-value"`) {
		return page
	}
	form := hidden(page)
	form.Set("do", "submit")
	form["f-value"] = p.answer["f-value"]
	return p.post(browser, link, form)
}

var (
	action = regexp.MustCompile(`<form method="post" action="([^"]*/signin[^"]*)"`)
	field  = regexp.MustCompile(`type="hidden" name="([^"]*)" value="([^"]*)"`)
)

// hidden is what the first form of a page sends by itself.
func hidden(page string) url.Values {
	form := url.Values{}
	for _, m := range field.FindAllStringSubmatch(page, -1) {
		if !form.Has(m[1]) { // of several forms the first one
			form.Set(m[1], html.UnescapeString(m[2]))
		}
	}
	return form
}
