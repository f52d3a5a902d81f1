package connect_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/connect"
)

// A browser is somebody's.
type browser struct {
	t    *testing.T
	http *http.Client
	base *url.URL
	seen *safeBuffer // everything that it was ever sent
}

// browser makes one in which somebody has signed in; nobody for "".
func (w *world) browser(subject string) *browser {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	base, err := url.Parse(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	b := &browser{t: w.t, base: base, seen: &safeBuffer{}, http: &http.Client{Jar: jar}}
	if subject != "" {
		jar.SetCookies(base, []*http.Cookie{{Name: connect.TestCookie, Value: subject + ":s1-" + subject, Path: "/"}})
	}
	return b
}

// A page is what a browser was sent.
type page struct {
	status int
	url    *url.URL // after redirects
	header http.Header
	body   string
}

var token = regexp.MustCompile(`name="csrf" value="([^"]*)"`)

// csrf returns the token of the page's first form.
func (p *page) csrf() string {
	m := token.FindStringSubmatch(p.body)
	if m == nil {
		return ""
	}
	return m[1]
}

func (b *browser) do(req *http.Request) *page {
	b.t.Helper()
	res, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	p := &page{res.StatusCode, res.Request.URL, res.Header, string(body)}
	_ = res.Header.Write(b.seen)
	_, _ = b.seen.Write([]byte(p.url.String() + "\n" + p.body))
	return p
}

// open loads a page.
func (b *browser) open(address string) *page {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(req)
}

// post sends a form, as browsers do: with its origin.
func (b *browser) post(address string, form url.Values, header ...string) *page {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", b.base.Scheme+"://"+b.base.Host)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return b.do(req)
}

// fill loads a page and answers it; do is submit or decline.
func (b *browser) fill(address, do string, fields ...string) *page {
	b.t.Helper()
	p := b.open(address)
	if p.status != http.StatusOK {
		b.t.Fatalf("status %d: %s", p.status, p.body)
	}
	form := url.Values{"csrf": {p.csrf()}, "do": {do}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return b.post(address, form)
}

// envelope is a request of 2026-07-28 whose client can open pages.
func envelope(t *testing.T, method string, params map[string]any) []byte {
	t.Helper()
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "raw", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{"url": map[string]any{}}},
	}
	body, err := jsonv2.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// rawHeaders are the headers of such a request.
func rawHeaders(req *http.Request, token, method, name string) {
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		req.Header.Set(k, v)
	}
}

// wire posts a message as it is, at 2026-07-28, and returns the answer, the last message of it where it is a stream.
func (w *world) wire(token, method string, params map[string]any) map[string]any {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+"/mcp", bytes.NewReader(envelope(w.t, method, params)))
	if err != nil {
		w.t.Fatal(err)
	}
	name, _ := params["name"].(string)
	rawHeaders(req, token, method, name)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		for line := range strings.Lines(string(raw)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				raw = []byte(data)
			}
		}
	}
	var m map[string]any
	if err := jsonv2.Unmarshal(raw, &m); err != nil {
		w.t.Fatalf("%v: %s", err, raw)
	}
	return m
}

// asked returns the address and the state of an answer that asks for a page.
func asked(t *testing.T, m map[string]any) (link, state string) {
	t.Helper()
	result, _ := m["result"].(map[string]any)
	requests, _ := result["inputRequests"].(map[string]any)
	state, _ = result["requestState"].(string)
	for _, r := range requests {
		params, _ := r.(map[string]any)["params"].(map[string]any)
		link, _ = params["url"].(string)
	}
	if state == "" {
		t.Fatalf("it does not ask: %v", m)
	}
	return link, state
}

// accepted is what a client sends with a retry: yes to whatever was asked.
func accepted(m map[string]any) map[string]any {
	result, _ := m["result"].(map[string]any)
	requests, _ := result["inputRequests"].(map[string]any)
	responses := map[string]any{}
	for key := range requests {
		responses[key] = map[string]any{"action": "accept"}
	}
	return responses
}
