package mcphttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// textAnswer makes an answer for a RoundTripper.
func textAnswer(r *http.Request, status int, typ, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {typ}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// An error response is one whatever its status, unless the status says more.
func TestErrorResponses(t *testing.T) {
	const rpc = `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"m","data":{"supported":["2026-07-28"]}}}`
	for _, tt := range []struct {
		status int
		id     string
		code   jsonrpc.Code
	}{
		{200, "1", -32602}, {400, "1", -32020}, {400, "1", -32022}, {400, `"server-error"`, -32600}, {400, "null", -32700},
		{404, "1", -32601}, {500, "1", -32603}, {409, "1", -32000}, {200, "null", -32700},
	} {
		d := dialScript(t, &mcphttp.DialOptions{MaxRetries: -1}, func(h *hit) {
			h.w.Header().Set("Content-Type", "application/json")
			h.w.WriteHeader(tt.status)
			h.write(rpc, tt.id, tt.code)
		})
		m, err := d.modern(mcp.MethodToolsList)
		if err != nil || m.Error == nil || m.Error.Code != tt.code || m.ID != jsonrpc.IntID(1) || !strings.Contains(string(m.Error.Data), "supported") {
			t.Errorf("%v: %v %v", tt, m, err)
		}
		if err := d.Send(t.Context(), &jsonrpc.Message{Method: "notifications/x"}); tt.status != 200 {
			transportError(t, err, tt.status, "m")
		}
	}
}

// V06: what is no answer of the protocol fails with its status and with what a person needs to find the cause.
func TestCaseV06Refusals(t *testing.T) {
	const rpc = `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"m"}}`
	for name, tt := range map[string]struct {
		status    int
		typ, body string
		text      string
	}{
		"text":             {400, "text/plain", "bad request", "bad request"},
		"html":             {404, "text/html", "<html>no</html>", "<html>no</html>"},
		"405":              {405, "application/json", rpc, "405"},
		"406":              {406, "", "", "406"},
		"401":              {401, "application/json", rpc, "401"},
		"403":              {403, "application/json", rpc, "403"},
		"200 html":         {200, "text/html", "<html>login</html>", `"text/html"`},
		"200 empty":        {200, "application/json", "", "without answering"},
		"202":              {202, "", "", "without answering"},
		"204":              {204, "", "", "without answering"},
		"200 trash":        {200, "application/json", "{oops", "oops"},
		"200 request":      {200, "application/json", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "a request instead"},
		"200 notification": {200, "application/json", `{"jsonrpc":"2.0","method":"x"}`, "a notification instead"},
		"200 other id":     {200, "application/json", `{"jsonrpc":"2.0","id":2,"result":{}}`, "another request"},
		"200 other type":   {200, "application/json", `{"jsonrpc":"2.0","id":"1","result":{}}`, "another request"},
		"200 other error":  {200, "application/json", `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`, "another request"},
		"200 batch":        {200, "application/json", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, "batch"},
	} {
		d := dialScript(t, nil, func(h *hit) {
			if tt.typ != "" {
				h.w.Header().Set("Content-Type", tt.typ)
			}
			h.w.Header().Add("WWW-Authenticate", `Bearer scope="a"`)
			h.w.Header().Add("WWW-Authenticate", `Basic`)
			h.w.WriteHeader(tt.status)
			h.write("%s", tt.body)
		})
		_, err := d.modern(mcp.MethodDiscover)
		e := transportError(t, err, tt.status, tt.text)
		if e.Body != tt.body {
			t.Errorf("%s: body %q", name, e.Body)
		}
		if want := `[Bearer scope="a" Basic]`; tt.status >= 400 && fmt.Sprint(e.Challenges) != want {
			t.Errorf("%s: challenges %v", name, e.Challenges)
		}
	}
}

// A response that is meant for a request and cannot be read ends that request (J03).
func TestUnreadableResponse(t *testing.T) {
	const twice = `{"jsonrpc":"2.0","id":%s,"result":{"a":1,"a":2}}`
	for _, stream := range []bool{false, true} {
		d := dialScript(t, nil, func(h *hit) {
			if stream {
				h.events()
				h.event(fmt.Sprintf(twice, h.id()))
				h.wait()
				return
			}
			h.w.Header().Set("Content-Type", "application/json")
			h.write(twice, h.id())
		})
		m, err := d.modern(mcp.MethodToolsCall)
		if err != nil || m.Error == nil || m.Error.Code != jsonrpc.CodeInvalidRequest {
			t.Errorf("%v %v", m, err)
		}
	}
}

// What is kept of a body is bounded and is text.
func TestExcerpt(t *testing.T) {
	for _, body := range []string{strings.Repeat("a", 5000), strings.Repeat("a", 4095) + "漢漢", strings.Repeat("漢", 3000), strings.Repeat("\xff", 200_000)} {
		d := dialScript(t, nil, func(h *hit) { http.Error(h.w, body, http.StatusBadRequest) })
		_, err := d.modern(mcp.MethodToolsCall)
		e := transportError(t, err, 400, "")
		if body[0] == '\xff' {
			if e.Body != "\uFFFD" {
				t.Errorf("%q", e.Body)
			}
			continue
		}
		if !utf8.ValidString(e.Body) || len(e.Body) > 4096 || len(e.Body) < 4090 || strings.HasSuffix(e.Body, "\uFFFD") {
			t.Errorf("%d bytes: %q", len(e.Body), e.Body[len(e.Body)-10:])
		}
	}
}

// H07: a redirect is followed with method and body within its origin; one to another origin, or one that would turn a POST into a GET,
// is an error that says where it leads, and credentials stay at home.
func TestCaseH07ClientRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("another origin got %s with %v", r.Method, r.Header)
		w.WriteHeader(http.StatusTeapot)
	}))
	defer elsewhere.Close()
	for name, tt := range map[string]struct {
		status int
		to     string
		fine   bool
	}{
		"slash 307":  {307, "/mcp/", true},
		"slash 308":  {308, "./mcp/", true},
		"slash 301":  {301, "/mcp/", false},
		"303":        {303, "/mcp/", false},
		"elsewhere":  {307, elsewhere.URL + "/mcp", false},
		"other host": {308, "http://evil.test/mcp", false},
		"scheme":     {308, "https://127.0.0.1/mcp", false},
		"circle":     {307, "/mcp", false},
	} {
		d := dialScript(t, &mcphttp.DialOptions{Header: http.Header{"Authorization": {"Bearer t"}}}, func(h *hit) {
			if h.URL.Path == "/mcp" {
				http.Redirect(h.w, h.Request, tt.to, tt.status)
				return
			}
			if h.Method != http.MethodPost || h.Header.Get("Authorization") != "Bearer t" || h.Header.Get("Mcp-Method") == "" {
				t.Errorf("%s: %s %v", name, h.Method, h.Header)
			}
			h.json(okResult)
		})
		m, err := d.modern(mcp.MethodToolsCall)
		if tt.fine {
			result(t, m, err)
			continue
		}
		transportError(t, err, tt.status, "redirects to")
	}
}

// The redirect policy of a given client is asked too.
func TestOwnRedirectPolicy(t *testing.T) {
	asked := 0
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		asked++
		return http.ErrUseLastResponse
	}}
	d := dialScript(t, &mcphttp.DialOptions{Client: client}, func(h *hit) { http.Redirect(h.w, h.Request, "/other", http.StatusTemporaryRedirect) })
	_, err := d.modern(mcp.MethodToolsCall)
	transportError(t, err, 307, "redirects to")
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
