package mcphttp_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// Whatever a server answers, a request has a response with its own id or a TransportError, and the link can be used afterwards.
func FuzzClientAnswer(f *testing.F) {
	for _, status := range []int{200, 202, 307, 400, 401, 404, 405, 503} {
		for _, typ := range []string{"application/json", typeEvents, "text/html", ""} {
			for _, body := range []string{
				`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`,
				"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", "id: 1\nretry: 1\ndata:\n\ndata: [{}]\n\n", "event: endpoint\ndata: /x\n\n", "<html>", "",
			} {
				f.Add(status, typ, body)
			}
		}
	}
	f.Fuzz(func(t *testing.T, status int, typ, body string) {
		if status < 100 || status > 999 {
			t.Skip("no status")
		}
		fuzzed := true
		d := dialURL(t, "http://h.test/mcp", &mcphttp.DialOptions{MaxRetries: -1, MaxMessageBytes: 1 << 16,
			Client: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				switch {
				case r.Method != http.MethodPost:
					t.Errorf("%s in 2026-07-28", r.Method)
				case fuzzed:
					return textAnswer(r, status, typ, body), nil
				}
				return textAnswer(r, 200, "application/json", `{"jsonrpc":"2.0","id":2,"result":{}}`), nil
			})}})
		m, err := d.modern(mcp.MethodToolsCall)
		var e *mcp.TransportError
		switch {
		case err == nil && (m.ID != jsonrpc.IntID(1) || m.Kind() != jsonrpc.Response):
			t.Errorf("got %+v", m)
		case err == nil && m.Error == nil && status/100 != 2:
			t.Errorf("a result with status %d", status)
		case err != nil && (!errors.As(err, &e) || e.Status != status):
			t.Errorf("got %v", err)
		case err != nil && e.Error() == "":
			t.Error("an error without words")
		}
		fuzzed = false
		m, err = d.modern(mcp.MethodToolsCall)
		result(t, m, err)
	})
}

// A login that failed is not begun again by the probe of another era.
func TestLoginOnce(t *testing.T) {
	for _, answer := range []func(r *http.Request) (*http.Response, error){
		func(*http.Request) (*http.Response, error) { return nil, errors.New("oauth: the person declined") },
		func(r *http.Request) (*http.Response, error) { return textAnswer(r, 401, "", ""), nil },
		func(r *http.Request) (*http.Response, error) { return textAnswer(r, 403, "", ""), nil },
	} {
		tries := 0
		client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			tries++
			return answer(r)
		})}
		_, err := mcp.Connect(t.Context(), mcphttp.Dial("http://h.test/mcp", &mcphttp.DialOptions{Client: client}), nil)
		var e *mcp.TransportError
		if !errors.As(err, &e) || tries != 1 {
			t.Errorf("%d tries: %v", tries, err)
		}
	}
}
