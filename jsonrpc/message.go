package jsonrpc

import "encoding/json"

// Kind says what a [Message] is.
type Kind uint8

const (
	// Response carries a result or an error.
	Response Kind = iota
	// Request has a method and an id and wants a response.
	Request
	// Notification has a method and no id and must not be answered.
	Notification
)

// String returns the name of the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	default:
		return "response"
	}
}

// Message is one JSON-RPC message. Which fields are set follows from its kind:
//
//	request       ID, Method, Params if there were any
//	notification  Method, Params if there were any
//	response      ID, and Result or Error; an error may lack the ID
//
// Raw fields hold one JSON value each, or are nil when the member is absent.
type Message struct {
	ID     ID
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *Error

	vouched bool
}

// Vouch promises that Result is one line of valid UTF-8, as [Clean] returns it. [Append] then copies it without looking at it, and
// who writes large answers need not even copy it: see [AppendUpToResult].
func (m *Message) Vouch() { m.vouched = true }

// Vouched reports whether Result is known to be one line of valid UTF-8.
func (m *Message) Vouched() bool { return m.vouched }

// Kind tells what m is: with a method it is a request if it has an id and a
// notification if not; without one it is a response.
func (m *Message) Kind() Kind {
	switch {
	case m.Method == "":
		return Response
	case m.ID.IsZero():
		return Notification
	default:
		return Request
	}
}
