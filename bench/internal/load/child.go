package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/bench/internal/peer"
)

// Commands that a server in a process of its own takes on its standard input.
const (
	cmdWeigh  = "weigh"  // collect garbage and say what is in use
	cmdChange = "change" // change the list of tools
)

// weight is what a server has in use.
type weight struct{ Heap, Resident, Goroutines int }

// room is enough for every workload.
const room = 200_000

// serveHTTP is the server's side of a child process: it prints its address, and obeys.
func serveHTTP(p peer.Peer, mode peer.Mode) error {
	s, err := p.Serve(peer.Setup{Mode: mode, Room: room})
	if err != nil {
		return err
	}
	_, host, err := listen(s.Handler)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(host); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var answer any
		switch in.Text() {
		case cmdWeigh:
			answer = weigh()
		case cmdChange:
			s.Change()
			answer = "changed"
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return in.Err()
}

func weigh() weight {
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w := weight{Heap: int(m.HeapAlloc), Goroutines: runtime.NumGoroutine()}
	if raw, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(raw)); len(f) > 1 {
			pages, _ := strconv.Atoi(f[1]) // the kernel writes numbers
			w.Resident = pages * os.Getpagesize()
		}
	}
	return w
}

// child is a process with a server.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer
	host string
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

func start(path string, args ...string) (*child, error) {
	c := &child{cmd: exec.Command(path, args...)}
	c.cmd.Stderr = &c.errs
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReaderSize(out, 64<<10)
	return c, c.cmd.Start()
}

func startHTTP(mode peer.Mode) (*child, error) {
	c, err := start(self(), "-serve", "http", "-mode", string(mode))
	if err != nil {
		return nil, err
	}
	if err := c.read(&c.host); err != nil {
		return nil, fmt.Errorf("the server: %w %s", err, c.stop())
	}
	return c, nil
}

func (c *child) read(v any) error {
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// tell sends a command and reads the answer.
func (c *child) tell(command string, answer any) error {
	if _, err := io.WriteString(c.in, command+"\n"); err != nil {
		return err
	}
	return c.read(answer)
}

func (c *child) weigh() (w weight, err error) {
	for range 50 { // what is ending ends
		last := w.Goroutines
		if err := c.tell(cmdWeigh, &w); err != nil || w.Goroutines == last {
			return w, err
		}
	}
	return w, nil
}

// stop ends the process and returns what it complained of.
func (c *child) stop() string {
	kill := time.AfterFunc(5*time.Second, func() { _ = c.cmd.Process.Kill() }) // it may have ended
	defer kill.Stop()
	_ = c.in.Close()                  // that is how it learns
	_, _ = io.Copy(io.Discard, c.out) // until it ends
	if err := c.cmd.Wait(); err != nil {
		return fmt.Sprintf("%v: %s", err, c.errs.String())
	}
	return strings.TrimSpace(c.errs.String())
}

// cpu is the time that the process has had, which the kernel keeps in nanoseconds for each thread.
func (c *child) cpu() time.Duration {
	var sum time.Duration
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", c.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for _, t := range tasks {
		raw, err := os.ReadFile(t)
		if err != nil {
			continue // a thread that has ended
		}
		first, _, _ := strings.Cut(string(raw), " ")
		n, _ := strconv.ParseInt(first, 10, 64) // the kernel writes numbers
		sum += time.Duration(n)
	}
	return sum
}

// floorProgram is the program of the floor, which stands beside those of the peers.
func floorProgram() (string, error) {
	path := filepath.Join(filepath.Dir(self()), "floor")
	_, err := os.Stat(path)
	return path, err
}
