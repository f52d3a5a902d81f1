package mcp

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Prompt describes a prompt or a template of prompts.
type Prompt struct {
	Name string `json:"name"`
	// Title is the name to show. Since 2025-06-18.
	Title       string            `json:"title,omitzero"`
	Description string            `json:"description,omitzero"`
	Arguments   []*PromptArgument `json:"arguments,omitempty"`
	// Icons are pictures to show. Since 2025-11-25.
	Icons []Icon `json:"icons,omitempty"`
	Meta  Meta   `json:"_meta,omitzero"`
	// Asks declares the questions that the handler may put to the person; it stays on the server.
	Asks []*Question `json:"-"`
	// Scopes are those that a caller over HTTP needs for the prompt, as for [Tool]; they stay on the server.
	Scopes []string `json:"-"`
}

// PromptArgument is one argument of a prompt. Its value is text.
type PromptArgument struct {
	Name string `json:"name"`
	// Title is the name to show. Since 2025-06-18.
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	Required    bool   `json:"required,omitzero"`
}

// ListPromptsResult is the result of prompts/list.
type ListPromptsResult struct {
	Meta       Meta   `json:"_meta,omitzero"`
	ResultType string `json:"resultType,omitzero"`
	CacheHints
	Prompts []*Prompt `json:"prompts"`
	// NextCursor asks for the next page; nil says that this was the last.
	NextCursor *Cursor `json:"nextCursor,omitzero"`
}

// GetPromptParams are the params of prompts/get.
type GetPromptParams struct {
	Meta      Meta              `json:"_meta,omitzero"`
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments,omitzero"`
	// InputResponses and RequestState belong to a retry; see InputRequiredResult. Since 2026-07-28.
	InputResponses InputResponses `json:"inputResponses,omitzero"`
	RequestState   *string        `json:"requestState,omitzero"`
}

// GetPromptResult is the result of prompts/get.
type GetPromptResult struct {
	Meta        Meta             `json:"_meta,omitzero"`
	ResultType  string           `json:"resultType,omitzero"`
	Description string           `json:"description,omitzero"`
	Messages    []*PromptMessage `json:"messages"`
}

// PromptMessage is one message of a prompt.
type PromptMessage struct {
	Role Role `json:"role"`
	// Content must not be nil.
	Content Content `json:"content"`
}

// MarshalJSONTo writes the message. It fails if it has no content.
func (m *PromptMessage) MarshalJSONTo(enc *jsontext.Encoder) error {
	if nilContent(m.Content) {
		return errNilContent
	}
	return json.MarshalEncode(enc, &struct {
		Role    Role    `json:"role"`
		Content Content `json:"content"`
	}{m.Role, m.Content})
}

// UnmarshalJSONFrom reads the message. It fails if there is no content.
func (m *PromptMessage) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var w struct {
		Role    Role          `json:"role"`
		Content singleContent `json:"content"`
	}
	if err := json.UnmarshalDecode(dec, &w); err != nil {
		return err
	}
	if w.Content.Content == nil {
		return fmt.Errorf("a prompt message has no content")
	}
	*m = PromptMessage{Role: w.Role, Content: w.Content.Content}
	return nil
}

// singleContent reads one block.
type singleContent struct{ Content }

// UnmarshalJSONFrom reads one block.
func (s *singleContent) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	c, err := decodeContent(dec)
	s.Content = c
	return err
}
