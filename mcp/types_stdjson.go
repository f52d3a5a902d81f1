package mcp

// The types whose form on the wire is not that of their fields have it with encoding/json too, so that a program may log
// or store them with either library. This package itself never uses encoding/json.

// MarshalJSON writes the block as MarshalJSONTo does, for encoding/json.
func (c *TextContent) MarshalJSON() ([]byte, error) { return marshalJSON(c) }

// MarshalJSON writes the block as MarshalJSONTo does, for encoding/json.
func (c *ImageContent) MarshalJSON() ([]byte, error) { return marshalJSON(c) }

// MarshalJSON writes the block as MarshalJSONTo does, for encoding/json.
func (c *AudioContent) MarshalJSON() ([]byte, error) { return marshalJSON(c) }

// MarshalJSON writes the block as MarshalJSONTo does, for encoding/json.
func (c *ResourceLink) MarshalJSON() ([]byte, error) { return marshalJSON(c) }

// MarshalJSON writes the block as MarshalJSONTo does, for encoding/json.
func (c *EmbeddedResource) MarshalJSON() ([]byte, error) { return marshalJSON(c) }

// MarshalJSON writes the block as MarshalJSONTo does, for encoding/json.
func (c *ToolUseContent) MarshalJSON() ([]byte, error) { return marshalJSON(c) }

// MarshalJSON writes the block as MarshalJSONTo does, for encoding/json.
func (c *ToolResultContent) MarshalJSON() ([]byte, error) { return marshalJSON(c) }

// MarshalJSON writes the block as MarshalJSONTo does, for encoding/json.
func (c *UnknownContent) MarshalJSON() ([]byte, error) { return marshalJSON(c) }

// MarshalJSON writes the list as MarshalJSONTo does, for encoding/json.
func (b ContentBlocks) MarshalJSON() ([]byte, error) { return marshalJSON(b) }

// UnmarshalJSON reads the list as UnmarshalJSONFrom does, for encoding/json.
func (b *ContentBlocks) UnmarshalJSON(data []byte) error { return unmarshalJSON(data, b) }

// MarshalJSON writes the content as MarshalJSONTo does, for encoding/json.
func (s SamplingContent) MarshalJSON() ([]byte, error) { return marshalJSON(s) }

// UnmarshalJSON reads the content as UnmarshalJSONFrom does, for encoding/json.
func (s *SamplingContent) UnmarshalJSON(data []byte) error { return unmarshalJSON(data, s) }

// MarshalJSON writes the contents as MarshalJSONTo does, for encoding/json.
func (r *ResourceContents) MarshalJSON() ([]byte, error) { return marshalJSON(r) }

// UnmarshalJSON reads the contents as UnmarshalJSONFrom does, for encoding/json.
func (r *ResourceContents) UnmarshalJSON(data []byte) error { return unmarshalJSON(data, r) }

// MarshalJSON writes the message as MarshalJSONTo does, for encoding/json.
func (m *PromptMessage) MarshalJSON() ([]byte, error) { return marshalJSON(m) }

// UnmarshalJSON reads the message as UnmarshalJSONFrom does, for encoding/json.
func (m *PromptMessage) UnmarshalJSON(data []byte) error { return unmarshalJSON(data, m) }

// MarshalJSON writes the tool as MarshalJSONTo does, for encoding/json.
func (t *Tool) MarshalJSON() ([]byte, error) { return marshalJSON(t) }
