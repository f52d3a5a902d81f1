package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed38e7925c/parley/jsonrpc"
)

var seeds = []string{
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_note","Name":"delete_all","arguments":{}}}`,
	`{"jsonrpc":"2.0","id":3,"method":"ping","m\u0065thod":"tools/call"}`,
	`{"jsonrpc":"2.0","id":"a","result":{"x":[1,2.50,1e400,null,true,"\ud83d\ude00"]}}`,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"x","data":{}}}`,
	`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\ud800"}}`,
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":\"\xff\"}",
	`{"jsonrpc":"2.0","id":1,"method":"a","Params":{},"ID":2,"METHOD":"b"}`, `{"jsonrpc":"2.0","id":"\u0061\nb","method":"m"}`,
	`{"jsonrpc":"2.0","id":3,"m\u0065thod":"tools/call","par\u0061ms":[]}`, `{"jsonrpc":"2.0","id":1,"method":"m"} {}`, `{"jsonrpc":"1.0","id":1,"method":"m"}`, `{"jsonrpc":2.0,"id":1,"method":"m"}`,
	`{"id":1}`, `[]`, `42`, `{oops`, `[{"jsonrpc":"2.0","method":"n"}]`, " {} ", `{"":1,"":2}`,
}

// strictObject decodes data by other means: the token stream of encoding/json,
// with names compared exactly and duplicates refused at every level.
func strictObject(data []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, errors.New("not JSON")
	}
	if err := noDuplicates(json.NewDecoder(bytes.NewReader(data))); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	m := map[string]json.RawMessage{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		m[name.(string)] = v
	}
	return m, nil
}

func noDuplicates(dec *json.Decoder) error {
	dec.UseNumber()
	type level struct {
		names map[string]bool // nil in an array
		value bool            // a value comes next, not a name
	}
	var stack []level
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if top := len(stack) - 1; top >= 0 && stack[top].names != nil && tok != json.Delim('}') {
			if s, ok := tok.(string); ok && !stack[top].value {
				if stack[top].names[s] {
					return errors.New("duplicate")
				}
				stack[top].names[s] = true
				stack[top].value = true
				continue
			}
			stack[top].value = false
		}
		switch tok {
		case json.Delim('{'):
			stack = append(stack, level{names: map[string]bool{}})
		case json.Delim('['):
			stack = append(stack, level{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
	}
}

// checkSame fails unless m says what the independent reading says.
func checkSame(t *testing.T, m *jsonrpc.Message, want map[string]json.RawMessage) {
	t.Helper()
	str := func(raw json.RawMessage) string {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatalf("%q accepted as a string", raw)
		}
		return s
	}
	if str(want["jsonrpc"]) != "2.0" {
		t.Fatalf("version %q accepted", want["jsonrpc"])
	}
	if raw, ok := want["method"]; ok != (m.Method != "") || ok && str(raw) != m.Method {
		t.Fatalf("method %q read as %q", raw, m.Method)
	}
	raw, ok := want["id"]
	switch {
	case !ok || string(raw) == "null":
		if !m.ID.IsZero() {
			t.Fatalf("id %q read as %v", raw, m.ID)
		}
	case raw[0] == '"':
		if s, isStr := m.ID.Str(); !isStr || s != str(raw) {
			t.Fatalf("id %q read as %v", raw, m.ID)
		}
	default:
		if got := string(m.ID.AppendJSON(nil)); got != strings.Replace(string(raw), "-0", "0", 1) && got != string(raw) {
			t.Fatalf("id %q read as %s", raw, got)
		}
	}
	if m.Kind() != jsonrpc.Response && string(want["params"]) != string(m.Params) {
		t.Fatalf("params %q read as %q", want["params"], m.Params)
	}
	if string(want["result"]) != string(m.Result) {
		t.Fatalf("result %q read as %q", want["result"], m.Result)
	}
	if _, ok := want["error"]; ok != (m.Error != nil) {
		t.Fatalf("error %q read as %v", want["error"], m.Error)
	}
}

// isRequest reports whether data, which is JSON with these members, is without any doubt a request or a notification.
func isRequest(data []byte, members map[string]json.RawMessage) bool {
	var version, method, id string
	var number int64
	has := func(name string) bool { _, ok := members[name]; return ok }
	read := func(name string, v any) bool {
		return has(name) && json.Unmarshal(members[name], v) == nil && string(members[name]) != "null"
	}
	return len(data) < jsonrpc.MaxDepth && !bytes.Contains(bytes.ToLower(data), []byte(`\ud`)) && read("jsonrpc", &version) && version == "2.0" &&
		read("method", &method) && method != "" && !has("result") && !has("error") && (!has("id") || read("id", &id) || read("id", &number))
}

// FuzzDecode: nothing is smuggled past the decoder (an independent strict
// reading agrees with every message that is accepted), codes tell JSON from
// what is none, and an accepted message survives a round trip.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		saved := bytes.Clone(data)
		m, err := jsonrpc.Decode(data)
		if !bytes.Equal(saved, data) {
			t.Fatal("the input was changed")
		}
		want, strictErr := strictObject(data)
		if err != nil {
			var e *jsonrpc.Error
			if !errors.As(err, &e) || e.Code != jsonrpc.CodeParseError && e.Code != jsonrpc.CodeInvalidRequest {
				t.Fatalf("error %v", err)
			}
			if !json.Valid(data) && e.Code != jsonrpc.CodeParseError && len(data) < jsonrpc.MaxDepth {
				t.Fatalf("%q is not JSON, yet %v", data, e)
			}
			if strictErr == nil && isRequest(data, want) {
				t.Fatalf("%q is a request, yet %v", data, e)
			}
			if e.Code == jsonrpc.CodeParseError && strictErr == nil && !bytes.Contains(data, []byte(`\`)) {
				t.Fatalf("%q is JSON, yet %v", data, e)
			}
			return
		}
		if strictErr != nil {
			t.Fatalf("%q accepted: %v", data, strictErr)
		}
		checkSame(t, &m, want)
		checkRoundTrip(t, &m)
	})
}

// checkRoundTrip fails unless m reads the same after it was written.
func checkRoundTrip(t *testing.T, m *jsonrpc.Message) {
	t.Helper()
	out := jsonrpc.Append(nil, m)
	if !utf8.Valid(out) || bytes.ContainsAny(out, "\r\n") {
		t.Fatalf("Append = %q", out)
	}
	back, err := jsonrpc.Decode(out)
	if err != nil {
		t.Fatalf("Append = %q, which is refused: %v", out, err)
	}
	again := jsonrpc.Append(nil, &back)
	if !bytes.Equal(out, again) || back.ID != m.ID || back.Method != m.Method || back.Kind() != m.Kind() {
		t.Fatalf("%+v became %+v", m, back)
	}
}

// FuzzAppend: one line of valid UTF-8, whatever the message holds, and valid
// JSON whenever its raw fields are.
func FuzzAppend(f *testing.F) {
	f.Add(int64(1), "id", "method", []byte(`{"a":1}`), "message")
	f.Add(int64(0), "\xff", "\n", []byte("{\n}"), "\xb0\xa1\u2028")
	f.Fuzz(func(t *testing.T, n int64, s, method string, raw []byte, text string) {
		for _, m := range []jsonrpc.Message{
			{ID: jsonrpc.IntID(n), Method: method, Params: raw},
			{ID: jsonrpc.StringID(s), Result: raw},
			{Error: &jsonrpc.Error{Code: jsonrpc.Code(n), Message: text, Data: raw}},
		} {
			out := jsonrpc.Append(nil, &m)
			if !utf8.Valid(out) || bytes.ContainsAny(out, "\r\n") {
				t.Fatalf("Append(%+v) = %q", m, out)
			}
			if (len(raw) == 0 || json.Valid(raw)) && !json.Valid(out) {
				t.Fatalf("Append(%+v) = %q is not JSON", m, out)
			}
		}
	})
}

// FuzzBatch: a batch reads like its elements one by one.
func FuzzBatch(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte("[" + s + "," + s + "]"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		items, err := jsonrpc.DecodeBatch(data)
		if err != nil {
			return
		}
		var want []json.RawMessage
		if err := json.Unmarshal(data, &want); err != nil || len(want) != len(items) || !jsonrpc.IsBatch(data) {
			t.Fatalf("%q: %d items, want %d, %v", data, len(items), len(want), err)
		}
		for i := range want {
			m, err := jsonrpc.Decode(want[i])
			if (err == nil) != (items[i].Err == nil) || m.ID != items[i].ID || m.Method != items[i].Method {
				t.Fatalf("item %d of %q: %+v, want %+v, %v", i, data, items[i], m, err)
			}
		}
	})
}
