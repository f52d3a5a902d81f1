package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// transport is the way to the server that a TARGET names, with a person who can log in there.
func (f *hostFlags) transport(ses *session, target string, p *person) (mcp.Transport, error) {
	if line, ok := strings.CutPrefix(target, "stdio:"); ok {
		words, err := splitWords(line)
		if err != nil {
			return nil, usagef("TARGET %q: %w", target, err)
		}
		if len(words) == 0 {
			return nil, usagef(`TARGET "stdio:" needs a command line after the colon, as in 'stdio:npx -y some-server'`)
		}
		if len(f.Header) > 0 {
			return nil, usagef("--header is for http servers; a stdio server gets --env")
		}
		env, err := f.environment()
		if err != nil {
			return nil, err
		}
		return mcp.Command(words[0], words[1:], &mcp.CommandOptions{Env: env, Stderr: ses.stderr}), nil
	}
	if !isHTTP(target) {
		return nil, usagef(`TARGET %q is neither an http or https URL nor "stdio:" and a command line`, target)
	}
	if len(f.Env) > 0 {
		return nil, usagef("--env is for stdio servers; an http server gets --header")
	}
	header, err := f.headers()
	if err != nil {
		return nil, err
	}
	if authorizes(header) {
		return mcphttp.Dial(target, &mcphttp.DialOptions{Header: header}), nil
	}
	if ses.auth, err = f.authFlags.transport(target, p); err != nil {
		return nil, err
	}
	return mcphttp.Dial(target, &mcphttp.DialOptions{Header: header, Client: &http.Client{Transport: ses.auth}}), nil
}

// isHTTP reports whether a TARGET is the URL of a server.
func isHTTP(target string) bool {
	u, err := url.Parse(target)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func (f *hostFlags) environment() ([]string, error) {
	env := os.Environ()
	for _, e := range f.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return nil, usagef("--env %q: want NAME=VALUE", e)
		}
		env = append(env, e)
	}
	return env, nil
}

// headers reads --header: "Name: value", or @FILE with one a line, so that secrets need not stand in the list of processes.
func (f *hostFlags) headers() (http.Header, error) {
	var lines []string
	for _, h := range f.Header {
		name, ok := strings.CutPrefix(h, "@")
		if !ok {
			lines = append(lines, h)
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, usagef("--header %s: %w", h, err)
		}
		for l := range strings.Lines(string(data)) {
			if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
				lines = append(lines, l)
			}
		}
	}
	header := http.Header{}
	for i, l := range lines {
		name, value, ok := strings.Cut(l, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, usagef(`--header %d: want "Name: value" or @FILE`, i+1) // without the text, which may be a secret
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return header, nil
}

// splitWords splits a command line into words as a POSIX shell does, with quotes and backslashes and without expanding anything.
func splitWords(line string) ([]string, error) {
	var s splitter
	for _, r := range line {
		s.next(r)
	}
	switch {
	case s.quote != 0:
		return nil, fmt.Errorf("the quotation mark %c is not closed", s.quote)
	case s.escaped:
		return nil, fmt.Errorf("a backslash stands at the end")
	}
	s.end()
	return s.words, nil
}

// A splitter is splitWords in the middle of a line.
type splitter struct {
	words   []string
	word    strings.Builder
	inWord  bool
	escaped bool // after a backslash
	quote   rune // inside of quotation marks; zero outside
}

func (s *splitter) next(r rune) {
	switch {
	case s.escaped:
		if s.quote == '"' && !strings.ContainsRune("\"\\$`", r) {
			s.word.WriteByte('\\')
		}
		s.word.WriteRune(r)
		s.escaped = false
	case r == '\\' && s.quote != '\'':
		s.escaped, s.inWord = true, true
	case s.quote != 0 && r == s.quote:
		s.quote = 0
	case s.quote != 0:
		s.word.WriteRune(r)
	case r == '\'' || r == '"':
		s.quote, s.inWord = r, true
	case strings.ContainsRune(" \t\n", r):
		s.end()
	default:
		s.word.WriteRune(r)
		s.inWord = true
	}
}

// end ends a word, if there is one.
func (s *splitter) end() {
	if s.inWord {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.inWord = false
}
