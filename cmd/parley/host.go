package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"golang.org/x/term"

	"github.com/seed38e7925c/parley/interactor/headless"
	"github.com/seed38e7925c/parley/interactor/scripted"
	"github.com/seed38e7925c/parley/interactor/terminal"
	"github.com/seed38e7925c/parley/interactor/web"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
)

// hostFlags are the flags of every command that speaks to a server.
type hostFlags struct {
	JSON     bool          `name:"json" help:"Print the server's own results as JSON, exactly as they came."`
	Answers  string        `help:"Answer the server's questions from this file (see docs/command.md)." placeholder:"FILE" type:"existingfile"`
	Interact string        `enum:"auto,terminal,web,none" default:"auto" help:"Who answers the server's questions: the person at the terminal, a page in the browser, or nobody. auto: the terminal where there is one."`
	Root     []string      `help:"A directory to tell the server about. May be repeated." placeholder:"DIR" type:"existingdir"`
	Revision string        `help:"Speak only this revision of the protocol: a date such as 2025-11-25, legacy or modern." placeholder:"REV"`
	Timeout  time.Duration `help:"How long the server may take to answer, not counting the time that a person takes." default:"60s"`
	Header   []string      `short:"H" sep:"none" help:"A header for http servers, as \"Name: value\", or @FILE with one a line. May be repeated." placeholder:"HEADER"`
	Env      []string      `sep:"none" help:"An environment variable for stdio servers. May be repeated." placeholder:"NAME=VALUE"`
	LogLevel string        `enum:"none,debug,info,notice,warning,error,critical,alert,emergency" default:"info" help:"Least severe log messages of the server to show."`
	authFlags
	Verbose bool `short:"v" help:"Show every message and what a stdio server writes on its standard error; values that look like secrets are left out."`
}

// A session is a connection to a server while a command runs.
type session struct {
	*mcp.Client
	flags  *hostFlags
	ui     *ui
	script *scripted.Script
	stderr *serverLog
	asks   bool               // questions can be answered
	auth   *mcpauth.Transport // nil: no http server, or the person brings a token
	keys   *keyboard          // nil: there is none
	dialog sync.Mutex         // held while the person is asked something

	mu       sync.Mutex
	declined bool                         // the person declined or cancelled a question
	nobody   bool                         // a question could not be put to anybody
	raw      map[string][]json.RawMessage // results as they came, by method
}

// connect opens the connection that a command needs. asks says whether the server may have questions in the course of it.
func (f *hostFlags) connect(ctx context.Context, s *streams, target string, asks bool) (*session, error) {
	ses := &session{flags: f, ui: newUI(s.err), raw: map[string][]json.RawMessage{}}
	ses.stderr = &serverLog{ui: ses.ui, show: f.Verbose}
	in, err := f.interactor(ses, s)
	if err != nil {
		return nil, err
	}
	transport, err := f.transport(ses, target, ses.person(in, s))
	if err != nil {
		return nil, err
	}
	wire := newWireLog(ses.ui)
	transport = &tap{Transport: transport, see: func(d direction, m *jsonrpc.Message, err error) {
		if f.Verbose {
			wire.see(d, m, err)
		}
		ses.logged(d, m)
	}}
	o := &mcp.ClientOptions{Info: hostInfo(), RequestTimeout: f.Timeout, ConnectTimeout: f.Timeout,
		Middleware: []mcp.ClientMiddleware{ses.keep}, ResetOnProgress: true}
	if o.Revisions, err = f.revisions(); err != nil {
		return nil, err
	}
	if asks && f.LogLevel != "none" {
		o.LogLevel = mcp.LoggingLevel(f.LogLevel)
	}
	if !asks {
		in = f.listener()
	}
	if in.Wait == nil {
		o.CompletionWait = f.Timeout // nobody to say that they are done: the server has as long as for an answer
	}
	o.Interactor, ses.asks = ses.watch(in), in.Form != nil
	if ses.Client, err = mcp.Connect(ctx, transport, o); err != nil {
		ses.stderr.flush(err)
		ses.closeAuth()
		if ses.unanswered() { // of the login
			return nil, &silentError{exitUnavailable}
		}
		var timeout *mcp.TimeoutError
		if errors.As(err, &timeout) || errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, connectError{fmt.Errorf("connecting to %s: %w", place(transport), err)}
	}
	return ses, nil
}

// person is who can be asked to log in: whoever answers questions, unless that is nobody.
func (ses *session) person(in *mcp.Interactor, s *streams) *person {
	f := ses.flags
	if ses.script == nil && ses.keys == nil && f.Interact != "terminal" && f.Interact != "web" {
		in = nil
	}
	return &person{in: in, keys: ses.keys, w: s.err, ui: ses.ui, dialog: &ses.dialog, verbose: f.Verbose}
}

// logged shows a log message of the server at once, before whatever it sends next.
func (ses *session) logged(d direction, m *jsonrpc.Message) {
	if d != toHost || m == nil || m.Method != mcp.NotificationMessage {
		return
	}
	var l mcp.LogMessage
	if jsonv2.Unmarshal(m.Params, &l) == nil && l.Level.Severity() >= mcp.LoggingLevel(ses.flags.LogLevel).Severity() && ses.flags.LogLevel != "none" {
		ses.ui.log(&l)
	}
}

// place says where a transport leads.
func place(t mcp.Transport) string {
	if s, ok := t.(fmt.Stringer); ok {
		return s.String()
	}
	return "the server"
}

// finish ends the connection and turns what became of the command into its error.
func (ses *session) finish(err error) error {
	ses.ui.done()
	closed := ses.Close()
	ses.closeAuth()
	if err == nil {
		err = closed
	}
	if ses.script != nil {
		for _, unused := range ses.script.Unused() {
			ses.ui.line("parley: warning: " + unused.Error())
		}
		if ses.unanswered() {
			err = &silentError{exitUnavailable}
		}
	}
	ses.stderr.flush(err)
	return err
}

// unanswered tells of the questions that the file of answers has no answer to.
func (ses *session) unanswered() bool {
	if ses.script == nil {
		return false
	}
	missing := ses.script.Missing()
	for _, m := range missing {
		ses.ui.line("parley: " + m.Error())
	}
	return len(missing) > 0
}

// closeAuth waits for a renewal of the token that is under way: its answer must not be lost.
func (ses *session) closeAuth() {
	if ses.auth != nil {
		_ = ses.auth.Close() // never fails
	}
}

// outcome is the exit code of a tool that reported an error: a person who said no, or nobody to be asked, are told apart from it.
func (ses *session) outcome() int {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	switch {
	case ses.nobody:
		return exitUnavailable
	case ses.declined:
		return exitDeclined
	}
	return exitTool
}

// keep keeps results as they came.
func (ses *session) keep(next mcp.SendFunc) mcp.SendFunc {
	return func(ctx context.Context, r *mcp.ClientRequest) (json.RawMessage, error) {
		raw, err := next(ctx, r)
		if err == nil {
			ses.mu.Lock()
			ses.raw[r.Method] = append(ses.raw[r.Method], slices.Clone(raw))
			ses.mu.Unlock()
		}
		return raw, err
	}
}

// results returns the results of a method as they came.
func (ses *session) results(method string) []json.RawMessage {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.raw[method]
}

func (f *hostFlags) revisions() ([]mcp.Revision, error) {
	all := mcp.Revisions()
	switch f.Revision {
	case "":
		return nil, nil
	case "legacy":
		return all[:len(all)-1], nil
	case "modern":
		return all[len(all)-1:], nil
	}
	r, ok := mcp.ParseRevision(f.Revision)
	if !ok {
		var names []string
		for _, r := range spoken() {
			names = append(names, r.String())
		}
		return nil, usagef("--revision %q: want one of %s, legacy or modern", f.Revision, strings.Join(names, ", "))
	}
	return []mcp.Revision{r}, nil
}

// interactor chooses who answers the server's questions.
func (f *hostFlags) interactor(ses *session, s *streams) (*mcp.Interactor, error) {
	roots := f.roots()
	if f.Answers != "" {
		if f.Interact != "auto" {
			return nil, usagef("--answers and --interact exclude each other")
		}
		script, err := scripted.Load(f.Answers)
		if err != nil {
			return nil, usageError{err}
		}
		ses.script = script
		return script.Interactor(&scripted.Options{Roots: roots, Visit: func(_ context.Context, _ *mcp.OpenQuestion, page string) error {
			ses.ui.line("parley: the server asks to open " + page)
			return nil
		}}), nil
	}
	if ses.keys = keyboardOf(s, f.Interact); ses.keys != nil {
		return terminal.New(ses.keys, s.err, &terminal.Options{Roots: roots}), nil
	}
	switch f.Interact {
	case "terminal":
		return terminal.New(s.in, s.err, &terminal.Options{Roots: roots}), nil
	case "web":
		return web.New(&web.Options{Roots: roots, Tell: tellPage(s.err)}), nil
	}
	return headless.New(&headless.Options{Roots: roots}), nil
}

// tellPage says where a question is asked.
func tellPage(w io.Writer) func(page string) {
	return func(page string) {
		fmt.Fprintf(w, "The server has a question for you, at this address:\n\n%s\n\n", page)
	}
}

// listener is the interactor of a command that causes no questions: it declares that they can be asked, and answers none.
func (f *hostFlags) listener() *mcp.Interactor {
	o := &headless.Options{Roots: f.roots()}
	if f.Interact != "none" {
		o.Decide = func(context.Context, *headless.Question) headless.Policy { return headless.Unavailable }
	}
	return headless.New(o)
}

// roots are the directories of --root as the protocol wants them.
func (f *hostFlags) roots() []mcp.Root {
	var roots []mcp.Root
	for _, dir := range f.Root {
		path := filepath.ToSlash(dir)
		if !strings.HasPrefix(path, "/") { // C:/dir
			path = "/" + path
		}
		roots = append(roots, mcp.Root{URI: (&url.URL{Scheme: "file", Path: path}).String(), Name: filepath.Base(dir)})
	}
	return roots
}

// keyboardOf returns where a person at the terminal types, nil if there is nobody or they are asked elsewhere: standard input, or the terminal
// itself when standard input comes from elsewhere.
func keyboardOf(s *streams, interact string) *keyboard {
	in, _ := s.in.(*os.File)
	switch {
	case interact == "terminal" && isTerminal(s.in), interact == "auto" && isTerminal(s.err) && isTerminal(s.in):
		return newKeyboard(in)
	case interact != "auto" || !isTerminal(s.err):
		return nil
	}
	name := "/dev/tty"
	if runtime.GOOS == "windows" {
		name = "CONIN$"
	}
	tty, err := os.Open(name)
	if err != nil {
		return nil
	}
	return newKeyboard(tty) // open until the program ends
}

func isTerminal(v any) bool {
	f, ok := v.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// watch makes room on the screen for questions, and remembers how they ended.
func (ses *session) watch(in *mcp.Interactor) *mcp.Interactor {
	out := &mcp.Interactor{Sample: in.Sample, SampleTools: in.SampleTools, Roots: in.Roots}
	note := func(res *mcp.ElicitResult, err error) {
		ses.mu.Lock()
		defer ses.mu.Unlock()
		ses.nobody = ses.nobody || errors.Is(err, mcp.ErrUnavailable)
		ses.declined = ses.declined || err == nil && res.Action != mcp.ActionAccept
	}
	if in.Form != nil {
		out.Form = func(ctx context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			ses.dialog.Lock()
			defer ses.dialog.Unlock()
			defer ses.ui.pause()()
			res, err := in.Form(ctx, q)
			note(res, err)
			return res, err
		}
	}
	if in.Open != nil {
		out.Open = func(ctx context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			ses.dialog.Lock()
			defer ses.dialog.Unlock()
			defer ses.ui.pause()()
			res, err := in.Open(ctx, q)
			note(res, err)
			return res, err
		}
	}
	if in.Completed != nil {
		out.Completed = func(ctx context.Context, q *mcp.OpenQuestion) {
			defer ses.ui.pause()()
			in.Completed(ctx, q)
		}
	}
	if in.Wait != nil {
		out.Wait = func(ctx context.Context, q *mcp.OpenQuestion) error {
			defer ses.ui.pause()()
			return in.Wait(ctx, q)
		}
	}
	return out
}
