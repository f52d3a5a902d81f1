package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/seed38e7925c/parley/interactor/scripted"
)

// docs/command.md names every command, flag and exit code, and its answers are answers.
func TestDocumentation(t *testing.T) {
	raw, err := os.ReadFile("../../docs/command.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	parser, err := kong.New(new(commands), kong.Name("parley"))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range parser.Model.Leaves(true) {
		if !strings.Contains(page, "`"+node.FullPath()) {
			t.Errorf("no command %s", node.FullPath())
		}
		for _, flag := range node.Flags {
			if !strings.Contains(page, "--"+flag.Name) {
				t.Errorf("no flag --%s of %s", flag.Name, node.Name)
			}
		}
	}
	for _, code := range []int{exitOK, exitTool, exitUsage, exitConnect, exitProtocol, exitDeclined, exitUnavailable, exitTimeout, exitLocal, exitInterrupted} {
		if !strings.Contains(page, fmt.Sprintf("\n| %d | ", code)) {
			t.Errorf("no exit code %d", code)
		}
	}
	_, rest, _ := strings.Cut(page, "```json\n")
	answers, _, _ := strings.Cut(rest, "```")
	if _, err := scripted.Parse([]byte(answers)); err != nil {
		t.Error(err)
	}
}
