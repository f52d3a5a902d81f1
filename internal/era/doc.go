// Package era knows how the revisions of the Model Context Protocol differ, and nothing else.
//
// A revision is a [Revision]. Everything that one revision does differently from another is a field or a small method
// of its [Rules]; code elsewhere asks for the field it needs and never compares revisions itself.
//
// [Classify] decides, from facts about one incoming message and its HTTP headers, which revision it speaks or why it is
// refused. [Decide] is its counterpart on the client's side: it reads the answer to a first request and says how to go
// on. [EncodeHeader] and [DecodeHeader] are the text encoding of the headers that mirror a message's body.
//
// Everything here is pure: no input or output, no state, no goroutines. All of it may be used concurrently.
//
//	revision.go  Revision, Set         rules.go    Rules, the table
//	methods.go   method tables         meta.go     reserved _meta keys
//	codes.go     error codes           header.go   header value encoding
//	classify.go  server side           probe.go    client side
package era
