// Package wire is the client of the comparison: bytes that are prepared once and sent again and again with another id, and answers
// that are read without being decoded. It costs the same for every server.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed38e7925c/parley/bench/internal/tool"
)

// Revisions.
const (
	ModernRevision = "2026-07-28"
	LegacyRevision = "2025-11-25"
)

const (
	firstID  = "5000000000" // ids have a fixed width, so that they can be replaced in place
	idMember = `"id":` + firstID
	identity = `{"name":"bench-client","version":"1.0.0"}`
	meta     = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + ModernRevision + `","io.modelcontextprotocol/clientInfo":` + identity +
		`,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`
)

// A Message is a JSON-RPC message.
type Message struct {
	Method, Name string
	Modern       bool
	body         string
}

// Request makes a request. params are the members of params, without braces.
func Request(modern bool, method, name, params string) Message {
	if modern && params != "" {
		params += ","
	}
	if modern {
		params += meta
	}
	return Message{Method: method, Name: name, Modern: modern,
		body: `{"jsonrpc":"2.0",` + idMember + `,"method":"` + method + `","params":{` + params + `}}`}
}

// Initialize begins a session.
func Initialize() Message {
	return Request(false, "initialize", "",
		`"protocolVersion":"`+LegacyRevision+`","capabilities":{"elicitation":{"form":{}}},"clientInfo":`+identity)
}

// Initialized ends the handshake.
func Initialized() Message {
	return Message{Method: "notifications/initialized", body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`}
}

// Input returns arguments of tool.Repeat that are about n bytes of JSON.
func Input(n int) tool.In {
	const text = "All work and no play makes a dull protocol, he said, and \"typed\" it once more. "
	return tool.In{Message: strings.Repeat(text, 1+n/len(text))[:max(n-60, 1)], Number: 7, Labels: []string{"a", "bc"}}
}

// Call calls tool.Repeat with about n bytes.
func Call(modern bool, n int) Message {
	args, err := json.Marshal(Input(n))
	if err != nil {
		panic(err) // strings and numbers
	}
	return Request(modern, "tools/call", tool.Repeat, `"name":"`+tool.Repeat+`","arguments":`+string(args))
}

// List lists the tools.
func List(modern bool) Message { return Request(modern, "tools/list", "", "") }

// Listen opens a stream of changes.
func Listen() Message {
	return Request(true, "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`)
}

// Ask calls one of the tools that ask.
func Ask(modern bool, name string) Message {
	return Request(modern, "tools/call", name, `"name":"`+name+`","arguments":{"subject":"launch"}`)
}

// Retry is the next round of Ask: the n-th question is answered with yes, and the state goes back as it came.
func Retry(name string, n int, state []byte) Message {
	return Request(true, "tools/call", name, `"name":"`+name+`","arguments":{"subject":"launch"},"inputResponses":{"`+tool.Key(n)+
		`":{"action":"accept","content":{"yes":true}}},"requestState":"`+string(state)+`"`)
}

// Visitor calls one of the tools that take the input of tool.Repeat, for a client that opens pages.
func Visitor(name string) Message { return visitor(name, "") }

// Visited is the next round of a call that asked under a key to open a page: the person has agreed, and the state goes back as it came.
func Visited(name, key, state string) Message {
	return visitor(name, `,"inputResponses":{"`+key+`":{"action":"accept"}},"requestState":"`+state+`"`)
}

func visitor(name, more string) Message {
	args, err := json.Marshal(Input(100))
	if err != nil {
		panic(err) // strings and numbers
	}
	m := Request(true, "tools/call", name, `"name":"`+name+`","arguments":`+string(args)+more)
	m.body = strings.Replace(m.body, `{"form":{}}`, `{"url":{}}`, 1)
	return m
}

// Approval answers the request with the given id in a session.
func Approval(id []byte) Message {
	return Message{body: `{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"action":"accept","content":{"yes":true}}}`}
}

// Bytes are a message ready to be sent. They are not safe for concurrent use: SetID changes them.
type Bytes struct {
	Raw []byte
	id  int // where the id begins, or -1
}

func prepare(head, body string) *Bytes {
	b := &Bytes{Raw: []byte(head + body), id: -1}
	if i := strings.Index(body, idMember); i >= 0 {
		b.id = len(head) + i + len(idMember) - len(firstID)
	}
	return b
}

// SetID gives the message another id.
func (b *Bytes) SetID(n int) {
	if b.id < 0 {
		return
	}
	for i := b.id + len(firstID) - 1; i > b.id; i-- { // the first digit stays
		b.Raw[i] = byte('0' + n%10)
		n /= 10
	}
}

// ID returns the id.
func (b *Bytes) ID() []byte {
	if b.id < 0 {
		return nil
	}
	return b.Raw[b.id : b.id+len(firstID)]
}

// Line is the message as a line.
func (m Message) Line() *Bytes { return prepare("", m.body+"\n") }

// Body is the message alone.
func (m Message) Body() *Bytes { return prepare("", m.body) }

// Headers are the headers of the message as a POST.
func (m Message) Headers(session string) [][2]string {
	h := [][2]string{{"Content-Type", "application/json"}, {"Accept", "application/json, text/event-stream"}}
	switch {
	case m.Modern:
		h = append(h, [2]string{"Mcp-Protocol-Version", ModernRevision}, [2]string{"Mcp-Method", m.Method})
		if m.Name != "" {
			h = append(h, [2]string{"Mcp-Name", m.Name})
		}
	case m.Method != "initialize":
		h = append(h, [2]string{"Mcp-Protocol-Version", LegacyRevision})
	}
	if session != "" {
		h = append(h, [2]string{"Mcp-Session-Id", session})
	}
	return h
}

// Post is the message as a whole HTTP request.
func (m Message) Post(host, session string) *Bytes {
	return prepare(head("POST", host, m.Headers(session), len(m.body)), m.body)
}

// Get is the request for the stream of a session.
func Get(host, session string) []byte {
	return []byte(head("GET", host, [][2]string{
		{"Accept", "text/event-stream"}, {"Mcp-Protocol-Version", LegacyRevision}, {"Mcp-Session-Id", session},
	}, -1))
}

func head(method, host string, headers [][2]string, length int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s /mcp HTTP/1.1\r\nHost: %s\r\n", method, host)
	for _, h := range headers {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	if length >= 0 {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", length)
	}
	b.WriteString("\r\n")
	return b.String()
}

// Between returns what stands in s after the first start and before the following end, or nil.
func Between(s []byte, start, end string) []byte {
	i := bytes.Index(s, []byte(start))
	if i < 0 {
		return nil
	}
	s = s[i+len(start):]
	if j := bytes.Index(s, []byte(end)); j >= 0 {
		return s[:j]
	}
	return nil
}
