package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// helperEnv names what the test binary does instead of testing, when it is started as a server.
const helperEnv = "PARLEY_TEST_HELPER"

func init() {
	if mode := os.Getenv(helperEnv); mode != "" {
		helper(mode)
		os.Exit(0)
	}
}

// helper is a server process. Modes are words separated by commas.
func helper(mode string) {
	has := func(word string) bool { return strings.Contains(","+mode+",", ","+word+",") }
	if has("ignore-term") {
		signal.Ignore(syscall.SIGTERM)
	}
	if has("die") {
		fmt.Fprintln(os.Stderr, "unknown flag --foo")
		os.Exit(2)
	}
	if has("wrapper") {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), helperEnv+"=ignore-eof,ignore-term")
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		child.Wait()
		return
	}
	if has("noise") {
		fmt.Print("Server v1.2 ready\n\n\x1b[32mINFO\x1b[0m up\n\xff\xfe\n{\"jsonrpc\":\"2.0\"}\n[]\n")
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		m, err := jsonrpc.Decode(line)
		if err != nil || m.Kind() != jsonrpc.Request {
			continue
		}
		reply := jsonrpc.Message{ID: m.ID}
		switch m.Method {
		case "server/discover":
			if has("dies-on-probe") {
				fmt.Fprintln(os.Stderr, "expected initialize")
				os.Exit(1)
			}
			if has("verbose-probe") {
				os.Stderr.Write(bytes.Repeat([]byte("W"), 128<<10))
				reply.Error = &jsonrpc.Error{Code: -32602, Message: "no"}
				break
			}
			reply.Result = json.RawMessage(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`)
		case "initialize":
			reply.Result = json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"h","version":"1"}}`)
		case "tools/call":
			text, ok := helperTool(&m)
			if !ok {
				continue
			}
			reply.Result = json.RawMessage(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text))
		}
		os.Stdout.Write(append(jsonrpc.Append(nil, &reply), '\n'))
	}
	if has("ignore-eof") {
		time.Sleep(time.Hour) //parleylint:ignore sleep this process is to outlive its input
	}
}

func helperTool(m *jsonrpc.Message) (string, bool) {
	var p struct {
		Name      string
		Arguments struct {
			N    int
			Text string
		}
	}
	json.Unmarshal(m.Params, &p)
	switch p.Name {
	case "pid":
		return fmt.Sprint(os.Getpid()), true
	case "text":
		return strings.Repeat("x", p.Arguments.N), true
	case "length":
		return fmt.Sprint(len(p.Arguments.Text)), true
	case "stderr":
		os.Stderr.Write(bytes.Repeat([]byte("\r10%"), p.Arguments.N/4))
		return "written", true
	case "endless":
		os.Stdout.Write(bytes.Repeat([]byte("a"), p.Arguments.N))
		os.Stdout.Write([]byte("\n"))
		return "after", true
	case "exit":
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(p.Arguments.N)
	}
	return "", false
}

// helperCommand runs the test binary as a server.
func helperCommand(mode string, o *mcp.CommandOptions) mcp.Transport {
	if o == nil {
		o = &mcp.CommandOptions{}
	}
	o.Env = append(os.Environ(), helperEnv+"="+mode)
	return mcp.Command(os.Args[0], nil, o)
}

func startHelper(t *testing.T, mode string, o *mcp.CommandOptions, c *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	client, err := mcp.Connect(t.Context(), helperCommand(mode, o), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func helperCall(t *testing.T, c *mcp.Client, name string, n int) string {
	t.Helper()
	s, err := mcp.CallTool[string](t.Context(), c, name, map[string]int{"N": n})
	if err != nil {
		t.Errorf("%s: %.300v", name, err)
	}
	return s
}

func TestCaseS01LongLines(t *testing.T) {
	c := startHelper(t, "x", nil, nil)
	for _, n := range []int{64<<10 - 1, 64 << 10, 1 << 20, 8 << 20} {
		if s := helperCall(t, c, "text", n); len(s) != n {
			t.Errorf("%d bytes came as %d", n, len(s))
		}
		s, err := mcp.CallTool[string](t.Context(), c, "length", map[string]string{"Text": strings.Repeat("y", n)})
		if err != nil || s != fmt.Sprint(n) {
			t.Errorf("%d bytes went as %s, %v", n, s, err)
		}
	}
}

func TestCaseS02EndlessLine(t *testing.T) {
	c := startHelper(t, "x", &mcp.CommandOptions{MaxLine: 1 << 20}, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if s := helperCall(t, c, "endless", 64<<20); s != "after" {
		t.Errorf("%q", s)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("64 MiB of noise cost %d bytes", grown)
	}
	_, err := mcp.CallTool[string](t.Context(), c, "text", map[string]int{"N": 2 << 20})
	if err == nil || !strings.Contains(err.Error(), "1048576") {
		t.Errorf("a result beyond the cap: %v; want the cap named", err)
	}
	if s := helperCall(t, c, "text", 1000); len(s) != 1000 {
		t.Error("the next call fails")
	}
}

func TestCaseS03NoiseOnOutput(t *testing.T) {
	book := &clientLog{}
	c := startHelper(t, "noise", &mcp.CommandOptions{Logger: book.logger()}, nil)
	if s := helperCall(t, c, "text", 3); s != "xxx" {
		t.Errorf("%q", s)
	}
	if n := strings.Count(book.String(), "no messages"); n != 1 {
		t.Errorf("logged %d times: %s", n, book)
	}
}

func TestCaseS05S06S07StandardErrorIsDrained(t *testing.T) {
	c := startHelper(t, "x", nil, nil)
	if s := helperCall(t, c, "stderr", 256<<10); s != "written" {
		t.Errorf("%q", s)
	}
	if s := helperCall(t, c, "stderr", 16<<20); s != "written" {
		t.Errorf("%q", s)
	}
	var buf bytes.Buffer
	d, err := mcp.Connect(t.Context(), helperCommand("x", &mcp.CommandOptions{Stderr: &buf}), nil)
	if err != nil {
		t.Fatal(err)
	}
	helperCall(t, d, "stderr", 1<<20)
	if err := d.Close(); err != nil { // also waits for the rest of standard error
		t.Error(err)
	}
	if buf.Len() != 1<<20 {
		t.Errorf("passed on %d bytes", buf.Len())
	}
	e := startHelper(t, "x", &mcp.CommandOptions{Stderr: failingWriter{}}, nil)
	if s := helperCall(t, e, "stderr", 1<<20); s != "written" {
		t.Errorf("with a writer that fails: %q", s)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestCaseS08EarlyDeath(t *testing.T) {
	start := time.Now()
	_, err := mcp.Connect(t.Context(), helperCommand("die", nil), nil)
	var exit *mcp.ServerExitError
	if !errors.As(err, &exit) || !strings.Contains(err.Error(), "exit status 2") || !strings.Contains(err.Error(), "unknown flag --foo") || exit.State.ExitCode() != 2 {
		t.Errorf("%v", err)
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("noticed after %v", d)
	}
	if _, err := mcp.Connect(t.Context(), mcp.Command("no-such-command-here", nil, nil), nil); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "no-such-command-here") {
		t.Errorf("missing command: %v", err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := mcp.Connect(t.Context(), mcp.Command(plain, nil, nil), nil); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a file that is not executable: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mcp.Connect(ctx, helperCommand("x", nil), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A server that dies later fails the calls under way with its last words; the next call starts it again.
func TestServerDiesDuringACall(t *testing.T) {
	c := startHelper(t, "x", nil, nil)
	before := helperCall(t, c, "pid", 0)
	_, err := mcp.CallTool[string](t.Context(), c, "exit", map[string]int{"N": 7})
	if !errors.Is(err, mcp.ErrClosed) || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "out of cheese") {
		t.Errorf("%v", err)
	}
	if after := helperCall(t, c, "pid", 0); after == before || after == "" {
		t.Errorf("process %s, then %s", before, after)
	}
}

func TestCaseS09CloseOfAStubbornServer(t *testing.T) {
	c, err := mcp.Connect(t.Context(), helperCommand("ignore-eof,ignore-term", &mcp.CommandOptions{ExitWait: 100 * time.Millisecond, TermWait: 200 * time.Millisecond}), nil)
	if err != nil {
		t.Fatal(err)
	}
	pid := helperCall(t, c, "pid", 0)
	start := time.Now()
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("Close took %v", d)
	}
	mustBeGone(t, pid)
}

// A wrapper's real server ends with it.
func TestCaseS10NoOrphans(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("looks for survivors with signal 0")
	}
	c, err := mcp.Connect(t.Context(), helperCommand("wrapper", &mcp.CommandOptions{ExitWait: 100 * time.Millisecond, TermWait: 200 * time.Millisecond}), nil)
	if err != nil {
		t.Fatal(err)
	}
	pid := helperCall(t, c, "pid", 0) // of the wrapped server
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	mustBeGone(t, pid)
}

// mustBeGone waits a little for the end of a process, which is another process's child and so may take a moment to be reaped.
func mustBeGone(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil || runtime.GOOS == "windows" {
		return
	}
	for range 100 {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n)); err == nil && strings.Contains(string(stat), ") Z ") {
			return // a zombie: dead, and only not yet waited for
		}
		if p, err := os.FindProcess(n); err != nil || p.Signal(syscall.Signal(0)) != nil {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Errorf("process %d lives on", n)
}

func TestCaseV08ProcessDiesOnProbe(t *testing.T) {
	needLegacy(t)
	tr := helperCommand("dies-on-probe", nil)
	for range 2 {
		c, err := mcp.Connect(t.Context(), tr, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.Server().Revision != mcp.Revision20250618 {
			t.Errorf("revision %v", c.Server().Revision)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if s := fmt.Sprint(tr); s != os.Args[0] {
		t.Errorf("the transport calls itself %q", s)
	}
}

func TestCaseV10VerboseProbe(t *testing.T) {
	needLegacy(t)
	start := time.Now()
	c := startHelper(t, "verbose-probe", nil, nil)
	if c.Server().Revision != mcp.Revision20250618 || time.Since(start) > 3*time.Second {
		t.Errorf("revision %v after %v", c.Server().Revision, time.Since(start))
	}
}

func needLegacy(t *testing.T) {
	t.Helper()
	_, err := mcp.Connect(t.Context(), mcp.Pipe(func(context.Context, io.ReadWriteCloser) error { return nil }), &mcp.ClientOptions{Revisions: []mcp.Revision{mcp.Revision20250618}})
	if err != nil && strings.Contains(err.Error(), "names no revision") {
		t.Skip("this build has no handshake")
	}
}
