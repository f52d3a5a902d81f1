package mcp_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/spectest"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// noExample lists definitions whose examples are not for the types of this package, with the reason.
var noExample = map[string]string{
	"BooleanSchema": fieldOf, "NumberSchema": fieldOf, "StringSchema": fieldOf,
	"TitledMultiSelectEnumSchema": fieldOf, "TitledSingleSelectEnumSchema": fieldOf,
	"UntitledMultiSelectEnumSchema": fieldOf, "UntitledSingleSelectEnumSchema": fieldOf,
}

// strayMember lists members of examples that their definitions do not have.
var strayMember = map[string]string{
	"ListRootsRequest": "id", // a leftover of the revisions in which it was a message of its own
}

// saysNothing lists members that some example has with the value that their absence means as well; such a member is left
// out when it is written again.
var saysNothing = map[string]string{
	"isError": "false",
	"hasMore": "false",
}

// TestSchemaExamples decodes every published example and encodes it again: nothing may be lost, added or rounded.
func TestSchemaExamples(t *testing.T) {
	for _, ex := range spectest.Examples(t, mcp.LatestRevision.String()) {
		if noExample[ex.Definition] != "" {
			continue
		}
		t.Run(ex.Definition+"/"+ex.Name, func(t *testing.T) {
			if typ, ok := definitions[ex.Definition]; ok {
				roundTrip(t, typ, ex.Data)
				return
			}
			var wire struct {
				JSONRPC string                   `json:"jsonrpc"`
				Method  string                   `json:"method"`
				Code    mcp.Code                 `json:"code"`
				Params  jsontext.Value           `json:"params"`
				Error   *struct{ Code mcp.Code } `json:"error"`
			}
			if err := json.Unmarshal(ex.Data, &wire); err != nil {
				t.Fatal(err)
			}
			switch {
			case wire.Code != 0:
				exampleError(t, []byte(`{"jsonrpc":"2.0","error":`+string(ex.Data)+`}`))
			case wire.Error != nil:
				exampleError(t, ex.Data)
			case wire.JSONRPC == "":
				roundTrip(t, reflect.TypeFor[mcp.InputRequest](), without(t, ex.Data, strayMember[ex.Definition]))
				roundTrip(t, params[wire.Method], paramsOrEmpty(wire.Params))
			default:
				exampleMessage(t, ex)
			}
		})
	}
}

// without returns the object without one member.
func without(t *testing.T, data []byte, name string) []byte {
	t.Helper()
	var members map[string]jsontext.Value
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, name)
	out, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func paramsOrEmpty(v jsontext.Value) []byte {
	if v == nil {
		return []byte(`{}`)
	}
	return v
}

// exampleMessage checks a whole message: its envelope by package jsonrpc, its params or result by the type of the method.
func exampleMessage(t *testing.T, ex spectest.Example) {
	t.Helper()
	m, err := jsonrpc.Decode(ex.Data)
	if err != nil {
		t.Fatal(err)
	}
	same(t, jsonrpc.Append(nil, &m), ex.Data)
	if m.Kind() != jsonrpc.Response {
		if m.Params != nil {
			roundTrip(t, params[m.Method], m.Params)
		}
		return
	}
	name := strings.TrimSuffix(ex.Definition, "Response")
	typ, ok := definitions[name]
	if !ok {
		t.Fatalf("no type for %s", name)
	}
	roundTrip(t, typ, m.Result)
}

func exampleError(t *testing.T, data []byte) {
	t.Helper()
	m, err := jsonrpc.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	same(t, jsonrpc.Append(nil, &m), data)
	switch m.Error.Code {
	case mcp.CodeMissingCapability:
		roundTrip(t, reflect.TypeFor[mcp.MissingCapabilityData](), m.Error.Data)
	case mcp.CodeUnsupportedVersion:
		roundTrip(t, reflect.TypeFor[mcp.UnsupportedVersionData](), m.Error.Data)
	case mcp.CodeHeaderMismatch, mcp.CodeParseError, mcp.CodeMethodNotFound, mcp.CodeInvalidParams, mcp.CodeInternalError:
	default:
		t.Errorf("unexpected code %d", m.Error.Code)
	}
}

// roundTrip decodes data as typ and compares what it is encoded to.
func roundTrip(t *testing.T, typ reflect.Type, data []byte) {
	t.Helper()
	if typ == nil {
		t.Fatal("no type")
	}
	v := reflect.New(typ)
	if err := json.Unmarshal(data, v.Interface()); err != nil {
		t.Fatalf("%v: %v", typ, err)
	}
	again, err := json.Marshal(v.Interface())
	if err != nil {
		t.Fatalf("%v: %v", typ, err)
	}
	same(t, again, data)
}

// same compares two JSON texts by what they mean, with exact numbers.
func same(t *testing.T, got, want []byte) {
	t.Helper()
	g, err := spectest.Parse(got)
	if err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	w, err := spectest.Parse(want)
	if err != nil {
		t.Fatalf("%v in %s", err, want)
	}
	if !reflect.DeepEqual(dropSilent(g), dropSilent(w)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// dropSilent leaves out members that say nothing.
func dropSilent(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, m := range v {
			if saysNothing[k] == "false" && m == false {
				delete(v, k)
				continue
			}
			v[k] = dropSilent(m)
		}
	case []any:
		for i := range v {
			v[i] = dropSilent(v[i])
		}
	}
	return v
}
