package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/interactor/scripted"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// An actor plays Alice, the person of the demo, and writes down who says what to whom.
type actor struct {
	script  *scripted.Script
	visitor visitor
	bob     *intruder // nil: nobody intrudes

	mu            sync.Mutex
	out           io.Writer
	forms, visits int
	logins        int
	pending       map[jsonrpc.ID]string // methods of requests under way
}

func newActor(out io.Writer, site func(*url.URL) string, bob *intruder) (*actor, error) {
	script, err := scripted.New(
		scripted.Answer{Tool: "book", Key: "seat", Kind: scripted.KindForm, Values: map[string]json.RawMessage{
			"class": json.RawMessage(`"First class"`), "place": json.RawMessage(`"window"`), "quiet": json.RawMessage(`"yes"`)}},
		scripted.Answer{Tool: "book", Kind: scripted.KindURL, Host: "127.0.0.1", Action: mcp.ActionAccept, Repeat: true},
	)
	if err != nil {
		return nil, err
	}
	b, err := newBrowser()
	if err != nil {
		return nil, err
	}
	a := &actor{script: script, bob: bob, out: out, pending: map[jsonrpc.ID]string{}}
	a.visitor = visitor{name: "Alice", browser: b, site: site, tell: func(format string, args ...any) { a.say("alice → page", format, args...) }}
	if bob != nil {
		b.stop = func(u *url.URL) bool { return strings.HasSuffix(u.Path, "/callback/rail") }
		a.visitor.callback = bob.replay
	}
	return a, nil
}

func (a *actor) say(who, format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	transcribe(a.out, who, fmt.Sprintf(format, args...))
}

// transcribe writes one line of the story, broken to the width of a terminal.
func transcribe(out io.Writer, who, text string) {
	const indent = 18
	text = consent.Line(text, 300)
	if room := columns(out); room > 2*indent {
		text = strings.ReplaceAll(wrapped(text, room-indent), "\n", "\n"+strings.Repeat(" ", indent))
	}
	fmt.Fprintf(out, "%-*s%s\n", indent, who, text)
}

// interactor answers from the script, aloud.
func (a *actor) interactor() *mcp.Interactor {
	answers := a.script.Interactor(&scripted.Options{Visit: a.visit})
	return &mcp.Interactor{
		Form: func(ctx context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			a.say("host → alice", "%s (%s) asks because of %s %s: %s", q.Server.Name, q.Origin, q.Method, q.Name, q.Message)
			for i := range q.Form.Fields {
				fd := &q.Form.Fields[i]
				var options []string
				for _, o := range fd.Options {
					options = append(options, o.Label())
				}
				a.say("", "  %s [%s] %s", fd.Label(), fd.Kind, strings.Join(options, " | "))
			}
			res, err := answers.Form(ctx, q)
			if err == nil {
				a.say("alice → host", "%s %s", res.Action, res.Content)
				a.count(&a.forms)
			}
			return res, err
		},
		Open: func(ctx context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			r := consent.Review(q.URL, &consent.Options{Server: q.Origin})
			a.say("host → alice", "%s (%s) asks to open a page: %s", q.Server.Name, q.Origin, q.Message)
			a.say("", "  %s  (site: %s)", r.Display, r.Domain)
			for _, f := range r.Findings {
				a.say("", "  %s", f)
			}
			res, err := answers.Open(ctx, q)
			if err == nil {
				a.say("alice → host", "%s", res.Action)
			}
			return res, err
		},
	}
}

func (a *actor) count(n *int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*n++
}

// codeForm is the code of a server on this computer, in the text of its question.
var codeForm = regexp.MustCompile(`[0-9A-Z]{5}-[0-9A-Z]{5}`)

// visit does at the page what a person with a browser does; an intruder gets the link, too.
func (a *actor) visit(ctx context.Context, q *mcp.OpenQuestion, page string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if a.bob != nil {
		if err := a.bob.tryLink(ctx, page); err != nil {
			return err
		}
	}
	a.visitor.code = codeForm.FindString(q.Message)
	ends := []string{"Saved", "Connected", "Approved"}
	if a.visits >= len(ends) {
		return fmt.Errorf("there is a page more than %d", len(ends))
	}
	if err := a.visitor.walk(ctx, page, ends[a.visits]); err != nil {
		return err
	}
	a.count(&a.visits)
	return nil
}

// finished says whether the flow went as it should.
func (a *actor) finished() error {
	if err := a.script.Err(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.forms != 1 || a.visits != 3 || a.logins > 1 {
		return fmt.Errorf("want one form, three pages and at most one login, had %d, %d and %d", a.forms, a.visits, a.logins)
	}
	return nil
}

// see writes down a message on the wire, in words.
func (a *actor) see(d direction, m *jsonrpc.Message, err error) {
	who := "server → host"
	if d == toServer {
		who = "host → server"
	}
	switch {
	case err != nil && errors.Is(err, context.Canceled):
	case err != nil:
		a.say(who, "failed: %v", err)
	case m.Method != "":
		if d == toServer && !m.ID.IsZero() {
			a.mu.Lock()
			a.pending[m.ID] = m.Method
			a.mu.Unlock()
		}
		a.say(who, "%s", summary(m))
	case m.Error != nil:
		a.say(who, "error %d: %s", m.Error.Code, m.Error.Message)
	default:
		a.mu.Lock()
		method := a.pending[m.ID]
		a.mu.Unlock()
		a.say(who, "%s", outcome(m, d, method))
	}
}

// gist is what the transcript tells of params and results.
type gist struct {
	Name            string                     `json:"name"`
	Mode            string                     `json:"mode"`
	Message         string                     `json:"message"`
	URL             string                     `json:"url"`
	Action          string                     `json:"action"`
	ResultType      string                     `json:"resultType"`
	Protocol        string                     `json:"protocolVersion"`
	Supported       []string                   `json:"supportedVersions"`
	Arguments       json.RawMessage            `json:"arguments"`
	Structured      json.RawMessage            `json:"structuredContent"`
	InputRequests   map[string]json.RawMessage `json:"inputRequests"`
	InputResponses  map[string]json.RawMessage `json:"inputResponses"`
	RequestState    *string                    `json:"requestState"`
	Notifications   json.RawMessage            `json:"notifications"`
	IsError         bool                       `json:"isError"`
	ProgressMessage string                     `json:"-"`
}

func gistOf(raw json.RawMessage) gist {
	var g gist
	if len(raw) > 0 {
		_ = jsonv2.Unmarshal(raw, &g) // what does not fit is not told
	}
	return g
}

// summary puts a request or notification into words.
func summary(m *jsonrpc.Message) string {
	g := gistOf(m.Params)
	switch {
	case m.Method == mcp.MethodElicit && g.URL != "":
		return fmt.Sprintf("request elicitation/create, url: %s", g.Message)
	case m.Method == mcp.MethodElicit:
		return fmt.Sprintf("request elicitation/create, form: %s", g.Message)
	case m.Method == mcp.MethodToolsCall && g.InputResponses != nil:
		return fmt.Sprintf("request tools/call %s again, with the answers to %s and the sealed state", g.Name, keys(g.InputResponses))
	case m.Method == mcp.MethodToolsCall && g.RequestState != nil:
		return fmt.Sprintf("request tools/call %s again, with the sealed state", g.Name)
	case m.Method == mcp.MethodToolsCall:
		return fmt.Sprintf("request tools/call %s %s", g.Name, g.Arguments)
	case m.Method == mcp.NotificationProgress:
		return "notification progress: " + g.Message
	case m.ID.IsZero():
		return "notification " + strings.TrimPrefix(m.Method, "notifications/")
	}
	return "request " + m.Method
}

// outcome puts a result into words.
func outcome(m *jsonrpc.Message, d direction, method string) string {
	g := gistOf(m.Result)
	switch {
	case d == toServer && g.Action != "":
		return "result of elicitation/create: " + g.Action
	case g.ResultType == mcp.ResultInputRequired && len(g.InputRequests) == 0:
		return "result input_required: come back later"
	case g.ResultType == mcp.ResultInputRequired:
		return fmt.Sprintf("result input_required: questions %s, and everything so far sealed in requestState", keys(g.InputRequests))
	case g.Protocol != "":
		return "result: revision " + g.Protocol
	case g.Supported != nil:
		return "result: revisions " + strings.Join(g.Supported, ", ")
	case g.Structured != nil:
		return "result: " + string(g.Structured)
	}
	return strings.TrimSpace("result of " + method)
}

func keys(m map[string]json.RawMessage) string {
	var out []string
	for k := range m {
		out = append(out, fmt.Sprintf("%q", k))
	}
	return strings.Join(out, ", ")
}
