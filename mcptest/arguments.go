package mcptest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/internal/schema"
)

// argumentsOf returns the arguments that a client would send for the input, once a server has accepted them. Arguments that are given
// stand for the input.
func argumentsOf[In any](given json.RawMessage, in In) (json.RawMessage, error) {
	args := given
	if args == nil {
		raw, err := jsonv2.Marshal(in, jsonv2.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("it cannot be encoded: %w", err)
		}
		args = raw
		if rule, err := schema.For[In]().Rule(); err == nil && kindOf(reflect.ValueOf(in)) == reflect.Struct {
			if args, err = leaveOutDefaults(args, rule); err != nil {
				return nil, err
			}
		}
	}
	if string(args) == "null" {
		args = json.RawMessage("{}")
	}
	var decoded In
	if err := decodeArguments(args, &decoded); err != nil {
		return nil, err
	}
	return args, nil
}

// decodeArguments checks and decodes arguments as a server does for a tool whose schema is inferred.
func decodeArguments[In any](args json.RawMessage, in *In) error {
	if raw, ok := any(in).(*json.RawMessage); ok {
		if len(args) == 0 || args[0] != '{' {
			return fmt.Errorf("invalid arguments: arguments must be an object")
		}
		*raw = args
		return nil
	}
	typed := schema.For[In]()
	if _, err := typed.InputSchema(); err != nil {
		return err
	}
	if err := typed.Decode(args, in); err != nil {
		return fmt.Errorf("invalid arguments: %w", err)
	}
	return nil
}

// kindOf returns the kind of what v is or points to.
func kindOf(v reflect.Value) reflect.Kind {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v.Kind()
}

// leaveOutDefaults drops the members of an encoded struct that have a default and hold their zero value.
func leaveOutDefaults(raw json.RawMessage, rule *schema.Rule) (json.RawMessage, error) {
	switch {
	case rule.Kind == schema.Object && len(raw) > 0 && raw[0] == '{':
		return editMembers(raw, func(name string, value jsontext.Value) (jsontext.Value, error) {
			for _, m := range rule.Members.List {
				if m.Name != name {
					continue
				}
				if m.Default != nil && isZero(value) {
					return nil, nil
				}
				inner, err := leaveOutDefaults(json.RawMessage(value), m.Rule)
				return jsontext.Value(inner), err
			}
			return value, nil
		})
	case rule.Kind == schema.Array && rule.Elem != nil && len(raw) > 0 && raw[0] == '[':
		var items []jsontext.Value
		if err := jsonv2.Unmarshal(raw, &items); err != nil {
			return nil, err
		}
		for i, item := range items {
			inner, err := leaveOutDefaults(json.RawMessage(item), rule.Elem)
			if err != nil {
				return nil, err
			}
			items[i] = jsontext.Value(inner)
		}
		return jsonv2.Marshal(items)
	}
	return raw, nil
}

// editMembers replaces the values of an object's members; nil drops a member.
func editMembers(raw json.RawMessage, edit func(name string, value jsontext.Value) (jsontext.Value, error)) (json.RawMessage, error) {
	var members map[string]jsontext.Value
	if err := jsonv2.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	for name, value := range members {
		edited, err := edit(name, value)
		switch {
		case err != nil:
			return nil, err
		case edited == nil:
			delete(members, name)
		default:
			members[name] = edited
		}
	}
	return jsonv2.Marshal(members, jsonv2.Deterministic(true))
}

// isZero tells the encodings of zero values.
func isZero(value jsontext.Value) bool {
	switch string(value) {
	case "null", "false", "0", `""`, "[]":
		return true
	}
	return false
}

// answerOf encodes a value that is the answer to a form. Of a struct the fields that have a default, in the form or by their tag, and
// hold their zero value are left out, as by a person who does not touch them.
func answerOf(f *form.Form, given any) (json.RawMessage, error) {
	raw, err := jsonv2.Marshal(given, jsonv2.Deterministic(true))
	if err != nil || len(raw) == 0 || raw[0] != '{' || kindOf(reflect.ValueOf(given)) != reflect.Struct {
		return raw, err
	}
	tagged := defaultTags(reflect.TypeOf(given))
	return editMembers(raw, func(name string, value jsontext.Value) (jsontext.Value, error) {
		fd := f.Field(name)
		if isZero(value) && (tagged[name] || fd != nil && fd.Default != nil) {
			return nil, nil
		}
		return value, nil
	})
}

// defaultTags lists the members of a struct whose fields have a default. The forms of older revisions do not tell them all.
func defaultTags(t reflect.Type) map[string]bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	tagged := make(map[string]bool)
	for _, f := range reflect.VisibleFields(t) {
		if _, ok := f.Tag.Lookup("default"); !ok {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		tagged[name] = true
	}
	return tagged
}
