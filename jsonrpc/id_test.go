package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/jsonrpc"
)

func TestID(t *testing.T) {
	tests := []struct {
		raw  string
		id   jsonrpc.ID
		text string
		out  string
	}{
		{"0", jsonrpc.IntID(0), "0", "0"},
		{"-1", jsonrpc.IntID(-1), "-1", "-1"},
		{"9007199254740993", jsonrpc.IntID(1<<53 + 1), "9007199254740993", "9007199254740993"},
		{"9223372036854775807", jsonrpc.IntID(math.MaxInt64), "9223372036854775807", "9223372036854775807"},
		{"-9223372036854775808", jsonrpc.IntID(math.MinInt64), "-9223372036854775808", "-9223372036854775808"},
		{`""`, jsonrpc.StringID(""), `""`, `""`},
		{`"1"`, jsonrpc.StringID("1"), `"1"`, `"1"`},
		{` "a\u0062\n" `, jsonrpc.StringID("ab\n"), `"ab\n"`, `"ab\n"`},
		{`"漢"`, jsonrpc.StringID("漢"), `"漢"`, `"漢"`},
	}
	seen := map[jsonrpc.ID]bool{}
	for _, tt := range tests {
		id, err := jsonrpc.ParseID(json.RawMessage(tt.raw))
		if err != nil || id != tt.id || id.IsZero() || seen[id] {
			t.Errorf("ParseID(%s) = %v, %v", tt.raw, id, err)
		}
		seen[id] = true
		if id.String() != tt.text || string(id.AppendJSON(nil)) != tt.out {
			t.Errorf("ParseID(%s): String %s, AppendJSON %s", tt.raw, id, id.AppendJSON(nil))
		}
		_, isInt := id.Int()
		_, isStr := id.Str()
		if isInt == isStr {
			t.Errorf("ParseID(%s): Int %v, Str %v", tt.raw, isInt, isStr)
		}
		var in, out struct {
			ID jsonrpc.ID `json:"id"`
		}
		data := `{"id":` + tt.raw + `}`
		if err := jsonv2.Unmarshal([]byte(data), &in); err != nil || in.ID != tt.id {
			t.Errorf("Unmarshal(%s) = %v, %v", data, in.ID, err)
		}
		b, err := jsonv2.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		if err := jsonv2.Unmarshal(b, &out); err != nil || out != in {
			t.Errorf("Unmarshal(%s) = %v, %v", b, out, err)
		}
	}
}

func TestIDRefused(t *testing.T) {
	for _, raw := range []string{"", " ", "null", "1.5", "1e3", "true", "{}", "[]", "9223372036854775808", `"\ud800"`, "\"\xff\"", `"a`, "1 2", "01", "+1"} {
		id, err := jsonrpc.ParseID(json.RawMessage(raw))
		if !errors.Is(err, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest}) || !id.IsZero() {
			t.Errorf("ParseID(%q) = %v, %v", raw, id, err)
		}
		var in struct {
			ID jsonrpc.ID `json:"id"`
		}
		if err := jsonv2.Unmarshal([]byte(`{"id":`+raw+`}`), &in); err == nil {
			t.Errorf("Unmarshal of id %q = %v", raw, in.ID)
		}
	}
}

func TestIDAbsent(t *testing.T) {
	var s struct {
		Null jsonrpc.ID `json:"null"`
		Gone jsonrpc.ID `json:"gone,omitzero"`
	}
	b, err := jsonv2.Marshal(s)
	if err != nil || string(b) != `{"null":null}` {
		t.Errorf("Marshal = %s, %v", b, err)
	}
	if s.Null.String() != "none" || string(s.Null.AppendJSON(nil)) != "null" {
		t.Errorf("zero id: %s, %s", s.Null, s.Null.AppendJSON(nil))
	}
}

func TestError(t *testing.T) {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such tool"}
	if e.Error() != "no such tool (-32602)" {
		t.Error(e)
	}
	if !errors.Is(e, &jsonrpc.Error{Code: -32602}) || errors.Is(e, &jsonrpc.Error{Code: -32601}) || errors.Is(e, errors.ErrUnsupported) {
		t.Error("Is compares codes")
	}
}
