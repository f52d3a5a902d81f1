package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/mcp"
)

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                                 nil,
		"  a  b\tc\n":                      {"a", "b", "c"},
		`npx -y @scope/server --dir 'a b'`: {"npx", "-y", "@scope/server", "--dir", "a b"},
		`a"b c"d '' ""`:                    {"ab cd", "", ""},
		`a\ b \\ \'`:                       {"a b", `\`, "'"},
		`"a\"b\$c\d" 'a\b'`:                {`a"b$c\d`, `a\b`},
		"$HOME *; rm | x && y > z `w`":     {"$HOME", "*;", "rm", "|", "x", "&&", "y", ">", "z", "`w`"}, // threat 19: there is no shell
	} {
		if got, err := splitWords(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q %v", line, got, err)
		}
	}
	for _, line := range []string{`'a`, `"a`, `a\`} {
		if got, err := splitWords(line); err == nil {
			t.Errorf("%q: %q", line, got)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	f.Add(`a 'b c' "d\"e" f\ g`)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := splitWords(line)
		if err != nil {
			return
		}
		// Quoted again, the words are the same words.
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		if again, err := splitWords(strings.Join(quoted, " ")); err != nil || !slices.Equal(words, again) {
			t.Errorf("%q: %q, then %q %v", line, words, again, err)
		}
	})
}

func TestConvert(t *testing.T) {
	for _, tt := range []struct{ types, text, want string }{
		{`"string"`, "5", `"5"`}, {`"string"`, `a"b`, `"a\"b"`}, {`"integer"`, "9007199254740993", "9007199254740993"}, {`"number"`, "1e400", "1e400"},
		{`"boolean"`, "true", "true"}, {`"boolean"`, "No", "false"}, {`"boolean"`, "y", "true"}, {`["string","null"]`, "null", "null"}, {`["string","null"]`, "x", `"x"`},
		{`"object"`, `{"a":1}`, `{"a":1}`}, {`"array"`, `[1]`, `[1]`}, {`"array"`, "1", "[1]"}, {`"array"`, "a", `["a"]`}, {`"array"`, `"a"`, `["a"]`},
		{``, "1", "1"}, {``, "a", `"a"`}, {`7`, "a", `"a"`}, {`["integer","string"]`, "1", "1"},
		{`"integer"`, "x", ""}, {`"object"`, "x", ""}, {`"array"`, `{}`, ""}, {`"boolean"`, "maybe", ""},
	} {
		got, err := convert(&propertySchema{Type: jsontext.Value(tt.types)}, tt.text)
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s %s: %s %v", tt.types, tt.text, got, err)
		}
	}
}

func TestRedact(t *testing.T) {
	long := strings.Repeat("x", 600)
	for in, want := range map[string]string{
		`{"a":1,"password":"x","b":[{"apiKey":{"deep":1}},"password"]}`:    `{"a":1,"password":"[redacted]","b":[{"apiKey":"[redacted]"},"password"]}`,
		`{"progressToken":7,"maxTokens":1,"Authorization":"Bearer x"}`:     `{"progressToken":7,"maxTokens":1,"Authorization":"[redacted]"}`,
		`{"access_token":["a"],"client_secret":null,"n":9007199254740993}`: `{"access_token":"[redacted]","client_secret":"[redacted]","n":9007199254740993}`,
		`{"a":"` + long + `"}`:                   `{"a":"` + long[:500] + `… (600 bytes)"}`,
		`["\u001b[2J","` + "\u202e\u009b" + `"]`: `["\u001b[2J","\u202e\u009b"]`,
	} {
		if got := redact([]byte(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	for want, p := range map[string]mcp.Progress{
		"[############------------]  50% half": {Done: 5, Total: 10, Message: "ha\x1b[2Jlf\n"},
		"[########################] 100%":      {Done: 50, Total: 10},
		"3 files":                              {Done: 3, Message: "files"},
		"[------------------------]   0% 漢漢漢":  {Done: -1, Total: 10, Message: "漢漢漢漢漢漢"},
	} {
		if got := progressLine(p, 39); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var b bytes.Buffer
	u := &ui{w: &b, bar: true}
	u.progress(mcp.Progress{Done: 1, Total: 2})
	u.line("a line")
	resume := u.pause()
	u.line("later")
	u.progress(mcp.Progress{Done: 2, Total: 2})
	b.WriteString("<question>")
	resume()
	u.done()
	want := "[############------------]  50%\r\x1b[Ka line\n[############------------]  50%\r\x1b[K<question>later\n[########################] 100%\r\x1b[K"
	if b.String() != want {
		t.Errorf("%q", b.String())
	}
}

func TestServerLog(t *testing.T) {
	var b bytes.Buffer
	u := &ui{w: &b}
	l := &serverLog{ui: u, show: true}
	fmt.Fprintf(l, "one\x1b[2J\ntw")
	fmt.Fprintf(l, "o\n%s", strings.Repeat("x", 20<<10))
	if got := b.String(); !strings.HasPrefix(got, "server: one\nserver: two\nserver: xxx") {
		t.Errorf("%.80q", got)
	}
	b.Reset()
	l = &serverLog{ui: u}
	for i := range 30 {
		fmt.Fprintf(l, "line %d\n", i)
	}
	l.flush(nil)
	l.flush(&mcp.ServerExitError{})
	if b.Len() > 0 {
		t.Error(b.String())
	}
	l.flush(mcp.ErrClosed)
	if strings.Count(b.String(), "\n") != tailLines || !strings.Contains(b.String(), "server: line 29") {
		t.Error(b.String())
	}
}

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, exitOK}, {&silentError{exitTool}, exitTool}, {usagef("x"), exitUsage}, {connectError{errors.New("x")}, exitConnect}, {&mcp.TransportError{Status: 500}, exitConnect},
		{&mcp.ServerExitError{}, exitConnect}, {fmt.Errorf("x: %w", mcp.ErrClosed), exitConnect}, {mcp.ErrSessionLost, exitConnect}, {&mcp.Error{Code: -1}, exitProtocol},
		{&mcp.ResultError{}, exitProtocol}, {mcp.ErrTooManyRounds, exitProtocol}, {mcp.ErrDeclined, exitDeclined}, {mcp.ErrCanceled, exitDeclined}, {mcp.ErrUnavailable, exitUnavailable},
		{&mcp.Error{Code: mcp.CodeMissingCapability}, exitUnavailable}, {&mcp.TimeoutError{}, exitTimeout}, {context.DeadlineExceeded, exitTimeout}, {errors.New("disk full"), exitLocal},
	} {
		if got := exitCode(t.Context(), tt.err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := exitCode(ctx, context.Canceled); got != exitInterrupted {
		t.Error(got)
	}
	for code := range 9 {
		if !strings.Contains(exitHelp, fmt.Sprint(code)+" ") {
			t.Errorf("code %d is not in the help", code)
		}
	}
}

func TestSafeJSON(t *testing.T) {
	if got := safeJSON("{\n \"a\": \"\u202e\u009bé漢\U0001F600\U000E0041\"\n}"); got != "{\n \"a\": \"\\u202e\\u009bé漢\U0001F600\\udb40\\udc41\"\n}" {
		t.Errorf("%q", got)
	}
}

func TestWrapped(t *testing.T) {
	const text = "the stateless era, over HTTP on loopback"
	for width, want := range map[int]string{0: text, 100: text, 18: "the stateless era,\nover HTTP on\nloopback", 3: "the\nstateless\nera,\nover\nHTTP\non\nloopback"} {
		if got := wrapped(text, width); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}
