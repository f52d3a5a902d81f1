package connect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
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

// A fake is a provider inside a bubble: what its token endpoint does is up to the test.
type fake struct {
	mu    sync.Mutex
	renew func(refresh string) (status int, body string) // may wait
	asked []string                                       // refresh tokens, in order
	gone  []string                                       // tokens that were revoked
}

// RoundTrip answers as the provider.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	status, text := http.StatusOK, ""
	f.mu.Lock()
	switch r.URL.Path {
	case "/token":
		f.asked = append(f.asked, form.Get("refresh_token"))
		renew := f.renew
		f.mu.Unlock()
		status, text = renew(form.Get("refresh_token"))
		f.mu.Lock()
	case "/revoke":
		f.gone = append(f.gone, form.Get("token"))
	default:
		status = http.StatusNotFound
	}
	f.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

func (f *fake) renewals() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// next issues a2 for r1, a3 for r2 and so on.
func next(refresh string) (int, string) {
	var n int
	if _, err := fmt.Sscanf(refresh, "r%d", &n); err != nil {
		return http.StatusBadRequest, `{"error":"invalid_grant"}`
	}
	return http.StatusOK, fmt.Sprintf(`{"access_token":"a%d","token_type":"Bearer","refresh_token":"r%d","expires_in":300}`, n+1, n+1)
}

// bubble runs a test with n desks on one store, whose grants talk to a fake.
func bubble(t *testing.T, n int, test func(t *testing.T, f *fake, grants []*connect.Grant, logs *bytes.Buffer)) {
	bubbleOn(t, n, func(s connect.Store) connect.Store { return s }, test)
}

func bubbleOn(t *testing.T, n int, wrap func(connect.Store) connect.Store, test func(t *testing.T, f *fake, grants []*connect.Grant, logs *bytes.Buffer)) {
	keys := connect.KeysFromFile(filepath.Join(t.TempDir(), "keys"))
	synctest.Test(t, func(t *testing.T) {
		f := &fake{renew: next}
		store := wrap(storetest.NewMemory())
		var logs bytes.Buffer
		var grants []*connect.Grant
		for range n {
			desk, err := connect.Open(t.Context(), &connect.Options{
				ServerName: "Travel desk", BaseURL: "https://travel.test/connect/", Store: store, Keys: keys,
				Identity: connect.CookieIdentity{}, Logger: slog.New(slog.NewTextHandler(&logs, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer desk.Close() //nolint:gocritic // at the end of the bubble, all of them
			g := desk.OAuth(&connect.Provider{
				Name: "rail", Title: "Rail AG", ClientID: "desk", ClientSecret: connect.NewSecret(railSecret), Timeout: 40 * time.Second,
				AuthURL: "https://rail.test/authorize", TokenURL: "https://rail.test/token", RevokeURL: "https://rail.test/revoke",
			})
			g.Through(f)
			grants = append(grants, g)
		}
		synctest.Wait()
		test(t, f, grants, &logs)
	})
}

func person(subject string) connect.Person {
	return connect.Person{Issuer: connect.TestIssuer, Subject: subject}
}

func give(t *testing.T, g *connect.Grant, subject, n string, lasts time.Duration) {
	t.Helper()
	if err := g.Give(t.Context(), person(subject), "a"+n, "r"+n, lasts); err != nil {
		t.Fatal(err)
	}
}

func wantToken(t *testing.T, g *connect.Grant, subject, want string) {
	t.Helper()
	token, err := g.TokenOf(t.Context(), person(subject))
	switch {
	case err != nil:
		t.Fatal(err)
	case token == nil && want != "":
		t.Fatalf("%s has no token, want %s", subject, want)
	case token != nil && token.Access.Reveal() != want:
		t.Fatalf("%s has %s, want %q", subject, token.Access.Reveal(), want)
	}
}

// TestCaseA01OneRenewal: however many need a token, on however many replicas, one asks the provider.
func TestCaseA01OneRenewal(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fake, grants []*connect.Grant, _ *bytes.Buffer) {
		f.renew = func(refresh string) (int, string) {
			time.Sleep(2 * time.Second)
			return next(refresh)
		}
		give(t, grants[0], "alice", "1", 5*time.Minute)
		for round := 2; round < 5; round++ {
			time.Sleep(4*time.Minute + 50*time.Second)
			var wg sync.WaitGroup
			for i := range 200 {
				wg.Go(func() { wantToken(t, grants[i%3], "alice", fmt.Sprintf("a%d", round)) })
			}
			wg.Wait()
			if n := f.renewals(); n != round-1 {
				t.Fatalf("%d renewals after %d expiries", n, round-1)
			}
		}
	})
}

// TestThreat29SlowProvider: a provider that takes 30 s for one person delays nobody else, and nobody whose token still counts.
func TestThreat29SlowProvider(t *testing.T) {
	bubble(t, 1, func(t *testing.T, f *fake, grants []*connect.Grant, _ *bytes.Buffer) {
		g := grants[0]
		f.renew = func(refresh string) (int, string) {
			if refresh == "r1" {
				time.Sleep(30 * time.Second)
			}
			return next(refresh)
		}
		give(t, g, "alice", "1", time.Second)
		give(t, g, "bob", "10", time.Second)
		give(t, g, "carol", "20", time.Hour)
		time.Sleep(time.Second)
		begun := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			wantToken(t, g, "alice", "a2")
			if took := time.Since(begun); took != 30*time.Second {
				t.Errorf("alice waited %v", took)
			}
		})
		synctest.Wait()
		wantToken(t, g, "bob", "a11")
		wantToken(t, g, "carol", "a20")
		if took := time.Since(begun); took != 0 {
			t.Errorf("the others waited %v", took)
		}
		wg.Wait()
	})
}

// TestCaseA03RenewalOutlivesItsCaller: what the provider has answered is saved, though nobody waits for it any more.
func TestCaseA03RenewalOutlivesItsCaller(t *testing.T) {
	bubble(t, 1, func(t *testing.T, f *fake, grants []*connect.Grant, _ *bytes.Buffer) {
		f.renew = func(refresh string) (int, string) {
			time.Sleep(5 * time.Second)
			return next(refresh)
		}
		give(t, grants[0], "alice", "1", time.Second)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := grants[0].TokenOf(ctx, person("alice")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the caller: %v", err)
		}
		time.Sleep(10 * time.Second)
		wantToken(t, grants[0], "alice", "a2")
		if f.renewals() != 1 {
			t.Errorf("%d renewals", f.renewals())
		}
	})
}

// TestCaseA02Threat29NewerStays: a renewal that fails, or is late, removes nothing that is newer.
func TestCaseA02Threat29NewerStays(t *testing.T) {
	for name, answer := range map[string]func(string) (int, string){
		"refused": func(string) (int, string) { return http.StatusBadRequest, `{"error":"invalid_grant"}` },
		"late":    next,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 2, func(t *testing.T, f *fake, grants []*connect.Grant, _ *bytes.Buffer) {
				give(t, grants[0], "alice", "1", time.Second)
				time.Sleep(2 * time.Second)
				f.renew = func(refresh string) (int, string) {
					give(t, grants[1], "alice", "50", time.Hour) // the person has just given access anew
					return answer(refresh)
				}
				wantToken(t, grants[0], "alice", "a50")
				status, access, refresh, err := grants[1].Tokens(t.Context(), person("alice"))
				if status != "active" || access != "a50" || refresh != "r50" || err != nil {
					t.Errorf("stored: %s %s %s %v", status, access, refresh, err)
				}
			})
		})
	}
}

// TestThreat29RevokedWhileRenewing: what was taken back does not come back with a renewal that was under way, and the provider forgets
// what it has just issued.
func TestThreat29RevokedWhileRenewing(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fake, grants []*connect.Grant, _ *bytes.Buffer) {
		give(t, grants[0], "alice", "1", time.Second)
		time.Sleep(2 * time.Second)
		f.renew = func(refresh string) (int, string) {
			if err := grants[1].Remove(t.Context(), person("alice")); err != nil {
				t.Error(err)
			}
			return next(refresh)
		}
		wantToken(t, grants[0], "alice", "")
		synctest.Wait()
		if got := strings.Join(f.gone, " "); !strings.Contains(got, "r1") || !strings.Contains(got, "r2") || !strings.Contains(got, "a2") {
			t.Errorf("the provider has forgotten %q", got)
		}
		if _, access, refresh, err := grants[0].Tokens(t.Context(), person("alice")); access != "" || refresh != "" || err != nil {
			t.Errorf("stored: %s %s %v", access, refresh, err)
		}
	})
}

// TestRefusedRenewal: a grant that the provider has ended is asked for anew, and is not tried again and again.
func TestRefusedRenewal(t *testing.T) {
	bubble(t, 1, func(t *testing.T, f *fake, grants []*connect.Grant, _ *bytes.Buffer) {
		give(t, grants[0], "alice", "1", time.Second)
		f.renew = func(string) (int, string) { return http.StatusBadRequest, `{"error":"invalid_grant"}` }
		time.Sleep(2 * time.Second)
		for range 3 {
			wantToken(t, grants[0], "alice", "")
		}
		status, access, refresh, err := grants[0].Tokens(t.Context(), person("alice"))
		if f.renewals() != 1 || status != "reauth" || access != "" || refresh != "" || err != nil {
			t.Errorf("%d renewals; stored: %s %s %s %v", f.renewals(), status, access, refresh, err)
		}
	})
}

// TestCaseA19HiccupsOfAProvider: whatever a provider answers but a refusal is no logout; what it has certainly not acted on is sent again.
func TestCaseA19HiccupsOfAProvider(t *testing.T) {
	for name, c := range map[string]struct {
		status, tries int
		body          string
	}{
		"server error":     {http.StatusInternalServerError, 1, `{"error":"server_error"}`},
		"unavailable":      {http.StatusServiceUnavailable, 3, `<html>`},
		"too many":         {http.StatusTooManyRequests, 3, ``},
		"garbage":          {http.StatusOK, 1, `<html>canary</html>`},
		"nothing":          {http.StatusOK, 1, `{}`},
		"another type":     {http.StatusOK, 1, `{"access_token":"x","token_type":"mac"}`},
		"redirect":         {http.StatusTemporaryRedirect, 1, ``},
		"twice":            {http.StatusOK, 1, `{"access_token":"x","access_token":"y","token_type":"bearer"}`},
		"huge":             {http.StatusOK, 1, strings.Repeat(" ", 2<<20)},
		"a wrong client":   {http.StatusUnauthorized, 1, `{"error":"invalid_client"}`},
		"a code with junk": {http.StatusBadRequest, 1, `{"error":"\u0000\u001b[31m"}`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, f *fake, grants []*connect.Grant, _ *bytes.Buffer) {
				give(t, grants[0], "alice", "1", time.Second)
				f.renew = func(string) (int, string) { return c.status, c.body }
				time.Sleep(2 * time.Second)
				_, err := grants[0].TokenOf(t.Context(), person("alice"))
				if err == nil || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "r1") {
					t.Errorf("the error is %v", err)
				}
				if status, _, refresh, err := grants[0].Tokens(t.Context(), person("alice")); status != "active" || refresh != "r1" || err != nil {
					t.Errorf("stored: %s %s %v", status, refresh, err)
				}
				if f.renewals() != c.tries {
					t.Errorf("asked %d times, want %d", f.renewals(), c.tries)
				}
				f.renew = next
				wantToken(t, grants[0], "alice", "a2")
			})
		})
	}
}

// TestEarlyRenewal: a token is renewed before it ends, and counts until then should the provider not answer.
func TestEarlyRenewal(t *testing.T) {
	bubble(t, 1, func(t *testing.T, f *fake, grants []*connect.Grant, logs *bytes.Buffer) {
		give(t, grants[0], "alice", "1", 5*time.Minute)
		f.renew = func(string) (int, string) { return http.StatusBadGateway, "" }
		time.Sleep(4*time.Minute + 30*time.Second)
		wantToken(t, grants[0], "alice", "a1")
		if f.renewals() != 1 || !strings.Contains(logs.String(), "counts for a while") {
			t.Errorf("%d renewals, log %s", f.renewals(), logs)
		}
		f.renew = next
		wantToken(t, grants[0], "alice", "a2")
	})
}

// TestThreat29DeadProcess: a process that died while it renewed holds nobody up for longer than its lease.
func TestThreat29DeadProcess(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fake, grants []*connect.Grant, _ *bytes.Buffer) {
		give(t, grants[0], "alice", "1", time.Second)
		time.Sleep(2 * time.Second)
		if err := grants[0].Held(t.Context(), person("alice")); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		wantToken(t, grants[1], "alice", "a2")
		if took := time.Since(begun); took < 50*time.Second || took > time.Minute {
			t.Errorf("waited %v, and the lease lasts 55 s", took)
		}
	})
}

// TestAnotherOrigin: what one provider has issued is not sent to another one that has taken its name.
func TestAnotherOrigin(t *testing.T) {
	bubble(t, 1, func(t *testing.T, f *fake, grants []*connect.Grant, _ *bytes.Buffer) {
		give(t, grants[0], "alice", "1", time.Second)
		grants[0].Move("https://other.test/token")
		time.Sleep(2 * time.Second)
		wantToken(t, grants[0], "alice", "")
		if f.renewals() != 0 {
			t.Error("a refresh token went to another provider")
		}
	})
}

// TestTokenSource: a token renews itself for clients that take a source of tokens.
func TestTokenSource(t *testing.T) {
	bubble(t, 1, func(t *testing.T, _ *fake, grants []*connect.Grant, _ *bytes.Buffer) {
		give(t, grants[0], "alice", "1", 5*time.Minute)
		token, err := grants[0].TokenOf(t.Context(), person("alice"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"a1", "a2", "a3"} {
			now, err := token.Token()
			if err != nil || now.AccessToken != want || now.TokenType != "Bearer" {
				t.Fatalf("%+v, %v; want %s", now, err, want)
			}
			time.Sleep(5 * time.Minute)
		}
		if err := grants[0].Remove(t.Context(), person("alice")); err != nil {
			t.Fatal(err)
		}
		if now, err := token.Token(); err == nil {
			t.Errorf("a grant that was taken back gives %v", now)
		}
		if text := fmt.Sprintf("%v %+v %#v", token, token, token); strings.Contains(text, "a1") {
			t.Errorf("a token shows itself: %s", text)
		}
	})
}

// A flaky store fails, for a while, to update credentials: before it has done so, or after.
type flaky struct {
	connect.Store
	mu     sync.Mutex
	fails  int
	before bool
}

func (f *flaky) Update(ctx context.Context, r *connect.Row) error {
	f.mu.Lock()
	fail := f.fails > 0 && r.Kind == connect.RowCredential
	if fail {
		f.fails--
	}
	before := f.before
	f.mu.Unlock()
	if fail && before {
		return errDown
	}
	if err := f.Store.Update(ctx, r); err != nil {
		return err
	}
	if fail {
		return errDown
	}
	return nil
}

// TestRenewalWithoutAStore: what the provider has issued is saved when the store is there again, once, whatever it said meanwhile.
func TestRenewalWithoutAStore(t *testing.T) {
	for name, before := range map[string]bool{"nothing is done": true, "it is done, and not told": false} {
		t.Run(name, func(t *testing.T) {
			down := &flaky{before: before}
			bubbleOn(t, 1, func(s connect.Store) connect.Store {
				down.Store = s
				return down
			}, func(t *testing.T, f *fake, grants []*connect.Grant, _ *bytes.Buffer) {
				give(t, grants[0], "alice", "1", time.Second)
				time.Sleep(2 * time.Second)
				f.renew = func(refresh string) (int, string) {
					down.mu.Lock()
					down.fails = 5
					down.mu.Unlock()
					return next(refresh)
				}
				wantToken(t, grants[0], "alice", "a2")
				if status, access, refresh, err := grants[0].Tokens(t.Context(), person("alice")); status != "active" || access != "a2" || refresh != "r2" || err != nil {
					t.Errorf("stored: %s %s %s %v", status, access, refresh, err)
				}
				if f.renewals() != 1 {
					t.Errorf("%d renewals", f.renewals())
				}
			})
		})
	}
}
