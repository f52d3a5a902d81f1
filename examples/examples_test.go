// Package examples_test builds and runs the examples, with a scripted person where one is asked.
package examples_test

import (
	"context"
	"fmt"
	"io"
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
