// Package lintcheck proves that the rules in .golangci.yml are alive: it lints samples that break them and expects
// the finding. Its test runs golangci-lint, so it is part of "make check" and not of the unit tests.
package lintcheck
