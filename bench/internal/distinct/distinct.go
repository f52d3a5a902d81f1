// Package distinct has as many different types as a cold start needs: of ten digits three at a time, a thousand inputs and a thousand
// outputs. Their fields are the same, but nothing that a library remembers about one of them helps it with another.
package distinct

// In is an input type for each combination of digits.
type In[A, B, C any] struct {
	Message string   `json:"message" jsonschema:"what to return"`
	Number  int      `json:"number" jsonschema:"a number to return"`
	Labels  []string `json:"labels,omitempty" jsonschema:"labels to return"`
}

// Out is an output type for each combination of digits.
type Out[A, B, C any] struct {
	Message string   `json:"message" jsonschema:"what was sent"`
	Number  int      `json:"number" jsonschema:"the number that was sent"`
	Labels  []string `json:"labels,omitempty" jsonschema:"the labels that were sent"`
}

// The digits.
type (
	D0 struct{}
	D1 struct{}
	D2 struct{}
	D3 struct{}
	D4 struct{}
	D5 struct{}
	D6 struct{}
	D7 struct{}
	D8 struct{}
	D9 struct{}
)

// Do is what the tools do.
func Do[A, B, C any](in In[A, B, C]) Out[A, B, C] {
	return Out[A, B, C](in)
}
