package schema

import (
	"fmt"
	"iter"
	"net/url"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// references resolves every $ref within the schema, and refuses references that lead out of it and schemas that apply themselves to
// the same value without end.
func (b *builder) references(root *jsonschema.Schema) error {
	ids, err := b.identify(root)
	if err != nil {
		return err
	}
	for _, s := range b.order {
		at := b.info[s]
		if s.Ref != "" {
			target, err := ids.find(s, s.Ref)
			if err != nil {
				return wrong(b.at(s), "%w", err)
			}
			at.refs = append(at.refs, target)
		}
		if s.DynamicRef == "" {
			continue
		}
		target, err := ids.find(s, s.DynamicRef)
		if err != nil {
			return wrong(b.at(s), "%w", err)
		}
		at.refs = append(at.refs, target)
		if target.DynamicAnchor != "" { // any schema with that anchor may be meant
			for _, other := range b.order {
				if other != target && other.DynamicAnchor == target.DynamicAnchor {
					at.refs = append(at.refs, other)
				}
			}
		}
	}
	return b.acyclic()
}

// identities are the names by which schemas can be referred to.
type identities struct {
	b       *builder
	base    map[*jsonschema.Schema]*jsonschema.Schema // the schema whose $id covers a schema
	uri     map[*jsonschema.Schema]*url.URL           // of bases
	byURI   map[string]*jsonschema.Schema
	anchors map[*jsonschema.Schema]map[string]*jsonschema.Schema // of bases
}

func (b *builder) identify(root *jsonschema.Schema) (*identities, error) {
	start, err := url.Parse(baseURI)
	if err != nil {
		return nil, err
	}
	ids := &identities{
		b:       b,
		base:    map[*jsonschema.Schema]*jsonschema.Schema{root: root},
		uri:     map[*jsonschema.Schema]*url.URL{root: start},
		byURI:   map[string]*jsonschema.Schema{baseURI: root},
		anchors: map[*jsonschema.Schema]map[string]*jsonschema.Schema{},
	}
	return ids, ids.walk(root, root)
}

func (ids *identities) walk(s, base *jsonschema.Schema) error {
	anchors := []string{s.Anchor, s.DynamicAnchor}
	if s.ID != "" && (!ids.b.draft7 || s.Ref == "") {
		id, err := url.Parse(s.ID)
		switch {
		case err != nil:
			return wrong(ids.b.at(s), "$id: %w", err)
		case id.Fragment != "":
			anchors = append(anchors, id.Fragment)
		default:
			u := ids.uri[base].ResolveReference(id)
			ids.uri[s], ids.byURI[u.String()] = u, s
			base = s
		}
	}
	ids.base[s] = base
	for _, name := range anchors {
		if name == "" {
			continue
		}
		if ids.anchors[base] == nil {
			ids.anchors[base] = map[string]*jsonschema.Schema{}
		}
		ids.anchors[base][name] = s
	}
	for child := range children(s) {
		if err := ids.walk(child, base); err != nil {
			return err
		}
	}
	return nil
}

func (ids *identities) find(s *jsonschema.Schema, ref string) (*jsonschema.Schema, error) {
	parsed, err := url.Parse(ref)
	if err != nil {
		return nil, fmt.Errorf("the reference %q: %w", shorten(ref, 100), err)
	}
	full := ids.uri[ids.base[s]].ResolveReference(parsed)
	fragment := full.Fragment
	full.Fragment, full.RawFragment = "", ""
	base := ids.byURI[full.String()]
	if base == nil {
		return nil, fmt.Errorf("%w: %q", ErrReference, shorten(ref, 100))
	}
	var target *jsonschema.Schema
	switch {
	case fragment == "":
		target = base
	case strings.HasPrefix(fragment, "/"):
		target = ids.b.paths[ids.b.at(base)+fragment]
	default:
		target = ids.anchors[base][fragment]
	}
	if target == nil {
		return nil, fmt.Errorf("the reference %q leads to nothing", shorten(ref, 100))
	}
	return target, nil
}

// children are all schemas directly inside of s.
func children(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		for _, m := range []map[string]*jsonschema.Schema{s.Defs, s.Definitions, s.Properties, s.PatternProperties} {
			for _, c := range m {
				if !yield(c) {
					return
				}
			}
		}
		for _, list := range [][]*jsonschema.Schema{s.PrefixItems, s.ItemsArray} {
			for _, c := range list {
				if !yield(c) {
					return
				}
			}
		}
		for _, c := range []*jsonschema.Schema{
			s.Items, s.AdditionalItems, s.Contains, s.UnevaluatedItems, s.AdditionalProperties, s.UnevaluatedProperties, s.PropertyNames,
		} {
			if c != nil && !yield(c) {
				return
			}
		}
		for c := range inPlace(s) {
			if !yield(c) {
				return
			}
		}
	}
}

// inPlace are the schemas inside of s that apply to the same value as s.
func inPlace(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
			for _, c := range list {
				if !yield(c) {
					return
				}
			}
		}
		for _, c := range []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else} {
			if c != nil && !yield(c) {
				return
			}
		}
		for _, m := range []map[string]*jsonschema.Schema{s.DependentSchemas, s.DependencySchemas} {
			for _, c := range m {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// acyclic refuses schemas that lead back to themselves without moving to a part of the value: validation would never end.
func (b *builder) acyclic() error {
	const (
		visiting = 1
		done     = 2
	)
	state := map[*jsonschema.Schema]int{}
	var visit func(s *jsonschema.Schema) error
	visit = func(s *jsonschema.Schema) error {
		switch state[s] {
		case visiting:
			return wrong(b.at(s), "%w: the schema refers back to itself for the same value", ErrExpensive)
		case done:
			return nil
		}
		state[s] = visiting
		for _, target := range b.info[s].refs {
			if err := visit(target); err != nil {
				return err
			}
		}
		for c := range inPlace(s) {
			if err := visit(c); err != nil {
				return err
			}
		}
		state[s] = done
		return nil
	}
	for _, s := range b.order {
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}
