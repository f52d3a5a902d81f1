//go:build !mcp_modern_only

package mcphttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// rawHTTP sends bytes and returns the status line and the body of the answer.
func rawHTTP(t *testing.T, s *site, text string) (int, string) {
	t.Helper()
	c, err := net.Dial("tcp", s.ts.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func TestAttackHostAndOriginForms(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{AllowedHosts: []string{"mcp.example.com"}, AllowedOrigins: []string{"https://app.example.com"}})
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + metaKey + `}}`
	post := func(target, headers string) int {
		code, _ := rawHTTP(t, s, "POST "+target+" HTTP/1.1\r\n"+headers+"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\nConnection: close\r\n"+
			fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
		return code
	}
	for _, tt := range []struct {
		target, headers string
		ok              bool
	}{
		{"/mcp", "Host: localhost\r\n", true},
		{"/mcp", "Host: mcp.example.com\r\n", true},
		{"/mcp", "Host: MCP.Example.COM.:8443\r\n", true},
		{"/mcp", "Host: evil.com\r\n", false},
		{"/mcp", "Host: localhost.evil.com\r\n", false},
		{"/mcp", "Host: mcp.example.com.evil.com\r\n", false},
		{"/mcp", "Host: mcp.example.com@evil.com\r\n", false},
		{"/mcp", "Host: evil.com#localhost\r\n", false},
		{"/mcp", "Host: [::1%25eth0]\r\n", false},
		{"/mcp", "Host: [fe80::1%25lo]\r\n", false},
		{"/mcp", "Host: 127.0.0.1.nip.io\r\n", false},
		{"/mcp", "Host: 0.0.0.0\r\n", false},
		{"/mcp", "Host: 0x7f.1\r\n", false},
		{"/mcp", "Host: \r\n", false},
		{"/mcp", "Host: localhost\r\nHost: evil.com\r\n", false},
		{"/mcp", "Host: evil.com\r\nHost: localhost\r\n", false},
		{"http://evil.com/mcp", "Host: localhost\r\n", false},
		{"/mcp", "Host: localhost\r\nOrigin: null\r\n", false},
		{"/mcp", "Host: localhost\r\nOrigin: \r\n", false},
		{"/mcp", "Host: localhost\r\nOrigin: https://evil.com\r\n", false},
		{"/mcp", "Host: localhost\r\nOrigin: http://localhost.evil.com\r\n", false},
		{"/mcp", "Host: localhost\r\nOrigin: http://localhost@evil.com\r\n", false},
		{"/mcp", "Host: localhost\r\nOrigin: http://evil.com#localhost\r\n", false},
		{"/mcp", "Host: localhost\r\nOrigin: https://app.example.com.evil.com\r\n", false},
		{"/mcp", "Host: localhost\r\nOrigin: https://app.example.com\r\nOrigin: https://evil.com\r\n", false},
		{"/mcp", "Host: localhost\r\nOrigin: https://app.example.com, https://evil.com\r\n", false},
		{"/mcp", "Host: localhost\r\nOrigin: HTTPS://APP.example.com:443\r\n", true},
		{"/mcp", "Host: localhost\r\nOrigin: http://app.example.com\r\n", false},
		{"/mcp", "Host: localhost\r\nOrigin: file://\r\n", false},
	} {
		if code := post(tt.target, tt.headers); (code == 200) != tt.ok {
			t.Errorf("%s %q: %d", tt.target, tt.headers, code)
		}
	}
}

// Headers sent twice, and bodies that two readers may end at different places.
func TestAttackDoubledHeaders(t *testing.T) {
	s := serveSite(t, nil)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + metaKey + `,"name":"echo","arguments":{"text":"x"}}}`
	base := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\n"
	std := "Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n"
	length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
	for _, tt := range []struct {
		headers string
		ok      bool
	}{
		{std + length, true},
		{std + "Mcp-Name: other\r\n" + length, false},
		{std + "Mcp-Name: echo\r\n" + length, false},
		{std + "mcp-method: tools/list\r\n" + length, false},
		{std + "MCP-Protocol-Version: 2025-11-25\r\n" + length, false},
		{std + "Content-Type: text/plain\r\n" + length, false},
		{strings.Replace(std, "Mcp-Name: echo", "Mcp-Name: =?base64?ZWNobw==?=", 1) + length, true},
		{strings.Replace(std, "Mcp-Name: echo", "Mcp-Name: =?base64?ZWNobw?=", 1) + length, false},
		{strings.Replace(std, "Mcp-Name: echo", "Mcp-Name: %65cho", 1) + length, false},
		{strings.Replace(std, "Mcp-Method: tools/call", "Mcp-Method: TOOLS/CALL", 1) + length, false},
		{std + length + "Content-Length: 5\r\n", false},
		{std + length + "Transfer-Encoding: identity, chunked\r\n", false},
		{std + length + "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n", false},
	} {
		if code, got := rawHTTP(t, s, base+tt.headers+"\r\n"+body); (code == 200 && !strings.Contains(got, `"error"`)) != tt.ok {
			t.Errorf("%q: %d %s", tt.headers, code, got)
		}
	}
}

// Case variants and repeated names must not say two things to two readers.
func TestAttackKeyVariants(t *testing.T) {
	s := serveSite(t, nil)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + metaKey + `,"name":"echo","name":"wait","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + metaKey + `,"name":"echo","n\u0061me":"wait","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + metaKey + `,"name":"echo","arguments":{"text":"a","te\u0078t":"b"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + metaKey + `,"_meta":{},"name":"echo","arguments":{"text":"a"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + metaKey + `,"name":"echo","arguments":{"Text":"a"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + metaKey + `,"name":"echo","arguments":{"text":"a","TEXT":"b"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","Params":{` + metaKey + `,"name":"echo","arguments":{"text":"a"}}}`,
	} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(body))
		for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo"} {
			req.Header.Set(k, v)
		}
		resp, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(string(got), `rror"`) {
			t.Errorf("%s: %d %s", body, resp.StatusCode, got)
		}
	}
}

// What one principal has, another must not use: sessions, sealed ids, streams, event ids, questions.
func TestAttackOtherPrincipal(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		srv, g := newServer(nil)
		s := serveServer(t, srv, g, &mcphttp.Options{Sessions: &mcphttp.SessionOptions{Stateless: stateless},
			Authenticate: func(r *http.Request) (*mcp.Principal, error) {
				who := r.Header.Get("Authorization")
				if who == "" {
					return nil, nil
				}
				issuer, subject, _ := strings.Cut(who, " ")
				return &mcp.Principal{Issuer: issuer, Subject: subject, ClientID: r.Header.Get("X-Client")}, nil
			}})
		do := func(method, who, client, session, body string, more ...string) (*http.Response, string) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			req, _ := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader(body))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			for k, v := range map[string]string{"Authorization": who, "X-Client": client, "Mcp-Session-Id": session} {
				if v != "" {
					req.Header.Set(k, v)
				}
			}
			for i := 0; i+1 < len(more); i += 2 {
				req.Header.Set(more[i], more[i+1])
			}
			resp, err := s.client.Do(req)
			if err != nil {
				return &http.Response{StatusCode: 0}, err.Error()
			}
			defer resp.Body.Close()
			got, _ := io.ReadAll(resp.Body)
			return resp, string(got)
		}
		resp, got := do("POST", "i alice", "c", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}`)
		id := resp.Header.Get("Mcp-Session-Id")
		if id == "" {
			t.Fatalf("no session: %s", got)
		}
		for _, other := range [][2]string{{"", ""}, {"i bob", "c"}, {"j alice", "c"}, {"i alice", "d"}, {"ia lice", "c"}, {"i ", "c"}} {
			for _, tt := range [][2]string{
				{"POST", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`},
				{"POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`},
				{"POST", `{"jsonrpc":"2.0","id":1,"result":{}}`},
				{"POST", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`},
				{"GET", ""}, {"DELETE", ""},
			} {
				resp, got := do(tt[0], other[0], other[1], id, tt[1])
				if resp.StatusCode != 404 && resp.StatusCode != 405 && resp.StatusCode != 400 {
					t.Errorf("stateless %v: %v %v: %d %s", stateless, other, tt, resp.StatusCode, got)
				}
			}
		}
		if resp, got := do("POST", "i alice", "c", id, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); resp.StatusCode != 200 {
			t.Errorf("alice lost her session: %d %s", resp.StatusCode, got)
		}
	}
}

// After abuse of every kind nothing is left running.
func TestAttackLeavesNothingBehind(t *testing.T) {
	s := serveSite(t, &mcphttp.Options{BodyTimeout: 300 * time.Millisecond, WriteTimeout: 300 * time.Millisecond, KeepAlive: 50 * time.Millisecond})
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	// open sends a request and hangs up once the server has said something, or, if whole, once it has hung up itself.
	open := func(text string, whole bool) {
		wg.Go(func() {
			c, err := net.Dial("tcp", s.ts.Listener.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Error(err)
			}
			if _, err := io.WriteString(c, text); err != nil {
				t.Error(err)
			}
			var said io.Reader = c
			if !whole {
				said = io.LimitReader(c, 1)
			}
			if _, err := io.Copy(io.Discard, said); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the server neither answers nor hangs up: %.60q", text)
			}
		})
	}
	head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
		"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: %s\r\n%sContent-Length: %d\r\n\r\n%s"
	request := func(method, name, params string) string {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, metaKey, params)
		header := ""
		if name != "" {
			header = "Mcp-Name: " + name + "\r\n"
		}
		return fmt.Sprintf(head, method, header, len(body), body)
	}
	for range 40 {
		open(fmt.Sprintf(head, "tools/list", "", 1000, "{"), true) // a body that never comes
		open(request("subscriptions/listen", "", `,"notifications":{"toolsListChanged":true}`), false)
		open(request("tools/call", "wait", `,"name":"wait","arguments":{}`), false)
		open("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: x\r\n\r\n", false)
	}
	wg.Wait()
	s.client.CloseIdleConnections()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before+5; <-again.C {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines before, %d after\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
	}
}
