// Package floor is the least that a server of these workloads has to do: decode a message once, check what the revision demands, do
// the work, encode the answer. It is a yardstick and no library: its tools, schemas and questions are written into it, and it knows
// nothing of what it does not need. It does not import net/http; package peers/floor adds that.
package floor

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/seed38e7925c/parley/bench/internal/tool"
)

// Revisions.
const (
	Modern = "2026-07-28"
	Legacy = "2025-11-25"
)

// Error codes.
const (
	codeParse    = -32700
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32603
	codeHeader   = -32020
	codeRevision = -32022
)

// A Message is one decoded message with all that any method reads.
type Message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Params  struct {
		Name      string                     `json:"name"`
		Arguments json.RawMessage            `json:"arguments"`
		Listen    *Listen                    `json:"notifications"`
		Responses map[string]json.RawMessage `json:"inputResponses"`
		State     string                     `json:"requestState"`
		Meta      struct {
			Revision     string           `json:"io.modelcontextprotocol/protocolVersion"`
			Capabilities *json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	} `json:"params"`
}

// Listen is what a stream wants to hear of.
type Listen struct {
	Tools bool `json:"toolsListChanged"`
}

// A Server answers messages.
type Server struct {
	names map[string]int // questions by tool
	tools []byte         // the list, encoded; what callers of Filter see of it
}

const (
	inSchema = `{"type":"object","properties":{"message":{"type":"string","description":"what to return"},` +
		`"number":{"type":"integer","description":"a number to return"},` +
		`"labels":{"type":"array","items":{"type":"string"},"description":"labels to return"}},` +
		`"required":["message","number"],"additionalProperties":false}`
	outSchema = `{"type":"object","properties":{"message":{"type":"string","description":"what was sent"},` +
		`"number":{"type":"integer","description":"the number that was sent"},` +
		`"labels":{"type":"array","items":{"type":"string"},"description":"the labels that were sent"}},` +
		`"required":["message","number"],"additionalProperties":false}`
	subjectSchema = `{"type":"object","properties":{"subject":{"type":"string","description":"what it is about"}},` +
		`"required":["subject"],"additionalProperties":false}`
)

type listed struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// New returns a server with extra further tools; with filter, half of them are listed.
func New(extra int, asks, filter bool) *Server {
	s := &Server{names: map[string]int{}}
	var list []listed
	add := func(name, text string, questions int, in, out string, shown bool) {
		s.names[name] = questions
		if shown {
			list = append(list, listed{name, text, json.RawMessage(in), json.RawMessage(out)})
		}
	}
	add(tool.Repeat, tool.RepeatText, 0, inSchema, outSchema, true)
	for i := range extra {
		add(tool.Extra(i), tool.ExtraText(i), 0, inSchema, outSchema, !filter || tool.Shown(i))
	}
	if asks {
		add(tool.Approve, tool.ApproveText, 1, subjectSchema, "", true)
		add(tool.Trip, tool.TripText, tool.Asks, subjectSchema, "", true)
	}
	enc, err := json.Marshal(list)
	if err != nil {
		panic(err) // constants
	}
	s.tools = enc
	return s
}

var errVersion = errors.New("not JSON-RPC 2.0")

// Decode reads a message.
func Decode(raw []byte, m *Message) error {
	if err := json.Unmarshal(raw, m); err != nil {
		return err
	}
	if m.Version != "2.0" {
		return errVersion
	}
	return nil
}

// AppendError appends an error response.
func AppendError(dst []byte, id json.RawMessage, code int, text string) []byte {
	dst = appendHead(dst, id)
	dst = append(dst, `"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = appendText(dst, text)
	return append(dst, "}}"...)
}

func appendHead(dst []byte, id json.RawMessage) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if id != nil {
		dst = append(dst, `"id":`...)
		dst = append(dst, id...)
		dst = append(dst, ',')
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	enc, err := json.Marshal(s)
	if err != nil {
		return append(dst, `""`...)
	}
	return append(dst, enc...)
}

const (
	identity = `"serverInfo":{"name":"` + tool.Server + `","version":"` + tool.Version + `"}`
	stamp    = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"` + tool.Server + `","version":"` + tool.Version + `"}},`
	complete = `"resultType":"complete",` + stamp
	hints    = `"ttlMs":0,"cacheScope":"private",`
)

// An Asker asks the person behind a session, and returns the result of the question.
type Asker func(key string, n int) (json.RawMessage, error)

// Answer appends the response to a request; code is that of an error, or 0.
func (s *Server) Answer(dst []byte, m *Message, ask Asker) (out []byte, code int) {
	modern := m.Params.Meta.Revision != ""
	if modern {
		if m.Params.Meta.Revision != Modern {
			return AppendError(dst, m.ID, codeRevision, "unknown revision"), codeRevision
		}
		if m.Params.Meta.Capabilities == nil {
			return AppendError(dst, m.ID, codeParams, "no client capabilities"), codeParams
		}
	}
	head := func() []byte {
		dst := append(appendHead(dst, m.ID), `"result":{`...)
		if modern {
			dst = append(dst, complete...)
		}
		return dst
	}
	switch {
	case m.Method == "tools/call":
		return s.call(dst, head, m, ask)
	case m.Method == "tools/list":
		dst = head()
		if modern {
			dst = append(dst, hints...)
		}
		dst = append(dst, `"tools":`...)
		dst = append(dst, s.tools...)
		return append(dst, "}}"...), 0
	case m.Method == "initialize" && !modern:
		return append(head(), `"protocolVersion":"`+Legacy+`","capabilities":{"tools":{"listChanged":true}},`+identity+`}}`...), 0
	case m.Method == "server/discover" && modern:
		return append(head(), hints+`"supportedVersions":["`+Modern+`","`+Legacy+`"],"capabilities":{"tools":{"listChanged":true}}}}`...), 0
	}
	return AppendError(dst, m.ID, codeMethod, "unknown method"), codeMethod
}

func (s *Server) call(dst []byte, head func() []byte, m *Message, ask Asker) ([]byte, int) {
	questions, ok := s.names[m.Params.Name]
	switch {
	case !ok:
		return AppendError(dst, m.ID, codeParams, "unknown tool"), codeParams
	case questions == 0:
		return s.repeat(head(), m), 0
	}
	return s.asking(dst, head, m, questions, ask)
}

// strict decodes arguments; what the schema does not know is refused.
func strict(raw json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

var errMissing = errors.New("a required property is missing")

func (s *Server) repeat(dst []byte, m *Message) []byte {
	var in struct {
		Message *string  `json:"message"`
		Number  *int     `json:"number"`
		Labels  []string `json:"labels"`
	}
	err := strict(m.Params.Arguments, &in)
	if err == nil && (in.Message == nil || in.Number == nil) {
		err = errMissing
	}
	if err != nil {
		return failed(dst, err)
	}
	out, err := json.Marshal(tool.Do(tool.In{Message: *in.Message, Number: *in.Number, Labels: in.Labels}))
	if err != nil {
		return failed(dst, err)
	}
	dst = append(dst, `"content":[{"type":"text","text":`...)
	dst = appendText(dst, string(out))
	dst = append(dst, `}],"structuredContent":`...)
	dst = append(dst, out...)
	return append(dst, "}}"...)
}

func failed(dst []byte, err error) []byte {
	dst = append(dst, `"isError":true,"content":[{"type":"text","text":`...)
	dst = appendText(dst, err.Error())
	return append(dst, "}]}}"...)
}

// asking serves a tool that asks. In rounds, the state is the number of questions that were answered, all with yes; nothing keeps a
// client from forging it.
func (s *Server) asking(dst []byte, head func() []byte, m *Message, questions int, ask Asker) ([]byte, int) {
	var in struct {
		Subject *string `json:"subject"`
	}
	if err := strict(m.Params.Arguments, &in); err != nil || in.Subject == nil {
		return failed(head(), errMissing), 0
	}
	done := 0
	if m.Params.Meta.Revision != "" {
		done, _ = strconv.Atoi(m.Params.State) // empty at first
		if raw := m.Params.Responses[tool.Key(done)]; raw != nil && approves(raw) {
			done++
		}
		if done < questions {
			return inputRequired(dst, m.ID, done), 0
		}
	} else {
		if ask == nil {
			return AppendError(dst, m.ID, codeInternal, "nobody can be asked"), codeInternal
		}
		for i := range questions {
			raw, err := ask(tool.Key(i), i)
			if err != nil {
				return AppendError(dst, m.ID, codeInternal, err.Error()), codeInternal
			}
			if approves(raw) {
				done++
			}
		}
	}
	dst = append(head(), `"content":[{"type":"text","text":`...)
	dst = appendText(dst, tool.Done(*in.Subject, done))
	return append(dst, "}]}}"...), 0
}

func approves(raw json.RawMessage) bool {
	var r struct {
		Action  string `json:"action"`
		Content struct {
			Yes bool `json:"yes"`
		} `json:"content"`
	}
	return json.Unmarshal(raw, &r) == nil && r.Action == "accept" && r.Content.Yes
}

func inputRequired(dst []byte, id json.RawMessage, n int) []byte {
	dst = append(appendHead(dst, id), `"result":{`+stamp+`"resultType":"input_required","requestState":"`...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	dst = append(dst, `","inputRequests":{"`...)
	dst = append(dst, tool.Key(n)...)
	dst = append(dst, `":{"method":"elicitation/create","params":`...)
	dst = appendQuestion(dst, n)
	return append(dst, "}}}}"...)
}

func appendQuestion(dst []byte, n int) []byte {
	dst = append(dst, `{"mode":"form","message":`...)
	dst = appendText(dst, tool.Question(n))
	return append(dst, `,"requestedSchema":`+tool.FormSchema+`}`...)
}

// AppendAsk appends the request that asks the n-th question.
func AppendAsk(dst []byte, id int64, n int) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, `,"method":"elicitation/create","params":`...)
	return append(appendQuestion(dst, n), '}')
}

// CheckHeaders says which header contradicts the message, or "".
func CheckHeaders(m *Message, revision, method, name string) string {
	switch {
	case revision != m.Params.Meta.Revision:
		return "Mcp-Protocol-Version does not match the body"
	case method != m.Method:
		return "Mcp-Method does not match the body"
	case m.Method == "tools/call" && name != m.Params.Name:
		return "Mcp-Name does not match the body"
	}
	return ""
}

// HeaderError appends the refusal of a message whose header contradicts it.
func HeaderError(dst []byte, m *Message, text string) []byte {
	return AppendError(dst, m.ID, codeHeader, text)
}

// Status is the HTTP status of an answer of the modern revision.
func Status(code int) int {
	switch code {
	case codeMethod:
		return 404
	case codeParams, codeRevision, codeHeader, codeParse:
		return 400
	}
	return 200
}

// ParseError appends the refusal of what is no message.
func ParseError(dst []byte, err error) []byte {
	return AppendError(dst, nil, codeParse, strings.ToValidUTF8(err.Error(), "?"))
}
