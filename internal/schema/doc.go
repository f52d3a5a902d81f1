// Package schema is everything Parley does with JSON Schema.
//
// It has two halves:
//
//   - [Typed] serves Go types. It infers a JSON Schema 2020-12 document from the type and its struct tags, and decodes JSON
//     into the type with checks compiled from the same information: one pass of checks over the bytes, one decode.
//   - [Compiled] serves schemas that arrive as JSON. It is the library validator (github.com/google/jsonschema-go) behind
//     bounds: no reference ever leaves the document, and neither a schema nor a value can make it work without end.
//
// Both report a [ValidationError]: every problem found (bounded in number), each with the JSON Pointer of the value, what was
// expected and what was found. [Headers] reads the x-mcp-header annotations of a tool's input schema.
//
// # From Go types to schemas
//
//	string kinds                          string
//	bool kinds                            boolean
//	int, int64                            integer; a value outside of the Go type is a problem, never rounded
//	int8 … int32, uint8 … uint32          integer with minimum and maximum
//	uint, uint64                          integer with minimum 0
//	float32, float64                      number
//	[]byte, [N]byte                       string with contentEncoding base64
//	[]T, [N]T                             array of T (N: minItems = maxItems = N)
//	map[K]V                               object with additionalProperties V; K is a string or integer kind, or a text type
//	struct                                object with additionalProperties false
//	time.Time                             string, format date-time
//	any, interfaces, RawMessage           true: any JSON value, kept exactly
//	types with JSON methods of their own  true; what they refuse is reported as a problem of that value
//	types with text methods               string
//	*T                                    T; in arrays and maps, where a nil pointer is a JSON null, T or null
//
// A struct member is optional when its tag says omitempty or omitzero, when it is a pointer, or when it has a default; all
// others are required. An explicit null for an optional member counts as absent, unless the member takes any JSON value (then
// null is that value) or is tagged null:"refuse". The schema never says so: an optional *string is {"type":"string"}, which
// every host understands. Recursive types use $defs and $ref; all other types are written in place.
//
// Decoding checks what the schema says, and beyond it what JSON Schema leaves to others: the formats listed below, the range of Go's
// number types (the schema has no bounds of 64-bit types), names that occur twice, and what types' own methods refuse.
//
// Members are matched in exact case; names that occur twice and members that the struct does not have are problems.
//
// # Tags
//
//	json                 name and options as in encoding/json/v2
//	jsonschema           description
//	title                title
//	enum                 a,b,c or a=Label A,b=Label B (backslash escapes , and =)
//	default              value of an absent member: text for strings, JSON otherwise
//	minimum, maximum     numbers
//	minLength, maxLength strings, counted in Unicode code points
//	pattern              RE2 syntax (package regexp), not anchored
//	format               date, date-time, time, email, uri, uuid, hostname, ipv4 and ipv6 are checked; others are only announced
//	minItems, maxItems   arrays
//	secret               "true": the value is never shown in a problem
//	header               x-mcp-header
//	null                 "refuse": null is a problem even though the member is optional
//
// On a slice or array the tags that describe strings, numbers and enumerations apply to the elements.
package schema
