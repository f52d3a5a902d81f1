package jsonrpc_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// J01: a name in another case is another name.
func TestCaseJ01(t *testing.T) {
	m := decoded(t, `{"jsonrpc":"2.0","id":7,"method":"ping","METHOD":"tools/call","Method":"x","ID":8,"Params":{}}`)
	if m.Method != "ping" || m.ID != jsonrpc.IntID(7) || m.Params != nil {
		t.Errorf("got %+v", m)
	}
	m = decoded(t, `{"jsonrpc":"2.0","id":7,"error":{"code":1,"Code":2,"message":"a","Message":"b","Data":1}}`)
	if m.Error.Code != 1 || m.Error.Message != "a" || m.Error.Data != nil {
		t.Errorf("got %+v", m.Error)
	}
	refused(t, `{"jsonrpc":"2.0","id":7,"METHOD":"tools/call"}`, jsonrpc.CodeInvalidRequest)
}

// J03: a name that occurs twice has no winner.
func TestCaseJ03(t *testing.T) {
	for _, data := range []string{
		`{"jsonrpc":"2.0","id":3,"method":"ping","method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":3,"method":"ping","m\u0065thod":"tools/call"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x","name":"y"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"a":[{"n":{"k":1,"\u006b":2}}]}}`,
		`{"jsonrpc":"2.0","id":3,"method":"ping","x":1,"x":1}`,
		`{"jsonrpc":"2.0","id":3,"result":{},"result":{}}`,
	} {
		if m := refused(t, data, jsonrpc.CodeInvalidRequest); m.ID != jsonrpc.IntID(3) {
			t.Errorf("Decode(%s) salvaged id %v", data, m.ID)
		}
	}
}

// J04: an id of a wrong type is an error, not the absence of an id.
func TestCaseJ04(t *testing.T) {
	for _, id := range []string{"null", "1.5", "1.0", "1e2", "true", "false", "{}", "[]", "[1]", "9223372036854775808", "-9223372036854775809", "1e400"} {
		m := refused(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/list","params":{}}`, jsonrpc.CodeInvalidRequest)
		if !m.ID.IsZero() || m.Method != "tools/list" {
			t.Errorf("id %s: salvaged %+v", id, m)
		}
	}
}

// J05: an error that cannot name an id has none.
func TestCaseJ05(t *testing.T) {
	m := refused(t, `{"jsonrpc":"2.0","id":`, jsonrpc.CodeParseError)
	m.Error = &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "parse error"}
	got := string(jsonrpc.Append(nil, &m))
	if want := `{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// J07: params of any shape, or none, pass the envelope.
func TestCaseJ07(t *testing.T) {
	for _, params := range []string{"", `,"params":null`, `,"params":{}`, `,"params":[]`, `,"params":"x"`, `,"params":{"name":null}`} {
		decoded(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call"`+params+`}`)
	}
}

// J08: what is JSON is no parse error.
func TestCaseJ08(t *testing.T) {
	for data, id := range map[string]jsonrpc.ID{
		`{"id":1}`:                 jsonrpc.IntID(1),
		`{"jsonrpc":"2.0","id":1}`: jsonrpc.IntID(1),
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`: jsonrpc.IntID(1),
		`[]`:                                  {},
		`42`:                                  {},
		`{"jsonrpc":"2.0","id":1,"method":5}`: jsonrpc.IntID(1),
	} {
		if m := refused(t, data, jsonrpc.CodeInvalidRequest); m.ID != id {
			t.Errorf("Decode(%s) salvaged id %v, want %v", data, m.ID, id)
		}
	}
	refused(t, `{oops`, jsonrpc.CodeParseError)
}

// J09: bytes that are not UTF-8 are a parse error.
func TestCaseJ09(t *testing.T) {
	refused(t, "\xff\xfe", jsonrpc.CodeParseError)
	refused(t, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"pi\xffng\"}", jsonrpc.CodeParseError)
}

// J10: whatever goes in, UTF-8 on one line comes out.
func TestCaseJ10(t *testing.T) {
	bad := string([]byte{0xb0, 0xa1, 0xff})
	for _, m := range []jsonrpc.Message{
		{ID: jsonrpc.IntID(1), Error: &jsonrpc.Error{Code: 1, Message: bad, Data: json.RawMessage(`"` + bad + `"`)}},
		{ID: jsonrpc.IntID(1), Result: json.RawMessage(`{"text":"` + bad + `"}`)},
		{ID: jsonrpc.IntID(1), Result: json.RawMessage("{\n \"text\" : \"" + bad + "\"\r\n}")},
		{ID: jsonrpc.StringID(bad), Method: bad, Params: json.RawMessage(`["` + bad + `"]`)},
	} {
		out := jsonrpc.Append(nil, &m)
		if !utf8.Valid(out) || strings.ContainsAny(string(out), "\r\n") {
			t.Errorf("Append(%+v) = %q", m, out)
		}
		if got := decoded(t, string(out)); got.ID.IsZero() || !strings.Contains(string(out), "\uFFFD") {
			t.Errorf("Append(%+v) = %q", m, out)
		}
	}
}

// J12, J13: numbers are not touched.
func TestCaseJ12J13(t *testing.T) {
	const raw = `{"id":9007199254740993,"min":-9223372036854775808,"max":18446744073709551615,"d":0.10,"e":1e400}`
	m := decoded(t, `{"jsonrpc":"2.0","id":9007199254740993,"method":"m","params":`+raw+`}`)
	if n, ok := m.ID.Int(); !ok || n != 9007199254740993 || string(m.Params) != raw {
		t.Errorf("got %+v", m)
	}
	back := jsonrpc.Message{ID: m.ID, Result: m.Params}
	if got := string(jsonrpc.Append(nil, &back)); got != `{"jsonrpc":"2.0","id":9007199254740993,"result":`+raw+`}` {
		t.Errorf("got %s", got)
	}
}

// J14: an empty array as params is the method's business.
func TestCaseJ14(t *testing.T) {
	m := decoded(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":[]}`)
	if m.Kind() != jsonrpc.Notification || string(m.Params) != "[]" {
		t.Errorf("got %+v", m)
	}
}
