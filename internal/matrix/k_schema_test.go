package matrix_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/mcp"
)

// odd is a schema with everything that a careless copy would change.
const odd = `{"type":"object","properties":{"b":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"string"}},"x-vendor":{"k":[1,null]},"default":9007199254740993}`

// schemas is a server whose tools come with schemas of their own.
var schemas = matrix.NewFixture("schemas", func() *mcp.Server {
	srv := mcp.NewServer("schemas", "1", &mcp.ServerOptions{Logger: quiet()})
	raw := func(name, in, out string) {
		tool := &mcp.Tool{Name: name, InputSchema: json.RawMessage(in)}
		if out != "" {
			tool.OutputSchema = json.RawMessage(out)
		}
		mcp.AddTool(srv, tool, func(context.Context, *mcp.Call, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"n":1}`), nil
		})
	}
	raw("odd", odd, "")
	for i, dialect := range dialects {
		schema := `{"$schema":"` + dialect + `","type":"object","properties":{"n":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"integer"}}}`
		raw(fmt.Sprint("dialect", i), schema, schema)
	}
	results := map[string]func() (any, error){
		"array": func() (any, error) { return []int{1, 2}, nil }, "string": func() (any, error) { return json.RawMessage(`"s"`), nil },
		"number": func() (any, error) { return 5, nil }, "false": func() (any, error) { return false, nil },
		"null": func() (any, error) { return json.RawMessage(`null`), nil }, "nil": func() (any, error) { return []int(nil), nil },
	}
	for name, result := range results {
		mcp.AddTool(srv, &mcp.Tool{Name: name}, func(context.Context, *mcp.Call, struct{}) (any, error) { return result() })
	}
	checked := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	for name, r := range map[string]*mcp.CallToolResult{
		"error-bare": {IsError: true, Content: mcp.Text("real error")},
		"error-bad":  {IsError: true, Content: mcp.Text("real error"), StructuredContent: json.RawMessage(`{"n":"x"}`)},
		"bare":       {Content: mcp.Text("fine")},
		"bad":        {Content: mcp.Text("fine"), StructuredContent: json.RawMessage(`{"n":"x"}`)},
	} {
		mcp.AddTool(srv, &mcp.Tool{Name: name, OutputSchema: checked}, func(context.Context, *mcp.Call, struct{}) (*mcp.CallToolResult, error) { return r, nil })
	}
	return srv
})

var dialects = []string{
	"http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft/2019-09/schema",
	"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-04/schema#", "https://example.test/unknown",
}

// K01: a tool of any dialect is listed; one whose dialect is not known is the only one that cannot be called.
func TestCaseK01Dialects(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		c := l.Client(t, schemas, &mcp.ClientOptions{ValidateOutput: true})
		names := map[string]string{}
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			names[tool.Name] = string(tool.InputSchema)
		}
		for i, dialect := range dialects {
			name := fmt.Sprint("dialect", i)
			if !strings.Contains(names[name], dialect) {
				t.Errorf("%s: listed as %s", dialect, names[name])
			}
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(`{"n":1}`)})
			known := strings.Contains(dialect, "draft-07") || strings.Contains(dialect, "2020-12")
			if known && (err != nil || r.IsError) {
				t.Errorf("%s: %+v, %v", dialect, r, err)
			}
			r, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(`{"n":"x"}`)})
			if err == nil && !r.IsError {
				t.Errorf("%s: a string was taken for an integer", dialect)
			}
		}
	})
}

// K02: schemas go through server and client as they are.
func TestCaseK02SchemasAreNotTouched(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		for tool, err := range l.Client(t, schemas, nil).Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if tool.Name == "odd" && string(tool.InputSchema) != odd {
				t.Errorf("got %s", tool.InputSchema)
			}
		}
		l.Wire(t, schemas).Ask("1", "tools/list", "").Has(t, odd)
	})
}

// K08: an output schema is for successes. Errors pass, and a success that breaks it is the server's own fault, which it says.
func TestCaseK08OutputSchemas(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		c := l.Client(t, schemas, &mcp.ClientOptions{ValidateOutput: true})
		for range c.Tools(t.Context()) {
			continue
		}
		for _, tool := range []string{"error-bare", "error-bad"} {
			if got := called(t, c, tool); got != "real error" {
				t.Errorf("%s: %s", tool, got)
			}
		}
		for _, tool := range []string{"bare", "bad"} {
			if got := called(t, c, tool); !strings.Contains(got, "output schema") {
				t.Errorf("%s: %s", tool, got)
			}
		}
	})
}

// K09: any JSON is structured content now; before it was an object or nothing, and the text has it in every era.
func TestCaseK09AnyContent(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, schemas)
		for tool, want := range map[string]string{"array": "[1,2]", "number": "5", "false": "false", "null": "null", "nil": "[]"} {
			h := w.Ask(`"`+tool+`"`, "tools/call", `"name":"`+tool+`","arguments":{}`)
			h.Has(t, `"text":"`+want+`"`)
			if has := strings.Contains(h.Text, `"structuredContent":`+want); has != l.Modern() {
				t.Errorf("%s: %s", tool, h.Text)
			}
			if !l.Modern() && strings.Contains(h.Text, `"structuredContent":`) && !strings.Contains(h.Text, `"structuredContent":{`) {
				t.Errorf("%s: %s", tool, h.Text)
			}
		}
	})
}
