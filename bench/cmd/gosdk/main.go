// Command gosdk runs the workloads of github.com/modelcontextprotocol/go-sdk.
package main

import (
	"github.com/seed38e7925c/parley/bench/internal/load"
	"github.com/seed38e7925c/parley/bench/internal/peers/gosdk"
)

func main() { load.Main(gosdk.Peer{}) }
