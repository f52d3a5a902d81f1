package main

import (
	"strings"
	"testing"
)

func TestLog(t *testing.T) {
	for _, c := range []struct {
		name, in  string
		ci        bool
		code      int
		want, not string
	}{
		{"pass", `{"Action":"output","Package":"p","Test":"T","Output":"noise\n"}
{"Action":"pass","Package":"p","Test":"T"}
{"Action":"pass","Package":"p","Elapsed":0.5}`, true, 0, "ok   p 0.5s", "noise"},
		{"fail shows output", `{"Action":"output","Package":"p","Test":"T","Output":"reason\n"}
{"Action":"fail","Package":"p","Test":"T"}`, false, 1, "reason", "ok "},
		{"died in a test", `{"Action":"output","Package":"p","Test":"T","Output":"goroutine 1\n"}
{"Action":"fail","Package":"p"}`, false, 1, "unfinished: p T\ngoroutine 1", "ok "},
		{"build failure", `{"Action":"build-output","ImportPath":"p","Output":"x.go:1: broken\n"}
{"Action":"build-fail","ImportPath":"p"}`, false, 1, "broken", "ok "},
		{"known skip", `{"Action":"output","Package":"p","Test":"T","Output":"    a_test.go:3: the published schemas are not here\n"}
{"Action":"skip","Package":"p","Test":"T"}`, true, 0, "p.T: a_test.go:3: the published schemas", "FAIL"},
		{"unknown skip, by hand", `{"Action":"skip","Package":"p","Test":"T"}`, false, 0, "skipped: 1", "FAIL"},
		{"unknown skip, CI", `{"Action":"skip","Package":"p","Test":"T"}`, true, 1, "FAIL", "ok "},
		{"no JSON", "go: cannot find module", false, 0, "cannot find module", "ok "},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			l := &log{w: &out, output: map[string][]string{}}
			if err := l.read(strings.NewReader(c.in)); err != nil {
				t.Fatal(err)
			}
			code := l.finish(c.ci)
			if code != c.code || !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), c.not) {
				t.Errorf("exit %d, want %d:\n%s", code, c.code, out.String())
			}
		})
	}
}
