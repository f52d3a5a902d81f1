package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

// Arguments that grow beyond all bounds with the defaults of a raw schema are the caller's problem, and told as one.
func TestArgumentsTooLargeWithTheirDefaults(t *testing.T) {
	s := newServer(t, nil)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "grow", InputSchema: json.RawMessage(fmt.Sprintf(
		`{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"pad":{"default":%q}}}}}}`,
		strings.Repeat("x", 500_000)))},
		func(context.Context, *mcp.Call, json.RawMessage) (string, error) { return "grown", nil })
	got := s.modern(t, "tools/call", `"name":"grow","arguments":{"list":[`+strings.TrimSuffix(strings.Repeat("{},", 40), ",")+`]}`)
	want(t, got, `"isError":true`, "becomes larger than")
	wantNot(t, got, "internal error")
}
