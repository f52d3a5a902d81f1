// Command mcpgo runs the workloads of github.com/mark3labs/mcp-go.
package main

import (
	"github.com/seed38e7925c/parley/bench/internal/load"
	"github.com/seed38e7925c/parley/bench/internal/peers/mcpgo"
)

func main() { load.Main(mcpgo.Peer{}) }
