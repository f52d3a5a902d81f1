//go:build !mcp_modern_only

package mcp_test

import (
	"testing"

	"github.com/seed38e7925c/parley/mcptest"
)

func TestTranscriptsOfSessions(t *testing.T) {
	mcptest.Transcripts(t, "testdata/transcripts/ask-2025*.txt", travel)
}
