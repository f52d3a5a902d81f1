package mcp

import (
	"os"
	"testing"
)

func TestContext(t *testing.T) {
	if err := os.Setenv("A", "b"); err != nil { // want usetesting
		t.Fatal(err)
	}
}
