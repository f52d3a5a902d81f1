// Command floor is the floor on standard input and output. It has no types, only their schemas.
package main

import (
	"flag"
	"log"
	"os"

	"github.com/seed38e7925c/parley/bench/internal/floor"
)

func main() {
	n := flag.Int("tools", 1000, "number of tools")
	flag.Parse()
	if err := floor.New(*n-1, false, false).ServeLines(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
