package mcptest

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

var update = flag.Bool("mcptest.update", false, "write what servers answer into the transcripts, instead of comparing it")

// Transcripts plays every file that pattern matches as a test of its own; see [Transcript]. It fails when there is none.
func Transcripts(t *testing.T, pattern string, newServer func() *mcp.Server) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts match %s (%v)", pattern, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		t.Run(name, func(t *testing.T) {
			t.Helper()
			Transcript(t, file, newServer())
		})
	}
}

// Transcript plays the client's half of a conversation to the server, over a stream connection, and compares the server's half. In
// the file a line is one message:
//
//	# what this shows, and why it must be so
//	C> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}
//	S> {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
//
// Empty lines and those that begin with # are prose; a file without prose fails. After each line of the client the server is heard
// until it has answered every request or asks something itself. What differs from run to run has a name instead: ${state} is the
// latest requestState, ${elicitation} the latest elicitationId, or id of an interaction of
// the User Interaction draft; both can stand in what the client says.
//
// With the flag -mcptest.update the server's lines are written anew: read them before you commit them.
func Transcript(t testing.TB, file string, srv *mcp.Server) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := playTranscript(t, strings.Split(strings.TrimRight(string(text), "\n"), "\n"), srv)
	if !strings.Contains("\n"+got, "\n# ") {
		t.Errorf("%s does not say what it shows; begin it with a line of prose (# …)", file)
	}
	if got == string(text) {
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s: the server answers otherwise (-mcptest.update writes its answers into the file):\n%s", file, difference(string(text), got))
}

// conversation is a connection to a server on which lines are exchanged.
type conversation struct {
	t        testing.TB
	conn     net.Conn
	lines    *bufio.Reader
	open     map[string]bool // requests that are not answered, by id
	state    string
	elicited string
}

// transcriptPatience is how long a server may take for a line.
const transcriptPatience = 10 * time.Second

func playTranscript(t testing.TB, lines []string, srv *mcp.Server) string {
	t.Helper()
	near, far := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.ServeConn(ctx, far) // how the connection ends is no part of the conversation
	}()
	defer func() {
		cancel()
		_ = near.Close()
		<-served
	}()
	c := &conversation{t: t, conn: near, lines: bufio.NewReader(near), open: make(map[string]bool)}
	var out strings.Builder
	for _, line := range lines {
		if strings.HasPrefix(line, "S> ") {
			continue
		}
		out.WriteString(line + "\n")
		if said, ok := strings.CutPrefix(line, "C> "); ok {
			c.say(said)
			for _, heard := range c.hear() {
				out.WriteString("S> " + heard + "\n")
			}
		}
	}
	return out.String()
}

// metaText is the short form of what every request of 2026-07-28 carries.
var metaText = regexp.MustCompile(`\$\{meta(?: ([^}]*))?\}`)

// metaMembers are the members of _meta that ${meta names} stands for.
func metaMembers(names string) (string, error) {
	caps := &mcp.ClientCapabilities{}
	elicits := func() *mcp.ElicitationCapability {
		if caps.Elicitation == nil {
			caps.Elicitation = &mcp.ElicitationCapability{}
		}
		return caps.Elicitation
	}
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' }) {
		switch name {
		case "form":
			elicits().Form = &mcp.Supported{}
		case "url":
			elicits().URL = &mcp.Supported{}
		case "sampling", "sampling.tools":
			if caps.Sampling == nil {
				caps.Sampling = &mcp.SamplingCapability{}
			}
			if name == "sampling.tools" {
				caps.Sampling.Tools = &mcp.Supported{}
			}
		case "roots":
			caps.Roots = &mcp.RootsCapability{}
		default:
			return "", fmt.Errorf("${meta %s}: there is no %q; there are form, url, sampling, sampling.tools and roots", names, name)
		}
	}
	raw, err := jsonv2.Marshal(caps, jsonv2.Deterministic(true))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%q:%q,%q:%s", mcp.MetaProtocolVersion, mcp.Revision20260728, mcp.MetaClientCapabilities, raw), nil
}

// say sends a line of the client.
func (c *conversation) say(line string) {
	c.t.Helper()
	line = metaText.ReplaceAllStringFunc(line, func(short string) string {
		members, err := metaMembers(metaText.FindStringSubmatch(short)[1])
		if err != nil {
			c.t.Fatalf("%v", err)
		}
		return members
	})
	line = strings.NewReplacer("${state}", c.state, "${elicitation}", c.elicited).Replace(line)
	if m, err := jsonrpc.Decode([]byte(line)); err == nil && m.Kind() == jsonrpc.Request {
		c.open[m.ID.String()] = true
	} else if err != nil {
		c.open["malformed"] = true // it is answered too
	}
	if err := c.conn.SetDeadline(time.Now().Add(transcriptPatience)); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.conn.Write([]byte(line + "\n")); err != nil {
		c.t.Fatalf("sending %s: %v", line, err)
	}
}

// hear reads until everything is answered or the server asks something.
func (c *conversation) hear() []string {
	c.t.Helper()
	var heard []string
	for len(c.open) > 0 {
		line, err := c.lines.ReadString('\n')
		if err != nil {
			c.t.Fatalf("waiting for the server: %v; heard so far: %q", err, heard)
		}
		line = strings.TrimSuffix(line, "\n")
		heard = append(heard, c.named(line))
		m, err := jsonrpc.Decode([]byte(line))
		if err != nil {
			c.t.Fatalf("the server said %s: %v", line, err)
		}
		switch m.Kind() {
		case jsonrpc.Request:
			return heard
		case jsonrpc.Response:
			delete(c.open, "malformed")
			delete(c.open, m.ID.String())
		}
	}
	return heard
}

var (
	stateText    = regexp.MustCompile(`"requestState":"([A-Za-z0-9_-]+)"`)
	elicitedText = regexp.MustCompile(`"(elicitationId|id)":"([A-Za-z0-9_-]{16,})"`)
)

// named replaces what differs from run to run by its name.
func (c *conversation) named(line string) string {
	if m := stateText.FindStringSubmatch(line); m != nil {
		c.state = m[1]
	}
	if m := elicitedText.FindStringSubmatch(line); m != nil {
		c.elicited = m[2]
	}
	line = stateText.ReplaceAllString(line, `"requestState":"$${state}"`)
	return elicitedText.ReplaceAllString(line, `"$1":"$${elicitation}"`)
}

// difference shows the first lines that differ.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "(nothing)", "(nothing)"
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\n  file:   %s\n  server: %s", i+1, a, b)
		}
	}
	return "nothing"
}
