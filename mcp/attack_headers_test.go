package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

// What an intermediary reads in a header must be what the server acts on: numbers included.
func TestAttackParamHeaderForms(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "t", InputSchema: []byte(`{"type":"object","properties":{
		"n":{"type":"integer","x-mcp-header":"N"},"s":{"type":"string","x-mcp-header":"S"},"b":{"type":"boolean","x-mcp-header":"B"}}}`)},
		func(context.Context, *mcp.Call, json.RawMessage) (string, error) { return "", nil })
	for _, tt := range []struct {
		args, header, value string
		ok                  bool
	}{
		{`{"n":42}`, "N", "42", true},
		{`{"n":42}`, "N", "42.0", true},
		{`{"n":42}`, "N", "4.2e1", true},
		{`{"n":42}`, "N", "=?base64?NDI=?=", true},
		{`{"n":42}`, "N", "0x2A", false},
		{`{"n":42}`, "N", "0x2Ap0", false},
		{`{"n":42}`, "N", "+42", false},
		{`{"n":42}`, "N", "042", false},
		{`{"n":42}`, "N", "42.", false},
		{`{"n":42}`, "N", "42.00000000000000000001", false},
		{`{"n":42}`, "N", " 42", false},
		{`{"n":0}`, "N", "1e-400", false},
		{`{"n":42}`, "N", "42_0", false},
		{`{"n":9007199254740993}`, "N", "9007199254740992", false},
		{`{"s":"x"}`, "S", "x", true},
		{`{"s":"x"}`, "S", "=?base64?eA==?=", true},
		{`{"s":"x"}`, "S", "=?BASE64?eA==?=", false},
		{`{"s":"x"}`, "S", "=?base64?eA?=", false},
		{`{"s":"x"}`, "S", "=?base64?eB==?=", false},
		{`{"s":"x"}`, "S", "X", false},
		{`{"b":true}`, "B", "True", false},
		{`{"b":true}`, "B", "true", true},
		{`{"b":true}`, "B", "1", false},
	} {
		x := exchange(t, modernLine(1, "tools/call", `"name":"t","arguments":`+tt.args))
		one := func(v string) mcp.Header { return mcp.HeaderOf([]string{v}) }
		x.Headers = &mcp.Headers{ProtocolVersion: one("2026-07-28"), Method: one("tools/call"), Name: one("t"),
			All: map[string][]string{"Mcp-Param-" + tt.header: {tt.value}}}
		got, status := s.serve(t.Context(), x)
		if ok := !strings.Contains(got, "-32020"); ok != tt.ok {
			t.Errorf("%s with %s: %q: %s", tt.args, tt.header, tt.value, fmt.Sprint(status, " ", got))
		}
	}
}
