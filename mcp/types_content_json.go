package mcp

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var errNilContent = errors.New("mcp: a content block is nil")

// MarshalJSONTo writes the block with its type.
func (c *TextContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	if c.Annotations != nil || c.Meta != nil {
		type Plain TextContent
		return json.MarshalEncode(enc, &struct {
			Type string `json:"type"`
			*Plain
		}{c.Type(), (*Plain)(c)})
	}
	for _, t := range [...]jsontext.Token{
		jsontext.BeginObject, jsontext.String("type"), jsontext.String("text"),
		jsontext.String("text"), jsontext.String(validText(c.Text)), jsontext.EndObject,
	} {
		if err := enc.WriteToken(t); err != nil {
			return err
		}
	}
	return nil
}

// MarshalJSONTo writes the block with its type.
func (c *ImageContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	type Plain ImageContent
	return json.MarshalEncode(enc, &struct {
		Type string `json:"type"`
		*Plain
	}{c.Type(), (*Plain)(c)})
}

// MarshalJSONTo writes the block with its type.
func (c *AudioContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	type Plain AudioContent
	return json.MarshalEncode(enc, &struct {
		Type string `json:"type"`
		*Plain
	}{c.Type(), (*Plain)(c)})
}

// MarshalJSONTo writes the block with its type.
func (c *ResourceLink) MarshalJSONTo(enc *jsontext.Encoder) error {
	type Plain ResourceLink
	return json.MarshalEncode(enc, &struct {
		Type string `json:"type"`
		*Plain
	}{c.Type(), (*Plain)(c)})
}

// MarshalJSONTo writes the block with its type. It fails if Resource is nil.
func (c *EmbeddedResource) MarshalJSONTo(enc *jsontext.Encoder) error {
	if c.Resource == nil {
		return errors.New("mcp: an EmbeddedResource has no Resource")
	}
	type Plain EmbeddedResource
	return json.MarshalEncode(enc, &struct {
		Type string `json:"type"`
		*Plain
	}{c.Type(), (*Plain)(c)})
}

// MarshalJSONTo writes the block with its type.
func (c *ToolUseContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	type Plain ToolUseContent
	p := Plain(*c)
	if p.Input == nil {
		p.Input = emptyObject
	}
	return json.MarshalEncode(enc, &struct {
		Type string `json:"type"`
		*Plain
	}{c.Type(), &p})
}

// MarshalJSONTo writes the block with its type.
func (c *ToolResultContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	type Plain ToolResultContent
	return json.MarshalEncode(enc, &struct {
		Type string `json:"type"`
		*Plain
	}{c.Type(), (*Plain)(c)})
}

// MarshalJSONTo writes the block as it came.
func (c *UnknownContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	if jsontext.Value(c.Raw).Kind() != '{' {
		return errors.New("mcp: UnknownContent.Raw is no JSON object")
	}
	return enc.WriteValue(jsontext.Value(c.Raw))
}

// decodeContent reads one block. Blocks of unknown kinds are kept as they are.
func decodeContent(dec *jsontext.Decoder) (Content, error) {
	raw, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if raw.Kind() != '{' {
		return nil, fmt.Errorf("a content block must be an object, not %s", kindName(raw.Kind()))
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head, dec.Options()); err != nil {
		return nil, fmt.Errorf("content block: %w", err)
	}
	c, err := decodeKind(head.Type, raw, dec.Options())
	if err != nil {
		return nil, fmt.Errorf("content block of type %q: %w", head.Type, err)
	}
	return c, nil
}

func decodeKind(kind string, raw jsontext.Value, opts json.Options) (Content, error) {
	switch kind {
	case "text":
		return decodeInto(raw, new(TextContent), opts)
	case "image":
		return decodeInto(raw, new(ImageContent), opts)
	case "audio":
		return decodeInto(raw, new(AudioContent), opts)
	case "resource_link":
		return decodeInto(raw, new(ResourceLink), opts)
	case "resource":
		c := new(EmbeddedResource)
		if err := json.Unmarshal(raw, c, opts); err != nil {
			return nil, err
		}
		if c.Resource == nil {
			return nil, errors.New("resource is missing")
		}
		return c, nil
	case "tool_use":
		return decodeInto(raw, new(ToolUseContent), opts)
	case "tool_result":
		return decodeInto(raw, new(ToolResultContent), opts)
	}
	return &UnknownContent{Kind: kind, Raw: []byte(raw.Clone())}, nil
}

func decodeInto(raw jsontext.Value, c Content, opts json.Options) (Content, error) {
	if err := json.Unmarshal(raw, c, opts); err != nil {
		return nil, err
	}
	return c, nil
}

// MarshalJSONTo writes an array. It fails if a block is nil.
func (b ContentBlocks) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for _, c := range b {
		if err := encodeContent(enc, c); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndArray)
}

func encodeContent(enc *jsontext.Encoder, c Content) error {
	if m, ok := c.(json.MarshalerTo); ok && !nilContent(c) {
		return m.MarshalJSONTo(enc)
	}
	return errNilContent
}

func nilContent(c Content) bool {
	switch c := c.(type) {
	case nil:
		return true
	case *TextContent:
		return c == nil
	case *ImageContent:
		return c == nil
	case *AudioContent:
		return c == nil
	case *ResourceLink:
		return c == nil
	case *EmbeddedResource:
		return c == nil
	case *ToolUseContent:
		return c == nil
	case *ToolResultContent:
		return c == nil
	case *UnknownContent:
		return c == nil
	}
	return false
}

// UnmarshalJSONFrom reads an array of blocks; null is read as nil.
func (b *ContentBlocks) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*b = nil
	switch k := dec.PeekKind(); k {
	case 'n':
		return dec.SkipValue()
	case '[':
		blocks, err := decodeBlocks(dec)
		*b = blocks
		return err
	default:
		if err := dec.SkipValue(); err != nil {
			return err
		}
		return fmt.Errorf("content must be an array, not %s", kindName(k))
	}
}

// decodeBlocks reads an array of blocks; the result is not nil.
func decodeBlocks(dec *jsontext.Decoder) ([]Content, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	blocks := make([]Content, 0, 1)
	for dec.PeekKind() != ']' {
		c, err := decodeContent(dec)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, c)
	}
	_, err := dec.ReadToken()
	return blocks, err
}

// MarshalJSONTo writes one block by itself and any other number as an array.
func (s SamplingContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	if len(s) == 1 {
		return encodeContent(enc, s[0])
	}
	return ContentBlocks(s).MarshalJSONTo(enc)
}

// UnmarshalJSONFrom reads one block or an array of blocks.
func (s *SamplingContent) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*s = nil
	if dec.PeekKind() == '[' {
		blocks, err := decodeBlocks(dec)
		*s = blocks
		return err
	}
	c, err := decodeContent(dec)
	if err != nil {
		return err
	}
	*s = SamplingContent{c}
	return nil
}

// wireContents is ResourceContents on the wire.
type wireContents struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitzero"`
	Text     *string `json:"text,omitzero"`
	Blob     *[]byte `json:"blob,omitzero"`
	Meta     Meta    `json:"_meta,omitzero"`
}

// MarshalJSONTo writes text or blob, whichever the contents are.
func (r *ResourceContents) MarshalJSONTo(enc *jsontext.Encoder) error {
	w := wireContents{URI: r.URI, MIMEType: r.MIMEType, Meta: r.Meta}
	if r.Blob != nil {
		w.Blob = &r.Blob
	} else {
		text := validText(r.Text)
		w.Text = &text
	}
	return json.MarshalEncode(enc, &w)
}

// UnmarshalJSONFrom reads contents; where both text and blob are there, blob wins.
func (r *ResourceContents) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var w wireContents
	if err := json.UnmarshalDecode(dec, &w); err != nil {
		return err
	}
	*r = ResourceContents{URI: w.URI, MIMEType: w.MIMEType, Meta: w.Meta}
	switch {
	case w.Blob != nil:
		r.Blob = *w.Blob
		if r.Blob == nil {
			r.Blob = []byte{}
		}
	case w.Text != nil:
		r.Text = *w.Text
	}
	return nil
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case '[':
		return "an array"
	case '{':
		return "an object"
	}
	return "invalid JSON"
}
