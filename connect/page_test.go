package connect_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
)

// A cashier is a page of somebody else's: it takes a payment, sends the person back, and tells by a signed webhook.
type cashier struct {
	*httptest.Server
	mu     sync.Mutex
	begun  map[string]string // reference → address to come back to
	paid   map[string]bool
	starts atomic.Int64
}

const cashierKey = "webhook key"

func newCashier(t *testing.T) *cashier {
	c := &cashier{begun: map[string]string{}, paid: map[string]bool{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		ref := r.URL.Query().Get("ref")
		if r.URL.Path == "/pay" {
			c.paid[ref] = true
			http.Redirect(w, r, c.begun[ref]+"&status=paid", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "pay here: "+ref)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *cashier) spec(s *connect.PageSpec) {
	u, _ := url.Parse(c.URL)
	s.Host = u.Host
	s.Start = func(_ context.Context, v *connect.Visit) (string, error) {
		c.starts.Add(1)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.begun[v.Reference] = v.ReturnURL
		return c.URL + "/?ref=" + v.Reference, nil
	}
	s.Finish = func(_ context.Context, v *connect.Visit, q url.Values) (any, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case q.Get("status") == "refused":
			return nil, connect.Refuse("no money")
		case !c.paid[v.Reference]:
			return nil, connect.ErrNotYet
		case len(q) != 1 || string(v.Params) != `{"amount":7}` || v.Person.Subject != "alice" || v.Tool != "buy":
			return nil, errors.New("another visit")
		}
		return map[string]string{"by": "visit"}, nil
	}
	s.Verify = func(_ context.Context, r *http.Request, body []byte) (*connect.Event, error) {
		if !hmac.Equal([]byte(sign(body)), []byte(r.Header.Get("Signature"))) {
			return nil, errors.New("bad signature")
		}
		var e struct{ Ref, State string }
		if err := jsonv2.Unmarshal(body, &e); err != nil {
			return nil, err
		}
		if e.State == "" {
			return nil, nil
		}
		return &connect.Event{Reference: e.Ref, Failed: e.State == "failed", Result: map[string]string{"by": "webhook"}}, nil
	}
}

func sign(body []byte) string {
	m := hmac.New(sha256.New, []byte(cashierKey))
	m.Write(body)
	return hex.EncodeToString(m.Sum(nil))
}

// hook sends a webhook.
func (w *world) hook(name, body, signature string) int {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+"/connect/hook/"+name, bytes.NewReader([]byte(body)))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Signature", signature)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// buy begins a call that sends its person to the cashier.
func buy(t *testing.T, rev mcp.Revision) (*world, *cashier, string, chan outcome) {
	t.Helper()
	c := newCashier(t)
	w := newWorld(t, &worldOptions{page: c.spec, tools: addPageTool, replicas: 2})
	if rev != mcp.Revision20260728 {
		w.route = func(*http.Request) int { return 0 } // a session is in one process
	}
	person, pages := links()
	done := call(t, w.client("alice/desktop", rev, person), "buy", pay{7})
	return w, c, get(t, pages), done
}

// TestPageVisit: a page is done when its person has come back from it.
func TestPageVisit(t *testing.T) {
	eras(t, func(t *testing.T, rev mcp.Revision) {
		w, c, link, done := buy(t, rev)
		alice := w.browser("alice")
		p := alice.open(link)
		host := strings.TrimPrefix(c.URL, "http://")
		if !strings.Contains(p.body, host) || !strings.Contains(p.header.Get("Content-Security-Policy"), " http://"+host) {
			t.Errorf("the page does not say where it leads: %s, %s", p.header.Get("Content-Security-Policy"), p.body)
		}
		if p = alice.fill(link, "submit"); !strings.Contains(p.body, "pay here") {
			t.Fatalf("status %d: %s", p.status, p.body)
		}
		ref := p.url.Query().Get("ref")
		if p = alice.open(link); !strings.Contains(p.body, "Payment") { // the back button
			t.Fatalf("%s", p.body)
		}
		if p = alice.open(c.URL + "/pay?ref=" + ref); p.status != http.StatusOK || !strings.Contains(p.body, "Done") || p.url.RawQuery != "" {
			t.Fatalf("status %d at %s: %s", p.status, p.url, p.body)
		}
		if o := get(t, done); o.err != nil || o.res.Text != `the page says {"by":"visit"}` {
			t.Fatalf("%+v", o)
		}
		if p = alice.open(c.begun[ref]); !strings.Contains(p.body, "Done") { // once more
			t.Errorf("%s", p.body)
		}
	})
}

// TestPageIsGuarded: a visit counts only with the right person and the token that they were sent away with, and a webhook only when it is
// verified; the id of an interaction opens nothing.
func TestPageIsGuarded(t *testing.T) {
	w, c, link, done := buy(t, mcp.Revision20260728)
	alice, mallory, nobody := w.browser("alice"), w.browser("mallory"), w.browser("")
	ref := link[strings.LastIndex(link, "/")+1:]
	back := w.url + "/connect/return/payment/" + ref
	if p := alice.open(back + "?status=paid&guard="); p.status != http.StatusForbidden { // before anything has begun
		t.Errorf("status %d", p.status)
	}
	alice.fill(link, "submit")
	old := c.begun[ref]
	alice.fill(link, "submit") // a second window: the newer one counts
	good := c.begun[ref]
	c.paid[ref] = true
	for name, p := range map[string]*page{
		"no token": alice.open(back + "?status=paid"), "another token": alice.open(back + "?status=paid&guard=" + strings.Repeat("A", 32)),
		"an old token": alice.open(old), "somebody else": mallory.open(good), "the page of another name": alice.open(strings.Replace(good, "payment", "maps", 1)),
	} {
		if p.status != http.StatusForbidden && p.status != http.StatusNotFound {
			t.Errorf("%s: status %d", name, p.status)
		}
	}
	if p := nobody.open(good); p.status != http.StatusUnauthorized {
		t.Errorf("without a session: status %d", p.status)
	}
	if p := alice.post(good, nil); p.status == http.StatusOK && strings.Contains(p.body, "Done") {
		t.Error("it took a POST")
	}
	body := `{"Ref":"` + ref + `","State":"paid"}`
	for name, status := range map[string]int{"": 400, sign([]byte("x")): 400} {
		if got := w.hook("payment", body, name); got != status {
			t.Errorf("signature %q: status %d", name, got)
		}
	}
	for _, other := range []string{`{"Ref":"x","State":"paid"}`, `{"Ref":"` + strings.Repeat("A", 32) + `","State":"paid"}`, `{"Ref":"` + ref + `"}`} {
		if got := w.hook("payment", other, sign([]byte(other))); got != http.StatusNoContent {
			t.Errorf("%s: status %d", other, got)
		}
	}
	if got := w.hook("maps", body, sign([]byte(body))); got != http.StatusNotFound {
		t.Errorf("the hook of something else: status %d", got)
	}
	if len(done) != 0 {
		t.Fatal("the call went on")
	}
	for range 2 { // hooks are sent again
		if got := w.hook("payment", body, sign([]byte(body))); got != http.StatusNoContent {
			t.Errorf("status %d", got)
		}
	}
	if o := get(t, done); o.err != nil || o.res.Text != `the page says {"by":"webhook"}` {
		t.Fatalf("%+v", o)
	}
	if p := alice.open(good); p.status != http.StatusOK || !strings.Contains(p.body, "Done") {
		t.Errorf("back after the webhook: status %d", p.status)
	}
}

// TestPageFails: a page that is not done, and will not be, ends the call.
func TestPageFails(t *testing.T) {
	for _, how := range []string{"visit", "webhook"} {
		w, c, link, done := buy(t, mcp.Revision20260728)
		alice := w.browser("alice")
		alice.fill(link, "submit")
		ref := link[strings.LastIndex(link, "/")+1:]
		if how == "visit" {
			if p := alice.open(c.begun[ref] + "&status=unsure"); p.status != http.StatusOK || !strings.Contains(p.body, "Payment") {
				t.Fatalf("not yet: status %d: %s", p.status, p.body)
			}
			alice.open(c.begun[ref] + "&status=refused")
		} else {
			body := `{"Ref":"` + ref + `","State":"failed"}`
			w.hook("payment", body, sign([]byte(body)))
		}
		if p := alice.open(link); !strings.Contains(p.body, "did not work") {
			t.Errorf("%s", p.body)
		}
		if o := get(t, done); o.err == nil || !strings.Contains(o.err.Error(), "did not work") {
			t.Errorf("%+v", o)
		}
	}
}
