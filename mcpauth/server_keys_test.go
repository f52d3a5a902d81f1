package mcpauth_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/seed38e7925c/parley/mcpauth"
)

// bubbleResource is a resource whose issuer needs no network, for bubbles of synctest.
func bubbleResource(t testing.TB, i *issuer) *mcpauth.Resource {
	return resourceWith(t, mcpauth.JWT(i.url, &mcpauth.JWTOptions{Logger: quiet, Fetch: &mcpauth.FetchOptions{RoundTripper: i}}), nil)
}

// TestOneFetchForEachRotation has many callers at once come with a key that is not known yet.
func TestOneFetchForEachRotation(t *testing.T) {
	first := newKey(t, "k1", jose.ES256)
	synctest.Test(t, func(t *testing.T) {
		i := bubbleIssuer(t, first)
		i.jwks = func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Second) // the bubble's
			i.mu.Lock()
			defer i.mu.Unlock()
			writeJSON(w, 200, jose.JSONWebKeySet{Keys: i.keys})
		}
		r := bubbleResource(t, i)
		all := func(token string) {
			t.Helper()
			var wg sync.WaitGroup
			for n := range 100 {
				wg.Go(func() {
					if _, err := r.Authenticate(bearing(token)); err != nil {
						t.Errorf("caller %d: %v", n, err)
					}
				})
			}
			wg.Wait()
		}
		for round := range 3 {
			all(i.token(nil))
			if got := i.gets.Load(); got != int64(round+1) {
				t.Fatalf("round %d: %d fetches", round, got)
			}
			time.Sleep(time.Minute)
			i.rotate(fmt.Sprint("next", round))
		}
	})
}

// TestUnknownKeysCauseNoFlood sends tokens with made-up key ids for a minute.
func TestUnknownKeysCauseNoFlood(t *testing.T) {
	k := newKey(t, "k1", jose.ES256)
	synctest.Test(t, func(t *testing.T) {
		i := bubbleIssuer(t, k)
		r := bubbleResource(t, i)
		good := i.token(nil)
		start := time.Now()
		for n := 0; time.Since(start) < time.Minute; n++ {
			stranger := &signingKey{id: fmt.Sprint("made-up-", n), alg: jose.ES256, priv: k.priv}
			token := stranger.sign(t, map[string]any{"typ": "at+jwt"}, i.claims(nil))
			if e := refused(t, r, bearing(token)); e.Status != 401 {
				t.Fatalf("%d", e.Status)
			}
			if _, err := r.Authenticate(bearing(good)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if got := i.gets.Load(); got > 8 {
			t.Errorf("%d fetches in a minute", got)
		}
	})
}

// TestKeysOutliveTheirIssuer takes the issuer away, and looks when its tokens are refused, and with what.
func TestKeysOutliveTheirIssuer(t *testing.T) {
	k := newKey(t, "k1", jose.ES256)
	synctest.Test(t, func(t *testing.T) {
		i := bubbleIssuer(t, k)
		r := bubbleResource(t, i)
		use := func() int {
			t.Helper()
			_, err := r.Authenticate(bearing(i.token(nil)))
			if err == nil {
				return 200
			}
			return refused(t, r, bearing(i.token(nil))).Status
		}
		i.jwks = func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 500, "no") }
		if got := use(); got != 503 {
			t.Errorf("without any keys: %d", got)
		}
		i.jwks = nil
		if got := use(); got != 503 {
			t.Errorf("at once: %d; want a pause", got)
		}
		time.Sleep(mcpauth.DefaultKeyFetchPause)
		if got := use(); got != 200 {
			t.Errorf("after the pause: %d", got)
		}
		i.jwks = func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 404, "gone") }
		for _, step := range []time.Duration{30 * time.Minute, time.Hour, 22 * time.Hour} {
			time.Sleep(step)
			if got := use(); got != 200 {
				t.Errorf("%v later: %d", step, got)
			}
		}
		before := i.gets.Load()
		for range 50 {
			use()
		}
		if got := i.gets.Load() - before; got > 1 {
			t.Errorf("%d attempts at once", got)
		}
		time.Sleep(time.Hour)
		if got := use(); got != 503 {
			t.Errorf("after a day: %d", got)
		}
		i.jwks = nil
		time.Sleep(mcpauth.DefaultKeyFetchPause)
		if got := use(); got != 200 {
			t.Errorf("when it is back: %d", got)
		}
	})
}

// TestWithdrawnKey: a key that is no longer published signs nothing that is new here, and nothing at all a while later.
func TestWithdrawnKey(t *testing.T) {
	k := newKey(t, "k1", jose.ES256)
	synctest.Test(t, func(t *testing.T) {
		i := bubbleIssuer(t, k)
		r := bubbleResource(t, i)
		old := i.token(claims{"exp": time.Now().Add(24 * time.Hour).Unix()})
		if _, err := r.Authenticate(bearing(old)); err != nil {
			t.Fatal(err)
		}
		i.rotate("k2")
		i.keys = i.keys[1:]
		time.Sleep(mcpauth.DefaultKeyRefresh)
		if _, err := r.Authenticate(bearing(i.token(nil))); err != nil {
			t.Error(err)
		}
		if e := refused(t, r, bearing(old)); e.Status != 401 {
			t.Errorf("%d", e.Status)
		}
	})
}

// TestExpiryOfRememberedTokens: what is remembered is not remembered for longer than it is good for.
func TestExpiryOfRememberedTokens(t *testing.T) {
	k := newKey(t, "k1", jose.ES256)
	synctest.Test(t, func(t *testing.T) {
		i := bubbleIssuer(t, k)
		r := bubbleResource(t, i)
		token := i.token(claims{"exp": time.Now().Add(time.Minute).Unix()})
		for _, c := range []struct {
			after time.Duration
			ok    bool
		}{{0, true}, {59 * time.Second, true}, {30 * time.Second, true}, {2 * time.Second, false}} {
			time.Sleep(c.after)
			if _, err := r.Authenticate(bearing(token)); (err == nil) != c.ok {
				t.Errorf("after %v more: %v", c.after, err)
			}
		}
	})
}

// TestDocumentsThatHurt has the issuer send what no server should swallow.
func TestDocumentsThatHurt(t *testing.T) {
	for name, jwks := range map[string]func(w http.ResponseWriter, r *http.Request){
		"10 MiB": func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, 200, `{"keys":["`+strings.Repeat("x", 10<<20)+`"]}`)
		},
		"no keys": func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, `{"keys":[]}`) },
		"secrets": func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, 200, `{"keys":[{"kty":"oct","k":"AAAA","kid":"k1"}]}`)
		},
		"thousands of keys": func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, 200, `{"keys":[`+strings.Repeat(`{"kty":"x"},`, 5000)+`{}]}`)
		},
		"HTML": func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, `<html>`) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/keys", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.jwks = jwks
			if e := refused(t, newResource(t, i, nil), bearing(i.token(nil))); e.Status != 503 || e.Header.Get("Retry-After") == "" || len(e.Challenges) > 0 {
				t.Errorf("%d %v", e.Status, e.Challenges)
			}
		})
	}
	for name, metadata := range map[string]any{
		"of another issuer": map[string]any{"issuer": "https://evil.example", "jwks_uri": "https://evil.example/keys"},
		"of an inner host":  map[string]any{"issuer": "", "jwks_uri": "http://169.254.169.254/"},
		"of a cloud":        map[string]any{"jwks_uri": "https://169.254.169.254/"},
		"of a private host": map[string]any{"jwks_uri": "https://10.0.0.1/"},
		"of a mapped one":   map[string]any{"jwks_uri": "https://[::ffff:10.0.0.1]/"},
		"of a script":       map[string]any{"jwks_uri": "javascript:1"},
		"of no keys":        map[string]any{},
	} {
		t.Run("metadata "+name, func(t *testing.T) {
			i := newIssuer(t)
			i.metadata = func(w http.ResponseWriter, _ *http.Request) {
				m := metadata.(map[string]any)
				if _, ok := m["issuer"]; !ok {
					m["issuer"] = i.url
				}
				writeJSON(w, 200, m)
			}
			if e := refused(t, newResource(t, i, nil), bearing(i.token(nil))); e.Status != 503 || i.gets.Load() != 0 {
				t.Errorf("%d", e.Status)
			}
		})
	}
}

// TestSlowDrip: keys that come one byte at a time are given up, and all who wait are told so.
func TestSlowDrip(t *testing.T) {
	k := newKey(t, "k1", jose.ES256)
	synctest.Test(t, func(t *testing.T) {
		i := bubbleIssuer(t, k)
		slow := roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/keys") {
				return &http.Response{StatusCode: 200, Body: &drip{r: r}, Request: r}, nil
			}
			return i.RoundTrip(r)
		})
		r := resourceWith(t, mcpauth.JWT(i.url, &mcpauth.JWTOptions{Logger: quiet, Fetch: &mcpauth.FetchOptions{RoundTripper: slow}}), nil)
		token := i.token(nil)
		start := time.Now()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if e := refused(t, r, bearing(token)); e.Status != 503 {
					t.Errorf("%d", e.Status)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took > mcpauth.DefaultFetchTimeout {
			t.Errorf("took %v", took)
		}
	})
}

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// drip is a body that comes slowly, until its request ends.
type drip struct{ r *http.Request }

func (d *drip) Read(p []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		p[0] = ' '
		return 1, nil
	case <-d.r.Context().Done():
		return 0, d.r.Context().Err()
	}
}

func (d *drip) Close() error { return nil }
