// Package play is what a client of any implementation can be told to do, so that one set of checks drives them all.
package play

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
)

// A Target is a server to connect to, in one way and one era.
type Target struct {
	// Command runs the server over stdio; Env is added to this process's environment.
	Command []string
	Env     []string
	// URL is the server's endpoint, where it is reached over HTTP.
	URL string
	// SSE: the endpoint is one of HTTP+SSE, the transport of 2024-11-05.
	SSE bool
	// Era is "legacy" (begin with initialize), "modern" (2026-07-28), "auto" (find out), or a revision of the handshake era.
	Era string
	// Root is the directory that the client says it works in, where it is asked for its roots; empty is one that does not exist.
	Root string
	// Tape records what crosses the wire, where the driver or the server can tell.
	Tape *Tape
}

// Modern reports whether the target is to be spoken to at 2026-07-28.
func (t *Target) Modern() bool { return t.Era == Modern }

// Revision is the revision that the handshake begins with.
func (t *Target) Revision() string {
	if t.Era == Legacy {
		return "2025-11-25"
	}
	return t.Era
}

// Handshake reports whether the target is to be spoken to in the handshake era.
func (t *Target) Handshake() bool { return t.Era != Modern && t.Era != Auto }

// Cmd makes the command of a stdio target.
func (t *Target) Cmd(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.Command[0], t.Command[1:]...)
	cmd.Env = append(cmd.Environ(), t.Env...)
	return cmd
}

// The eras.
const (
	Legacy = "legacy"
	Modern = "modern"
	Auto   = "auto"
)

// An Op is one thing for a client to do.
type Op struct {
	// Do is one of the kinds below.
	Do string `json:"do"`
	// Name is that of the tool or prompt, the URI of the resource, the level.
	Name string `json:"name,omitempty"`
	// Args are the arguments of a tool or prompt: a JSON object.
	Args json.RawMessage `json:"args,omitempty"`
	// Arg and Value are what is to be completed.
	Arg   string `json:"arg,omitempty"`
	Value string `json:"value,omitempty"`
	// Ref is "prompt" or "resource" when something is to be completed.
	Ref string `json:"ref,omitempty"`
	// Progress asks for progress; it arrives as events.
	Progress bool `json:"progress,omitempty"`
}

// Kinds of operations. Subscribe is to changes of the resource Name and of the list of tools.
const (
	Tools     = "tools"
	Call      = "call"
	Resources = "resources"
	Templates = "templates"
	Read      = "read"
	Prompts   = "prompts"
	Prompt    = "prompt"
	Complete  = "complete"
	Level     = "level"
	Subscribe = "subscribe"
)

// A Reply is what came of an Op.
type Reply struct {
	// Names are those listed, or the values proposed.
	Names []string `json:"names,omitempty"`
	// Text is that of the result's content.
	Text string `json:"text,omitempty"`
	// Structured is the structured content.
	Structured json.RawMessage `json:"structured,omitempty"`
	// IsError is that of a tool's result.
	IsError bool `json:"isError,omitempty"`
}

// An Event is something that reached a client beside its replies.
type Event struct {
	// Kind is tools, updated, progress, log, form or url.
	Kind string `json:"event"`
	Text string `json:"text,omitempty"`
}

// A Hello is what a client learnt when it connected.
type Hello struct {
	Revision string `json:"revision"`
	Server   string `json:"server"`
}

// A Client of any implementation.
type Client interface {
	// Do carries op out. Error responses are of type *Error. When ctx ends, the request is cancelled in the client's way.
	Do(ctx context.Context, op *Op) (*Reply, error)
	Close() error
}

// A Dialer connects a client of one implementation; sink gets the events, one at a time or not.
type Dialer func(ctx context.Context, t *Target, sink func(Event)) (Client, *Hello, error)

// An Error is an error response, as the client passed it on.
type Error struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// A Tape holds the messages of one check; a nil Tape holds nothing.
type Tape struct {
	mu    sync.Mutex
	lines []string
}

const (
	maxLines = 200
	maxLine  = 4000
)

// Add records a message with the arrow of its direction.
func (t *Tape) Add(arrow, text string) {
	if t == nil {
		return
	}
	text = strings.TrimSpace(text)
	if len(text) > maxLine {
		text = text[:maxLine] + " …"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) < maxLines {
		t.lines = append(t.lines, arrow+" "+text)
	}
}

// Rewind forgets what was recorded.
func (t *Tape) Rewind() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = nil
}

// Lines returns what was recorded.
func (t *Tape) Lines() []string {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...)
}
