package mcphttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// What cannot be dialled is refused by Open, with the field that is wrong, and without secrets.
func TestDialRefuses(t *testing.T) {
	for _, tt := range []struct {
		url  string
		o    *mcphttp.DialOptions
		text string
	}{
		{"", nil, "http"},
		{"/mcp", nil, "http"},
		{"ftp://h/mcp", nil, "http"},
		{"https:///mcp", nil, "host"},
		{"http://h/%zz?key=secret", nil, "Dial"},
		{"https://h/mcp", &mcphttp.DialOptions{UnencryptedHTTP2: true}, "UnencryptedHTTP2"},
		{"http://h/mcp", &mcphttp.DialOptions{UnencryptedHTTP2: true, Client: &http.Client{}}, "UnencryptedHTTP2"},
		{"http://h/mcp", &mcphttp.DialOptions{MaxHeaderBytes: 1, Client: &http.Client{}}, "MaxHeaderBytes"},
		{"http://h/mcp", &mcphttp.DialOptions{MaxMessageBytes: -1}, "MaxMessageBytes"},
		{"http://h/mcp", &mcphttp.DialOptions{MaxHeaderBytes: -1}, "MaxHeaderBytes"},
		{"http://h/mcp", &mcphttp.DialOptions{MaxRetryAfter: -1}, "MaxRetryAfter"},
		{"http://h/mcp", &mcphttp.DialOptions{CloseTimeout: -1}, "CloseTimeout"},
		{"http://h/mcp", &mcphttp.DialOptions{Header: http.Header{"mcp-session-id": {"x"}}}, "Mcp-Session-Id"},
		{"http://h/mcp", &mcphttp.DialOptions{Header: http.Header{"MCP-PARAM-X": {"x"}}}, "Mcp-Param-X"},
	} {
		_, err := mcphttp.Dial(tt.url, tt.o).Open(t.Context(), newCatcher())
		if err == nil || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", tt.url, err, tt.text)
		}
	}
	if _, err := mcphttp.Dial("http://h", nil, nil).Open(t.Context(), newCatcher()); err == nil {
		t.Error("two options are taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mcphttp.Dial("http://h").Open(ctx, newCatcher()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A transport says where it leads, not what is secret about the way.
func TestDialString(t *testing.T) {
	for url, want := range map[string]string{
		"https://user:pw@travel.example:8443/a/mcp?key=k#f": "https://travel.example:8443/a/mcp",
		"http://h": "http://h",
		"%":        "an invalid URL",
	} {
		if got := fmt.Sprint(mcphttp.Dial(url)); got != want {
			t.Errorf("%s: %s", url, got)
		}
	}
}

// A URL without a path, with a query and with a password is used as it is.
func TestDialURLs(t *testing.T) {
	d := dialScript(t, nil, func(h *hit) {
		user, pw, _ := h.BasicAuth()
		h.json(fmt.Sprintf("%q", strings.Join([]string{h.URL.String(), user, pw}, " ")))
	})
	host := strings.TrimSuffix(strings.TrimPrefix(d.url, "http://"), "/mcp")
	for url, want := range map[string]string{
		"http://" + host:                   `"/  "`,
		"http://" + host + "/a%20b?k=v#f":  `"/a%20b?k=v  "`,
		"http://u:p@" + host + "/mcp":      `"/mcp u p"`,
		"HTTP://" + host + "/mcp/?x=%2F#y": `"/mcp/?x=%2F  "`,
	} {
		m, err := dialURL(t, url, nil).modern(mcp.MethodDiscover)
		if got := result(t, m, err); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

// The timeout of a given client would cut streams short, so it is not used, and the client itself is not changed.
func TestDialClientTimeout(t *testing.T) {
	client := &http.Client{Timeout: time.Nanosecond}
	d := dialScript(t, &mcphttp.DialOptions{Client: client}, func(h *hit) { h.json(okResult) })
	m, err := d.modern(mcp.MethodToolsCall)
	result(t, m, err)
	if client.Timeout != time.Nanosecond || client.CheckRedirect != nil {
		t.Error("the client was changed")
	}
}

// An authTransport names the credentials that it adds.
type authTransport struct{ http.RoundTripper }

func (authTransport) AuthContext() string { return "alice" }

// The RoundTripper that authorizes requests says whose they are.
func TestDialAuthContext(t *testing.T) {
	for want, o := range map[string]*mcphttp.DialOptions{"": nil, "alice": {Client: &http.Client{Transport: authTransport{http.DefaultTransport}}}} {
		d := dialURL(t, "http://h.test", o)
		if got := d.Link.(mcp.AuthLink).AuthContext(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Links of one transport are independent.
func TestDialTwice(t *testing.T) {
	d := dialScript(t, nil, func(h *hit) { h.json(okResult) })
	tr := mcphttp.Dial(d.url)
	var links []mcp.Link
	for range 2 {
		l, err := tr.Open(t.Context(), newCatcher())
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
	}
	for range 2 {
		if err := links[0].Close(); err != nil {
			t.Error(err)
		}
	}
	m, err := links[1].RoundTrip(t.Context(), d.outgoing(mcp.Revision20260728, mcp.MethodDiscover))
	result(t, m, err)
	if err := links[1].Close(); err != nil {
		t.Error(err)
	}
}
