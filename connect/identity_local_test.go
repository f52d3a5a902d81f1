package connect_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/storetest"
	"github.com/seed38e7925c/parley/mcp"
)

func testKeys(t *testing.T) *connect.Keys {
	t.Helper()
	return connect.KeysFromFile(filepath.Join(t.TempDir(), "keys"))
}

// A localWorld is a server that a client of this computer has started.
type localWorld struct {
	*world
	desk *connect.Desk
}

func newLocalWorld(t *testing.T) *localWorld {
	t.Helper()
	w := &localWorld{world: &world{t: t, store: storetest.NewMemory(), logs: &safeBuffer{}}}
	log := slog.New(slog.NewTextHandler(io.MultiWriter(w.logs, t.Output()), &slog.HandlerOptions{Level: slog.LevelDebug}))
	d, err := connect.OpenLocal(t.Context(), &connect.Options{ServerName: "Travel desk", Store: w.store, Keys: testKeys(t), Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	w.desk = d
	r := &replica{desk: d, key: d.Secret(&connect.SecretSpec{Name: "maps", Title: "Maps API key", Validate: tryKey})}
	w.replicas = []*replica{r}
	return w
}

// client starts the server over a pipe, as over standard input and output.
func (w *localWorld) client(rev mcp.Revision, person *mcp.Interactor) *mcp.Client {
	w.t.Helper()
	srv := mcp.NewServer("travel", "1", nil)
	addTools(srv, w.replicas[0])
	c, err := mcp.Connect(w.t.Context(), mcp.Pipe(srv.ServeConn), &mcp.ClientOptions{
		Info: &mcp.Implementation{Name: "Desk Assistant", Version: "1"}, Revisions: []mcp.Revision{rev}, Interactor: person,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

var code = regexp.MustCompile(`[0-9A-Z]{5}-[0-9A-Z]{5}`)

// withCode is what a person is shown: the link, and the code.
type withCode struct{ link, code string }

func codes() (*mcp.Interactor, chan withCode) {
	ch := make(chan withCode, 10)
	return &mcp.Interactor{Open: func(_ context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		ch <- withCode{q.URL, code.FindString(q.Message)}
		return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
	}}, ch
}

// browser makes one.
func (w *localWorld) browser(link string) *browser {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	base, err := url.Parse(link)
	if err != nil {
		w.t.Fatal(err)
	}
	return &browser{t: w.t, base: &url.URL{Scheme: base.Scheme, Host: base.Host}, seen: &safeBuffer{}, http: &http.Client{Jar: jar}}
}

// TestLocalUser: a server on standard input and output asks the person at the computer: the link claims nothing, the code from the client
// does, in any writing, and for one browser.
func TestLocalUser(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		w := newLocalWorld(t)
		person, pages := codes()
		done := call(t, w.client(rev, person), "geocode", where{"Bern"})
		a := get(t, pages)
		if a.code == "" || strings.Contains(a.link, a.code) {
			t.Fatalf("asked %+v", a)
		}
		b := w.browser(a.link)
		p := b.open(a.link)
		if p.status != http.StatusOK || !strings.Contains(p.body, "Enter the code") || strings.Contains(p.body, a.code) || strings.Contains(p.body, "Maps") {
			t.Fatalf("status %d: %s", p.status, p.body)
		}
		if p := b.post(a.link, url.Values{"do": {"submit"}, "f-value": {"mk_1"}}); strings.Contains(p.body, "Saved") {
			t.Fatal("a secret was taken without the code")
		}
		if p := b.post(a.link+"/code", url.Values{"code": {"00000-00000"}}); p.status != http.StatusForbidden || !strings.Contains(p.body, "4 more attempts") {
			t.Fatalf("a wrong code: status %d: %s", p.status, p.body)
		}
		typed := " " + strings.ToLower(strings.ReplaceAll(a.code, "-", " ")) + " "
		if p := b.post(a.link+"/code", url.Values{"code": {typed}}); p.status != http.StatusOK || !strings.Contains(p.body, "Maps API key") {
			t.Fatalf("the code: status %d: %s", p.status, p.body)
		}
		if p := w.browser(a.link).open(a.link); !strings.Contains(p.body, "Enter the code") {
			t.Errorf("another browser needs no code: %s", p.body)
		}
		if p := b.fill(a.link, "submit", "f-value", "mk_12345"); !strings.Contains(p.body, "Saved") {
			t.Fatalf("status %d: %s", p.status, p.body)
		}
		if o := get(t, done); o.err != nil || o.res.Text != "Bern with a key of xxxxxxxx" {
			t.Fatalf("%+v", o)
		}
		if strings.Contains(w.logs.String(), a.code) || strings.Contains(b.seen.String(), a.code) {
			t.Error("the code is in the log, or in a page")
		}
	})
}

// TestThreat32 plays a model that reads results, opens links and guesses: it never sees the code, cannot guess it, and where its client
// opens no pages there is no link.
func TestThreat32TheAgentAnswersItself(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		t.Run("guessing", func(t *testing.T) {
			w := newLocalWorld(t)
			person, pages := codes()
			done := call(t, w.client(rev, person), "geocode", where{"Bern"})
			a := get(t, pages)
			b := w.browser(a.link)
			for range 4 {
				b.post(a.link+"/code", url.Values{"code": {"AAAAA-AAAAA"}})
			}
			if p := b.post(a.link+"/code", url.Values{"code": {"AAAAA-AAAAA"}}); p.status != http.StatusGone || !strings.Contains(p.body, "Too many attempts") {
				t.Errorf("the fifth guess: status %d: %s", p.status, p.body)
			}
			if p := b.post(a.link+"/code", url.Values{"code": {a.code}}); p.status != http.StatusGone {
				t.Errorf("the code after five guesses: status %d: %s", p.status, p.body)
			}
			if o := get(t, done); o.err == nil || strings.Contains(o.err.Error(), a.code) {
				t.Errorf("the call ended with %+v", o)
			}
		})
		t.Run("no pages", func(t *testing.T) {
			w := newLocalWorld(t)
			_, err := mcp.CallTool[where](t.Context(), w.client(rev, nil), "geocode", where{"Bern"})
			if err == nil || strings.Contains(err.Error(), "http://") || code.MatchString(err.Error()) {
				t.Errorf("the result has a link or a code: %v", err)
			}
		})
	})
}

// TestThreat30 reaches for the pages of a local server from elsewhere: by another name, without the path that nobody can guess, from a
// page of another site.
func TestThreat30PagesOnLoopback(t *testing.T) {
	w := newLocalWorld(t)
	person, pages := codes()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	c := w.client(mcp.Revision20260728, person)
	go func() {
		_, err := mcp.CallTool[where](ctx, c, "geocode", where{"Bern"})
		ended <- err
	}()
	a := get(t, pages)
	b := w.browser(a.link)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.link, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	if p := b.do(req); p.status != http.StatusMisdirectedRequest {
		t.Errorf("by another name: status %d", p.status)
	}
	if p := b.open(b.base.String() + "/connect/"); p.status != http.StatusNotFound {
		t.Errorf("without the path: status %d", p.status)
	}
	if p := b.post(a.link+"/code", url.Values{"code": {a.code}}, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); p.status != http.StatusForbidden {
		t.Errorf("from another site: status %d", p.status)
	}
	if !strings.HasPrefix(b.base.Host, "127.0.0.1:") {
		t.Errorf("it listens on %s", b.base.Host)
	}
	cancel()
	if err := get(t, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestLocalUserOverHTTP: over HTTP nobody is asked, whoever calls.
func TestLocalUserOverHTTP(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		w := newWorld(t, &worldOptions{desk: func(o *connect.Options) { o.Identity = connect.LocalUser() }})
		person, pages := links()
		_, err := mcp.CallTool[where](t.Context(), w.client("alice/desktop", rev, person), "geocode", where{"Bern"})
		if err == nil || len(pages) != 0 {
			t.Errorf("%v; %d pages", err, len(pages))
		}
	})
}

// TestOpenLocalOptions: what it chooses itself cannot be chosen.
func TestOpenLocalOptions(t *testing.T) {
	_, err := connect.OpenLocal(t.Context(), &connect.Options{ServerName: "x", BaseURL: "http://127.0.0.1:1/", Store: storetest.NewMemory(), Keys: testKeys(t)})
	if err == nil {
		t.Error("it took a BaseURL")
	}
	_, err = connect.Open(t.Context(), &connect.Options{
		ServerName: "x", BaseURL: "https://travel.example/", Store: storetest.NewMemory(), Keys: testKeys(t), Identity: connect.LocalUser(),
	})
	if err == nil || !strings.Contains(err.Error(), "travel.example") {
		t.Errorf("LocalUser on a host that others reach: %v", err)
	}
}

// TestLocalDeskOutlivesItsAnswer: the program ends while the person's answer is still being dealt with, as servers on standard input and
// output do. The browser gets the answer, and the page that it is sent to.
func TestLocalDeskOutlivesItsAnswer(t *testing.T) {
	var d *connect.Desk
	closed := make(chan error, 1)
	d, err := connect.OpenLocal(t.Context(), &connect.Options{ServerName: "Travel desk", Store: storetest.NewMemory(), Keys: testKeys(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := &localWorld{world: &world{t: t, logs: &safeBuffer{}}, desk: d}
	end := func(context.Context, connect.Value) error {
		go func() { closed <- d.Close() }() // received below
		return nil
	}
	w.replicas = []*replica{{desk: d, key: d.Secret(&connect.SecretSpec{Name: "maps", Title: "Maps API key", Validate: end})}}
	person, pages := codes()
	done := call(t, w.client(mcp.Revision20260728, person), "geocode", where{"Bern"})
	a := get(t, pages)
	b := w.browser(a.link)
	b.post(a.link+"/code", url.Values{"code": {a.code}})
	if p := b.fill(a.link, "submit", "f-value", "mk_1"); p.status != http.StatusOK || !strings.Contains(p.body, "Saved") {
		t.Errorf("status %d: %s", p.status, p.body)
	}
	if err := get(t, closed); err != nil {
		t.Error(err)
	}
	get(t, done)
}
