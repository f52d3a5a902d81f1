package mcpauth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/seed38e7925c/parley/mcpauth"
)

// An oracle is an introspection endpoint.
type oracle struct {
	*issuer
	asked  atomic.Int64
	answer func(form url.Values) (int, any)
	auth   func(r *http.Request, form url.Values) error
	delay  time.Duration
	most   atomic.Int64 // at a time
	now    atomic.Int64
}

func newOracle(t testing.TB) *oracle {
	o := &oracle{issuer: bubbleIssuer(t, newKey(t, "k1", jose.ES256))}
	o.answer = func(form url.Values) (int, any) {
		if strings.HasPrefix(form.Get("token"), "good") {
			c := o.claims(claims{"active": true, "token_type": "Bearer"})
			return 200, c
		}
		return 200, claims{"active": false}
	}
	return o
}

func (o *oracle) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/introspect" {
		return o.issuer.RoundTrip(r)
	}
	o.asked.Add(1)
	if n := o.now.Add(1); n > o.most.Load() {
		o.most.Store(n)
	}
	defer o.now.Add(-1)
	time.Sleep(o.delay)
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, err
	}
	status, doc := 401, any("no")
	if o.auth == nil || o.auth(r, form) == nil {
		status, doc = o.answer(form)
	}
	body, ok := doc.(string)
	if !ok {
		b, err := json.Marshal(doc)
		if err != nil {
			return nil, err
		}
		body = string(b)
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r, Header: http.Header{}}, nil
}

func (o *oracle) resource(client *mcpauth.Registration, io *mcpauth.IntrospectionOptions, ro *mcpauth.ResourceOptions) *mcpauth.Resource {
	if io == nil {
		io = &mcpauth.IntrospectionOptions{}
	}
	io.Fetch, io.Logger = &mcpauth.FetchOptions{RoundTripper: o}, quiet
	return resourceWith(o.t, mcpauth.Introspection(o.url, client, io), ro)
}

var asker = &mcpauth.Registration{ClientID: "rs", ClientSecret: "s:cret"}

func TestIntrospectionIsAskedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOracle(t)
		o.delay = time.Second
		r := o.resource(asker, nil, nil)
		all := func(token string, status int) {
			t.Helper()
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					_, err := r.Authenticate(bearing(token))
					if (err == nil) != (status == 200) {
						t.Errorf("%s: %v", token, err)
					}
				})
			}
			wg.Wait()
		}
		for _, step := range []struct {
			token  string
			after  time.Duration
			status int
			asked  int64
		}{
			{"good", 0, 200, 1}, {"good", 28 * time.Second, 200, 1}, {"good", 2 * time.Second, 200, 2},
			{"bad", 0, 401, 3}, {"bad", 4 * time.Second, 401, 3}, {"bad", 2 * time.Second, 401, 4},
		} {
			time.Sleep(step.after)
			all(step.token, step.status)
			if got := o.asked.Load(); got != step.asked {
				t.Errorf("%+v: asked %d times", step, got)
			}
		}
	})
}

func TestIntrospectedTokenEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOracle(t)
		end := time.Now().Add(10 * time.Second)
		o.answer = func(url.Values) (int, any) { return 200, o.claims(claims{"active": true, "exp": end.Unix()}) }
		r := o.resource(asker, &mcpauth.IntrospectionOptions{ClockSkew: -1}, nil)
		for _, c := range []struct {
			after time.Duration
			ok    bool
		}{{0, true}, {9 * time.Second, true}, {time.Second, false}} {
			time.Sleep(c.after)
			if _, err := r.Authenticate(bearing("good")); (err == nil) != c.ok {
				t.Errorf("after %v more: %v", c.after, err)
			}
		}
	})
}

func TestIntrospectionAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n, c := range []struct {
			name   string
			answer any
			status int
			o      mcpauth.IntrospectionOptions
			says   string
		}{
			{name: "good", answer: claims{}, status: 200},
			{name: "no iss", answer: claims{"iss": nil}, status: 200},
			{name: "no end", answer: claims{"exp": nil}, status: 200},
			{name: "another iss", answer: claims{"iss": "https://evil.example"}, status: 401, says: "another issuer"},
			{name: "another audience", answer: claims{"aud": "https://other.example"}, status: 401, says: "another resource"},
			{name: "no audience", answer: claims{"aud": nil}, status: 401, says: "another resource"},
			{name: "no audience, implied", answer: claims{"aud": nil}, o: mcpauth.IntrospectionOptions{AudienceImplied: true}, status: 200},
			{name: "another audience, implied", answer: claims{"aud": "https://other.example"}, o: mcpauth.IntrospectionOptions{AudienceImplied: true}, status: 401, says: "another resource"},
			{name: "expired", answer: claims{"exp": 1}, status: 401, says: "expired"},
			{name: "not yet", answer: claims{"nbf": time.Now().Add(time.Hour).Unix()}, status: 401, says: "not valid yet"},
			{name: "a refresh token", answer: claims{"token_type": "refresh_token"}, status: 401, says: "refresh token"},
			{name: "a refresh token of another make", answer: claims{"token_use": "refresh_token"}, status: 401, says: "refresh token"},
			{name: "active is text", answer: claims{"active": "true"}, status: 503},
			{name: "active is missing", answer: claims{"active": nil}, status: 401, says: "not active"},
			{name: "bound to a key", answer: claims{"cnf": claims{"jkt": "x"}}, status: 401, says: "bound to a key"},
			{name: "HTML", answer: "<html>", status: 503},
			{name: "huge", answer: strings.Repeat(" ", 2<<20), status: 503},
		} {
			o := newOracle(t)
			o.answer = func(url.Values) (int, any) {
				if changes, ok := c.answer.(claims); ok {
					if _, named := changes["active"]; !named {
						changes["active"] = true
					}
					return 200, o.claims(changes)
				}
				return 200, c.answer
			}
			r := o.resource(asker, &c.o, nil)
			for range 2 {
				_, err := r.Authenticate(bearing("opaque"))
				if c.status == 200 {
					if err != nil {
						t.Errorf("%d %s: %v", n, c.name, err)
					}
					continue
				}
				e := refused(t, r, bearing("opaque"))
				if e.Status != c.status || !strings.Contains(e.Message, c.says) {
					t.Errorf("%d %s: %d %s", n, c.name, e.Status, e.Message)
				}
			}
		}
	})
}

// TestForeignTokenIsAskedAboutOnce: a token that is good elsewhere must not make each request a question.
func TestForeignTokenIsAskedAboutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOracle(t)
		o.answer = func(url.Values) (int, any) {
			return 200, o.claims(claims{"active": true, "aud": "https://other.example"})
		}
		r := o.resource(asker, nil, nil)
		for range 20 {
			refused(t, r, bearing("foreign"))
		}
		if got := o.asked.Load(); got != 1 {
			t.Errorf("asked %d times", got)
		}
	})
}

func TestIntrospectionIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOracle(t)
		o.delay = time.Second
		r := o.resource(asker, &mcpauth.IntrospectionOptions{MaxIntrospecting: 4}, nil)
		var wg sync.WaitGroup
		var late atomic.Int64
		for n := range 100 {
			wg.Go(func() {
				if _, err := r.Authenticate(bearing(fmt.Sprint("good", n))); err != nil {
					late.Add(1)
				}
			})
		}
		wg.Wait()
		if got := o.most.Load(); got != 4 {
			t.Errorf("%d questions at a time", got)
		}
		if got := late.Load(); got < 20 || got > 60 { // 15 s let 60 through
			t.Errorf("%d gave up", got)
		}
	})
}

func TestHowIntrospectionIsAuthenticated(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		client *mcpauth.Registration
		auth   func(r *http.Request, form url.Values) error
	}{
		"basic": {asker, func(r *http.Request, form url.Values) error {
			if id, secret, _ := r.BasicAuth(); id != "rs" || secret != "s%3Acret" || form.Has("client_secret") {
				return fmt.Errorf("%s %s", id, secret)
			}
			return nil
		}},
		"post": {&mcpauth.Registration{ClientID: "rs", ClientSecret: "s", AuthMethod: mcpauth.AuthPost}, func(r *http.Request, form url.Values) error {
			if form.Get("client_id") != "rs" || form.Get("client_secret") != "s" || r.Header.Get("Authorization") != "" {
				return fmt.Errorf("%v", form)
			}
			return nil
		}},
		"private_key_jwt": {&mcpauth.Registration{ClientID: "rs", PrivateKey: key}, func(_ *http.Request, form url.Values) error {
			tok, err := jwt.ParseSigned(form.Get("client_assertion"), []jose.SignatureAlgorithm{jose.ES256})
			if err != nil {
				return err
			}
			var c jwt.Claims
			if err := tok.Claims(key.Public(), &c); err != nil {
				return err
			}
			return c.Validate(jwt.Expected{Subject: "rs", Issuer: "rs", AnyAudience: jwt.Audience{"https://login.example"}})
		}},
	} {
		o := newOracle(t)
		var said error
		o.auth = func(r *http.Request, form url.Values) error {
			said = c.auth(r, form)
			return said
		}
		if _, err := o.resource(c.client, nil, nil).Authenticate(bearing("good")); err != nil {
			t.Errorf("%s: %v, %v", name, err, said)
		}
	}
	o := newOracle(t)
	o.auth = func(*http.Request, url.Values) error { return io.EOF }
	if e := refused(t, o.resource(asker, nil, nil), bearing("good")); e.Status != 503 || strings.Contains(e.Message, "rs") {
		t.Errorf("a client that is not known there: %d %s", e.Status, e.Message)
	}
	for _, bad := range []mcpauth.Verifier{
		mcpauth.Introspection("https://login.example", nil, nil),
		mcpauth.Introspection("https://login.example", asker, &mcpauth.IntrospectionOptions{KeepActive: time.Minute}),
		mcpauth.Introspection("https://login.example", asker, &mcpauth.IntrospectionOptions{Endpoint: "http://login.example/i"}),
		mcpauth.Introspection("login", asker, nil),
	} {
		if _, err := mcpauth.NewResource(resourceURL, bad, nil); err == nil {
			t.Error("wrong options are taken")
		}
	}
}

// TestAnyOf: each token is shown to who issued it, and to nobody else.
func TestAnyOf(t *testing.T) {
	one, two := newIssuer(t), newIssuer(t)
	o := newOracle(t)
	r := resourceWith(t, mcpauth.AnyOf(mcpauth.JWT(one.url, &mcpauth.JWTOptions{Logger: quiet}), mcpauth.JWT(two.url, &mcpauth.JWTOptions{Logger: quiet}),
		mcpauth.Introspection(o.url, asker, &mcpauth.IntrospectionOptions{Logger: quiet, Fetch: &mcpauth.FetchOptions{RoundTripper: o}})), nil)
	for token, want := range map[string]string{one.token(nil): one.url, two.token(nil): two.url, "good-and-opaque": o.url} {
		p, err := r.Authenticate(bearing(token))
		if err != nil || p.Issuer != want {
			t.Errorf("%s: %+v, %v", want, p, err)
		}
	}
	if n := o.asked.Load(); n != 1 {
		t.Errorf("asked about %d tokens", n)
	}
	mixed := one.key.sign(t, map[string]any{"typ": "at+jwt"}, one.claims(claims{"iss": two.url}))
	for _, token := range []string{mixed, one.token(claims{"iss": "https://evil.example"})} {
		if e := refused(t, r, bearing(token)); e.Status != 401 {
			t.Errorf("%d", e.Status)
		}
	}
	if n := o.asked.Load(); n != 1 {
		t.Errorf("a token of another issuer was shown")
	}
}
