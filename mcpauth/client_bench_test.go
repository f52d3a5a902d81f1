package mcpauth

import (
	"net/http"
	"time"
)

// LookupBench is the inside of BenchmarkLookup: a Transport with a good token, whose renewal is under way or not.
func LookupBench(renewing bool) (*Transport, error) {
	t, err := NewTransport("https://mcp.test/mcp", roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: http.NoBody, Header: http.Header{}}, nil
	}), nil)
	if err != nil {
		return nil, err
	}
	c := &credential{AccessToken: "token", RefreshToken: "refresh", Expiry: time.Now().Add(time.Hour), Renew: time.Now().Add(time.Hour)}
	if renewing {
		c.Renew = time.Now().Add(-time.Hour)
		t.renewing.Store(c)
		t.mu.Lock() // whoever took a lock would wait for ever
	}
	t.cred.Store(c)
	t.loaded.Store(true)
	return t, nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
