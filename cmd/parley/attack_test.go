package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
)

// nasty is text that clears the screen, sets the title and the clipboard, hides and turns text around, and imitates this program.
const nasty = "x\x1b[2J\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07\u009b31m\u202egpj.exe\u200b\u2066\r\nparley: all is well\r"

// nastyServer says nasty things wherever a server can say something.
func nastyServer(t *testing.T) string {
	quoted := func(v any) string {
		raw, err := jsonv2.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	n := quoted(nasty)
	schema := `{"type":"object","properties":{` + n + `:{"type":` + n + `,"description":` + n + `,"enum":[` + n + `],"default":` + n + `,"format":` + n + `}},"required":[` + n + `]}`
	results := map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{},"prompts":{},"logging":{},"extensions":{` + n + `:{}}},"instructions":` + n +
			`,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":` + n + `,"title":` + n + `,"version":` + n + `,"description":` + n + `,"websiteUrl":` + n + `}}`,
		"tools/list":               `{"tools":[{"name":` + n + `,"title":` + n + `,"description":` + n + `,"inputSchema":` + schema + `},{"name":"say","inputSchema":{"type":"object"}}]`,
		"resources/list":           `{"resources":[{"uri":` + n + `,"name":` + n + `,"mimeType":` + n + `,"description":` + n + `}]`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":` + n + `,"name":` + n + `,"description":` + n + `}]`,
		"prompts/list":             `{"prompts":[{"name":` + n + `,"title":` + n + `,"description":` + n + `,"arguments":[{"name":` + n + `,"description":` + n + `}]}]`,
		"prompts/get":              `{"description":` + n + `,"messages":[{"role":` + n + `,"content":{"type":"text","text":` + n + `}}]`,
		"tools/call": `{"content":[{"type":"text","text":` + n + `},{"type":"image","mimeType":` + n + `,"data":""},{"type":"resource_link","uri":` + n + `,"name":` + n + `,"description":` + n +
			`},{"type":"resource","resource":{"uri":` + n + `,"mimeType":` + n + `,"text":` + n + `}},{"type":` + n + `,"x":` + n + `}],"structuredContent":{"a":` + n + `},"isError":true`,
	}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		body, _ := io.ReadAll(r.Body)
		if err := jsonv2.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		result, ok := results[m.Method]
		switch {
		case m.Method == "tools/call" && strings.Contains(string(body), `"refuse"`):
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, nasty)
		case m.Method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"error\",\"logger\":%s,\"data\":{\"a\":%s}}}\n\n", n, n)
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s,\"resultType\":\"complete\"}}\n\n", m.ID, result)
		case ok:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s,"resultType":"complete","ttlMs":0,"cacheScope":"private"}}`, m.ID, result)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":%s,"data":%s}}`, m.ID, n, n)
		}
	}))
	t.Cleanup(ts.Close)
	return ts.URL
}

// Threats 16 and 17: whatever a server says, and wherever, it does not act on the terminal, and it does not begin a line like this program.
func TestThreat17WhatServersSay(t *testing.T) {
	target := nastyServer(t)
	for _, tt := range []struct {
		code int
		args []string
	}{
		{exitOK, []string{"ls", target}},
		{exitOK, []string{"ls", "-v", target}},
		{exitTool, []string{"call", target, "say"}},
		{exitTool, []string{"call", "-v", target, "say"}},
		{exitUsage, []string{"call", target, "what"}},
		{exitUsage, []string{"call", target, nasty}},
		{exitUsage, []string{"call", target, nasty, "a=b"}},
		{exitConnect, []string{"call", target, "refuse", "--args", "{}"}},
		{exitProtocol, []string{"read", target, "doc:x"}},
		{exitOK, []string{"prompt", target, "p"}},
	} {
		got := parley(t, "", tt.args...)
		got.want(t, tt.code)
		got.plain(t)
		for _, text := range []string{got.out, got.err} {
			for _, r := range text {
				if r < ' ' && r != '\n' || r >= 0x7F && r <= 0x9F {
					t.Fatalf("%q: %U in %q", tt.args, r, text)
				}
			}
		}
		for line := range strings.Lines(got.err) {
			if strings.HasPrefix(line, "parley: all is well") {
				t.Errorf("%q: the server speaks for this program:\n%s", tt.args, got.err)
			}
		}
	}
}
