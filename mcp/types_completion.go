package mcp

// Types of a Reference.
const (
	RefPrompt   = "ref/prompt"
	RefResource = "ref/resource"
)

// Reference says what an argument to complete belongs to: a prompt by Name, or a resource template by URI.
type Reference struct {
	// Type is RefPrompt or RefResource.
	Type string `json:"type"`
	// Name and Title are those of the prompt. Title since 2025-06-18.
	Name  string `json:"name,omitzero"`
	Title string `json:"title,omitzero"`
	// URI is the URI template, or a URI.
	URI string `json:"uri,omitzero"`
}

// CompleteArgument is the argument to complete and what was typed so far.
type CompleteArgument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// CompleteContext holds arguments that were given before. Since 2025-06-18.
type CompleteContext struct {
	Arguments map[string]string `json:"arguments,omitzero"`
}

// CompleteParams are the params of completion/complete.
type CompleteParams struct {
	Meta     Meta             `json:"_meta,omitzero"`
	Ref      Reference        `json:"ref"`
	Argument CompleteArgument `json:"argument"`
	Context  *CompleteContext `json:"context,omitzero"`
}

// Completion is a list of proposals, the best first.
type Completion struct {
	// Values has at most 100 entries.
	Values []string `json:"values"`
	// Total is how many there are in all; nil is unknown.
	Total *int64 `json:"total,omitzero"`
	// HasMore: there are more than Values.
	HasMore bool `json:"hasMore,omitzero"`
}

// CompleteResult is the result of completion/complete.
type CompleteResult struct {
	Meta       Meta       `json:"_meta,omitzero"`
	ResultType string     `json:"resultType,omitzero"`
	Completion Completion `json:"completion"`
}
