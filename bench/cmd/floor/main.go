// Command floor runs the workloads of the floor.
package main

import (
	"github.com/seed38e7925c/parley/bench/internal/load"
	"github.com/seed38e7925c/parley/bench/internal/peers/floor"
)

func main() { load.Main(floor.Peer{}) }
