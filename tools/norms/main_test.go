package main

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	const w = "/wo" + "rk/"
	for _, c := range []struct {
		name, file, data, want string
	}{
		{"clean", "a.go", "package a // see docs/work/main and https://x.example/root/go", ""},
		{"machine path", "a.md", "see " + w + "main/x", "path of one machine"},
		{"machine path in a string", "a.go", `const p = "` + w + `shared"`, "path of one machine"},
		{"home", "a.go", "//  /Users/" + "ann/parley", "path of one machine"},
		{"long test", "a_test.go", strings.Repeat("\n", 601), "at most 600"},
		{"long production file is revive's", "a.go", strings.Repeat("\n", 601), ""},
		{"lock file", "conformance/package-lock.json", `{"resolved": "https://registry.example/a.tgz"}`, "registry addresses"},
		{"clean lock file", "conformance/package-lock.json", `{"integrity": "sha512-x"}`, ""},
		{"installed", "conformance/node_modules/a/package-lock.json", `{"resolved": "https://registry.example/a.tgz"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(check(c.file, []byte(c.data)), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
