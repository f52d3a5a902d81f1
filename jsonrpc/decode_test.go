package jsonrpc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// refused decodes data, which must be refused with code, and returns what was
// salvaged.
func refused(t *testing.T, data string, code jsonrpc.Code) jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(data))
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		t.Fatalf("Decode(%.80q) = %+v, %v; want an *Error", data, m, err)
	}
	if e.Code != code {
		t.Fatalf("Decode(%.80q): %v; want code %d", data, e, code)
	}
	if e.Message == "" || len(e.Message) > 200 {
		t.Errorf("Decode(%.80q): unhelpful message %.300q", data, e.Message)
	}
	return m
}

// decoded decodes data, which must be accepted.
func decoded(t *testing.T, data string) jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(data))
	if err != nil {
		t.Fatalf("Decode(%.80q): %v", data, err)
	}
	return m
}

func TestDecodeKinds(t *testing.T) {
	tests := []struct {
		data   string
		kind   jsonrpc.Kind
		id     jsonrpc.ID
		method string
		params string
		result string
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, jsonrpc.Request, jsonrpc.IntID(1), "ping", "", ""},
		{" \t\r\n{\"jsonrpc\" : \"2.0\" , \"id\" : \"a\" , \"method\" : \"x/y\" , \"params\" : { \"a\" : 1 } }\r\n ", jsonrpc.Request, jsonrpc.StringID("a"), "x/y", `{ "a" : 1 }`, ""},
		{`{"method":"tools/call","params":{"n":9007199254740993,"f":0.10,"e":1e400},"id":2,"jsonrpc":"2.0"}`, jsonrpc.Request, jsonrpc.IntID(2), "tools/call", `{"n":9007199254740993,"f":0.10,"e":1e400}`, ""},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, jsonrpc.Notification, jsonrpc.ID{}, "notifications/initialized", "", ""},
		{`{"jsonrpc":"2.0","id":3,"result":{"a":[]}}`, jsonrpc.Response, jsonrpc.IntID(3), "", "", `{"a":[]}`},
		{`{"jsonrpc":"2.0","id":3,"result":null}`, jsonrpc.Response, jsonrpc.IntID(3), "", "", `null`},
		{`{"jsonrpc":"2.0","id":4,"method":"ping","extra":{"id":9},"ID":7}`, jsonrpc.Request, jsonrpc.IntID(4), "ping", "", ""},
		{`{"jsonrpc":"2\u002e0","\u0069d":5,"m\u0065thod":"p\u0069ng"}`, jsonrpc.Request, jsonrpc.IntID(5), "ping", "", ""},
		{`{"jsonrpc":"2.0","id":6,"result":1,"params":2}`, jsonrpc.Response, jsonrpc.IntID(6), "", "", "1"},
		{`{"jsonrpc":"2.0","id":6,"method":"x","params":"y"}`, jsonrpc.Request, jsonrpc.IntID(6), "x", `"y"`, ""},
		{`{"jsonrpc":"2.0","id":6,"method":"x","params":null}`, jsonrpc.Request, jsonrpc.IntID(6), "x", "null", ""},
		{`{"jsonrpc":"2.0","id":6,"method":"x","\\":1,"i\"d":2}`, jsonrpc.Request, jsonrpc.IntID(6), "x", "", ""},
	}
	for _, tt := range tests {
		m := decoded(t, tt.data)
		if m.Kind() != tt.kind || m.ID != tt.id || m.Method != tt.method ||
			string(m.Params) != tt.params || string(m.Result) != tt.result || m.Error != nil {
			t.Errorf("Decode(%q) = %v %+v", tt.data, m.Kind(), m)
		}
	}
}

func TestDecodeErrorResponse(t *testing.T) {
	m := decoded(t, `{"jsonrpc":"2.0","id":"q","error":{"code":-32042,"message":"w\u00e4it","data":{"a":[1,2]},"x":1}}`)
	if m.ID != jsonrpc.StringID("q") || m.Kind() != jsonrpc.Response {
		t.Fatalf("got %+v", m)
	}
	if m.Error.Code != -32042 || m.Error.Message != "wäit" || string(m.Error.Data) != `{"a":[1,2]}` {
		t.Errorf("got %+v", m.Error)
	}
	for _, data := range []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"x"}}`,
		`{"jsonrpc":"2.0","error":{"code":-32601,"message":"x"}}`,
		`{"jsonrpc":"2.0","error":{"code":-32601}}`,
		`{"jsonrpc":"2.0","error":{"code":-32601,"message":null}}`,
	} {
		m := decoded(t, data)
		if !m.ID.IsZero() || m.Error == nil || m.Error.Code != jsonrpc.CodeMethodNotFound {
			t.Errorf("Decode(%s) = %+v", data, m)
		}
	}
}

func TestDecodeRefusesEnvelopes(t *testing.T) {
	one := jsonrpc.IntID(1)
	tests := []struct {
		data string
		id   jsonrpc.ID
	}{
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, one},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, one},
		{`{"jsonrpc":"2.0","id":1,"error":null}`, one},
		{`{"jsonrpc":"2.0","id":1,"error":"broken"}`, one},
		{`{"jsonrpc":"2.0","id":1,"error":{"message":"no code"}}`, one},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"x"}}`, one},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"x"}}`, one},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":5}}`, one},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, one},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, one},
		{`{"jsonrpc":2.0,"id":1,"method":"ping"}`, one},
		{`{"JSONRPC":"2.0","id":1,"method":"ping"}`, one},
		{`{"jsonrpc":"2.0","result":{}}`, jsonrpc.ID{}},
		{`{"jsonrpc":"2.0","id":null,"result":{}}`, jsonrpc.ID{}},
		{`{"jsonrpc":"2.0","Id":1,"result":{}}`, jsonrpc.ID{}},
		{`{}`, jsonrpc.ID{}},
		{`"x"`, jsonrpc.ID{}},
		{`null`, jsonrpc.ID{}},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, jsonrpc.ID{}},
	}
	for _, tt := range tests {
		if m := refused(t, tt.data, jsonrpc.CodeInvalidRequest); m.ID != tt.id {
			t.Errorf("Decode(%s) salvaged id %v, want %v", tt.data, m.ID, tt.id)
		}
	}
}

func TestDecodeRefusesWhatIsNotJSON(t *testing.T) {
	for _, data := range []string{
		"", " ", "{", "}", "{oops", "Server v1.2 ready", "\x1b[32mINFO\x1b[0m up", "nul", "[1,", "[}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{1:1}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"} x`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}{}`,
		`{"jsonrpc":"2.0","id":01,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\nng\"}",
		"\ufeff{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
		`[1] 2`, `1 2`, `{"a":1,"a":2`, `{"a":1,"a":2} x`,
	} {
		refused(t, data, jsonrpc.CodeParseError)
	}
}

func TestDecodeSalvagesWhoWaits(t *testing.T) {
	tests := []struct {
		data   string
		code   jsonrpc.Code
		id     jsonrpc.ID
		method string
		answer bool
	}{
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":\"\xb0\xa1\xff\"}}", jsonrpc.CodeParseError, jsonrpc.IntID(1), "", true},
		{`{"jsonrpc":"2.0","result":{"t":"\ud800"},"id":1}`, jsonrpc.CodeParseError, jsonrpc.IntID(1), "", true},
		{"{\"jsonrpc\":\"2.0\",\"\xff\":1,\"id\":1,\"method\":\"ping\"}", jsonrpc.CodeParseError, jsonrpc.IntID(1), "ping", false},
		{`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`, jsonrpc.CodeInvalidRequest, jsonrpc.IntID(1), "", true},
		{`{"jsonrpc":"2.0","params":{"a":1,"\u0061":2},"id":"z","method":"m"}`, jsonrpc.CodeInvalidRequest, jsonrpc.StringID("z"), "m", false},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, jsonrpc.CodeInvalidRequest, jsonrpc.ID{}, "m", false},
		{`{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}`, jsonrpc.CodeInvalidRequest, jsonrpc.IntID(1), "", false},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":`, jsonrpc.CodeParseError, jsonrpc.ID{}, "", false},
	}
	for _, tt := range tests {
		m := refused(t, tt.data, tt.code)
		if m.ID != tt.id || m.Method != tt.method || (m.Error != nil) != tt.answer {
			t.Errorf("Decode(%q) salvaged %+v", tt.data, m)
		}
	}
}

func TestDecodeDepth(t *testing.T) {
	nest := func(n int, open, shut string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"m","params":` + strings.Repeat(open, n) + "1" + strings.Repeat(shut, n) + `}`
	}
	decoded(t, nest(jsonrpc.MaxDepth-1, "[", "]"))
	decoded(t, nest(jsonrpc.MaxDepth-1, `{"a":`, "}"))
	if m := refused(t, nest(jsonrpc.MaxDepth, "[", "]"), jsonrpc.CodeInvalidRequest); m.ID != jsonrpc.IntID(1) {
		t.Errorf("salvaged %+v", m)
	}
	refused(t, nest(jsonrpc.MaxDepth, `{"a":`, "}"), jsonrpc.CodeInvalidRequest)
	refused(t, nest(1_000_000, "[", "]"), jsonrpc.CodeInvalidRequest)
	refused(t, strings.Repeat("[", 1_000_000), jsonrpc.CodeInvalidRequest)
	// Many openings that are not deep, and brackets within text.
	decoded(t, `{"jsonrpc":"2.0","id":1,"method":"m","params":["`+strings.Repeat(`[{\"\\`, 4000)+`",`+strings.Repeat("[{}],", 4000)+"1]}")
	refused(t, `"`+strings.Repeat("[", 4000), jsonrpc.CodeParseError)
}

func TestDecodeCut(t *testing.T) {
	tests := []struct {
		data   string
		id     jsonrpc.ID
		method string
		answer bool
	}{
		{`{"jsonrpc":"2.0","id":1,"result":{"a":"xxxx`, jsonrpc.IntID(1), "", true},
		{`{"jsonrpc":"2.0","id":"a","error":{"co`, jsonrpc.StringID("a"), "", true},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"resu`, jsonrpc.IntID(1), "tools/call", false},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"x`, jsonrpc.IntID(1), "", false},
		{`{"result":{"a":1},"jsonrpc":"2.0","id":7}`, jsonrpc.IntID(7), "", true},
		{`{"result":{"a":`, jsonrpc.ID{}, "", true},
		{`{"id":{},"me`, jsonrpc.ID{}, "", false},
		{"", jsonrpc.ID{}, "", false}, {"aaaa", jsonrpc.ID{}, "", false}, {"[1", jsonrpc.ID{}, "", false}, {`{`, jsonrpc.ID{}, "", false},
	}
	for _, tt := range tests {
		m := jsonrpc.DecodeCut([]byte(tt.data), nil)
		if m.ID != tt.id || m.Method != tt.method || (m.Error != nil) != tt.answer {
			t.Errorf("DecodeCut(%s) = %+v", tt.data, m)
		}
	}
	for end, want := range map[string]jsonrpc.ID{
		`xx"}],"jsonrpc":"2.0","id":7}`:  jsonrpc.IntID(7),
		`xx"}] , "id" : "a b" } ` + "\r": jsonrpc.StringID("a b"),
		`xx"},"id":7}}`:                  {},
		`xx\"id":7}`:                     {},
		`xx,\"id":7}`:                    {},
		`"xid":7}`:                       {},
		`,"id":"a\"b"}`:                  {},
		`,"id":"a:b"}`:                   {}, // a guess that does not try hard
		`,"id":null}`:                    {},
		`,"id":1.5}`:                     {},
		`"id":7}`:                        {}, // what is before it?
		`}`:                              {},
		`7}`:                             {},
		"":                               {},
		`{"jsonrpc":"2.0","id":1,"resu`:  {},
	} {
		m := jsonrpc.DecodeCut([]byte(`{"result":{"content":[{"te`), []byte(end))
		if m.ID != want || m.Error == nil {
			t.Errorf("DecodeCut(…, %s) = %+v", end, m)
		}
	}
}
