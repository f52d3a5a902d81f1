package connect_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/storetest"
)

// A slowPart is a provider whose metadata take their time.
type slowPart struct {
	*fake
	wait time.Duration
}

// RoundTrip answers as the provider.
func (s *slowPart) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.Path, ".well-known") {
		return s.fake.RoundTrip(r)
	}
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(s.wait):
	}
	status, text := http.StatusNotFound, ""
	if r.URL.Path == "/.well-known/oauth-authorization-server" {
		status, text = http.StatusOK, `{"issuer":"https://rail.test","authorization_endpoint":"https://rail.test/authorize",
			"token_endpoint":"https://rail.test/token","revocation_endpoint":"https://rail.test/revoke"}`
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// slowly runs a test with two desks, of which the first one waits for each document of the provider.
func slowly(t *testing.T, wrap func(connect.Store) connect.Store, test func(t *testing.T, f *fake, desks []*connect.Desk, grants []*connect.Grant)) {
	keys := connect.KeysFromFile(filepath.Join(t.TempDir(), "keys"))
	synctest.Test(t, func(t *testing.T) {
		f, store := &fake{renew: next}, connect.Store(storetest.NewMemory())
		var desks []*connect.Desk
		var grants []*connect.Grant
		for i := range 2 {
			if i == 1 && wrap != nil {
				store = wrap(store)
			}
			desk, err := connect.Open(t.Context(), &connect.Options{
				ServerName: "Travel desk", BaseURL: "https://travel.test/connect/", Store: store, Keys: keys,
				Identity: connect.CookieIdentity{}, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer desk.Close() //nolint:gocritic // at the end of the bubble, both
			g := desk.OAuth(&connect.Provider{Name: "rail", Title: "Rail AG", ClientID: "desk", Timeout: 40 * time.Second, Issuer: "https://rail.test"})
			g.Through(&slowPart{f, time.Duration(1-i) * 35 * time.Second})
			desks, grants = append(desks, desk), append(grants, g)
		}
		synctest.Wait()
		test(t, f, desks, grants)
	})
}

// TestThreat29SlowMetadata: a provider that is slow in everything does not make a renewal outlive its lease, so that two send one token.
func TestThreat29SlowMetadata(t *testing.T) {
	slowly(t, nil, func(t *testing.T, f *fake, _ []*connect.Desk, grants []*connect.Grant) {
		give(t, grants[0], "alice", "1", time.Second)
		time.Sleep(2 * time.Second)
		var wg sync.WaitGroup
		for _, g := range grants {
			wg.Go(func() { _, _ = g.TokenOf(t.Context(), person("alice")) })
			time.Sleep(time.Second)
		}
		wg.Wait()
		if f.renewals() != 1 {
			t.Errorf("refresh tokens were sent: %v", f.asked)
		}
	})
}

// A pausing store does something after a credential was read.
type pausing struct {
	connect.Store
	after func()
}

// Get implements connect.Store.
func (p *pausing) Get(ctx context.Context, kind, id string) (*connect.Row, error) {
	row, err := p.Store.Get(ctx, kind, id)
	if after := p.after; after != nil && kind == connect.RowCredential {
		p.after = nil
		after()
	}
	return row, err
}

// TestThreat29RemovedAfterRenewal: the provider is told of the tokens that are removed, not of those that somebody saw before.
func TestThreat29RemovedAfterRenewal(t *testing.T) {
	p := &pausing{}
	wrap := func(s connect.Store) connect.Store {
		p.Store = s
		return p
	}
	slowly(t, wrap, func(t *testing.T, f *fake, desks []*connect.Desk, grants []*connect.Grant) {
		give(t, grants[1], "alice", "1", time.Minute)
		form := func(method, path string, v url.Values) string {
			r := httptest.NewRequestWithContext(t.Context(), method, "https://travel.test"+path, strings.NewReader(v.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.AddCookie(&http.Cookie{Name: connect.TestCookie, Value: "alice:s"})
			w := httptest.NewRecorder()
			desks[1].ServeHTTP(w, r)
			return w.Body.String()
		}
		body := form(http.MethodGet, "/connect/", nil)
		p.after = func() {
			time.Sleep(2 * time.Minute)
			wantToken(t, grants[0], "alice", "a2")
		}
		form(http.MethodPost, actionIn(t, body, "/revoke"), url.Values{"csrf": {token.FindStringSubmatch(body)[1]}})
		synctest.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		if got := strings.Join(f.gone, " "); !strings.Contains(got, "r2") {
			t.Errorf("the provider was told to forget %q", got)
		}
	})
}

// An issuerOf is what answers as an issuer, for one document.
type issuerOf string

// RoundTrip answers with the metadata.
func (i issuerOf) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(i))), Request: r}, nil
}

// TestThreat21IssuerInTheClear: neither metadata nor codes nor the client's secret travel without TLS.
func TestThreat21IssuerInTheClear(t *testing.T) {
	for name, c := range map[string][3]string{
		"issuer":         {"http", "https", "https"},
		"token endpoint": {"https", "http", "https"},
		"keys":           {"https", "https", "http"},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := c[0] + "://login.test"
			document := `{"issuer":"` + issuer + `","authorization_endpoint":"https://login.test/a","token_endpoint":"` + c[1] +
				`://login.test/t","jwks_uri":"` + c[2] + `://login.test/k","subject_types_supported":["public"]}`
			desk, err := connect.Open(t.Context(), &connect.Options{
				ServerName: "Travel desk", BaseURL: "https://travel.test/connect/", Store: storetest.NewMemory(),
				Keys:     connect.KeysFromFile(filepath.Join(t.TempDir(), "keys")),
				Identity: connect.OIDC(issuer, "desk", "secret", &connect.OIDCOptions{Client: &http.Client{Transport: issuerOf(document)}}),
			})
			if err == nil {
				_ = desk.Close()
				t.Error("it was taken")
			}
		})
	}
}
