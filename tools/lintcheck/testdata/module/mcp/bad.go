package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http" // want depguard

	"github.com/seed38e7925c/parley/mcptest" // want depguard
)

var Undocumented = mcptest.New // want revive: exported

type holder struct {
	ctx context.Context // want containedctx
}

func Decode(b []byte, v any) error { // want revive: exported
	return json.Unmarshal(b, v) // want forbidigo: strict JSON
}

func say() { fmt.Println("hello") } // want forbidigo: standard output

func fetch() error {
	r, err := http.Get("https://example.com/") // want forbidigo: global clients // want noctx
	if err != nil {
		return fmt.Errorf("fetch: %v", err) // want errorlint
	}
	return r.Body.Close()
}

func six(a, b, c, d, e, f int) int { return a + b + c + d + e + f } // want revive: argument

func ignored() {
	Decode(nil, nil) // want errcheck
	//nolint:govet
	_ = holder{} // the line above: want nolintlint
}

type wide interface { // want interfacebloat
	A()
	B()
	C()
	D()
	E()
	F()
	G()
}

var _ = []any{say, fetch, six, ignored, wide(nil)}
