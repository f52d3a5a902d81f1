package rules_test

import (
	"testing"

	"github.com/seed38e7925c/parley/tools/rules"
	"golang.org/x/tools/go/analysis/analysistest"
)

func TestRevision(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), rules.Revision, "github.com/seed38e7925c/parley/a", "github.com/seed38e7925c/parley/internal/era",
		"github.com/seed38e7925c/parley/bench/x", "github.com/seed38e7925c/parley/benchmark")
}

func TestSleep(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), rules.Sleep, "b")
}
