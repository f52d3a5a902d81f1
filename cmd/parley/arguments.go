package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
)

// maxInput bounds the arguments that are read from a file or standard input.
const maxInput = 64 << 20

// inputSchema is what the command line needs to know of a tool's input.
type inputSchema struct {
	Properties map[string]propertySchema `json:"properties"`
	Required   []string                  `json:"required"`
}

type propertySchema struct {
	Type        jsontext.Value   `json:"type"`
	Description string           `json:"description"`
	Enum        []jsontext.Value `json:"enum"`
	Default     jsontext.Value   `json:"default"`
	Format      string           `json:"format"`
}

// types are the JSON types that a property may have; none are said to be all.
func (p *propertySchema) types() []string {
	var one string
	if jsonv2.Unmarshal(p.Type, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	_ = jsonv2.Unmarshal(p.Type, &many) // anything else says nothing
	return many
}

func schemaOf(raw json.RawMessage) inputSchema {
	var s inputSchema
	_ = jsonv2.Unmarshal(raw, &s) // a schema of another shape says nothing about single arguments
	return s
}

// arguments makes a tool's arguments of --args and of name=value words. tool is nil where it is not known.
func arguments(tool *mcp.Tool, words []string, whole string, stdin io.Reader) (json.RawMessage, error) {
	if len(words) == 1 && words[0] == "-" {
		words, whole = nil, "-"
	}
	args := map[string]jsontext.Value{}
	if whole != "" {
		raw, err := readInput(whole, stdin)
		if err != nil {
			return nil, err
		}
		if err := jsonv2.Unmarshal(raw, &args); err != nil {
			return nil, usagef("--args: want a JSON object: %w", err)
		}
		if len(words) == 0 {
			return raw, nil // exactly as it came
		}
	}
	var schema inputSchema
	if tool != nil {
		schema = schemaOf(tool.InputSchema)
	}
	given := map[string]bool{}
	for _, w := range words {
		name, value, err := argument(&schema, tool, w)
		if err != nil {
			return nil, err
		}
		if given[name] { // again: one more element of a list
			if value, err = appendValue(args[name], value); err != nil {
				return nil, usagef("argument %s: %w", name, err)
			}
		}
		given[name] = true
		args[name] = value
	}
	if missing := missing(&schema, args); tool != nil && whole == "" && len(missing) > 0 {
		return nil, usagef("%s needs %s%s", consent.Line(tool.Name, 0), list(missing), listArguments(&schema))
	}
	raw, err := jsonv2.Marshal(args, jsonv2.Deterministic(true))
	return json.RawMessage(raw), err
}

// readInput reads "-" (standard input), "@FILE" or the text itself.
func readInput(whole string, stdin io.Reader) (json.RawMessage, error) {
	if whole == "-" {
		raw, err := io.ReadAll(io.LimitReader(stdin, maxInput))
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return raw, nil
	}
	if name, ok := strings.CutPrefix(whole, "@"); ok {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, usagef("--args: %w", err)
		}
		return raw, nil
	}
	return json.RawMessage(whole), nil
}

// argument reads name=value, or name:=JSON.
func argument(schema *inputSchema, tool *mcp.Tool, word string) (string, jsontext.Value, error) {
	name, text, err := cutWord(word)
	if err != nil {
		return "", nil, err
	}
	if name, exact := strings.CutSuffix(name, ":"); exact && name != "" {
		value := jsontext.Value(text)
		if !value.IsValid() {
			return "", nil, usagef("argument %s: what follows := is not JSON", name)
		}
		return name, value, nil
	}
	p, known := schema.Properties[name]
	if !known && tool != nil && schema.Properties != nil {
		return "", nil, usagef("%s has no argument %q%s", consent.Line(tool.Name, 0), name, listArguments(schema))
	}
	value, err := convert(&p, text)
	if err != nil {
		return "", nil, usagef("argument %s: %w", name, err)
	}
	return name, value, nil
}

func cutWord(word string) (name, value string, err error) {
	name, value, ok := strings.Cut(word, "=")
	if !ok || name == "" {
		return "", "", usagef("argument %q: want name=value", word)
	}
	return name, value, nil
}

// convert turns text into a value of a property's type.
func convert(p *propertySchema, text string) (jsontext.Value, error) {
	types := p.types()
	has := func(t string) bool { return slices.Contains(types, t) }
	raw := jsontext.Value(strings.TrimSpace(text))
	kind := kindOf(raw)
	if kind != "" && kind != "string" && (len(types) == 0 || has(kind) || kind == "number" && has("integer")) {
		return raw, nil
	}
	if b, ok := boolean(text); ok && has("boolean") {
		return b, nil
	}
	switch {
	case has("string") || len(types) == 0:
		return jsonv2.Marshal(text)
	case has("array") && kind != "object": // a single element
		if kind == "" {
			var err error
			if raw, err = jsonv2.Marshal(text); err != nil {
				return nil, err
			}
		}
		return jsontext.Value("[" + string(raw) + "]"), nil
	}
	return nil, fmt.Errorf("%q is not of type %s", consent.Line(text, 80), strings.Join(types, " or "))
}

// kindOf names the JSON type of a value; empty if it is not JSON.
func kindOf(raw jsontext.Value) string {
	if !raw.IsValid() {
		return ""
	}
	return map[jsontext.Kind]string{'n': "null", 't': "boolean", 'f': "boolean", '"': "string", '0': "number", '{': "object", '[': "array"}[raw.Kind()]
}

// boolean reads the words for yes and no that JSON does not have.
func boolean(text string) (jsontext.Value, bool) {
	switch strings.ToLower(text) {
	case "yes", "on", "y":
		return jsontext.Value("true"), true
	case "no", "off", "n":
		return jsontext.Value("false"), true
	}
	return nil, false
}

func appendValue(old, value jsontext.Value) (jsontext.Value, error) {
	var a, b []jsontext.Value
	if jsonv2.Unmarshal(old, &a) != nil || jsonv2.Unmarshal(value, &b) != nil {
		return nil, fmt.Errorf("it is given twice, and is no list")
	}
	return jsonv2.Marshal(append(a, b...))
}

func missing(schema *inputSchema, args map[string]jsontext.Value) []string {
	var out []string
	for _, name := range schema.Required {
		if _, ok := args[name]; !ok {
			out = append(out, consent.Line(name, 0))
		}
	}
	return out
}

func list(names []string) string {
	if len(names) == 1 {
		return "the argument " + names[0]
	}
	return "the arguments " + strings.Join(names, ", ")
}

// listArguments names the arguments of a tool for an error.
func listArguments(schema *inputSchema) string {
	var b strings.Builder
	for _, name := range sorted(schema) {
		b.WriteString("\n  " + describe(name, schema))
	}
	if b.Len() == 0 {
		return "; it has none"
	}
	return "; it has" + b.String()
}

// sorted are the names of a schema's properties, the required ones first.
func sorted(schema *inputSchema) []string {
	var names []string
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if x, y := slices.Contains(schema.Required, a), slices.Contains(schema.Required, b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return names
}

// describe is one argument in words.
func describe(name string, schema *inputSchema) string {
	p := schema.Properties[name]
	words := []string{strings.Join(p.types(), " or ")}
	if words[0] == "" {
		words[0] = "any"
	}
	if p.Format != "" {
		words[0] += " (" + p.Format + ")"
	}
	if slices.Contains(schema.Required, name) {
		words = append(words, "required")
	}
	if len(p.Enum) > 0 {
		var values []string
		for i, v := range p.Enum {
			if i == 10 {
				values = append(values, "…")
				break
			}
			values = append(values, string(v))
		}
		words = append(words, "one of "+strings.Join(values, " "))
	}
	if p.Default != nil {
		words = append(words, "default "+string(p.Default))
	}
	text := consent.Line(name, 80) + "  " + consent.Line(strings.Join(words, ", "), 300)
	if p.Description != "" {
		text += ": " + consent.Line(p.Description, 200)
	}
	return text
}
