// Package node runs peers that are JavaScript: servers over stdio and HTTP, and clients that are told what to do line by line.
package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	strict "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/interop/internal/play"
)

// Dir is the directory of this module.
func Dir() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("node: built without source positions")
	}
	return filepath.Join(filepath.Dir(file), "..", ".."), nil
}

// Missing says why Node peers cannot run here, empty if they can.
func Missing() string {
	dir, err := Dir()
	if err != nil {
		return err.Error()
	}
	if _, err := os.Stat(bin(dir)); err != nil {
		return "the packages of package.json (make interop installs them)"
	}
	return ""
}

func bin(dir string) string { return filepath.Join(dir, "node_modules", "node", "bin", "node") }

// Script is the command of one of our scripts in node/, or of a file below node_modules/.
func Script(name string, args ...string) ([]string, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	if !strings.Contains(name, "/") {
		name = "node/" + name
	} else {
		name = "node_modules/" + name
	}
	return append([]string{bin(dir), filepath.Join(dir, filepath.FromSlash(name))}, args...), nil
}

// killTime bounds the wait for a process that was asked to end.
const killTime = 5 * time.Second

// A process is a child with lines both ways.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  *bufio.Scanner
	stderr *tail
	kill   *time.Timer
}

func start(ctx context.Context, argv, env []string) (*process, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(cmd.Environ(), env...)
	cmd.WaitDelay = killTime
	p := &process{cmd: cmd, stderr: new(tail)}
	cmd.Stderr = p.stderr
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewScanner(stdout)
	p.lines.Buffer(nil, 16<<20)
	return p, cmd.Start()
}

// stop ends a child whose lines nobody reads any more.
func (p *process) stop() error { return errors.Join(p.hangUp(), p.wait()) }

// hangUp closes the child's input, upon which it ends, and by force if it does not heed that.
func (p *process) hangUp() error {
	p.kill = time.AfterFunc(killTime, func() { _ = p.cmd.Process.Kill() })
	return p.stdin.Close()
}

// wait waits for the child's end; what it said must have been read.
func (p *process) wait() error {
	err := p.cmd.Wait()
	if !p.kill.Stop() {
		err = errors.Join(errors.New("node: the process had to be killed"), err)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, p.stderr)
	}
	return nil
}

// tail keeps the end of what a child complains of.
type tail struct {
	mu sync.Mutex
	b  []byte
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if n := len(t.b) - 4096; n > 0 {
		t.b = t.b[n:]
	}
	return len(p), nil
}

// String returns it.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// Serve starts one of our HTTP servers and returns its port.
func Serve(ctx context.Context, script string) (port int, stop func() error, err error) {
	argv, err := Script(script, "http")
	if err != nil {
		return 0, nil, err
	}
	return serve(ctx, argv, nil)
}

// ServePublished starts a published HTTP server that takes its port from the environment, and returns the port.
func ServePublished(ctx context.Context, script string, args ...string) (port int, stop func() error, err error) {
	argv, err := Script(script, args...)
	if err != nil {
		return 0, nil, err
	}
	dir, err := Dir()
	if err != nil {
		return 0, nil, err
	}
	argv = append([]string{argv[0], "--require", filepath.Join(dir, "node", "loopback.cjs")}, argv[1:]...)
	return serve(ctx, argv, []string{"PORT=0"})
}

func serve(ctx context.Context, argv, env []string) (port int, stop func() error, err error) {
	p, err := start(ctx, argv, env)
	if err != nil {
		return 0, nil, err
	}
	var hello struct {
		Port int `json:"port"`
	}
	for hello.Port == 0 {
		if !p.lines.Scan() {
			return 0, nil, errors.Join(errors.New("node: the server ended before it told its port"), p.stop())
		}
		if l := p.lines.Text(); strings.HasPrefix(l, `{"port":`) {
			if err := strict.Unmarshal([]byte(l), &hello); err != nil {
				return 0, nil, errors.Join(err, p.stop())
			}
		}
	}
	// What it says further is read, so that it does not stall, until it has ended.
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for p.lines.Scan() {
			continue
		}
	}()
	return hello.Port, func() error {
		err := p.hangUp()
		<-drained
		return errors.Join(err, p.wait())
	}, nil
}

type client struct {
	p    *process
	mu   sync.Mutex // guards what follows and writing
	id   int64
	wait map[int64]chan *line
	end  chan struct{}
}

// line is one line of a driver.
type line struct {
	ID     int64       `json:"id"`
	Hello  *play.Hello `json:"hello"`
	Reply  *play.Reply `json:"reply"`
	Error  *play.Error `json:"error"`
	Failed string      `json:"failed"`
	Event  string      `json:"event"`
	Text   string      `json:"text"`
}

// Dialer is the [play.Dialer] of a driver script.
func Dialer(script string) play.Dialer {
	return func(ctx context.Context, t *play.Target, sink func(play.Event)) (play.Client, *play.Hello, error) {
		argv, err := Script(script)
		if err != nil {
			return nil, nil, err
		}
		p, err := start(context.WithoutCancel(ctx), argv, nil)
		if err != nil {
			return nil, nil, err
		}
		c := &client{p: p, wait: map[int64]chan *line{0: make(chan *line, 1)}, end: make(chan struct{})}
		go c.read(sink)
		env := map[string]string{}
		for _, e := range t.Env {
			k, v, _ := strings.Cut(e, "=")
			env[k] = v
		}
		if err := c.write(map[string]any{"connect": map[string]any{"url": t.URL, "sse": t.SSE, "command": t.Command, "env": env, "era": t.Era}}); err != nil {
			return nil, nil, errors.Join(err, c.Close())
		}
		l, err := c.await(ctx, 0)
		if err == nil && l.Hello == nil {
			err = errors.New(l.Failed)
		}
		if err != nil {
			return nil, nil, errors.Join(err, c.Close())
		}
		return c, l.Hello, nil
	}
}

// read is ended by the child's end, which Close brings about and waits for.
func (c *client) read(sink func(play.Event)) {
	defer close(c.end)
	for c.p.lines.Scan() {
		l := new(line)
		if err := strict.Unmarshal(c.p.lines.Bytes(), l); err != nil {
			sink(play.Event{Kind: "nonsense", Text: err.Error()})
			continue
		}
		if l.Event != "" {
			sink(play.Event{Kind: l.Event, Text: l.Text})
			continue
		}
		c.mu.Lock()
		ch := c.wait[l.ID]
		delete(c.wait, l.ID)
		c.mu.Unlock()
		if ch != nil {
			ch <- l
		}
	}
}

func (c *client) write(v any) error {
	b, err := strict.Marshal(v)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.p.stdin.Write(append(b, '\n'))
	return err
}

func (c *client) await(ctx context.Context, id int64) (*line, error) {
	c.mu.Lock()
	ch := c.wait[id]
	c.mu.Unlock()
	if ch == nil {
		return nil, errors.New("node: nothing awaited")
	}
	return c.take(ctx, ch)
}

func (c *client) take(ctx context.Context, ch chan *line) (*line, error) {
	select {
	case l := <-ch:
		return l, nil
	case <-c.end:
		select {
		case l := <-ch:
			return l, nil
		default:
		}
		return nil, fmt.Errorf("node: the client ended: %s", c.p.stderr)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// cancelTime is how long a client may take to give a call up.
const cancelTime = 5 * time.Second

// Do implements [play.Client].
func (c *client) Do(ctx context.Context, op *play.Op) (*play.Reply, error) {
	c.mu.Lock()
	c.id++
	id := c.id
	ch := make(chan *line, 1)
	c.wait[id] = ch
	c.mu.Unlock()
	if err := c.write(struct {
		ID int64 `json:"id"`
		*play.Op
	}{id, op}); err != nil {
		return nil, err
	}
	l, err := c.take(ctx, ch)
	if err != nil && ctx.Err() != nil {
		if e := c.write(map[string]any{"cancel": id}); e != nil {
			return nil, errors.Join(err, e)
		}
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
		defer cancel()
		l, err = c.take(late, ch)
	}
	switch {
	case err != nil:
		return nil, err
	case l.Error != nil:
		return nil, l.Error
	case l.Reply == nil:
		return nil, errors.New(l.Failed)
	}
	return l.Reply, nil
}

// Close implements [play.Client].
func (c *client) Close() error {
	err := c.p.hangUp()
	<-c.end // before wait, which closes the pipe that read reads
	return errors.Join(err, c.p.wait())
}
