package matrix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed38e7925c/parley/interop/internal/fixture"
	"github.com/seed38e7925c/parley/interop/internal/node"
	"github.com/seed38e7925c/parley/interop/internal/parley"
	"github.com/seed38e7925c/parley/interop/internal/play"
)

const published = " 2026.8.31"

// PublishedPairs are our client with servers that people run. All of them speak the handshake era alone.
func PublishedPairs() []*Pair {
	const scope = "@modelcontextprotocol/"
	everything := scope + "server-everything/dist/index.js"
	out := []*Pair{
		{Server: "server-everything" + published, Transport: "stdio", Open: openScript(everything), Checks: everythingChecks},
		{Server: "server-everything" + published, Transport: "http", Open: openPublished(everything, "streamableHttp"), Checks: everythingChecks},
		{Server: "server-everything" + published, Transport: "sse", Open: openPublished(everything, "sse"), Checks: everythingChecks},
		{Server: "server-filesystem" + published, Transport: "stdio", Open: openDir(scope + "server-filesystem/dist/index.js"), Checks: filesystemChecks},
		{Server: "server-memory" + published, Transport: "stdio", Open: openDir(scope + "server-memory/dist/index.js"), Checks: memoryChecks},
		{Server: "server-sequential-thinking" + published, Transport: "stdio",
			Open: openScript(scope + "server-sequential-thinking/dist/index.js"), Checks: thinkingChecks},
	}
	for _, p := range out {
		p.Client, p.Era, p.Dial, p.Needs = Ours, play.Legacy, parley.Dial, node.Missing()
	}
	return out
}

func openPublished(script, mode string) opener {
	return func(ctx context.Context, era string, tape *play.Tape) (*play.Target, func() error, error) {
		port, stop, err := node.ServePublished(ctx, script, mode)
		path := "/mcp"
		if mode == "sse" {
			path = "/sse"
		}
		return &play.Target{URL: fmt.Sprintf("http://127.0.0.1:%d%s", port, path), Era: era, Tape: tape}, stop, err
	}
}

// openDir gives the server a directory of its own.
func openDir(script string) opener {
	return func(_ context.Context, era string, tape *play.Tape) (*play.Target, func() error, error) {
		dir, err := os.MkdirTemp("", "interop-")
		if err != nil {
			return nil, nil, err
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return nil, nil, err
		}
		argv, err := node.Script(script, dir)
		t := &play.Target{Command: argv, Env: []string{"MEMORY_FILE_PATH=" + filepath.Join(dir, "memory.jsonl")}, Era: era, Tape: tape, Root: dir}
		return t, func() error { return os.RemoveAll(dir) }, err
	}
}

var everythingChecks = []Check{
	{Connect, checkConnect},
	{Tools, everythingTools},
	{Resources, func(ctx context.Context, s *Session) error {
		const doc = "demo://resource/static/document/features.md"
		return errors.Join(
			s.lists(ctx, play.Resources, doc),
			s.lists(ctx, play.Templates, "demo://resource/dynamic/text/{resourceId}"),
			s.reads(ctx, doc, "#"),
			s.reads(ctx, "demo://resource/dynamic/text/7", "7"),
		)
	}},
	{Prompts, func(ctx context.Context, s *Session) error {
		r, err := s.Client.Do(ctx, &play.Op{Do: play.Prompt, Name: "args-prompt", Args: []byte(`{"city":"Zürich"}`)})
		if err == nil && !strings.Contains(r.Text, "Zürich") {
			err = fmt.Errorf("the prompt says %q", r.Text)
		}
		return err
	}},
	{Completion, func(ctx context.Context, s *Session) error {
		r, err := s.Client.Do(ctx, &play.Op{Do: play.Complete, Ref: "prompt", Name: "completable-prompt", Arg: "department", Value: "E"})
		if err == nil && strings.Join(r.Names, " ") != "Engineering" {
			err = fmt.Errorf("proposed %q", r.Names)
		}
		return err
	}},
	{Progress, func(ctx context.Context, s *Session) error {
		op := &play.Op{Do: play.Call, Name: "trigger-long-running-operation", Args: []byte(`{"duration":0.3,"steps":3}`), Progress: true}
		if _, err := s.Client.Do(ctx, op); err != nil {
			return err
		}
		return s.await(ctx, "progress", func(got []string) bool { return strings.Join(got, " ") == "1/3 2/3 3/3" })
	}},
	{Cancel, everythingCancel},
	{Updated, func(ctx context.Context, s *Session) error {
		const uri = "demo://resource/dynamic/text/1"
		if _, err := s.Client.Do(ctx, &play.Op{Do: play.Subscribe, Name: uri}); err != nil {
			return err
		}
		if err := s.says(ctx, "toggle-subscriber-updates", `{}`, "Started"); err != nil {
			return err
		}
		return s.await(ctx, "updated", has(uri))
	}},
	{Logging, func(ctx context.Context, s *Session) error {
		if _, err := s.Client.Do(ctx, &play.Op{Do: play.Level, Name: "debug"}); err != nil {
			return err
		}
		if err := s.says(ctx, "toggle-simulated-logging", `{}`, "Started"); err != nil {
			return err
		}
		return s.await(ctx, "log", any1)
	}},
	{Form, func(ctx context.Context, s *Session) error {
		return errors.Join(s.says(ctx, "trigger-elicitation-request", `{}`, "provided the requested information"), asked(s, "form", 1))
	}},
	{URL, everythingURL},
	{Int64, func(ctx context.Context, s *Session) error {
		return s.says(ctx, "get-sum", `{"a":9007199254740990,"b":1}`, "is 9007199254740991")
	}},
	{Errors, func(ctx context.Context, s *Session) error {
		return errors.Join(badArguments(ctx, s, "echo"), unknownTool(ctx, s), unknownResource(ctx, s))
	}},
}

func everythingTools(ctx context.Context, s *Session) error {
	r, err := s.call(ctx, "get-structured-content", `{"location":"Chicago"}`)
	if err == nil && !strings.Contains(string(r.Structured), `"temperature"`) {
		err = fmt.Errorf("structured content is %s", r.Structured)
	}
	return errors.Join(err,
		s.lists(ctx, play.Tools, "echo", "get-sum", "get-tiny-image", "trigger-sampling-request", "get-roots-list"),
		s.says(ctx, "echo", `{"message":"grüezi 🚀"}`, "Echo: grüezi 🚀"),
		s.says(ctx, "get-tiny-image", `{}`, ""),
		s.says(ctx, "get-roots-list", `{}`, "file:///fixture"),
		s.says(ctx, "trigger-sampling-request", `{"prompt":"hello"}`, "sampled by Ada"),
	)
}

// everythingCancel gives a call up; the server's tool does not heed that, but the connection goes on.
func everythingCancel(ctx context.Context, s *Session) error {
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := s.Client.Do(callCtx, &play.Op{Do: play.Call, Name: "trigger-long-running-operation", Args: []byte(`{"duration":4,"steps":80}`), Progress: true})
		done <- err
	}()
	err := s.await(ctx, "progress", any1)
	cancel()
	if e := <-done; !errors.Is(e, context.Canceled) {
		err = errors.Join(err, fmt.Errorf("the cancelled call returned %w", e))
	}
	return errors.Join(err, s.says(ctx, "echo", `{"message":"still there"}`, "still there"))
}

// everythingURL asks both ways: by request, and by error -32042, after which the call is repeated.
func everythingURL(ctx context.Context, s *Session) error {
	args := `{"url":"` + fixture.VisitURL + `"`
	return errors.Join(
		s.says(ctx, "trigger-url-elicitation", args+`}`, ""), asked(s, "url", 1),
		s.says(ctx, "trigger-url-elicitation", args+`,"errorPath":true}`, ""), asked(s, "url", 3),
	)
}

func asked(s *Session, kind string, n int) error {
	if got := s.texts(kind); len(got) != n {
		return fmt.Errorf("the person was asked %d times, not %d: %q", len(got), n, got)
	}
	return nil
}

func badArguments(ctx context.Context, s *Session, tool string) error {
	r, err := s.call(ctx, tool, `{}`)
	if err == nil && !r.IsError {
		return fmt.Errorf("%s without arguments succeeded: %q", tool, r.Text)
	}
	if err != nil {
		return errCode("bad arguments", err, -32602)
	}
	return nil
}

var filesystemChecks = []Check{
	{Connect, checkConnect},
	{Tools, func(ctx context.Context, s *Session) error {
		file := filepath.Join(s.target.Root, "a.txt")
		return errors.Join(
			s.lists(ctx, play.Tools, "write_file", "read_text_file", "list_directory"),
			s.says(ctx, "write_file", fmt.Sprintf(`{"path":%q,"content":"grüezi\n"}`, file), "a.txt"),
			s.says(ctx, "read_text_file", fmt.Sprintf(`{"path":%q}`, file), "grüezi"),
			s.says(ctx, "list_directory", fmt.Sprintf(`{"path":%q}`, s.target.Root), "a.txt"),
		)
	}},
	{Errors, func(ctx context.Context, s *Session) error {
		r, err := s.call(ctx, "read_text_file", `{"path":"/etc/hostname"}`)
		if err == nil && !r.IsError {
			err = errors.New("a file outside of its directory was read")
		}
		return errors.Join(err, badArguments(ctx, s, "read_text_file"))
	}},
}

var memoryChecks = []Check{
	{Connect, checkConnect},
	{Tools, func(ctx context.Context, s *Session) error {
		return errors.Join(
			s.says(ctx, "create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["knows 🚀"]}]}`, "Ada"),
			s.says(ctx, "read_graph", `{}`, "knows 🚀"),
			s.says(ctx, "search_nodes", `{"query":"Ada"}`, "person"),
		)
	}},
	{Resources, func(ctx context.Context, s *Session) error {
		return errors.Join(s.lists(ctx, play.Resources, "memory://knowledge-graph"), s.reads(ctx, "memory://knowledge-graph", "entities"))
	}},
	{Errors, func(ctx context.Context, s *Session) error { return badArguments(ctx, s, "create_entities") }},
}

var thinkingChecks = []Check{
	{Connect, checkConnect},
	{Tools, func(ctx context.Context, s *Session) error {
		return s.says(ctx, "sequentialthinking", `{"thought":"one","thoughtNumber":1,"totalThoughts":2,"nextThoughtNeeded":true}`, `"thoughtNumber": 1`)
	}},
	{Errors, func(ctx context.Context, s *Session) error { return badArguments(ctx, s, "sequentialthinking") }},
}
