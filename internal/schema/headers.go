package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Header is an x-mcp-header annotation: the argument at Path is mirrored in the HTTP header Mcp-Param-Name.
type Header struct {
	Path []string // member names from the root of the arguments
	Name string   // as annotated; HTTP compares it without case
	Type string   // string, integer or boolean
}

// headerKeyword annotates a property of a tool's input schema.
const headerKeyword = "x-mcp-header"

// Headers returns the x-mcp-header annotations of a tool's input schema in document order, none for a schema without annotations.
// The error names the first annotation that is not valid, by JSON Pointer, and says why; an HTTP client must leave such a tool out
// and keep the others (Streamable HTTP, "Schema Extension").
func Headers(raw json.RawMessage) ([]Header, error) {
	if !strings.Contains(string(raw), "x-mcp-h") && !strings.Contains(string(raw), `\u`) {
		return nil, nil
	}
	root, err := ParseValue(raw, MaxDepth)
	if err != nil {
		return nil, err
	}
	h := headers{names: map[string]bool{}}
	if err := h.schema(root, "", true); err != nil {
		return nil, err
	}
	return h.list, nil
}

type headers struct {
	list  []Header
	path  []string
	names map[string]bool
}

// schema walks one schema; reachable means that only "properties" keys lead to it.
func (h *headers) schema(v *Value, at string, reachable bool) error {
	if v.Kind != '{' {
		return nil
	}
	if err := h.annotation(v, at, reachable); err != nil {
		return err
	}
	for _, m := range v.Members {
		where := at + "/" + m.Name
		if err := h.keyword(m, where, reachable); err != nil {
			return err
		}
	}
	return nil
}

// keyword walks the schemas under one keyword.
func (h *headers) keyword(m ValueMember, where string, reachable bool) error {
	switch {
	case m.Name == "properties" || schemaMaps[m.Name]:
		for _, p := range m.Value.Members {
			h.path = append(h.path, p.Name)
			err := h.schema(p.Value, where+"/"+p.Name, reachable && m.Name == "properties")
			h.path = h.path[:len(h.path)-1]
			if err != nil {
				return err
			}
		}
	case schemaLists[m.Name] && m.Value.Kind == '[':
		for i, item := range m.Value.Items {
			if err := h.schema(item, fmt.Sprintf("%s/%d", where, i), false); err != nil {
				return err
			}
		}
	case schemaKeywords[m.Name]:
		return h.schema(m.Value, where, false)
	}
	return nil
}

func (h *headers) annotation(v *Value, at string, reachable bool) error {
	a := v.Get(headerKeyword)
	if a == nil {
		return nil
	}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%s at %q %s", headerKeyword, at, fmt.Sprintf(format, args...))
	}
	typ := v.Get("type")
	switch {
	case len(h.path) == 0:
		return wrong("annotates the whole input; only properties can be annotated")
	case !reachable:
		return wrong("can only be reached through keywords other than properties, so that its argument has no fixed place")
	case a.Kind != '"':
		return wrong("is %s; it must be a string", kindOf(a.Raw))
	case !isToken(a.Text):
		return wrong("is %q; only letters, digits and !#$%%&'*+-.^_`|~ can be part of a header name, and at least one is needed", shorten(a.Text, 60))
	case typ == nil || typ.Kind != '"' || typ.Text != "string" && typ.Text != "integer" && typ.Text != "boolean":
		return wrong("annotates a property whose type is not string, integer or boolean")
	}
	name := strings.ToLower(a.Text)
	if h.names[name] {
		return wrong("repeats the name %q, which another property has; header names are compared without case", a.Text)
	}
	h.names[name] = true
	h.list = append(h.list, Header{Path: append([]string(nil), h.path...), Name: a.Text, Type: typ.Text})
	return nil
}

// isToken reports whether s is a token of RFC 9110.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// Where schemas hold schemas, in 2020-12 and draft-07.
var (
	schemaMaps = map[string]bool{
		"patternProperties": true, "dependentSchemas": true, "dependencies": true, "$defs": true, "definitions": true,
	}
	schemaLists    = map[string]bool{"allOf": true, "anyOf": true, "oneOf": true, "prefixItems": true, "items": true}
	schemaKeywords = map[string]bool{
		"items": true, "additionalItems": true, "contains": true, "unevaluatedItems": true, "additionalProperties": true,
		"unevaluatedProperties": true, "propertyNames": true, "not": true, "if": true, "then": true, "else": true, "contentSchema": true,
	}
)
