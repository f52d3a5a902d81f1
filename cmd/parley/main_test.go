package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// TestMain lets the test binary be the program itself, for tests that need it as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("PARLEY_BE_THE_COMMAND") != "" || len(os.Args) == 2 && os.Args[1] == "demo-server" {
		main()
	}
	dir, err := os.MkdirTemp("", "parley-logins-*") // no test comes near the logins and the keyring of whoever runs it
	if err != nil {
		panic(err)
	}
	os.Setenv("PARLEY_TOKENS", "file")
	os.Setenv("PARLEY_TOKENS_DIR", dir)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// A ran is how a command went.
type ran struct {
	code     int
	out, err string
}

// parley runs a command line in this process.
func parley(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	return parleyContext(t.Context(), t, stdin, args...)
}

func parleyContext(ctx context.Context, t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(ctx, args, &streams{in: strings.NewReader(stdin), out: &out, err: &errs})
	return ran{code, out.String(), errs.String()}
}

// want fails the test unless the command ended with a code and printed texts on either output.
func (r ran) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\nout: %s\nerr: %s", r.code, code, r.out, r.err)
	}
	for _, s := range texts {
		if !strings.Contains(r.out+r.err, s) {
			t.Errorf("no %q in\nout: %s\nerr: %s", s, r.out, r.err)
		}
	}
}
