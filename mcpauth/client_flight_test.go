package mcpauth_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/mcpauth"
)

// A slowPerson logs in when told to.
type slowPerson struct {
	mcpauth.Login
	asked chan struct{} // once for each time
	agree chan error
}

func newSlowPerson() *slowPerson {
	return &slowPerson{asked: make(chan struct{}, 10), agree: make(chan error, 10)}
}

func (p *slowPerson) login(ctx context.Context, start *mcpauth.LoginStart) (mcpauth.Login, error) {
	l, err := mcpauth.FollowRedirect(nil, redirectURI)(ctx, start)
	return &slowPerson{Login: l, asked: p.asked, agree: p.agree}, err
}

func (p *slowPerson) Authorize(ctx context.Context, r *mcpauth.LoginRequest) (url.Values, error) {
	p.asked <- struct{}{}
	select {
	case err := <-p.agree:
		if err != nil {
			return nil, err
		}
		return p.Login.Authorize(ctx, r)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func postContext(ctx context.Context, tr http.RoundTripper, u string) (int, error) {
	resp, err := tr.RoundTrip(must(http.NewRequestWithContext(ctx, http.MethodPost, u, strings.NewReader("{}"))))
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// A request that is given up does not take the login away from others, or from the person who is at it.
func TestLoginOutlivesItsRequest(t *testing.T) {
	w, p := newWorld(t), newSlowPerson()
	tr := w.transport(&mcpauth.ClientOptions{Login: p.login})
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		<-p.asked
		cancel(errors.New("no patience"))
	})
	if _, err := postContext(ctx, tr, w.url()); err == nil || !strings.Contains(err.Error(), "no patience") || !strings.Contains(err.Error(), "goes on") {
		t.Errorf("error %v", err)
	}
	wg.Go(func() { p.agree <- nil })
	w.mustPost(tr)
	wg.Wait()
	if n := w.asked("AS /authorize"); n != 1 || len(p.asked) > 0 {
		t.Errorf("asked %d times", n)
	}
}

func TestCloseEndsALogin(t *testing.T) {
	w, p := newWorld(t), newSlowPerson()
	tr := w.transport(&mcpauth.ClientOptions{Login: p.login})
	var wg sync.WaitGroup
	wg.Go(func() {
		<-p.asked
		_ = tr.Close()
	})
	w.mustRefuse(tr, "closed")
	wg.Wait()
	w.mustRefuse(tr, "closed")
}

// While somebody renews a token that is still good, nobody else waits.
func TestLookupDoesNotWaitForARenewal(t *testing.T) {
	w := newWorld(t)
	w.accept = func(token string, _ *http.Request) int {
		if token == "" {
			return 401
		}
		return 200
	}
	w.expires = 1000
	store := &stubbornStore{Store: mcpauth.NewMemoryStore(), entered: make(chan struct{}), release: make(chan struct{})}
	w.mustPost(w.transport(&mcpauth.ClientOptions{Store: store}))
	store.edit(t, func(s string) string { // it is time to renew it, and it lives on
		i := strings.Index(s, `"renew":"`) + len(`"renew":"`)
		return s[:i] + "2001-01-01T00:00:00Z" + s[i+strings.Index(s[i:], `"`):]
	})
	tr := w.transport(&mcpauth.ClientOptions{Store: store})
	store.stuck = true
	var wg sync.WaitGroup
	wg.Go(func() { w.mustPost(tr) }) // this one renews
	<-store.entered
	for range 10 {
		w.mustPost(tr)
	}
	close(store.release)
	wg.Wait()
	if n := w.asked("AS /token"); n != 2 {
		t.Errorf("%d token requests", n)
	}
}

// A stubbornStore can keep an update of a token waiting.
type stubbornStore struct {
	mcpauth.Store
	stuck            bool
	entered, release chan struct{}
}

func (s *stubbornStore) edit(t *testing.T, change func(string) string) {
	for _, key := range must(s.Store.(mcpauth.Lister).Keys(t.Context())) {
		if strings.HasPrefix(key, "token ") {
			if err := s.Update(t.Context(), key, func(old []byte) ([]byte, error) { return []byte(change(string(old))), nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (s *stubbornStore) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	if s.stuck {
		close(s.entered)
		<-s.release
		s.stuck = false
	}
	return s.Store.Update(ctx, key, change)
}

// Each redirect URI has its registration, and a token is renewed with the one that it was issued to.
func TestCaseA12RegistrationsByRedirectURI(t *testing.T) {
	w := newWorld(t)
	w.expires = 1e-9
	store := mcpauth.NewMemoryStore()
	tr := w.transport(&mcpauth.ClientOptions{Store: store})
	w.mustPost(tr)
	n := 0
	w.change(func() { w.clientID = func() string { n++; return "another-client" } })
	paste := func(_ context.Context, r *mcpauth.LoginRequest) (string, error) {
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(must(http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL, nil)))
		if err != nil {
			return "", err
		}
		return resp.Header.Get("Location"), resp.Body.Close()
	}
	second := w.transport(&mcpauth.ClientOptions{Store: store, Login: mcpauth.PasteCallback("http://localhost:4000/callback", paste), Scopes: []string{"x"}})
	if err := second.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.mustPost(second)
	if n != 1 {
		t.Errorf("%d registrations", n)
	}
	for range 2 { // each logs in anew with its own registration
		if err := tr.Forget(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.mustPost(tr)
		w.mustPost(tr)
		if f := w.forms[len(w.forms)-1]; f.Get("client_id") != "dcr-client" || f.Get("grant_type") != "refresh_token" {
			t.Errorf("form %v", f)
		}
	}
	if n != 1 || w.asked("AS /register") != 2 {
		t.Errorf("%d registrations", w.asked("AS /register"))
	}
}

// A login that another process removed from the store is over: what was in memory does not bring it back.
func TestLogoutElsewhere(t *testing.T) {
	w := newWorld(t)
	w.expires = 1e-9
	store := mcpauth.NewMemoryStore()
	tr, other := w.transport(&mcpauth.ClientOptions{Store: store}), w.transport(&mcpauth.ClientOptions{Store: store})
	w.mustPost(tr)
	if err := other.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.mustPost(tr)
	if n := w.asked("AS /authorize"); n != 2 {
		t.Errorf("%d logins", n)
	}
	for _, f := range w.forms {
		if f.Get("grant_type") == "refresh_token" {
			t.Errorf("form %v", f)
		}
	}
}

// What one process has read does not overwrite what another has renewed since.
func TestCaseA02AdoptingWritesNothing(t *testing.T) {
	w := newWorld(t)
	store := mcpauth.NewMemoryStore()
	w.mustPost(w.transport(&mcpauth.ClientOptions{Store: store}))
	tr := w.transport(&mcpauth.ClientOptions{Store: store})
	w.mustPost(tr)
	before := dump(t, store)
	w.change(func() { // refused once, for the one that it has; by then the store has the same
		refuse := true
		w.accept = func(string, *http.Request) int {
			if refuse {
				refuse = false
				return 401
			}
			return 200
		}
	})
	third := w.transport(&mcpauth.ClientOptions{Store: &forgetful{store}})
	w.mustPost(third) // begins without a token, is challenged, and takes what is there
	if after := dump(t, store); after != before || w.asked("AS /token") != 1 {
		t.Errorf("before %s\nafter  %s", before, after)
	}
}

// A forgetful store does not know which login was last used with a server.
type forgetful struct{ mcpauth.Store }

func (s *forgetful) Load(ctx context.Context, key string) ([]byte, error) {
	if strings.HasPrefix(key, "server ") {
		return nil, nil
	}
	return s.Store.Load(ctx, key)
}

func (s *forgetful) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	if strings.HasPrefix(key, "token ") {
		return errors.New("the token was written")
	}
	return s.Store.Update(ctx, key, change)
}

func dump(t *testing.T, s mcpauth.Store) string {
	var all strings.Builder
	for _, key := range must(s.(mcpauth.Lister).Keys(t.Context())) {
		if strings.HasPrefix(key, "token ") {
			all.Write(must(s.Load(t.Context(), key)))
		}
	}
	return all.String()
}

// BenchmarkLookup is what the transport adds to a request, without and with a renewal under way that never ends.
func BenchmarkLookup(b *testing.B) {
	for _, renewing := range []bool{false, true} {
		name := "idle"
		if renewing {
			name = "renewing"
		}
		b.Run(name, func(b *testing.B) { benchmarkLookup(b, renewing) })
	}
}

func benchmarkLookup(b *testing.B, renewing bool) {
	tr, err := mcpauth.LookupBench(renewing)
	if err != nil {
		b.Fatal(err)
	}
	req := must(http.NewRequestWithContext(b.Context(), http.MethodGet, "https://mcp.test/mcp", nil))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := tr.RoundTrip(req); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The lookup takes no lock: it goes on while one is held.
func TestLookupTakesNoLock(t *testing.T) {
	tr := must(mcpauth.LookupBench(true))
	if status, err := post(tr, "https://mcp.test/mcp"); err != nil || status != 200 {
		t.Errorf("status %d, error %v", status, err)
	}
}

// Logging out waits for a login that is under way, and ends that too.
func TestForgetDuringALogin(t *testing.T) {
	w, p := newWorld(t), newSlowPerson()
	tr := w.transport(&mcpauth.ClientOptions{Login: p.login})
	var wg sync.WaitGroup
	wg.Go(func() { w.mustPost(tr) })
	<-p.asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tr.Forget(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	done := make(chan error)
	go func() { done <- tr.Forget(t.Context()) }()
	p.agree <- nil
	if err := <-done; err != nil {
		t.Error(err)
	}
	wg.Wait()
	if st, err := tr.Status(t.Context()); st != nil || err != nil {
		t.Errorf("%+v, %v", st, err)
	}
}
