// Package tool has what every server of the comparison offers: the same types, names and words, so that the same bytes go over the
// wire.
package tool

import (
	"fmt"
	"strings"
)

// The servers' name and version.
const (
	Server  = "bench"
	Version = "1.0.0"
)

// Names of the tools.
const (
	Repeat  = "repeat"  // returns what it gets
	Approve = "approve" // asks once whether to go on
	Trip    = "trip"    // asks five times, one after the other
	Keyed   = "keyed"   // is as Repeat, and needs a secret of the caller
	Hold    = "hold"    // is held until the caller goes away
)

// Descriptions of the tools.
const (
	RepeatText  = "Return the message, the number and the labels that were sent."
	ApproveText = "Do something that the person has to approve first."
	TripText    = "Plan a trip in five questions."
)

// Asks is how many questions [Trip] asks.
const Asks = 5

// In is what [Repeat] gets.
type In struct {
	Message string   `json:"message" jsonschema:"what to return"`
	Number  int      `json:"number" jsonschema:"a number to return"`
	Labels  []string `json:"labels,omitempty" jsonschema:"labels to return"`
}

// Out is what [Repeat] returns.
type Out struct {
	Message string   `json:"message" jsonschema:"what was sent"`
	Number  int      `json:"number" jsonschema:"the number that was sent"`
	Labels  []string `json:"labels,omitempty" jsonschema:"the labels that were sent"`
}

// Do is what [Repeat] does.
func Do(in In) Out { return Out(in) }

// Subject is what [Approve] and [Trip] get.
type Subject struct {
	Subject string `json:"subject" jsonschema:"what it is about"`
}

// Form is what the person fills in.
type Form struct {
	Yes bool `json:"yes" jsonschema:"whether to go on"`
}

// FormSchema is [Form] as the schema of a question.
const FormSchema = `{"type":"object","properties":{"yes":{"type":"boolean","description":"whether to go on"}},"required":["yes"]}`

// Question is the text of the n-th question.
func Question(n int) string { return fmt.Sprintf("Question %d: go on?", n) }

// Key is the key of the n-th question.
func Key(n int) string { return fmt.Sprintf("q%d", n) }

// Done is the answer of [Approve] and [Trip] when every one of n questions was answered with yes.
func Done(subject string, n int) string { return fmt.Sprintf("done: %s, %d approved", subject, n) }

// Extra is the name of the i-th of many tools.
func Extra(i int) string { return fmt.Sprintf("extra_%06d", i) }

// ExtraText is the description of the i-th of many tools.
func ExtraText(i int) string {
	return fmt.Sprintf("Tool %d of a large catalogue. It returns the message, the number and the labels that were sent.", i)
}

// Shown reports whether the i-th of many tools is for callers that may see half of them.
func Shown(i int) bool { return i%2 == 0 }

// ShownName is [Shown] by name; tools that are not one of many are for everybody.
func ShownName(name string) bool {
	digits, ok := strings.CutPrefix(name, "extra_")
	return !ok || (digits[len(digits)-1]-'0')%2 == 0
}
