package mcp

import (
	"context"
	"testing"
)

func TestContext(t *testing.T) {
	if context.Background() == nil { // want usetesting
		t.Fatal("no context")
	}
}
