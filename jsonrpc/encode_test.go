package jsonrpc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
)

func TestAppend(t *testing.T) {
	tests := []struct {
		m    jsonrpc.Message
		want string
	}{
		{jsonrpc.Message{ID: jsonrpc.IntID(0), Method: "ping"}, `{"jsonrpc":"2.0","id":0,"method":"ping"}`},
		{jsonrpc.Message{ID: jsonrpc.StringID(""), Method: "a\"b", Params: json.RawMessage(`{ "a" : 1 }`)}, `{"jsonrpc":"2.0","id":"","method":"a\"b","params":{ "a" : 1 }}`},
		{jsonrpc.Message{Method: "n", Params: json.RawMessage{}}, `{"jsonrpc":"2.0","method":"n"}`},
		{jsonrpc.Message{ID: jsonrpc.IntID(1), Result: json.RawMessage(`{}`)}, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{jsonrpc.Message{ID: jsonrpc.IntID(1)}, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{jsonrpc.Message{ID: jsonrpc.IntID(1), Error: &jsonrpc.Error{Code: -1, Message: "x\ny"}}, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x\ny"}}`},
		{jsonrpc.Message{Error: &jsonrpc.Error{Code: -32700, Message: "", Data: json.RawMessage(`[1]`)}}, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"","data":[1]}}`},
		// Line breaks are space in JSON; they go, and all else stays as it was.
		{jsonrpc.Message{ID: jsonrpc.IntID(1), Result: json.RawMessage("{\r\n  \"a\": [1.0,\n\t\"\\u0041\"]\n}")}, `{"jsonrpc":"2.0","id":1,"result":{"a":[1.0,"\u0041"]}}`},
		// What is not JSON is the caller's mistake and still one line.
		{jsonrpc.Message{ID: jsonrpc.IntID(1), Result: json.RawMessage("{\nbroken\r}")}, `{"jsonrpc":"2.0","id":1,"result":{ broken }}`},
	}
	for _, tt := range tests {
		if got := string(jsonrpc.Append([]byte("x"), &tt.m)); got != "x"+tt.want {
			t.Errorf("Append(%+v)\n got %s\nwant x%s", tt.m, got, tt.want)
		}
	}
}

func TestDecodeBatch(t *testing.T) {
	items, err := jsonrpc.DecodeBatch([]byte(` [ {"jsonrpc":"2.0","id":1,"method":"ping"}, 1, {"jsonrpc":"2.0","id":2,"method":"m","params":{"a":1,"a":2}},{"jsonrpc":"2.0","method":"n"},[] ] `))
	if err != nil || len(items) != 5 {
		t.Fatalf("got %d items, %v", len(items), err)
	}
	for i, bad := range []bool{false, true, true, false, true} {
		if (items[i].Err != nil) != bad {
			t.Errorf("item %d: %+v", i, items[i])
		}
	}
	if items[0].ID != jsonrpc.IntID(1) || items[2].ID != jsonrpc.IntID(2) || items[3].Kind() != jsonrpc.Notification {
		t.Errorf("got %+v", items)
	}
	for data, code := range map[string]jsonrpc.Code{
		"[]": jsonrpc.CodeInvalidRequest, "{}": jsonrpc.CodeInvalidRequest, "3": jsonrpc.CodeInvalidRequest,
		"[1": jsonrpc.CodeParseError, "[1,]": jsonrpc.CodeParseError, "": jsonrpc.CodeParseError, "[1] 2": jsonrpc.CodeParseError, "x": jsonrpc.CodeParseError, "3 4": jsonrpc.CodeParseError, "[\"\xff\"]": jsonrpc.CodeParseError,
		"[" + strings.Repeat("1,", jsonrpc.MaxBatch) + "1]": jsonrpc.CodeInvalidRequest,
		strings.Repeat("[", 2000):                           jsonrpc.CodeInvalidRequest,
	} {
		_, err := jsonrpc.DecodeBatch([]byte(data))
		if e, ok := err.(*jsonrpc.Error); !ok || e.Code != code {
			t.Errorf("DecodeBatch(%.40q): %v, want %d", data, err, code)
		}
	}
}

func TestIsBatch(t *testing.T) {
	for data, want := range map[string]bool{"[]": true, " \r\n\t[": true, "{}": false, "": false, " ": false, "x[": false} {
		if jsonrpc.IsBatch([]byte(data)) != want {
			t.Errorf("IsBatch(%q) = %v", data, !want)
		}
	}
}

func TestKindString(t *testing.T) {
	for _, k := range []jsonrpc.Kind{jsonrpc.Request, jsonrpc.Notification, jsonrpc.Response} {
		if s := k.String(); !strings.Contains("request notification response", s) {
			t.Error(s)
		}
	}
}

func TestVouched(t *testing.T) {
	dirty := json.RawMessage("{\n\"a\":\"\xff\"}")
	clean := jsonrpc.Clean(dirty)
	if string(clean) != `{"a":"`+"\uFFFD"+`"}` {
		t.Errorf("Clean: %q", clean)
	}
	if again := jsonrpc.Clean(clean); &again[0] != &clean[0] {
		t.Error("what is clean was copied")
	}
	m := &jsonrpc.Message{ID: jsonrpc.IntID(7), Result: clean}
	plain := jsonrpc.Append(nil, m)
	m.Vouch()
	if !m.Vouched() {
		t.Error("not vouched")
	}
	if got := jsonrpc.Append(nil, m); string(got) != string(plain) {
		t.Errorf("vouched: %s, want %s", got, plain)
	}
	if got := string(jsonrpc.AppendUpToResult(nil, m)) + string(clean) + "}"; got != string(plain) {
		t.Errorf("in parts: %s, want %s", got, plain)
	}
	m.ID = jsonrpc.ID{}
	if got, want := string(jsonrpc.AppendUpToResult([]byte("x"), m)), `x{"jsonrpc":"2.0","result":`; got != want {
		t.Errorf("without an id: %s", got)
	}
}
