package mcp

import "encoding/json"

// Content is one block of content. It is one of *TextContent, *ImageContent, *AudioContent, *ResourceLink,
// *EmbeddedResource, *ToolUseContent, *ToolResultContent and *UnknownContent; nothing else implements it.
//
// Tool results and prompt messages hold text, images, audio, links and resources. Sampling messages hold text, images and
// audio, and since 2025-11-25 tool use and tool results. A server leaves out, or turns into text, what the client's
// revision does not know.
type Content interface {
	// Type returns the type member of the block on the wire.
	Type() string
	isContent()
}

// TextContent is text. Bytes that are not UTF-8 are replaced when it is sent.
type TextContent struct {
	Text        string       `json:"text"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// ImageContent is a picture.
type ImageContent struct {
	// Data is the picture itself; on the wire it is Base64.
	Data []byte `json:"data"`
	// MIMEType is its format, as in "image/png".
	MIMEType    string       `json:"mimeType"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// AudioContent is sound. Since 2025-03-26.
type AudioContent struct {
	// Data is the sound itself; on the wire it is Base64.
	Data []byte `json:"data"`
	// MIMEType is its format, as in "audio/wav".
	MIMEType    string       `json:"mimeType"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// ResourceLink points to a resource, which need not be listed. Since 2025-06-18.
type ResourceLink struct {
	URI         string       `json:"uri"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitzero"`
	Description string       `json:"description,omitzero"`
	MIMEType    string       `json:"mimeType,omitzero"`
	Size        *int64       `json:"size,omitzero"` // in bytes, before any encoding
	Icons       []Icon       `json:"icons,omitempty"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// EmbeddedResource is a resource with its contents.
type EmbeddedResource struct {
	// Resource must not be nil.
	Resource    *ResourceContents `json:"resource"`
	Annotations *Annotations      `json:"annotations,omitzero"`
	Meta        Meta              `json:"_meta,omitzero"`
}

// ToolUseContent is a model's wish to call a tool, in sampling. Since 2025-11-25.
type ToolUseContent struct {
	// ID is what the tool result refers to.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Input holds the arguments, a JSON object; nil is sent as {}.
	Input json.RawMessage `json:"input"`
	// Meta is to be kept when the message is sent again.
	Meta Meta `json:"_meta,omitzero"`
}

// ToolResultContent answers a ToolUseContent, in sampling. Since 2025-11-25.
type ToolResultContent struct {
	// ToolUseID is the ID of the ToolUseContent.
	ToolUseID         string          `json:"toolUseId"`
	Content           ContentBlocks   `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitzero"`
	IsError           bool            `json:"isError,omitzero"`
	// Meta is to be kept when the message is sent again.
	Meta Meta `json:"_meta,omitzero"`
}

// UnknownContent is a block of a kind that this package does not know, kept as it came so that it can be passed on.
type UnknownContent struct {
	// Kind is the type member; it may be empty if there was none.
	Kind string
	// Raw is the whole block, a JSON object.
	Raw json.RawMessage
}

// ContentBlocks is a list of content. On the wire nil is an empty array.
type ContentBlocks []Content

// SamplingContent is the content of a sampling message: one block, or since 2025-11-25 several. On the wire one block
// stands by itself and any other number is an array.
type SamplingContent []Content

// Type returns "text".
func (*TextContent) Type() string { return "text" }

// Type returns "image".
func (*ImageContent) Type() string { return "image" }

// Type returns "audio".
func (*AudioContent) Type() string { return "audio" }

// Type returns "resource_link".
func (*ResourceLink) Type() string { return "resource_link" }

// Type returns "resource".
func (*EmbeddedResource) Type() string { return "resource" }

// Type returns "tool_use".
func (*ToolUseContent) Type() string { return "tool_use" }

// Type returns "tool_result".
func (*ToolResultContent) Type() string { return "tool_result" }

// Type returns Kind.
func (c *UnknownContent) Type() string { return c.Kind }

func (*TextContent) isContent()       {}
func (*ImageContent) isContent()      {}
func (*AudioContent) isContent()      {}
func (*ResourceLink) isContent()      {}
func (*EmbeddedResource) isContent()  {}
func (*ToolUseContent) isContent()    {}
func (*ToolResultContent) isContent() {}
func (*UnknownContent) isContent()    {}

// Text returns content of one text block.
func Text(s string) ContentBlocks { return ContentBlocks{&TextContent{Text: s}} }

// Text returns the text of all text blocks, each on lines of its own.
func (b ContentBlocks) Text() string {
	out, first := "", true
	for _, c := range b {
		if t, ok := c.(*TextContent); ok {
			if !first {
				out += "\n"
			}
			out, first = out+t.Text, false
		}
	}
	return out
}

// ResourceContents is what one resource, or one part of it, holds: text, or bytes if Blob is not nil.
type ResourceContents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitzero"`
	// Text is the contents if Blob is nil. Bytes that are not UTF-8 are replaced when it is sent.
	Text string `json:"text,omitzero"`
	// Blob is the contents if it is not nil, even if empty; on the wire it is Base64.
	Blob []byte `json:"blob,omitzero"`
	Meta Meta   `json:"_meta,omitzero"`
}
