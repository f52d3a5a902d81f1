package mcpauth_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
)

// TestThreat33ClientsOwnTokens sends tokens that a client got for itself, among them one whose subject is a person's.
func TestThreat33ClientsOwnTokens(t *testing.T) {
	i := newIssuer(t)
	for n, c := range []struct {
		name    string
		changes claims
		person  bool
		subject bool // the same by SubjectIsPerson
	}{
		{"a person's", nil, true, true},
		{"a person's, by acr", claims{"auth_time": nil, "acr": "1"}, true, true},
		{"a person's, by amr", claims{"auth_time": nil, "amr": []string{"pwd"}}, true, true},
		{"a client's, as RFC 9068 wants it", claims{"sub": "app", "auth_time": nil}, false, false},
		{"a client that registered under a person's subject", claims{"sub": "alice", "client_id": "alice"}, false, false},
		{"a client's with an account of its own", claims{"sub": "6b1f", "auth_time": nil}, false, true},
		{"a client's, marked", claims{"sub": "app@clients", "gty": "client-credentials"}, false, true},
		{"a client's, marked otherwise", claims{"sub": "app@clients", "gty": []string{"client_credentials"}}, false, true},
		{"whose, by an empty amr", claims{"auth_time": nil, "amr": []string{}}, false, true},
		{"a client's, marked otherwise", claims{"idtyp": "app"}, false, true},
		{"without a subject", claims{"sub": nil}, false, false},
		{"without a client", claims{"client_id": nil}, false, false},
		{"null is not there", claims{"auth_time": nil, "acr": (*string)(nil)}, false, true},
	} {
		t.Run(described(n, c.name), func(t *testing.T) {
			strict := newResource(t, i, nil)
			loose := resourceWith(t, mcpauth.JWT(i.url, &mcpauth.JWTOptions{Logger: quiet, Person: mcpauth.SubjectIsPerson}), nil)
			for r, want := range map[*mcpauth.Resource]bool{strict: c.person, loose: c.subject} {
				p, err := r.Authenticate(bearing(i.token(c.changes)))
				if err != nil || p.Person != want {
					t.Errorf("%+v, %v; want %v", p, err, want)
				}
			}
		})
	}
}

// TestThreat12TokenIsOutOfReach looks for the token in all that a handler is given, in what it sends elsewhere, and in the log.
func TestThreat12TokenIsOutOfReach(t *testing.T) {
	var forwarded []string
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		forwarded = append(forwarded, r.Header.Get("Authorization"))
	}))
	defer upstream.Close()
	i := newIssuer(t)
	token := i.token(nil)
	signature := token[strings.LastIndexByte(token, '.')+1:]
	var log lockedBuffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	res := newResource(t, i, &mcpauth.ResourceOptions{Logger: logger})
	srv := mcp.NewServer("s", "1", res.Protect(&mcp.ServerOptions{Logger: logger}))
	mcp.AddTool(srv, &mcp.Tool{Name: "look"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, upstream.URL, nil)
		if err != nil {
			return "", err
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return "", err
		}
		resp.Body.Close()
		if found := exported(c); strings.Contains(found, signature) {
			t.Errorf("the call has it: %s", found)
		}
		if strings.Contains(fmt.Sprintf("%+v %+v", ctx, mcphttp.PrincipalFrom(ctx)), signature) {
			t.Error("the context has it")
		}
		if r, ok := ctx.Value(http.ServerContextKey).(*http.Request); ok {
			t.Errorf("the context has the request: %v", r.URL)
		}
		return "", fmt.Errorf("a failure that is logged")
	})
	mux := http.NewServeMux()
	h := mcphttp.NewHandler(srv, res.HTTP(&mcphttp.Options{Logger: logger}))
	res.Mount(mux, h)
	s := httptest.NewServer(mux)
	defer s.Close()
	e := &endpoint{t: t, url: s.URL, res: res, srv: srv}
	for _, rev := range everywhere {
		a := e.as(rev, token).call("look")
		if a.status != 200 || strings.Contains(a.body, signature) {
			t.Errorf("%s: %d %s", rev, a.status, a.body)
		}
		bad := token[:len(token)-4] + "AAAA"
		c := &caller{endpoint: e, rev: rev, token: bad}
		if a := c.call("look"); a.status != 401 || strings.Contains(a.body, bad) {
			t.Errorf("%s: a bad one: %d %s", rev, a.status, a.body)
		}
	}
	for _, f := range forwarded {
		if f != "" {
			t.Errorf("passed on: %s", f)
		}
	}
	if len(forwarded) != len(everywhere) || !strings.Contains(log.String(), "a failure that is logged") {
		t.Errorf("%d calls, log %s", len(forwarded), log.String())
	}
	if strings.Contains(log.String(), signature) || strings.Contains(log.String(), token[:40]) {
		t.Errorf("the log has it: %s", log.String())
	}
}

// exported prints what the methods of a call without arguments return.
func exported(c *mcp.Call) string {
	var b strings.Builder
	v := reflect.ValueOf(c)
	for n := range v.NumMethod() {
		if m := v.Method(n); m.Type().NumIn() == 0 && v.Type().Method(n).Name != "Session" {
			for _, out := range m.Call(nil) {
				fmt.Fprintf(&b, "%+v %s\n", out, out)
			}
		}
	}
	return b.String()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

var _ io.Writer = (*lockedBuffer)(nil)
