package schema

import "github.com/google/jsonschema-go/jsonschema"

// meter counts, before the library is let loose, how often it could at most apply a schema to a part of the value. It walks every
// branch, also those that the library would skip, so that the count is an upper bound whatever the values are. The library itself
// cannot be stopped: a schema of a few lines can make it work for years ({"allOf":[a,a]}, a = {"allOf":[b,b]}, …).
type meter struct {
	c     *Compiled
	steps int
}

// maxFrames bounds the depth of recursion: schemas within schemas times values within values.
const maxFrames = 20_000

// schema charges for applying s to v and reports whether the steps suffice. Span is the length of the locations of the schemas around s:
// the library names all of them in an error, anew at each level, also in errors that an alternative makes good.
func (m *meter) schema(s *jsonschema.Schema, v *Value, depth, span int) bool {
	const bytesPerStep = 4096
	at := m.c.info[s]
	span += len(at.at) + 16
	m.steps -= 1 + span*depth/bytesPerStep + m.extra(s, at, v)
	if m.steps < 0 || depth > maxFrames {
		return false
	}
	for _, target := range at.refs {
		if !m.schema(target, v, depth+1, span) {
			return false
		}
	}
	for c := range inPlace(s) {
		if !m.schema(c, v, depth+1, span) {
			return false
		}
	}
	switch v.Kind {
	case '[':
		return m.items(s, v, depth+1, span)
	case '{':
		return m.members(s, v, depth+1, span)
	}
	return true
}

// extra charges for the keywords that cost more than a step. A step is about a microsecond.
func (m *meter) extra(s *jsonschema.Schema, at *info, v *Value) int {
	const perStep = 256
	n := len(s.AnyOf) + len(s.OneOf) + len(s.Enum)/4 + len(s.Required)/16
	if size := at.patterns; size > 0 {
		switch v.Kind {
		case '"':
			n += len(v.Text) * size / perStep
		case '{':
			for _, member := range v.Members {
				n += 1 + len(member.Name)*size/perStep
			}
		}
	}
	if s.UniqueItems && v.Kind == '[' || s.Enum != nil || s.Const != nil {
		n += len(v.Raw) / 4
	}
	return n
}

func (m *meter) items(s *jsonschema.Schema, v *Value, depth, span int) bool {
	for i, item := range v.Items {
		for _, list := range [][]*jsonschema.Schema{s.PrefixItems, s.ItemsArray} {
			if i < len(list) && !m.schema(list[i], item, depth, span) {
				return false
			}
		}
		for _, c := range [...]*jsonschema.Schema{s.Items, s.AdditionalItems, s.Contains, s.UnevaluatedItems} {
			if c != nil && !m.schema(c, item, depth, span) {
				return false
			}
		}
	}
	return true
}

func (m *meter) members(s *jsonschema.Schema, v *Value, depth, span int) bool {
	m.steps -= len(s.Properties) / 16 // looked up one by one
	for _, member := range v.Members {
		c, listed := s.Properties[member.Name]
		if listed && !m.schema(c, member.Value, depth, span) {
			return false
		}
		for _, c := range s.PatternProperties {
			if !m.schema(c, member.Value, depth, span) {
				return false
			}
		}
		if c := s.AdditionalProperties; c != nil && !listed && !m.schema(c, member.Value, depth, span) {
			return false
		}
		if c := s.UnevaluatedProperties; c != nil && !m.schema(c, member.Value, depth, span) {
			return false
		}
		if c := s.PropertyNames; c != nil && !m.schema(c, &Value{Kind: '"', Text: member.Name, Raw: []byte(member.Name)}, depth, span) {
			return false
		}
	}
	return true
}
