package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/seed38e7925c/parley/mcp"
)

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(s *streams) error {
	var revisions []string
	for _, r := range spoken() {
		revisions = append(revisions, r.String())
	}
	_, err := fmt.Fprintf(s.out, "parley %s\nrevisions %s\n", version(), strings.Join(revisions, " "))
	return err
}

// version is that of the module, and of the source where there is no release.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v += "-" + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return v
}

// spoken are the revisions that this program speaks.
func spoken() []mcp.Revision {
	all := mcp.Revisions()
	if !legacyBuilt {
		return all[len(all)-1:]
	}
	return all
}
