// Command parley runs the workloads of this project's library.
package main

import (
	"github.com/seed38e7925c/parley/bench/internal/load"
	"github.com/seed38e7925c/parley/bench/internal/peers/parley"
)

func main() { load.Main(parley.Peer{}) }
