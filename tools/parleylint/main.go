// Command parleylint runs the project's own analyzers: go vet -vettool=bin/parleylint ./...
package main

import (
	"github.com/seed38e7925c/parley/tools/rules"
	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() { unitchecker.Main(rules.All()...) }
