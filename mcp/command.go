package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Defaults of [CommandOptions].
const (
	defaultExitWait    = 2 * time.Second
	defaultTermWait    = 2 * time.Second
	defaultStderrKept  = 8 << 10
	earlyDeathPatience = time.Second
)

// CommandOptions adjust how a server process is run. Nil and zero fields mean the defaults.
type CommandOptions struct {
	// Dir is the working directory. Default: that of this process.
	Dir string
	// Env is the complete environment. Default: that of this process.
	Env []string
	// Stderr receives what the server writes on its standard error, one write at a time; it is always drained, whether or not Stderr is
	// set, and its last 8 KiB are part of the error when the server dies. A writer that blocks holds the server up. Default: nothing
	// is passed on, and this process's own standard error is left alone.
	Stderr io.Writer
	// ExitWait is how long Close waits for the server to exit by itself once its input is closed, before it sends SIGTERM. Default 2 s.
	ExitWait time.Duration
	// TermWait is how long it then waits before it kills the server's whole process group. Default 2 s.
	TermWait time.Duration
	// MaxLine bounds one message of the server in bytes. Default 16 MiB.
	MaxLine int
	// Logger is told of lines on the server's output that are no messages, once for each process. Default: nobody.
	Logger *slog.Logger
}

// Command returns a [Transport] that runs name with args as a server process and speaks to it over its standard input and output.
// Every link is a process of its own, in a process group of its own (POSIX) or a job (Windows), so that closing the link leaves none
// of its children behind: input is closed, and after ExitWait and TermWait the group is terminated and then killed.
//
// A command that cannot be started, or that exits before it has answered, is an error with its exit status and the end of what it
// wrote on standard error. See [basic/transports/stdio].
//
// [basic/transports/stdio]: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
func Command(name string, args []string, o *CommandOptions) Transport {
	t := &commandTransport{name: name, args: args}
	if o != nil {
		t.opts = *o
	}
	setDefault(&t.opts.ExitWait, defaultExitWait)
	setDefault(&t.opts.TermWait, defaultTermWait)
	return t
}

type commandTransport struct {
	EraMemo
	name string
	args []string
	opts CommandOptions
}

// String returns the command line.
func (t *commandTransport) String() string {
	return strings.Join(append([]string{t.name}, t.args...), " ")
}

// Open implements [Transport]: it starts a process.
func (t *commandTransport) Open(ctx context.Context, r Receiver) (Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	cmd := exec.Command(t.name, t.args...) //nolint:noctx // ended by Close, step by step; running the command that the caller names is what this is for
	cmd.Dir, cmd.Env = t.opts.Dir, t.opts.Env
	p := &process{cmd: cmd, opts: &t.opts, tail: &tailWriter{also: t.opts.Stderr}, exited: make(chan struct{})}
	if err := p.start(); err != nil {
		return nil, fmt.Errorf("mcp: starting %s: %w", t.name, err)
	}
	l := &commandLink{process: p}
	l.streamLink = openStream(p.stdout, p.stdin, r, &StreamOptions{MaxLine: t.opts.MaxLine, Logger: t.opts.Logger}, p.explain)
	return l, nil
}

// A commandLink is a [streamLink] that owns the process at its other end.
type commandLink struct {
	*streamLink
	process *process
	once    sync.Once
	err     error
}

// Close implements [Link].
func (l *commandLink) Close() error {
	l.once.Do(func() {
		err := l.streamLink.Close() // closes the server's input, and its output
		l.err = errors.Join(err, l.process.stop())
	})
	return l.err
}

// A process is one running server.
type process struct {
	cmd    *exec.Cmd
	opts   *CommandOptions
	group  processGroup
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	tail   *tailWriter

	exited  chan struct{} // closed when the process was waited for
	exitErr error
	drained chan struct{} // closed when its standard error has ended
}

// start runs the command with pipes of its own: those of package exec would be closed as soon as the process exits, and what it still
// had written would be lost.
func (p *process) start() (err error) {
	var ours, theirs []*os.File
	defer func() {
		closeAll(theirs)
		if err != nil {
			closeAll(ours)
		}
	}()
	pipe := func(toChild bool) (*os.File, *os.File) {
		r, w, perr := os.Pipe()
		if perr != nil {
			err = errors.Join(err, perr)
			return nil, nil
		}
		if toChild {
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
		return r, w
	}
	var in, out, errw *os.File
	p.stdin, in = pipe(true)
	p.stdout, out = pipe(false)
	p.stderr, errw = pipe(false)
	if err != nil {
		return err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, out, errw
	p.group.prepare(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return err
	}
	if err := p.group.started(p.cmd); err != nil {
		return errors.Join(err, p.cmd.Process.Kill(), p.cmd.Wait())
	}
	p.drained = make(chan struct{})
	go p.drain()
	go p.wait()
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close() // ends of pipes that nobody uses
	}
}

// drain reads the server's standard error until it ends or stop closes it.
func (p *process) drain() {
	defer close(p.drained)
	if _, err := io.Copy(p.tail, p.stderr); err != nil && !errors.Is(err, os.ErrClosed) {
		p.tail.note(err)
	}
}

func (p *process) wait() {
	p.exitErr = p.cmd.Wait()
	close(p.exited)
}

// explain says why the server's output ended: waits a moment for its exit status and its last words.
func (p *process) explain(err error) error {
	timer := time.NewTimer(earlyDeathPatience)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		return p.withTail(fmt.Errorf("the server closed its output but is still running: %w", err))
	}
	select {
	case <-p.drained: // not if a child of the server still holds its standard error
	case <-timer.C:
	}
	return p.withTail(fmt.Errorf("the server exited: %s", p.cmd.ProcessState))
}

// withTail adds the end of the server's standard error.
func (p *process) withTail(err error) error {
	return &ServerExitError{State: p.exitState(), Stderr: p.tail.String(), Err: err}
}

func (p *process) exitState() *os.ProcessState {
	select {
	case <-p.exited:
		return p.cmd.ProcessState
	default:
		return nil
	}
}

// A ServerExitError tells that a server process ended, or stopped talking, by itself.
type ServerExitError struct {
	State  *os.ProcessState // nil if the process is still running
	Stderr string           // the last 8 KiB of its standard error; text of the server, to be shown with care
	Err    error
}

// Error says what happened and repeats the last lines of standard error.
func (e *ServerExitError) Error() string {
	tail := strings.TrimSpace(e.Stderr)
	if tail == "" {
		return e.Err.Error() + "; it wrote nothing on standard error"
	}
	lines := strings.Split(tail, "\n")
	if len(lines) > 5 {
		lines = lines[len(lines)-5:]
	}
	return e.Err.Error() + "; last on standard error: " + strings.Join(lines, "\n")
}

// Unwrap returns the cause.
func (e *ServerExitError) Unwrap() error { return e.Err }

// stop ends the process and everything in its group. Its input is closed already.
func (p *process) stop() error {
	defer p.stderr.Close() // the reading end of a pipe
	p.stdin.Close()        // closed by the link before; this is for links that failed to
	var err error
	if !p.await(p.opts.ExitWait) {
		err = p.group.terminate(p.cmd)
		p.await(p.opts.TermWait)
	}
	// Also after an exit in good order: children that the server left behind are in its group.
	err = errors.Join(err, p.group.kill(p.cmd))
	if !p.await(p.opts.TermWait) {
		return errors.Join(err, fmt.Errorf("mcp: the server process %d did not end even when killed", p.cmd.Process.Pid))
	}
	p.drainRest()
	return err
}

// drainRest waits until the last words of the server are read. They end with its group, unless a process outside of it holds the other
// end: that one is not waited for long.
func (p *process) drainRest() {
	timer := time.NewTimer(earlyDeathPatience)
	defer timer.Stop()
	select {
	case <-p.drained:
	case <-timer.C:
	}
	p.stderr.Close()
	<-p.drained
}

// await waits for the exit of the process.
func (p *process) await(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// A tailWriter keeps the end of what is written to it.
type tailWriter struct {
	also io.Writer

	mu  sync.Mutex
	buf []byte
}

// Write implements [io.Writer]. It never fails: what is written must go on being read.
func (t *tailWriter) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.buf = append(t.buf, p[max(0, len(p)-defaultStderrKept):]...)
	if extra := len(t.buf) - defaultStderrKept; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	t.mu.Unlock()
	if t.also != nil {
		if _, err := t.also.Write(p); err != nil {
			t.note(fmt.Errorf("CommandOptions.Stderr: %w", err))
			t.also = nil
		}
	}
	return len(p), nil
}

// note adds a remark of this side.
func (t *tailWriter) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, "\n[standard error was not read further: "+err.Error()+"]"...)
}

// String returns what was kept, as valid UTF-8.
func (t *tailWriter) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return validText(string(t.buf))
}
