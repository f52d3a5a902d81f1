package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

// register registers a tool with these types.
func register[In, Out any](t *testing.T, o mcp.Tool) error {
	t.Helper()
	o.Name = "tool"
	s := newServer(t, nil)
	err := mcp.RegisterTool(s.Server, &o, func(context.Context, *mcp.Call, In) (Out, error) {
		var out Out
		return out, nil
	})
	if (err != nil) == s.HasTool("tool") {
		t.Errorf("registered %t: %v", s.HasTool("tool"), err)
	}
	return err
}

// A tool without a usable schema is refused when it is registered, not left out of the list afterwards.
func TestToolTypesAreCheckedAtRegistration(t *testing.T) {
	type none = struct{}
	type badMinimum struct {
		N int `json:"n" minimum:"x"`
	}
	type otherTags struct {
		S string `json:"s" jsonschema:"required,description=foo"`
	}
	type nested struct {
		List []badMinimum `json:"list"`
	}
	type channel struct {
		C chan int `json:"c"`
	}
	type good struct {
		N int `json:"n" minimum:"1"`
	}
	raw := func(s string) mcp.Tool { return mcp.Tool{InputSchema: json.RawMessage(s)} }
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"minimum":        {register[badMinimum, none](t, mcp.Tool{}), "minimum"},
		"nested":         {register[nested, none](t, mcp.Tool{}), "minimum"},
		"other tags":     {register[otherTags, none](t, mcp.Tool{}), "a tag of its own"},
		"string":         {register[string, none](t, mcp.Tool{}), "struct or a map"},
		"slice":          {register[[]int, none](t, mcp.Tool{}), "struct or a map"},
		"channel":        {register[channel, none](t, mcp.Tool{}), "c"},
		"output":         {register[none, badMinimum](t, mcp.Tool{}), "its output"},
		"output channel": {register[none, chan int](t, mcp.Tool{}), "its output"},
		"no JSON":        {register[json.RawMessage, none](t, raw(`{"type":"object"`)), "InputSchema"},
		"trailing":       {register[json.RawMessage, none](t, raw(`{"type":"object"}}`)), "InputSchema"},
		"broken inside":  {register[json.RawMessage, none](t, raw(`{"type":"object","properties":{"a":}}`)), "InputSchema"},
		"root":           {register[json.RawMessage, none](t, raw(`{"type":"array"}`)), "InputSchema"},
		"no type":        {register[json.RawMessage, none](t, raw(`{}`)), "InputSchema"},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) || !strings.Contains(tt.err.Error(), `"tool"`) {
			t.Errorf("%s: %v", name, tt.err)
		}
	}
	for name, err := range map[string]error{
		"good": register[good, good](t, mcp.Tool{}), "map": register[map[string]int, string](t, mcp.Tool{}), "any": register[any, any](t, mcp.Tool{}),
		"given": register[json.RawMessage, none](t, raw(`{"type":"object"}`)), "replaced": register[badMinimum, none](t, raw(`{"type":"object"}`)),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkRegisterTool(b *testing.B) {
	type in struct {
		From string `json:"from" minLength:"1"`
		N    int    `json:"n" minimum:"1"`
	}
	for b.Loop() {
		s := mcp.NewServer("s", "1", nil)
		mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, in) (in, error) { return in{}, nil })
	}
}
