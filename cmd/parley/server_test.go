package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// testServer offers one of everything that the commands show.
func testServer() *mcp.Server {
	s := mcp.NewServer("everything", "1.0", &mcp.ServerOptions{Title: "Every\x1b[2Jthing", Instructions: "Be kind.\nAlways.", Description: "for tests", WebsiteURL: "https://example.com",
		Logger: slog.New(slog.DiscardHandler)})
	type sum struct {
		A     int64    `json:"a" jsonschema:"first number"`
		B     float64  `json:"b"`
		Exact bool     `json:"exact,omitempty"`
		Tags  []string `json:"tags,omitempty"`
		Mode  string   `json:"mode,omitempty" enum:"fast,slow" default:"fast"`
	}
	yes := true
	mcp.AddTool(s, &mcp.Tool{Name: "sum", Title: "Adds", Description: "Adds two\nnumbers.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)}},
		func(_ context.Context, _ *mcp.Call, in sum) (map[string]any, error) {
			return map[string]any{"sum": float64(in.A) + in.B, "exact": in.Exact, "tags": in.Tags, "mode": in.Mode, "odd": "a\u202eb"}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "fail", Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes}}, func(context.Context, *mcp.Call, struct{}) (string, error) {
		return "", mcp.ToolErrorf("the \x1b]0;evil\x07line is busy")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "pictures"}, func(context.Context, *mcp.Call, struct{}) ([]mcp.Content, error) {
		return []mcp.Content{&mcp.TextContent{Text: "Look:"}, &mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}, &mcp.AudioContent{Data: []byte("wav"), MIMEType: "audio/x-what"},
			&mcp.ResourceLink{URI: "doc:a", Name: "a doc", MIMEType: "text/plain", Description: "about a"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "doc:b", Text: "inside"}}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "doc:c", Blob: []byte("x")}}}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "steps"}, func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
		return "done", errors.Join(call.Progress(ctx, 1, 2, "half\x1b[2J"), call.Log(ctx, mcp.LevelWarning, "the\nlog", "careful\u202e"), call.Log(ctx, mcp.LevelDebug, "", "secret detail"))
	})
	mcp.AddTool(s, &mcp.Tool{Name: "seat"}, func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
		got, err := ask.Form[seat](ctx, call, "seat", "Where to?")
		return "sits " + got.Place, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "visit"}, func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
		return "visited", ask.Open(ctx, call, "visit", "Please look.", "https://example.com/look")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "roots"}, func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
		roots, err := ask.Roots(ctx, call, "roots")
		if err != nil || len(roots) == 0 {
			return "none", err
		}
		return roots[0].URI, nil
	})
	size := int64(5)
	mcp.AddResource(s, &mcp.Resource{URI: "doc:hello", Name: "hello", MIMEType: "text/plain", Size: &size}, func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "he\x1bllo\n"}}}, nil
	})
	mcp.AddResource(s, &mcp.Resource{URI: "doc:two", Name: "two"}, func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Blob: []byte{0, 1}}, {Text: "2"}}}, nil
	})
	mcp.AddResourceTemplate(s, &mcp.ResourceTemplate{URITemplate: "day:{n}", Name: "days", Description: "One day"}, func(_ context.Context, _ *mcp.Call, v mcp.TemplateVars) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: v.Get("n")}}}, nil
	})
	type greeting struct {
		Name string `json:"name" jsonschema:"whom to greet"`
	}
	mcp.AddPrompt(s, &mcp.Prompt{Name: "greet", Description: "Greets."}, func(_ context.Context, _ *mcp.Call, a greeting) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "A greeting", Messages: []*mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: "Hello " + a.Name}}}}, nil
	})
	return s
}

// serve serves the test server over HTTP and returns its URL.
func serve(t *testing.T) string {
	t.Helper()
	s := testServer()
	h := mcphttp.NewHandler(s, &mcphttp.Options{Logger: slog.New(slog.DiscardHandler)})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "" && r.Header.Get("X-Key") != "s3cret" {
			http.Error(w, "no\x1b[2J way", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		ts.Close()
		_ = h.Close(ctx)
	})
	return ts.URL
}

// revisions are those that every command is tried at.
func revisions() []string {
	if !legacyBuilt {
		return []string{"modern"}
	}
	return []string{"modern", "legacy"}
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// plain fails the test if something reached the output that acts on a terminal.
func (r ran) plain(t *testing.T) {
	t.Helper()
	if i := strings.IndexAny(r.out+r.err, "\x1b\x07\u202e\u200b\u009b"); i >= 0 {
		t.Errorf("%q", (r.out + r.err)[max(0, i-40):])
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	target := serve(t)
	answers := write(t, `{"answers":[{"tool":"seat","values":{"place":"aisle"}}]}`)
	declines := write(t, `{"answers":[{"action":"decline"}]}`)
	visits := write(t, `{"answers":[{"kind":"url","host":"example.com","action":"accept"}]}`)
	empty := write(t, `{"answers":[]}`)
	out := filepath.Join(t.TempDir(), "out")
	for name, tt := range map[string]struct {
		args  []string // TARGET is put in
		stdin string
		code  int
		want  []string
	}{
		"ls": {[]string{"ls", "TARGET"}, "", exitOK, []string{"everything 1.0", "instructions for the model:\n  Be kind.\n  Always.", "Tools\n", "  sum  (Adds)\n      Adds two\n      numbers.",
			"a  integer, required: first number", "mode  string, one of \"fast\" \"slow\", default \"fast\"", "it says of itself: changes nothing, can be repeated, stays within its system", "may destroy",
			"doc:hello  (hello)\n      text/plain, 5 bytes", "day:{n}  (days)", "greet\n      Greets.\n      name  required: whom to greet"}},
		"ls json":         {[]string{"ls", "--json", "TARGET"}, "", exitOK, []string{`"tools":[{`, `"name":"sum"`, `"resourceTemplates":[{`, `"protocolVersion":"`}},
		"call":            {[]string{"call", "TARGET", "sum", "a=2", "b=0.5", "exact=yes", "tags=x", "tags=y"}, "", exitOK, []string{`"sum": 2.5`, `"exact": true`, `"x",`, `"mode": "fast"`}},
		"call exact":      {[]string{"call", "TARGET", "sum", "a:=2", "b:=1e2", `tags:=["z"]`}, "", exitOK, []string{`"sum": 102`, `"z"`}},
		"call args":       {[]string{"call", "TARGET", "sum", "--args", `{"a":1,"b":2}`}, "", exitOK, []string{`"sum": 3`}},
		"call both":       {[]string{"call", "TARGET", "sum", "b=3", "--args", `{"a":1,"b":2}`}, "", exitOK, []string{`"sum": 4`}},
		"call file":       {[]string{"call", "TARGET", "sum", "--args", "@" + write(t, `{"a":1,"b":2}`)}, "", exitOK, []string{`"sum": 3`}},
		"call stdin":      {[]string{"call", "TARGET", "sum", "-"}, `{"a":40,"b":2}`, exitOK, []string{`"sum": 42`}},
		"call json":       {[]string{"call", "--json", "TARGET", "sum", "a=2", "b=1"}, "", exitOK, []string{`"structuredContent":{`}},
		"call nothing":    {[]string{"call", "TARGET", "sum"}, "", exitUsage, []string{"sum needs the arguments a, b; it has\n  a  integer, required: first number"}},
		"call one less":   {[]string{"call", "TARGET", "sum", "a=1"}, "", exitUsage, []string{"sum needs the argument b"}},
		"call unknown":    {[]string{"call", "TARGET", "sum", "c=1"}, "", exitUsage, []string{`sum has no argument "c"`}},
		"call not a word": {[]string{"call", "TARGET", "sum", "word"}, "", exitUsage, []string{"want name=value"}},
		"call bad type":   {[]string{"call", "TARGET", "sum", "a=two", "b=1"}, "", exitUsage, []string{`argument a: "two" is not of type integer`}},
		"call twice":      {[]string{"call", "TARGET", "sum", "a=1", "a=2", "b=1"}, "", exitUsage, []string{"given twice"}},
		"call bad json":   {[]string{"call", "TARGET", "sum", "a:=}"}, "", exitUsage, []string{"not JSON"}},
		"call bad args":   {[]string{"call", "TARGET", "sum", "--args", "[]"}, "", exitUsage, []string{"want a JSON object"}},
		"call no file":    {[]string{"call", "TARGET", "sum", "--args", "@/does/not/exist"}, "", exitUsage, []string{"--args"}},
		"call no tool":    {[]string{"call", "TARGET", "missing"}, "", exitUsage, []string{`no tool "missing"; it has`, "\n  sum", "Some servers hide tools"}},
		"call refused":    {[]string{"call", "TARGET", "missing", "--args", "{}"}, "", exitProtocol, []string{"missing"}},
		"tool error":      {[]string{"call", "TARGET", "fail"}, "", exitTool, []string{"the line is busy", "the tool reported an error"}},
		"tool error json": {[]string{"call", "--json", "TARGET", "fail"}, "", exitTool, []string{`"isError":true`}},
		"pictures":        {[]string{"call", "TARGET", "pictures"}, "", exitOK, []string{"Look:", "[picture] image/png, 3 bytes\n", "[sound] audio/x-what, 3 bytes", "[resource] doc:a  a doc  (text/plain)  about a", "inside", "[data]"}},
		"log":             {[]string{"call", "TARGET", "steps"}, "", exitOK, []string{"done", "server log, warning: the log: careful"}},
		"answers":         {[]string{"call", "--answers", answers, "TARGET", "seat"}, "", exitOK, []string{"sits aisle"}},
		"unused answers":  {[]string{"call", "--answers", answers, "TARGET", "sum", "a=1", "b=1"}, "", exitOK, []string{"warning: scripted: answer 1 (tool seat, accept) was not used"}},
		"no answer":       {[]string{"call", "--answers", empty, "TARGET", "seat"}, "", exitUnavailable, []string{`no answer for the form "Where to?" of tools/call seat`, `{"tool":"seat",`}},
		"declined":        {[]string{"call", "--answers", declines, "TARGET", "seat"}, "", exitDeclined, []string{"declined"}},
		"url":             {[]string{"call", "--answers", visits, "TARGET", "visit"}, "", exitOK, []string{"visited", "the server asks to open https://example.com/look"}},
		"terminal":        {[]string{"call", "--interact", "terminal", "TARGET", "seat"}, "\n1\n\ns\n", exitOK, []string{"sits window", "Where to?", "1 of 3 › "}},
		"terminal cancel": {[]string{"call", "--interact", "terminal", "TARGET", "seat"}, "\x1b\nc\n", exitDeclined, []string{"Cancelled."}},
		"terminal over":   {[]string{"call", "--interact", "terminal", "TARGET", "seat"}, "", exitUnavailable, []string{"Where to?"}},
		"roots":           {[]string{"call", "--root", "/", "TARGET", "roots"}, "", exitOK, []string{"file:///"}},
		"timeout":         {[]string{"call", "--timeout", "100ms", "TARGET", "slow"}, "", exitTimeout, []string{"RequestTimeout"}},
		"read":            {[]string{"read", "TARGET", "doc:hello"}, "", exitOK, nil},
		"read json":       {[]string{"read", "--json", "TARGET", "doc:hello"}, "", exitOK, []string{`he\u001bllo`}},
		"read template":   {[]string{"read", "TARGET", "day:7"}, "", exitOK, []string{"7"}},
		"read nothing":    {[]string{"read", "TARGET", "doc:none"}, "", exitProtocol, []string{"doc:none"}},
		"read parts":      {[]string{"read", "-o", out, "TARGET", "doc:two"}, "", exitLocal, []string{"2 parts"}},
		"prompt":          {[]string{"prompt", "TARGET", "greet", "name=Ann"}, "", exitOK, []string{"# A greeting\nuser:\nHello Ann"}},
		"prompt json":     {[]string{"prompt", "--json", "TARGET", "greet", "name=Ann"}, "", exitOK, []string{`"Hello Ann"`}},
		"prompt word":     {[]string{"prompt", "TARGET", "greet", "Ann"}, "", exitUsage, []string{"want name=value"}},
		"prompt missing":  {[]string{"prompt", "TARGET", "greet"}, "", exitProtocol, []string{"name", "parley ls TARGET"}},
		"verbose":         {[]string{"call", "-v", "-H", "X-Key: s3cret", "TARGET", "sum", "a=1", "b=1"}, "", exitOK, []string{"-> {", "<- {", `"method":"tools/call"`}},
		"refused":         {[]string{"ls", "-H", "X-Key: wrong", "TARGET"}, "", exitConnect, []string{"403"}},
		"header":          {[]string{"ls", "-H", "nonsense", "TARGET"}, "", exitUsage, []string{`want "Name: value"`}},
		"header file":     {[]string{"ls", "-H", "@" + write(t, "# key\nX-Key: s3cret\n"), "TARGET"}, "", exitOK, nil},
		"no header file":  {[]string{"ls", "-H", "@/does/not/exist", "TARGET"}, "", exitUsage, nil},
		"env for http":    {[]string{"ls", "--env", "A=b", "TARGET"}, "", exitUsage, []string{"--header"}},
		"two ways":        {[]string{"call", "--answers", empty, "--interact", "terminal", "TARGET", "seat"}, "", exitUsage, []string{"exclude"}},
		"bad answers":     {[]string{"call", "--answers", write(t, "{}x"), "TARGET", "seat"}, "", exitUsage, []string{"scripted"}},
	} {
		for _, rev := range revisions() {
			t.Run(name+"/"+rev, func(t *testing.T) {
				t.Parallel()
				var args []string
				for _, a := range tt.args {
					if a == "TARGET" {
						args = append(args, "--revision", rev)
						a = target
					}
					args = append(args, a)
				}
				got := parley(t, tt.stdin, args...)
				got.want(t, tt.code, tt.want...)
				if strings.HasSuffix(name, "json") { // exactly what the server sent
					got.out = ""
				}
				if name != "read" {
					got.plain(t)
				} else if got.out != "he\x1bllo\n" {
					t.Errorf("a program reads exactly what the server sent: %q", got.out)
				}
				if strings.Contains(got.err, "s3cret") {
					t.Errorf("a secret in %s", got.err)
				}
			})
		}
	}
}

func TestNobodyToBeAsked(t *testing.T) {
	t.Parallel()
	target := serve(t)
	// At 2026-07-28 the server says which capability is missing; before, the tool reports that nobody could be asked.
	parley(t, "", "call", "--revision", "modern", "--interact", "none", target, "seat").want(t, exitUnavailable, "--answers FILE")
	if legacyBuilt {
		parley(t, "", "call", "--revision", "legacy", "--interact", "none", target, "seat").want(t, exitTool, "the tool reported an error")
	}
}

func TestTargetsAndRevisions(t *testing.T) {
	t.Parallel()
	parley(t, "", "ls", "ftp://x").want(t, exitUsage, "neither an http or https URL")
	parley(t, "", "cal").want(t, exitUsage, `there is no command "cal", did you mean "call"?`)
	parley(t, "", "version", "version").want(t, exitUsage, "unexpected argument version")
	parley(t, "", "ls", "stdio:").want(t, exitUsage, "needs a command line")
	parley(t, "", "ls", "stdio:'x").want(t, exitUsage, "not closed")
	parley(t, "", "ls", "-H", "A: b", "stdio:x").want(t, exitUsage, "--env")
	parley(t, "", "ls", "--env", "nonsense", "stdio:x").want(t, exitUsage, "NAME=VALUE")
	parley(t, "", "ls", "--revision", "2020-01-01", "http://127.0.0.1:1/").want(t, exitUsage, "want one of")
	parley(t, "", "ls", "http://127.0.0.1:1/mcp").want(t, exitConnect, "connecting to http://127.0.0.1:1/mcp")
	parley(t, "", "ls", "stdio:/does/not/exist").want(t, exitConnect, "/does/not/exist")
	parley(t, "", "ls", "--revision", "2026-07-28", serve(t)).want(t, exitOK, "revision  2026-07-28")
	if legacyBuilt {
		parley(t, "", "ls", "--revision", "2025-06-18", serve(t)).want(t, exitOK, "revision  2025-06-18")
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	target := serve(t)
	time.AfterFunc(200*time.Millisecond, cancel)
	parleyContext(ctx, t, "", "call", target, "slow").want(t, exitInterrupted)
}

func TestSaving(t *testing.T) {
	t.Parallel()
	target, dir := serve(t), t.TempDir()
	parley(t, "", "call", "--out", dir, target, "pictures").want(t, exitOK, filepath.Join(dir, "result-1.png"), filepath.Join(dir, "result-2.bin"), "result-3.bin")
	if data, err := os.ReadFile(filepath.Join(dir, "result-1.png")); err != nil || string(data) != "png" {
		t.Error(data, err)
	}
	parley(t, "", "call", "--out", dir, target, "pictures").want(t, exitLocal, "is there already")
	file := filepath.Join(dir, "hello")
	parley(t, "", "read", "-o", file, target, "doc:hello").want(t, exitOK, "7 bytes  (text/plain) written to")
	if data, err := os.ReadFile(file); err != nil || !bytes.Equal(data, []byte("he\x1bllo\n")) {
		t.Errorf("%q %v", data, err)
	}
}

func TestStdioServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	target := fmt.Sprintf("stdio:%q demo-server", filepath.ToSlash(self))
	for _, rev := range revisions() {
		parley(t, "", "ls", "--revision", rev, target).want(t, exitOK, "travel 1.4.0", "book")
		parley(t, "", "call", "-v", "--env", "X=1", "--revision", rev, "--interact", "none", target, "book", "from=Bern", "to=Wien").want(t, map[string]int{"modern": exitUnavailable, "legacy": exitTool}[rev])
	}
}
