package railway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcptest"
	"github.com/seed38e7925c/parley/mcptest/idp"
	"github.com/seed38e7925c/parley/mcptest/railway"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

func ask(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestAPI(t *testing.T) {
	p := idp.Start(t, nil)
	api := railway.Start(t, &railway.Options{Check: p.Check, Keys: map[string]string{"k-1": "travel agency"}})
	mint := func(subject, resource string, scopes ...string) string {
		tok, err := p.Mint(&idp.Ticket{Subject: subject, ClientID: "travel", Resource: resource, Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + tok
	}
	alice := mint("alice", api.URL(), railway.ScopeRead, railway.ScopeBook)
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		holds                    string
	}{
		{"nothing", "GET", "/me", "", nil, 401, "needed"},
		{"who", "GET", "/me", "", []string{"Authorization", alice}, 200, `"alice"`},
		{"another audience", "GET", "/me", "", []string{"Authorization", mint("alice", "https://else.example")}, 401, "not valid"},
		{"no scope", "GET", "/seats?from=a&to=b", "", []string{"Authorization", mint("bob", api.URL())}, 403, "seats.read"},
		{"seats", "GET", "/seats?from=Bern&to=Wien", "", []string{"Authorization", alice}, 200, `"class":"second"`},
		{"seats nowhere", "GET", "/seats?from=Bern", "", []string{"Authorization", alice}, 400, "needed"},
		{"book", "POST", "/bookings", `{"seat":"x-1"}`, []string{"Authorization", alice, "Idempotency-Key", "1"}, 201, `"x-1"`},
		{"book again", "POST", "/bookings", `{"seat":"x-1"}`, []string{"Authorization", alice, "Idempotency-Key", "1"}, 200, `"x-1"`},
		{"another seat", "POST", "/bookings", `{"seat":"x-2"}`, []string{"Authorization", alice, "Idempotency-Key", "1"}, 409, "another"},
		{"no key", "POST", "/bookings", `{"seat":"x-2"}`, []string{"Authorization", alice}, 400, "Idempotency-Key"},
		{"one's own", "GET", "/bookings", "", []string{"Authorization", mint("bob", api.URL(), railway.ScopeBook)}, 200, "[]"},
		{"key", "GET", "/key", "", []string{"X-API-Key", "k-1"}, 200, "travel agency"},
		{"wrong key", "GET", "/stations", "", []string{"X-API-Key", "k-2"}, 401, "not known"},
		{"stations", "GET", "/stations", "", []string{"X-API-Key", "k-1"}, 200, "Zürich"},
	} {
		if status, body := ask(t, c.method, api.URL()+c.path, c.body, c.header...); status != c.status || !strings.Contains(body, c.holds) {
			t.Errorf("%s: status %d, %s", c.name, status, body)
		}
	}
	if len(api.Bookings()) != 1 || api.Count("POST /bookings") != 4 {
		t.Errorf("bookings %v, %d asked for", api.Bookings(), api.Count("POST /bookings"))
	}
	p.Revoke("alice")
	api.SetKey("k-1", "")
	if status, _ := ask(t, "GET", api.URL()+"/me", "", "Authorization", alice); status != 401 {
		t.Errorf("a revoked token: status %d", status)
	}
	if status, _ := ask(t, "GET", api.URL()+"/key", "", "X-API-Key", "k-1"); status != 401 {
		t.Errorf("a revoked key: status %d", status)
	}
}
